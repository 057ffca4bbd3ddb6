// Types the tests of a module.
#include "compiler/sema/check.h"

namespace sarek::sema {

void Checker::check_tests() {}

}  // namespace sarek::sema
