#include "tools/sarekc/command_line.h"
namespace sarek::tool {
int policy_verb(std::vector<std::string>) { return complain(kUsage, "policy"); }
}  // namespace sarek::tool
