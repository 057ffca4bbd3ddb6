// sarekc test: runs the `test` items of source files: every case on the device, compared with the expected values or with the interpreter.
// A failing random case is shrunk before it is shown.
#include <algorithm>
#include <iostream>
#include <optional>

#include "tools/sarekc/command_line.h"
#include "tools/sarekc/kernel_runner.h"
#include "tools/sarekc/test_values.h"

namespace sarek::tool {
namespace {

constexpr int kShrinkAttempts = 400;
constexpr std::int64_t kShownCells = 12;

/// One test on one device.
class TestRun {
 public:
  TestRun(const driver::Compilation& compilation, const sema::TestInfo& test, std::string device)
      : compilation_(compilation), test_(test), device_(std::move(device)) {
    for (const artifact::Kernel& k : compilation.package->kernels)
      if (k.name == test.kernel) kernel_ = &k;
  }

  /// The description of the smallest failure found; none when all cases pass.
  std::optional<std::string> run() {
    if (!kernel_) return "the kernel `" + test_.kernel + "` was not compiled";
    for (std::int64_t c = 0; c < test_.cases; ++c) {
      Choices choices(test_.seed * 1000003 + static_cast<std::uint64_t>(c));
      if (std::optional<std::string> failure = run_case(choices)) return shrink(choices.made(), std::move(*failure), c);
    }
    return std::nullopt;
  }

 private:
  std::optional<std::string> run_case(Choices& choices) {
    Result<TestCase> made = make_case(test_, choices);
    if (!made) return made.error().message;
    LaunchPlan plan;
    for (std::size_t i = 0; i < made->grid.size() && i < 3; ++i) plan.grid[i] = made->grid[i];
    plan.dynamic_shared = made->dynamic_shared;
    for (std::size_t i = 0; i < made->arguments.size(); ++i) {
      Result<std::vector<std::uint8_t>> bytes = layout_bytes(made->arguments[i], kernel_->params[i]);
      if (!bytes) return bytes.error().message;
      plan.arguments.push_back({std::move(bytes).value()});
    }
    const Result<LaunchOutcome, RunFault> outcome = run_kernel(*compilation_.output, device_, *kernel_, plan);
    if (!test_.error.empty()) {
      if (outcome) return "the error `" + test_.error + "` was expected, the kernel ran to its end";
      if (!matches_error(outcome.error().message)) return "the error `" + test_.error + "` was expected, but: " + outcome.error().message;
      return std::nullopt;
    }
    if (!outcome) return outcome.error().message;
    if (std::optional<std::string> difference = check_values(*made, *outcome)) return inputs(*made) + *difference;
    if (!test_.same_as.empty()) {
      const Result<LaunchOutcome, RunFault> other = run_kernel(*compilation_.output, test_.same_as, *kernel_, plan);
      if (!other) return test_.same_as + ": " + other.error().message;
      std::int64_t count = 0;
      std::int64_t compared = 0;
      const std::vector<Difference> differences = compare_results(*kernel_, outcome->arguments, other->arguments, 1, count, compared);
      if (count) {
        const Difference& d = differences[0];
        return inputs(*made) + kernel_->params[d.param].name + "[" + std::to_string(d.element) + "]" +
               (d.path.empty() ? "" : "." + d.path) + " is " + d.left + " on " + device_ + " and " + d.right + " on " + test_.same_as +
               " (" + std::to_string(count) + " of " + std::to_string(compared) + " values differ)";
      }
    }
    return std::nullopt;
  }

  /// Errors carry the interpreter's kind ("Array_bounds_error") or words; a test names it as "out-of-bounds", "array-bounds-error" or any
  /// part of the message.
  bool matches_error(const std::string& message) const {
    const auto fold = [](std::string text) {
      for (char& c : text) c = c == '_' || c == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      return text;
    };
    const std::string text = fold(message);
    const std::string wanted = fold(test_.error);
    if (text.find(wanted) != std::string::npos) return true;
    return wanted == "out-of-bounds" && (text.find("array-bounds") != std::string::npos || text.find("is-outside") != std::string::npos);
  }

  std::optional<std::string> check_values(const TestCase& made, const LaunchOutcome& outcome) const {
    for (std::size_t e = 0; e < test_.expectations.size(); ++e) {
      const auto p = static_cast<std::size_t>(test_.expectations[e].param);
      const artifact::Param& param = kernel_->params[p];
      const Result<std::vector<std::uint8_t>> expected = layout_bytes(made.expectations[e], param);
      if (!expected) return expected.error().message;
      const std::vector<std::uint8_t>& actual = outcome.arguments[p].bytes;
      if (expected->size() != actual.size())
        return "`" + param.name + "` has " + std::to_string(actual.size() / static_cast<std::size_t>(param.size)) + " elements, " +
               std::to_string(expected->size() / static_cast<std::size_t>(param.size)) + " are expected";
      for (std::size_t i = 0; i * static_cast<std::size_t>(param.size) < actual.size(); ++i)
        for (const artifact::Field& f : param.fields) {
          const std::size_t at = i * static_cast<std::size_t>(param.size) + static_cast<std::size_t>(f.offset);
          if (!same_value(f.type, actual.data() + at, expected->data() + at))
            return param.name + "[" + std::to_string(i) + "]" + (f.path.empty() ? "" : "." + f.path) + " is " +
                   format_scalar(f.type, actual.data() + at) + ", expected " + format_scalar(f.type, expected->data() + at);
        }
    }
    return std::nullopt;
  }

  std::string inputs(const TestCase& made) const {
    std::string text;
    for (std::size_t i = 0; i < made.arguments.size(); ++i) {
      const TestValue& v = made.arguments[i];
      const artifact::Param& param = kernel_->params[i];
      text += param.name + " = " + (param.is_buffer ? "[" : "");
      for (std::size_t c = 0; c < v.cells.size(); ++c) {
        if (static_cast<std::int64_t>(c) == kShownCells) {
          text += ", ... " + std::to_string(v.cells.size() - c) + " more";
          break;
        }
        const artifact::Field& f = param.fields[c % std::max<std::size_t>(1, param.fields.size())];
        text += (c ? ", " : "") + format_scalar(f.type, reinterpret_cast<const std::uint8_t*>(&v.cells[c]));
      }
      text += std::string(param.is_buffer ? "]" : "") + "; ";
    }
    return "with " + text;
  }

  /// Makes the choices of a failing case smaller while it fails: first blocks of them zero, then single ones halved.
  std::string shrink(std::vector<std::uint64_t> choices, std::string failure, std::int64_t number) {
    int attempts = 0;
    const auto still_fails = [&](const std::vector<std::uint64_t>& candidate) {
      if (++attempts > kShrinkAttempts) return false;
      Choices replay(candidate);
      std::optional<std::string> again = run_case(replay);
      if (!again) return false;
      failure = std::move(*again);
      return true;
    };
    for (std::size_t length = choices.size(); length >= 1; length /= 2)
      for (std::size_t at = 0; at < choices.size() && attempts < kShrinkAttempts; at += length) {
        const auto first = choices.begin() + static_cast<std::ptrdiff_t>(at);
        const auto last = choices.begin() + static_cast<std::ptrdiff_t>(std::min(choices.size(), at + length));
        if (std::all_of(first, last, [](std::uint64_t c) { return c == 0; })) continue;
        std::vector<std::uint64_t> candidate = choices;
        std::fill(candidate.begin() + static_cast<std::ptrdiff_t>(at),
                  candidate.begin() + static_cast<std::ptrdiff_t>(std::min(choices.size(), at + length)), 0);
        if (still_fails(candidate)) choices = std::move(candidate);
      }
    for (std::size_t at = 0; at < choices.size() && attempts < kShrinkAttempts; ++at)
      while (choices[at] > 1 && attempts < kShrinkAttempts) {
        std::vector<std::uint64_t> candidate = choices;
        candidate[at] /= 2;
        if (!still_fails(candidate)) break;
        choices = std::move(candidate);
      }
    const std::string which = test_.cases > 1 ? "case " + std::to_string(number + 1) + " of " + std::to_string(test_.cases) + ": " : "";
    return which + failure;
  }

  const driver::Compilation& compilation_;
  const sema::TestInfo& test_;
  std::string device_;
  const artifact::Kernel* kernel_ = nullptr;
};

}  // namespace

int test_verb(std::vector<std::string> words) {
  CLI::App app("runs the tests written beside the kernels", "sarekc test");
  CompileOptions compile;
  std::vector<std::string> devices;
  std::string filter;
  compile.add_to(app, false);
  app.add_option("--device", devices, "devices to run on (default: SAREK_DEVICE, else native)")->delimiter(',')->allow_extra_args(false);
  app.add_option("--filter", filter, "only tests whose name contains this");
  int status = kDone;
  if (!parse(app, std::move(words), status)) return status;
  if (devices.empty()) devices.push_back(default_device());
  for (const std::string& device : devices) {
    if (const Result<std::vector<driver::Target>> target = driver::parse_targets(target_of(device)); !target)
      return complain(kUsage, target.error().message);
    if (const Result<Unit, RunFault> found = find_device(device); !found) return complain(kEnvironment, found.error().message);
  }
  int passed = 0;
  int failed = 0;
  DiagnosticOutput diagnostics(compile);
  for (const std::string& input : compile.inputs) {
    CompileOptions options = compile;
    for (const std::string& d : devices) options.targets.push_back(target_of(d));
    options.targets.emplace_back("interp");
    const Result<driver::Request> request = options.request(input);
    if (!request) return complain(kUsage, request.error().message);
    const driver::Compilation compilation = driver::compile(*request);
    diagnostics.show(compilation);
    if (!compilation.output) {
      status = std::max(status, exit_status(compilation));  // the other files' tests run all the same
      continue;
    }
    for (const sema::TestInfo& test : compilation.tests) {
      if (test.name.find(filter) == std::string::npos) continue;
      for (const std::string& device : devices) {
        const std::optional<std::string> failure = TestRun(compilation, test, device).run();
        (failure ? failed : passed) += 1;
        std::cout << (failure ? "FAILED " : "passed ") << input << ": " << test.name << " on " << device;
        if (test.cases > 1) std::cout << " (" << test.cases << " cases)";
        std::cout << "\n";
        if (failure) {
          const LineColumn at = compilation.sources.line_column(test.range.file, test.range.begin);
          std::cout << "  " << compilation.sources.name(test.range.file) << ":" << at.line << ":" << at.column << ": " << *failure << "\n";
        }
      }
    }
  }
  std::cout << passed << " passed, " << failed << " failed\n";
  if (status == kDone && passed + failed == 0 && !filter.empty()) return complain(kUsage, "no test's name contains `" + filter + "`");
  return std::max(status, failed ? kInputErrors : kDone);
}

}  // namespace sarek::tool
