// sarekc run: compiles a module in memory, runs one kernel, shows or stores what it wrote, and compares it bit by bit with another device.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iostream>
#include <map>

#include "tools/sarekc/array_file.h"
#include "tools/sarekc/command_line.h"
#include "tools/sarekc/kernel_runner.h"
#include "tools/sarekc/values.h"

namespace sarek::tool {
namespace {

constexpr std::int64_t kShownElements = 16;

struct RunOptions {
  CompileOptions compile;
  std::string kernel;
  std::vector<std::string> arguments;
  std::vector<std::string> outputs;
  std::string grid, threads, shared, device, compare;
  int repeat = 1;
  bool quiet = false;
  bool time = false;
};

/// What keeps a run from starting: the exit status and the words.
struct Complaint {
  int status = kUsage;
  std::string message;
};
ErrorHolder<Complaint> complaint(const std::string& message, int status = kUsage) { return {{status, message}}; }

/// `what` names the numbers in messages.
Result<std::vector<std::int64_t>> parse_numbers(const std::string& what, const std::string& text, char separator, std::size_t most) {
  std::vector<std::int64_t> numbers;
  std::size_t start = 0;
  while (true) {
    const std::size_t end = std::min(text.find(separator, start), text.size());
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data() + start, text.data() + end, value);
    if (error != std::errc() || stop != text.data() + end || value < 0) return err(what + ": `" + text + "` is no list of numbers");
    numbers.push_back(value);
    if (end == text.size()) break;
    start = end + 1;
  }
  if (numbers.size() > most) return err(what + ": `" + text + "` has more than " + std::to_string(most) + " numbers");
  return numbers;
}

/// Splits NAME=REST.
Result<std::pair<std::string, std::string>> named(const std::string& text) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos || at == 0) return err("`" + text + "` is not of the form NAME=VALUE");
  return std::pair{text.substr(0, at), text.substr(at + 1)};
}

Result<const artifact::Kernel*> pick_kernel(const artifact::Package& package, const std::string& name) {
  if (package.kernels.empty()) return err("the module has no kernel");
  if (name.empty() && package.kernels.size() == 1) return &package.kernels[0];
  std::string names;
  for (const artifact::Kernel& k : package.kernels) {
    if (k.name == name) return &k;
    names += (names.empty() ? "" : ", ") + k.name;
  }
  return err(name.empty() ? "the module has several kernels, name one: " + names
                          : "the module has no kernel `" + name + "`; it has " + names);
}

Result<std::vector<ArgumentValue>, Complaint> make_arguments(const artifact::Kernel& kernel, const std::vector<std::string>& given) {
  std::map<std::string, std::string> by_name;
  for (const std::string& text : given) {
    Result<std::pair<std::string, std::string>> pair = named(text);
    if (!pair) return complaint("--arg: " + pair.error().message);
    const bool known =
        std::any_of(kernel.params.begin(), kernel.params.end(), [&](const artifact::Param& p) { return p.name == pair->first; });
    if (!known) return complaint("kernel `" + kernel.name + "` has no parameter `" + pair->first + "`");
    if (!by_name.insert(*pair).second) return complaint("argument `" + pair->first + "` is given twice");
  }
  std::vector<ArgumentValue> values;
  for (std::size_t i = 0; i < kernel.params.size(); ++i) {
    const artifact::Param& param = kernel.params[i];
    const auto text = by_name.find(param.name);
    if (text == by_name.end())
      return complaint("parameter `" + param.name + "` has no value; pass --arg " + param.name +
                       (param.is_buffer ? "=random:1000 (or zeros, iota, fill, any, a list, @FILE)" : "=VALUE"));
    Result<std::vector<std::uint8_t>> bytes = std::vector<std::uint8_t>();
    int status = kUsage;
    if (param.is_buffer || param.fields.size() != 1 || !param.fields[0].path.empty()) {
      Result<Contents> contents = parse_contents(text->second);
      if (!contents) return complaint("argument `" + param.name + "`: " + contents.error().message);
      if (contents->kind == Contents::Kind::File) status = kEnvironment;
      if (contents->seed == 0) contents->seed = i + 1;  // two buffers of one call differ
      bytes = make_contents(*contents, param);
      if (bytes && !param.is_buffer && bytes->size() != static_cast<std::size_t>(param.size))
        return complaint("argument `" + param.name + "` is one `" + param.type + "`");
    } else {
      bytes = parse_scalar(param.type, text->second);
    }
    if (!bytes) return complaint("argument `" + param.name + "`: " + bytes.error().message, status);
    values.push_back({std::move(bytes).value()});
  }
  return values;
}

Result<std::array<std::int64_t, 3>> make_grid(const RunOptions& options, const artifact::Kernel& kernel,
                                              const std::vector<ArgumentValue>& arguments) {
  std::array<std::int64_t, 3> grid{1, 1, 1};
  if (!options.grid.empty() || !options.threads.empty()) {
    const bool is_grid = !options.grid.empty();
    Result<std::vector<std::int64_t>> numbers =
        parse_numbers(is_grid ? "--grid" : "--threads", is_grid ? options.grid : options.threads, ',', 3);
    if (!numbers) return Err(numbers.error());
    for (std::size_t i = 0; i < numbers->size(); ++i) {
      const std::int64_t n = (*numbers)[i];
      grid[i] = is_grid ? n : n / kernel.block[i] + (n % kernel.block[i] != 0);
      if (grid[i] < 1 || grid[i] > INT32_MAX)
        return err(std::string(is_grid ? "--grid" : "--threads") + ": 1 to 2147483647 blocks can be launched, not " +
                   std::to_string(grid[i]));
    }
    return grid;
  }
  // One thread an element of the longest buffer.
  std::int64_t longest = 1;
  for (std::size_t i = 0; i < kernel.params.size(); ++i)
    if (kernel.params[i].is_buffer)
      longest = std::max(longest, static_cast<std::int64_t>(arguments[i].bytes.size()) / kernel.params[i].size);
  grid[0] = (longest + kernel.block[0] - 1) / kernel.block[0];
  return grid;
}

std::string element_text(const artifact::Param& param, const std::uint8_t* bytes) {
  if (param.fields.size() == 1 && param.fields[0].path.empty()) return format_scalar(param.fields[0].type, bytes);
  std::string text = "{";
  for (const artifact::Field& f : param.fields)
    text += (text.size() > 1 ? ", " : "") + f.path + ": " + format_scalar(f.type, bytes + f.offset);
  return text + "}";
}

void print_buffer(const artifact::Param& param, const ArgumentValue& value, std::int64_t limit) {
  const auto count = static_cast<std::int64_t>(value.bytes.size()) / param.size;
  std::cout << param.name << ": [" << param.type << "; " << count << "] = [";
  for (std::int64_t e = 0; e < std::min(count, limit); ++e)
    std::cout << (e ? ", " : "") << element_text(param, value.bytes.data() + e * param.size);
  if (count > limit) std::cout << ", ... " << count - limit << " more";
  std::cout << "]\n";
}

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Where one --out goes.
struct Destination {
  std::size_t param = 0;
  enum class Form { Text, Npy, Raw, Png } form = Form::Text;
  std::string path;
  std::int64_t width = 0, height = 0;  // of a picture
};

/// Reads an --out before the kernel runs: what is wrong with it is said without the wait.
Result<Destination> parse_destination(const artifact::Kernel& kernel, const std::string& spec) {
  Result<std::pair<std::string, std::string>> pair = named(spec);
  if (!pair) return err("--out: " + pair.error().message);
  Destination out;
  out.path = pair->second;
  const auto is_it = [&](const artifact::Param& p) { return p.name == pair->first && p.is_buffer; };
  const auto param = std::find_if(kernel.params.begin(), kernel.params.end(), is_it);
  if (param == kernel.params.end()) return err("--out: kernel `" + kernel.name + "` has no buffer `" + pair->first + "`");
  out.param = static_cast<std::size_t>(param - kernel.params.begin());
  const std::size_t png = out.path.rfind(".png:");
  if (out.path == "-") {
    out.form = Destination::Form::Text;
  } else if (ends_with(out.path, ".npy")) {
    out.form = Destination::Form::Npy;
  } else if (ends_with(out.path, ".bin")) {
    out.form = Destination::Form::Raw;
  } else if (png != std::string::npos || ends_with(out.path, ".png")) {
    Result<std::vector<std::int64_t>> extent = std::vector<std::int64_t>();
    if (png != std::string::npos) extent = parse_numbers("--out", out.path.substr(png + 5), 'x', 2);
    if (!extent || extent->size() != 2) return err("a picture needs its size: --out " + pair->first + "=FILE.png:WIDTHxHEIGHT");
    out.form = Destination::Form::Png;
    out.path.resize(png + 4);
    out.width = (*extent)[0];
    out.height = (*extent)[1];
  } else {
    return err("--out: `" + out.path + "` is no .npy, .bin or .png file");
  }
  return out;
}

Result<Unit> store_output(const artifact::Kernel& kernel, const LaunchOutcome& outcome, const Destination& to) {
  const artifact::Param& param = kernel.params[to.param];
  const std::vector<std::uint8_t>& bytes = outcome.arguments[to.param].bytes;
  const auto count = static_cast<std::int64_t>(bytes.size()) / param.size;
  const bool scalar = param.fields.size() == 1 && param.fields[0].path.empty();
  // A record whose fields fill it with one type is stored with a second dimension; anything else as bytes.
  const bool uniform = !param.fields.empty() && std::all_of(param.fields.begin(), param.fields.end(), [&](const artifact::Field& f) {
    return f.type == param.fields[0].type;
  }) && param.size == static_cast<std::int64_t>(param.fields.size()) * scalar_bytes(param.fields[0].type);
  const Array array = scalar    ? Array{param.type, {count}, bytes}
                      : uniform ? Array{param.fields[0].type, {count, static_cast<std::int64_t>(param.fields.size())}, bytes}
                                : Array{"u8", {count, param.size}, bytes};
  switch (to.form) {
    case Destination::Form::Text: print_buffer(param, outcome.arguments[to.param], count); return Unit{};
    case Destination::Form::Npy: return write_npy(to.path, array);
    case Destination::Form::Raw: return write_raw(to.path, array);
    case Destination::Form::Png: return write_png(to.path, array, to.width, to.height);
  }
  return Unit{};
}

int report_comparison(const artifact::Kernel& kernel, const std::string& left_name, const std::string& right_name,
                      const LaunchOutcome& left, const LaunchOutcome& right) {
  std::int64_t count = 0;
  std::int64_t compared = 0;
  const std::vector<Difference> differences = compare_results(kernel, left.arguments, right.arguments, 10, count, compared);
  if (count == 0) {
    std::cout << kernel.name << ": " << left_name << " (" << left.variant << ") and " << right_name << " agree bit for bit in " << compared
              << " values\n";
    return kDone;
  }
  std::cout << kernel.name << ": " << count << " of " << compared << " values differ\n";
  for (const Difference& d : differences)
    std::cout << "  " << kernel.params[d.param].name << "[" << d.element << "]" << (d.path.empty() ? "" : "." + d.path) << ": " << left_name
              << " " << d.left << ", " << right_name << " " << d.right << "\n";
  return kInputErrors;
}

int run_status(const RunFault& fault) {
  const bool environment = fault.status == SAREK_NOT_FOUND || fault.status == SAREK_OUT_OF_MEMORY || fault.status == SAREK_UNSUPPORTED;
  return fault.status == SAREK_INTERNAL ? kCompilerFault : environment ? kEnvironment : kInputErrors;
}

}  // namespace

int run_verb(std::vector<std::string> words) {
  CLI::App app("runs a kernel of a source file on this machine", "sarekc run");
  RunOptions o;
  o.compile.add_to(app, false);
  app.add_option("--kernel,-k", o.kernel, "the kernel; not needed when the module has one");
  app.add_option("--arg,-a", o.arguments,
                 "NAME=VALUE for a scalar; for a buffer NAME=zeros:N, fill:N:V, iota:N, random:N[:LOW:HIGH[:SEED]], any:N[:SEED], [a, b, "
                 "...] or @FILE (.npy or raw)")
      ->allow_extra_args(false);
  app.add_option("--out", o.outputs, "NAME=FILE.npy, NAME=FILE.bin, NAME=FILE.png:WIDTHxHEIGHT, or NAME=- for all of it as text")
      ->allow_extra_args(false);
  app.add_option("--grid", o.grid, "blocks along x[,y[,z]]");
  app.add_option("--threads", o.threads, "threads along x[,y[,z]], rounded up to whole blocks (default: the longest buffer's length)");
  app.add_option("--shared", o.shared, "elements of each dynamic shared array, separated by commas");
  app.add_option("--device", o.device, "device id or target, see `sarekc devices` (default: SAREK_DEVICE, else native)");
  app.add_option("--compare", o.compare, "run on this device too and compare every bit");
  app.add_option("--repeat", o.repeat, "launches")->check(CLI::Range(1, 1000000));
  app.add_flag("--time", o.time, "show the best time of a launch");
  app.add_flag("--quiet,-q", o.quiet, "do not print buffers");
  int status = kDone;
  if (!parse(app, std::move(words), status)) return status;
  if (o.compile.inputs.size() != 1) return complain(kUsage, "`run` takes one source file");

  if (o.device.empty()) o.device = default_device();
  o.compile.targets = {target_of(o.device)};
  if (!o.compare.empty()) o.compile.targets.push_back(target_of(o.compare));
  Result<driver::Request> request = o.compile.request(o.compile.inputs[0]);
  if (!request) return complain(kUsage, request.error().message);
  request->only_kernel = o.kernel;
  const driver::Compilation compilation = driver::compile(*request);
  DiagnosticOutput(o.compile).show(compilation);
  if (!compilation.output) return exit_status(compilation);

  const Result<const artifact::Kernel*> kernel = pick_kernel(*compilation.package, o.kernel);
  if (!kernel) return complain(kUsage, kernel.error().message);
  LaunchPlan plan;
  std::vector<Destination> destinations;
  for (const std::string& output : o.outputs) {
    Result<Destination> to = parse_destination(**kernel, output);
    if (!to) return complain(kUsage, to.error().message);
    destinations.push_back(std::move(to).value());
  }
  Result<std::vector<ArgumentValue>, Complaint> arguments = make_arguments(**kernel, o.arguments);
  if (!arguments) return complain(arguments.error().status, arguments.error().message);
  plan.arguments = std::move(arguments).value();
  const Result<std::array<std::int64_t, 3>> grid = make_grid(o, **kernel, plan.arguments);
  if (!grid) return complain(kUsage, grid.error().message);
  plan.grid = *grid;
  if (!o.shared.empty()) {
    Result<std::vector<std::int64_t>> shared = parse_numbers("--shared", o.shared, ',', 64);
    if (!shared) return complain(kUsage, shared.error().message);
    plan.dynamic_shared = std::move(shared).value();
  }
  if (plan.dynamic_shared.size() != (*kernel)->dynamic_shared.size())
    return complain(kUsage, "kernel `" + (*kernel)->name + "` has " + std::to_string((*kernel)->dynamic_shared.size()) +
                                " dynamic shared arrays, --shared gives " + std::to_string(plan.dynamic_shared.size()) + " lengths");
  plan.repeat = o.repeat;

  const Result<LaunchOutcome, RunFault> outcome = run_kernel(*compilation.output, o.device, **kernel, plan);
  if (!outcome) return complain(run_status(outcome.error()), outcome.error().message);
  if (!o.quiet)
    for (std::size_t i = 0; i < (*kernel)->params.size(); ++i)
      if ((*kernel)->params[i].is_buffer && (*kernel)->params[i].access != "in")
        print_buffer((*kernel)->params[i], outcome->arguments[i], kShownElements);
  for (const Destination& to : destinations)
    if (const Result<Unit> r = store_output(**kernel, *outcome, to); !r) return complain(kEnvironment, r.error().message);
  if (o.time)
    std::cout << (*kernel)->name << " on " << o.device << " (" << outcome->variant << "): " << outcome->best_milliseconds << " ms, best of "
              << o.repeat << "\n";
  if (o.compare.empty()) return kDone;
  const Result<LaunchOutcome, RunFault> other = run_kernel(*compilation.output, o.compare, **kernel, plan);
  if (!other) return complain(run_status(other.error()), o.compare + ": " + other.error().message);
  return report_comparison(**kernel, o.device, o.compare, *outcome, *other);
}

}  // namespace sarek::tool
