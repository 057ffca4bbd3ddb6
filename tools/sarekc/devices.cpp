// sarekc devices: what kernels can run on here, and why a driver has none.
#include <iostream>

#include "runtime/core/context.h"
#include "tools/sarekc/command_line.h"

namespace sarek::tool {

int devices_verb(std::vector<std::string> words) {
  CLI::App app("lists the devices that kernels can run on", "sarekc devices");
  bool json = false;
  app.add_flag("--json", json, "as JSON");
  int status = kDone;
  if (!parse(app, std::move(words), status)) return status;
  if (json) std::cout << "[";
  bool first = true;
  for (const auto& handle : runtime::devices()) {
    const runtime::DeviceInfo& d = handle->driver->info();
    if (json) {
      std::cout << (first ? "\n " : ",\n ") << "{\"id\":" << json_quote(d.id) << ",\"target\":" << json_quote(d.target)
                << ",\"framework\":" << json_quote(d.framework) << ",\"name\":" << json_quote(d.name)
                << ",\"compute_units\":" << d.compute_units << ",\"max_block_threads\":" << d.max_block_threads
                << ",\"max_shared_bytes\":" << d.max_shared_bytes << ",\"capabilities\":[";
      for (std::size_t i = 0; i < d.capabilities.size(); ++i) std::cout << (i ? "," : "") << json_quote(d.capabilities[i]);
      std::cout << "]}";
    } else {
      std::cout << d.id << "  " << d.name << "  (" << d.compute_units << " compute units;";
      for (const std::string& c : d.capabilities) std::cout << " " << c;
      std::cout << ")\n";
    }
    first = false;
  }
  if (json) {
    std::cout << "\n]\n";
    return kDone;
  }
  for (const char* target : {"native", "opencl", "interp"})
    if (const std::string& why = runtime::absence(target); !why.empty()) std::cout << target << ": none (" << why << ")\n";
  return kDone;
}

}  // namespace sarek::tool
