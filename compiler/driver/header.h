// The C++ header of a module: a type for each record that a parameter uses, with the kernels' memory layout, and a typed call for each
// kernel.
#pragma once

#include <string>
#include <vector>

#include "compiler/sema/sema.h"
#include "runtime/artifact/package.h"

namespace sarek::driver {

/// The text of the header. `kernels` describes what can be launched (also without a source: from IR text), `interface` the records.
std::string generate_header(const sema::ModuleInterface& interface, const std::vector<artifact::Kernel>& kernels,
                            const std::string& name_space, const std::string& input);

/// The namespace of an input without --namespace: its base name as a C++ identifier.
std::string cpp_namespace(const std::string& input);

}  // namespace sarek::driver
