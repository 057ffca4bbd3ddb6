#include "tools/sarekc/explain_output.h"

#include <iostream>

#include "policy/event_text.h"
#include "tools/sarekc/array_file.h"

namespace sarek::tool {

Result<Unit> write_explain(const driver::Compilation& compilation, const std::string& format, const std::string& path) {
  if (format.empty()) return Unit{};
  std::string text;
  for (const driver::DecisionAt& d : compilation.decisions) text += policy::event_text(d.record) + "\n";
  if (path.empty()) {
    (format == "text" ? std::cerr : std::cout) << text;
    return Unit{};
  }
  return write_file(path, text.data(), text.size());
}

}  // namespace sarek::tool
