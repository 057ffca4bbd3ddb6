// The order of a compile: read, check, lower, ask the policy, optimise, then per target legalise and emit, and put everything into a
// package.
#include "compiler/driver/compile.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <tuple>

#include "compiler/driver/describe.h"
#include "compiler/driver/front_end.h"
#include "compiler/driver/header.h"
#include "compiler/driver/native_backend.h"
#include "compiler/driver/policy_input.h"
#include "compiler/ir/printer.h"
#include "compiler/passes/pipeline.h"
#include "compiler/spec/proof.h"
#include "emitters/clike/printer.h"
#include "runtime/artifact/package.h"

namespace sarek::driver {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kCompiler = "sarekc " SAREK_VERSION;

std::vector<std::uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

/// One kernel on its way to the targets.
struct Work {
  const ir::Program* lowered = nullptr;
  std::optional<ir::Program> optimised;
};

class Compiler {
 public:
  Compiler(const Request& request, Compilation& out) : request_(request), out_(out) {}

  void run() {
    if (request_.emit == Emit::Ast) {
      time("parse", [&] { emit_ast(); });
      return;
    }
    FrontEndResult front;
    const Clock::time_point start = Clock::now();
    front = run_front_end(request_, out_.sources, out_.diagnostics, out_.dependencies);
    out_.times.push_back({"front end", since(start)});
    if (out_.diagnostics.has_errors()) return;
    out_.programs = std::move(front.programs);
    interface_ = std::move(front.interface);
    out_.tests = std::move(front.tests);
    if (!request_.only_kernel.empty()) {
      std::erase_if(out_.programs, [&](const ir::Program& p) { return p.name != request_.only_kernel; });
      if (out_.programs.empty()) {
        out_.diagnostics.report(DiagnosticKind::UnknownKernel, {}, "the module has no kernel `" + request_.only_kernel + "`");
        return;
      }
    }
    std::vector<std::string> kernels;
    for (const ir::Program& p : out_.programs) kernels.push_back(p.name);
    policy_ = load_policy(request_, kernels, out_.sources, out_.diagnostics, out_.dependencies);
    out_.policy_digest = policy_.digest;
    out_.manifest = policy_.manifest_path;
    // Grants that the environment revoked are heard of with the decisions of their kernels.
    policy_.store->set_reporter([this](const policy::Event& event) {
      if (const auto* ignored = std::get_if<policy::IgnoredGrant>(&event))
        out_.ignored_grants.push_back({*ignored, place_of(policy_, *ignored), out_.decisions.size() + 1});
    });
    if (out_.diagnostics.has_errors()) return;
    if (request_.emit == Emit::Nothing) {
      out_.output.emplace();
      return;
    }
    compile_targets();
  }

 private:
  static double since(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

  template <class Step>
  void time(std::string name, Step step) {
    const Clock::time_point start = Clock::now();
    step();
    out_.times.push_back({std::move(name), since(start)});
  }

  void fail_internally(const std::string& message, SourceRange range = {}) {
    out_.internal_fault = true;
    out_.diagnostics.report(DiagnosticKind::InternalError, range, message);
  }

  void emit_ast() {
    if (std::optional<std::string> text = ast_text(request_, out_.sources, out_.diagnostics, out_.dependencies);
        text && !out_.diagnostics.has_errors())
      out_.output = bytes_of(*text);
  }

  passes::PipelineOptions pipeline_options() {
    passes::PipelineOptions options;
    options.opt_level = request_.opt_level;
    options.checked = request_.checked;
    options.store = policy_.store.get();
    options.on_decision = [this](const policy::Record& record, SourceRange range) { add_decision(out_, record, range); };
    options.stop_after = request_.stop_after;
    options.after_pass = [this](std::string_view pass, const ir::Program& program) {
      if (pass == request_.dump_after) out_.dump += ir::print(program);
      if (pass == request_.stop_after) stopped_ = true;
    };
    options.time_sink = [this](std::string_view pass, std::chrono::nanoseconds took) {
      const double ms = std::chrono::duration<double, std::milli>(took).count();
      const auto found = std::find_if(pass_times_.begin(), pass_times_.end(), [&](const StepTime& t) { return t.name == pass; });
      if (found == pass_times_.end()) pass_times_.push_back({std::string(pass), ms});
      else found->milliseconds += ms;
    };
    return options;
  }

  /// The program, or none after its diagnostics were taken over.
  std::optional<ir::Program> keep(Result<ir::Program, std::vector<Diagnostic>> result) {
    if (result) return std::move(result).value();
    for (Diagnostic& d : result.error()) {
      Diagnostic& kept = out_.diagnostics.report(d.kind, d.range, d.message);
      kept.notes = d.notes;
      kept.fixes = d.fixes;
      out_.internal_fault = out_.internal_fault || d.kind == DiagnosticKind::InternalError;
    }
    return std::nullopt;
  }

  void compile_targets() {
    const passes::PipelineOptions options = pipeline_options();
    std::vector<ir::Program> optimised;
    time("optimise", [&] {
      for (const ir::Program& p : out_.programs)
        if (std::optional<ir::Program> done = keep(passes::optimise(p, options))) optimised.push_back(std::move(*done));
    });
    if (out_.diagnostics.has_errors()) return;
    if (request_.prove_accesses && !request_.checked)
      time("prove accesses", [&] {
        for (const ir::Program& p : optimised) add_unproven(p);
      });
    if (!request_.stop_after.empty() && !stopped_) {
      // The pass is one of those that prepare a program for a target, if it runs at all: for the first one named.
      std::vector<ir::Program> lowered;
      time("lower", [&] { lowered = lower_for_first_target(optimised, options); });
      if (out_.diagnostics.has_errors()) return;
      if (stopped_) optimised = std::move(lowered);
    }
    if (request_.emit == Emit::Ir || !request_.stop_after.empty()) {
      emit_ir(optimised);
      return;
    }
    artifact::Package package;
    package.compiler = kCompiler;
    package.module = module_name(request_.input_name);
    package.policy_digest = policy_.digest;
    for (const ir::Program& p : out_.programs) package.kernels.push_back(describe_kernel(p, out_.sources, request_.checked));
    if (request_.emit == Emit::Header) {
      out_.package = std::move(package);
      const std::string name_space = request_.header_namespace.empty() ? cpp_namespace(request_.input_name) : request_.header_namespace;
      out_.output = bytes_of(generate_header(interface_, out_.package->kernels, name_space, request_.input_name));
      return;
    }
    std::vector<Target> targets = request_.targets;
    if (targets.empty()) targets.push_back({TargetKind::Native, ""});
    for (const Target& target : targets) {
      time(target_text(target), [&] { compile_target(target, optimised, options, package); });
      if (out_.diagnostics.has_errors()) return;
    }
    out_.times.insert(out_.times.end(), pass_times_.begin(), pass_times_.end());
    if (request_.emit == Emit::Package) {
      time("package", [&] { out_.output = artifact::write_package(package); });
    } else if (request_.emit == Emit::Metadata) {
      out_.output = bytes_of(artifact::index_text(package));
    } else {
      out_.output = bytes_of(text_);
    }
    out_.package = std::move(package);
  }

  /// Copies that unrolling made of one access are told once.
  void add_unproven(const ir::Program& program) {
    std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::string>> told;  // file, begin, end, why
    for (const spec::AccessProof& proof : spec::prove_in_bounds(program)) {
      if (proof.proven) continue;
      SourceRange range = program.graph.range(proof.access);
      if (!range) range = program.range;
      if (told.emplace(range.file.index(), range.begin, range.end, proof.reason).second)
        out_.unproven.push_back({program.name, proof.reason, range});
    }
  }

  void emit_ir(const std::vector<ir::Program>& programs) {
    std::vector<const ir::Program*> list;
    // Without optimisation the lowered form is what one wants to read, and what --stop-after shows is the pass's result.
    for (const ir::Program& p : programs) list.push_back(&p);
    out_.output = bytes_of(request_.debug_info ? ir::print_module(list, {&out_.sources}) : ir::print_module(list));
  }

  void compile_target(const Target& target, const std::vector<ir::Program>& optimised, const passes::PipelineOptions& options,
                      artifact::Package& package) {
    switch (target.kind) {
      case TargetKind::Interp: return compile_interp(package);
      case TargetKind::Native: return compile_native(target, optimised, options, package);
      case TargetKind::Opencl: return compile_opencl(optimised, options, package);
    }
  }

  std::vector<ir::Program> lower_for_first_target(const std::vector<ir::Program>& programs, const passes::PipelineOptions& options) {
    const Target target = request_.targets.empty() ? Target{TargetKind::Native, ""} : request_.targets.front();
    if (target.kind == TargetKind::Interp) return programs;
    if (target.kind == TargetKind::Opencl) return legalise_all(programs, emit::opencl_dialect().capabilities, options);
    const Result<const NativeBackend*> backend = native_backend();
    if (backend) return legalise_all(programs, (*backend)->capabilities(text_level(target)), options);
    out_.diagnostics.report(DiagnosticKind::ToolMissing, {}, backend.error().message);
    return {};
  }

  /// Text is of one level: the one asked for, or AVX2, which most CPUs of today have.
  static std::string text_level(const Target& target) {
    const std::vector<std::string> levels = native_levels(target.level);
    return levels.size() > 1 ? "avx2" : levels.front();
  }

  /// The oracle runs the program as it was lowered: no pass stands between the source and its meaning.
  void compile_interp(artifact::Package& package) {
    std::vector<const ir::Program*> list;
    for (const ir::Program& p : out_.programs) list.push_back(&p);
    // Places travel under base names, so that a package is the same wherever its sources lie.
    SourceManager base_names;
    for (std::uint32_t f = 0; f < out_.sources.file_count(); ++f)
      base_names.add(base_name(out_.sources.name(FileId(f))), std::string(out_.sources.text(FileId(f))));
    const std::string text = ir::print_module(list, {&base_names});
    if (request_.emit == Emit::Source) text_ += text;
    package.blobs.push_back({"ir", bytes_of(text)});
    for (std::size_t i = 0; i < package.kernels.size(); ++i) {
      artifact::Variant v;
      v.target = "interp";
      v.blob = static_cast<int>(package.blobs.size() - 1);
      v.entry_name = out_.programs[i].name;
      v.shared_bytes = ir::static_shared_bytes(out_.programs[i]);
      package.kernels[i].variants.push_back(std::move(v));
    }
  }

  /// Programs legalised for a target; empty when one could not be.
  std::vector<ir::Program> legalise_all(const std::vector<ir::Program>& programs, const ir::Capabilities& capabilities,
                                        const passes::PipelineOptions& options) {
    std::vector<ir::Program> ready;
    for (const ir::Program& p : programs)
      if (std::optional<ir::Program> done = keep(passes::lower_for_target(p, capabilities, options))) ready.push_back(std::move(*done));
    if (ready.size() != programs.size()) ready.clear();
    return ready;
  }

  /// The kernels whose code for a generator was made under a grant: they get an exact variant too, for when the environment revokes it.
  std::vector<std::size_t> granted_kernels(const std::string& generator) const {
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < out_.programs.size(); ++i)
      if (!grants_used(out_, out_.programs[i].name, "gen:" + generator).empty()) indices.push_back(i);
    return indices;
  }

  static std::vector<ir::Program> pick(const std::vector<ir::Program>& programs, const std::vector<std::size_t>& indices) {
    std::vector<ir::Program> picked;
    for (const std::size_t i : indices) picked.push_back(programs[i]);
    return picked;
  }

  std::vector<std::size_t> all_kernels() const {
    std::vector<std::size_t> indices(out_.programs.size());
    for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = i;
    return indices;
  }

  /// As the options of the compile, but with a policy that grants nothing, and unheard: for exact variants.
  passes::PipelineOptions exact_options(passes::PipelineOptions options) {
    if (!exact_store_) {
      policy::StoreOptions nothing_granted;
      nothing_granted.environment = request_.environment;
      nothing_granted.environment.explain = false;
      exact_store_ = std::make_unique<policy::Store>(std::move(nothing_granted));
    }
    options.store = exact_store_.get();
    options.on_decision = nullptr;
    options.on_unroll = nullptr;
    options.after_pass = nullptr;
    return options;
  }

  void compile_opencl(const std::vector<ir::Program>& optimised, const passes::PipelineOptions& options, artifact::Package& package) {
    const emit::Dialect& dialect = emit::opencl_dialect();
    add_opencl(dialect, optimised, all_kernels(), options, true, package);
    if (out_.diagnostics.has_errors() || request_.emit != Emit::Package) return;
    const std::vector<std::size_t> granted = granted_kernels(dialect.capabilities.generator);
    if (!granted.empty()) add_opencl(dialect, pick(optimised, granted), granted, exact_options(options), false, package);
  }

  void add_opencl(const emit::Dialect& dialect, const std::vector<ir::Program>& optimised, const std::vector<std::size_t>& indices,
                  const passes::PipelineOptions& options, bool under_policy, artifact::Package& package) {
    const std::vector<ir::Program> ready = legalise_all(optimised, dialect.capabilities, options);
    if (out_.diagnostics.has_errors()) return;
    std::vector<const ir::Program*> list;
    for (const ir::Program& p : ready) list.push_back(&p);
    emit::PrintOptions print;
    print.line_directives = request_.debug_info;
    print.sources = &out_.sources;
    print.checked = request_.checked;
    const Result<emit::PrintedModule> printed = emit::print_clike(dialect, list, print);
    if (!printed) return fail_internally(printed.error().message);
    if (request_.emit == Emit::Source) text_ += printed->text;
    package.blobs.push_back({"opencl-c", bytes_of(printed->text)});
    for (std::size_t i = 0; i < indices.size(); ++i) {
      artifact::Variant v;
      v.target = "opencl";
      v.blob = static_cast<int>(package.blobs.size() - 1);
      v.entry_name = printed->kernels[i].entry;
      v.requires_ = printed->kernels[i].requires_;
      v.shared_bytes = printed->kernels[i].shared_bytes;
      for (const emit::CheckSite& site : printed->kernels[i].sites)
        v.fault_sites.push_back(describe_site(site.kind, site.detail, site.range, &out_.sources));
      if (under_policy) add_grants(v, ready[i].name, dialect.capabilities.generator);
      package.kernels[indices[i]].variants.push_back(std::move(v));
    }
  }

  void compile_native(const Target& target, const std::vector<ir::Program>& optimised, const passes::PipelineOptions& options,
                      artifact::Package& package) {
    const Result<const NativeBackend*> backend = native_backend();
    if (!backend) {
      out_.diagnostics.report(DiagnosticKind::ToolMissing, {}, backend.error().message);
      return;
    }
    const bool as_text = request_.emit == Emit::Asm || request_.emit == Emit::LlvmIr || request_.emit == Emit::Object;
    const std::string level = as_text ? text_level(target) : target.level;
    std::vector<NativeJob> jobs;
    std::vector<std::vector<std::size_t>> kernels;  // per job: which of the package's
    std::size_t under_policy = 0;                   // jobs before this one were made under the policy, the others are exact
    const auto add_jobs = [&](const std::vector<std::size_t>& indices, const passes::PipelineOptions& how) {
      for (const std::string& name : native_levels(level)) {
        NativeJob job;
        job.level = name;
        job.programs = legalise_all(pick(optimised, indices), (*backend)->capabilities(name), how);
        if (out_.diagnostics.has_errors()) return;
        jobs.push_back(std::move(job));
        kernels.push_back(indices);
      }
    };
    add_jobs(all_kernels(), options);
    under_policy = jobs.size();
    const std::string generator = (*backend)->capabilities(native_levels(level).front()).generator;
    if (const std::vector<std::size_t> granted = granted_kernels(generator); !granted.empty() && request_.emit == Emit::Package)
      add_jobs(granted, exact_options(options));
    if (out_.diagnostics.has_errors()) return;
    NativeRequest native;
    native.opt_level = request_.opt_level;
    native.debug_info = request_.debug_info;
    native.checked = request_.checked;
    native.sources = &out_.sources;
    native.emit = request_.emit;
    run_native_jobs(**backend, native, jobs);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      NativeJob& job = jobs[j];
      if (!job.error.empty()) return fail_internally("native " + job.level + ": " + job.error);
      if (!job.text.empty()) {
        text_ += job.text;
        continue;
      }
      package.blobs.push_back({"native", std::move(job.image)});
      for (std::size_t i = 0; i < kernels[j].size(); ++i) {
        artifact::Variant v = job.variants[i];
        v.blob = static_cast<int>(package.blobs.size() - 1);
        if (j < under_policy) add_grants(v, job.programs[i].name, generator);
        package.kernels[kernels[j][i]].variants.push_back(std::move(v));
      }
    }
  }

  /// Notes the grants that the kernel's code for this generator was made under, so that the runtime can fall back when one is revoked.
  void add_grants(artifact::Variant& variant, const std::string& kernel, const std::string& generator) {
    for (const GrantUse& use : grants_used(out_, kernel, "gen:" + generator)) {
      if (std::find(variant.grants.begin(), variant.grants.end(), use.grant) == variant.grants.end()) variant.grants.push_back(use.grant);
      if (std::find(variant.optimisations.begin(), variant.optimisations.end(), use.optimisation) == variant.optimisations.end())
        variant.optimisations.push_back(use.optimisation);
    }
  }

  static std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

  static std::string module_name(const std::string& input) {
    const std::string base = base_name(input);
    return base.substr(0, base.find_last_of('.'));
  }

  const Request& request_;
  Compilation& out_;
  sema::ModuleInterface interface_;
  LoadedPolicy policy_;
  std::unique_ptr<policy::Store> exact_store_;
  std::vector<StepTime> pass_times_;
  std::string text_;
  bool stopped_ = false;  // the pass of --stop-after has run
};

}  // namespace

Compilation compile(const Request& request) {
  Compilation out;
  out.diagnostics = DiagnosticSink(request.warnings);
  Compiler(request, out).run();
  if (out.diagnostics.has_errors()) out.output.reset();
  return out;
}

}  // namespace sarek::driver
