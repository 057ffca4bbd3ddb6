#include "tools/sarekc/command_line.h"
namespace sarek::tool {
int explain_verb(std::vector<std::string>) { return complain(kUsage, "explain"); }
}  // namespace sarek::tool
