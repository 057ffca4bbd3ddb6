// libFuzzer target: any bytes through the reader of the IR's text form. What is read is printed and read again to the same text; what is
// whole has bounds and proofs; what is broken has failures. Seeds: golden/*.sir and the example in compiler/ir/README.md.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "compiler/ir/printer.h"
#include "compiler/ir/text_parser.h"
#include "compiler/spec/bounds.h"
#include "compiler/spec/proof.h"
#include "compiler/spec/spec.h"
#include "compiler/spec/verify.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

std::string module_text(const std::vector<sarek::ir::Program>& programs) {
  std::vector<const sarek::ir::Program*> list;
  for (const sarek::ir::Program& p : programs) list.push_back(&p);
  return sarek::ir::print_module(list);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sarek;
  SourceManager sources;
  const FileId file = sources.add("fuzz.sir", std::string(reinterpret_cast<const char*>(data), size));
  DiagnosticSink sink;
  const auto programs = ir::parse_program_text(sources, file, sink);
  for (const Diagnostic& d : sink.diagnostics()) require(d.range.begin <= d.range.end && d.range.end <= size);
  (void)render_text(sources, sink.diagnostics(), false);
  require(programs.has_value() != sink.has_errors());
  if (!programs) return 0;
  const std::string once = module_text(*programs);
  const auto again = ir::parse_program_text(sources, sources.add("again.sir", once), sink);
  require(again.has_value());
  require(module_text(*again) == once);
  for (const ir::Program& p : *programs) {
    const std::string placed = std::string(ir::kTextHeader) + "\n" + ir::print(p, {&sources});
    const auto third = ir::parse_program_text(sources, sources.add("placed.sir", placed), sink);
    require(third.has_value() && std::string(ir::kTextHeader) + "\n" + ir::print(third->front(), {&sources}) == placed);
    const std::vector<spec::ProgramFailure> failures = spec::verify_program(p);
    (void)spec::describe(p, failures);
    // Rules of every stage and bounds must stand any graph.
    spec::BoundsTable bounds(p.graph, &p);
    for (const ir::NodeId id : p.body) {
      (void)bounds.of(id);
      (void)ir::render(p.graph, id, 100);
    }
    if (p.body.size() <= 200)
      for (const spec::Spec* s : {&spec::shared(), &spec::tensor(), &spec::program(), &spec::full(), &spec::kernel_graph()}) {
        spec::Context context(p.graph, {});
        for (const ir::NodeId id : p.body) (void)s->decide(context, id);
      }
    if (failures.empty()) (void)spec::prove_in_bounds(p);
  }
  return 0;
}
