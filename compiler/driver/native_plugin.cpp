// The one symbol of libsarek_native.so.
#include "compiler/driver/native_backend.h"

extern "C" __attribute__((visibility("default"))) const sarek::driver::NativeFunctions* sarek_native_functions_v1() {
  static const sarek::driver::NativeFunctions functions = {&sarek::emit::native_level_name, &sarek::emit::native_capabilities,
                                                           &sarek::emit::emit_native, &sarek::emit::emit_native_text};
  return &functions;
}
