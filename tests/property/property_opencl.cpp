// Compares the OpenCL device with the interpreter on random programs:
//   property_opencl [--count N] [--seed S] [--opt-level 0..3] [--size N] [--no-barriers] [--no-shrink] [--shrink-budget N]
// Programs have the seeds S, S + 1, ... Programs that the target refuses by its missing capabilities are counted apart. The first mismatch
// is shrunk with at most N runs of smaller ones, and printed; exit status 1. Without a device: 77. Nearly all the time goes to the driver's
// compiler: --size takes programs of about N statements.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/opencl/harness.h"
#include "tests/property/generator.h"
#include "tests/property/runners.h"
#include "tests/property/shrink.h"

using namespace sarek;
using namespace sarek::testgen;

namespace {

Runner opencl(int opt_level) {
  return [=](const Case& c) -> Result<Outputs> {
    const auto built = test::build_opencl(c.program, opt_level);
    if (!built) return Err(built.error());
    Memory memory(c);
    const interp::Launch launch = memory.launch();
    test::Call call;
    call.grid = c.grid;
    call.dynamic_shared = c.dynamic_shared;
    for (const interp::Argument& a : launch.arguments) {
      test::Value value;
      if (a.is_buffer) value.bytes.assign(static_cast<const std::uint8_t*>(a.data), static_cast<const std::uint8_t*>(a.data) + a.bytes);
      for (const auto& s : a.scalars) value.scalars.push_back(s.bits);
      call.arguments.push_back(std::move(value));
    }
    if (const std::string error = test::run_opencl(c.program, *built, call); !error.empty()) return err("OpenCL: " + error);
    for (std::size_t i = 0; i < launch.arguments.size(); ++i)
      if (launch.arguments[i].is_buffer && launch.arguments[i].bytes > 0)
        std::memcpy(launch.arguments[i].data, call.arguments[i].bytes.data(), call.arguments[i].bytes.size());
    return memory.outputs();
  };
}

bool refused(const std::string& message) { return message.find("refused: kernel") != std::string::npos; }

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t count = 500, seed = 1;
  int opt_level = 2;
  bool shrinks = true;
  int shrink_budget = 3000;
  Features features;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--no-shrink") shrinks = false;
    else if (name == "--count") count = std::strtoull(value, nullptr, 10), ++i;
    else if (name == "--seed") seed = std::strtoull(value, nullptr, 10), ++i;
    else if (name == "--size") features.size = std::atoi(value), ++i;
    else if (name == "--opt-level") opt_level = std::atoi(value), ++i;
    else if (name == "--shrink-budget") shrink_budget = std::atoi(value), ++i;
    else if (name == "--no-barriers") features.barriers = features.warps = false;  // warps are written out with barriers
    else
      return std::fprintf(stderr,
                          "usage: property_opencl [--count N] [--seed S] [--opt-level 0..3] [--size N] [--no-barriers] [--no-shrink] "
                          "[--shrink-budget N]\n"),
             2;
  }
  // Thousands of programs that nobody runs twice: they would only fill the disk. The user's own setting goes first.
  setenv("POCL_KERNEL_CACHE", "0", 0);
  if (!test::opencl_device()) return std::puts("SKIP: no OpenCL device"), 77;
  const Runner oracle = interpreter();
  const Runner subject = opencl(opt_level);
  std::uint64_t skipped = 0;
  for (std::uint64_t k = 0; k < count; ++k) {
    Case c = generate(seed + k, features);
    const std::optional<std::string> different = disagreement(c, oracle, subject);
    if (!different) continue;
    if (refused(*different)) {
      ++skipped;
      continue;
    }
    std::printf("seed %llu: interpreter and OpenCL: %s\n", static_cast<unsigned long long>(c.seed), different->c_str());
    const auto fails = [&](const Case& smaller) {
      if (invalid(smaller)) return false;
      const auto d = disagreement(smaller, oracle, subject);
      return d && !refused(*d);
    };
    if (shrinks && fails(c)) c = shrink(c, fails, shrink_budget);
    std::printf("%s\nnow: %s\nagain with: property_opencl --count 1 --seed %llu --size %d --opt-level %d\n", describe(c).c_str(),
                disagreement(c, oracle, subject).value_or("agree").c_str(), static_cast<unsigned long long>(seed + k), features.size,
                opt_level);
    const auto built = test::build_opencl(c.program, opt_level);
    std::printf("%s\n", built ? built->text.c_str() : built.error().message.c_str());
    return 1;
  }
  std::printf("%s: %llu programs from seed %llu, no mismatch; %llu more refused for what the target lacks\n",
              test::opencl_device()->info().name.c_str(), static_cast<unsigned long long>(count - skipped),
              static_cast<unsigned long long>(seed), static_cast<unsigned long long>(skipped));
  return 0;
}
