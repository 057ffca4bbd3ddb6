// Compares native code with the interpreter on random programs:
//   property_native [--count N] [--seed S] [--level sse4.2|avx2|avx512|all] [--opt-level 0..3] [--jobs J] [--size N] [--no-shrink]
//   [--keep-going]
// Programs have the seeds S, S + 1, ... The default level is the best that the CPU runs. The first mismatch is shrunk and
// printed, with --keep-going each is printed in a line; exit status 1.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

#include "compiler/passes/pipeline.h"
#include "emitters/llvm/loader_for_tests.h"
#include "tests/property/generator.h"
#include "tests/property/runners.h"
#include "tests/property/shrink.h"

using namespace sarek;
using namespace sarek::testgen;

namespace {

Runner native(emit::NativeLevel level, int opt_level) {
  return [=](const Case& c) -> Result<Outputs> {
    passes::PipelineOptions pipeline;
    pipeline.opt_level = opt_level;
    const auto lowered = passes::run_pipeline(c.program, emit::native_capabilities(level), pipeline);
    if (!lowered)
      return err("the pipeline refuses: " + (lowered.error().empty() ? std::string("without a word") : lowered.error().front().message));
    emit::NativeOptions options;
    options.level = level;
    options.opt_level = opt_level;
    const ir::Program* programs[] = {&*lowered};
    Result<emit::NativeImage> image = emit::emit_native(programs, options);
    if (!image) return err("the emitter fails: " + image.error().message);
    const emit::testing::LoadedImage loaded(std::move(image).value());
    Memory memory(c);
    const auto slots = interp::bind_arguments(*lowered, memory.launch());
    if (!slots) return err(slots.error().message);
    std::int64_t dynamic = 0;
    for (const std::int64_t n : c.dynamic_shared) dynamic += n * 8;
    loaded.run(0, *slots,
               {static_cast<std::int32_t>(c.grid[0]), static_cast<std::int32_t>(c.grid[1]), static_cast<std::int32_t>(c.grid[2])}, dynamic);
    return memory.outputs();
  };
}

struct Request {
  std::uint64_t count = 1000;
  std::uint64_t seed = 1;
  std::vector<emit::NativeLevel> levels;
  int opt_level = 2;
  int size = 6;  // statements at the top of a program, about: most time goes into compiling
  unsigned jobs = 0;
  bool shrinks = true;
  bool keeps_going = false;
};

constexpr emit::NativeLevel kLevels[] = {emit::NativeLevel::Sse42, emit::NativeLevel::Avx2, emit::NativeLevel::Avx512,
                                         emit::NativeLevel::Aarch64};

std::optional<Request> parse(int argc, char** argv) {
  Request r;
  std::string level;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--no-shrink") r.shrinks = false;
    if (name == "--keep-going") r.keeps_going = true;
    if (name == "--no-shrink" || name == "--keep-going") continue;
    if (i + 1 >= argc) return std::nullopt;
    const std::string value = argv[++i];
    try {
      if (name == "--count") r.count = std::stoull(value);
      else if (name == "--seed") r.seed = std::stoull(value);
      else if (name == "--level") level = value;
      else if (name == "--opt-level") r.opt_level = std::stoi(value);
      else if (name == "--size") r.size = std::stoi(value);
      else if (name == "--jobs") r.jobs = static_cast<unsigned>(std::stoul(value));
      else return std::nullopt;
    } catch (const std::exception&) { return std::nullopt; }
  }
  for (const emit::NativeLevel l : kLevels) {
    if (!emit::testing::cpu_runs(l)) continue;
    if (level.empty()) r.levels = {l};
    else if (level == "all" || level == emit::native_level_name(l)) r.levels.push_back(l);
  }
  if (r.levels.empty()) {
    std::fprintf(stderr, "property_native: this CPU runs no such level\n");
    return std::nullopt;
  }
  return r;
}

/// False when the two differ; prints a small case.
bool run_level(const Request& request, emit::NativeLevel level) {
  const ir::Capabilities capabilities = emit::native_capabilities(level);
  Features features;
  features.size = request.size;
  features.half_reductions = capabilities.f16_arithmetic && capabilities.bf16_arithmetic;  // refused elsewhere, by name
  const Runner oracle = interpreter();
  const Runner subject = native(level, request.opt_level);
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::optional<std::pair<std::uint64_t, std::string>> first;
  const auto work = [&] {
    for (std::uint64_t k = next++; k < request.count && !failed; k = next++) {
      const Case c = generate(request.seed + k, features);
      std::optional<std::string> d = disagreement(c, oracle, subject);
      if (!d) continue;
      const std::lock_guard<std::mutex> lock(mutex);
      failed = !request.keeps_going;
      if (request.keeps_going)
        std::printf("%s: seed %llu: %s\n", std::string(emit::native_level_name(level)).c_str(), static_cast<unsigned long long>(c.seed),
                    d->c_str()),
            std::fflush(stdout);
      if (!first || c.seed < first->first) first = {c.seed, std::move(*d)};
    }
  };
  std::vector<std::thread> others;
  const unsigned jobs = request.jobs ? request.jobs : std::max(1u, std::thread::hardware_concurrency());
  for (unsigned i = 1; i < jobs; ++i) others.emplace_back(work);
  work();
  for (std::thread& t : others) t.join();
  const std::string name(emit::native_level_name(level));
  if (!first) {
    std::printf("%s: %llu programs from seed %llu, no mismatch\n", name.c_str(), static_cast<unsigned long long>(request.count),
                static_cast<unsigned long long>(request.seed));
    return true;
  }
  std::printf("%s: seed %llu: interpreter and native code: %s\n", name.c_str(), static_cast<unsigned long long>(first->first),
              first->second.c_str());
  if (request.keeps_going) return false;
  Case c = generate(first->first, features);
  const auto fails = [&](const Case& smaller) { return !invalid(smaller) && disagreement(smaller, oracle, subject); };
  if (request.shrinks && fails(c)) c = shrink(c, fails);
  std::printf("%s\nnow: %s\nagain with: property_native --count 1 --seed %llu --level %s --opt-level %d --size %d\n", describe(c).c_str(),
              disagreement(c, oracle, subject).value_or("agree").c_str(), static_cast<unsigned long long>(first->first), name.c_str(),
              request.opt_level, request.size);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Request> request = parse(argc, argv);
  if (!request) {
    std::fprintf(stderr,
                 "usage: property_native [--count N] [--seed S] [--level sse4.2|avx2|avx512|all] [--opt-level 0..3] [--jobs J] [--size N] "
                 "[--no-shrink] [--keep-going]\n");
    return 2;
  }
  bool good = true;
  for (const emit::NativeLevel level : request->levels) good = run_level(*request, level) && good;
  return good ? 0 : 1;
}
