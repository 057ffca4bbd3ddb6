// Round trip of the text form over random programs, whole ones and arbitrary lists of nodes, and that reading keeps a program whole.
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "compiler/ir/printer.h"
#include "compiler/spec/read_text.h"
#include "compiler/spec/test_random_program.h"
#include "compiler/spec/verify.h"

using namespace sarek;
using namespace sarek::ir;

namespace {

/// Any text of bytes.
std::string random_text(std::mt19937_64& random) {
  std::string s;
  for (auto n = random() % 6; n > 0; --n) s += static_cast<char>(random());
  return s;
}

Arg random_arg(std::mt19937_64& random) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto type = [&] { return static_cast<Type>(pick(static_cast<int>(Type::F64) + 1)); };
  const auto ints = [&] {
    std::vector<int> v;
    for (int n = pick(4); n > 0; --n) v.push_back(static_cast<int>(random()));
    return v;
  };
  const auto texts = [&] {
    std::vector<std::string> v;
    for (int n = pick(3); n > 0; --n) v.push_back(random_text(random));
    return v;
  };
  switch (pick(16)) {
    case 0: return std::monostate{};
    case 1: return ConstValue::of_int(static_cast<Int128>(random()) * static_cast<std::int64_t>(random()));
    case 2: return ConstValue::of_float(std::bit_cast<double>(random()));
    case 3: {
      ParamArg p;
      p.slot = static_cast<int>(random());
      p.type = type();
      if (pick(2)) p.size = static_cast<std::int64_t>(random());
      if (pick(2)) p.range = std::pair(static_cast<std::int64_t>(random()), static_cast<std::int64_t>(random()));
      if (pick(2)) p.bound = static_cast<std::int64_t>(random());
      p.multiple_of = pick(3);
      p.name = random_text(random);
      p.space = static_cast<AddressSpace>(pick(5));
      p.devices = texts();
      p.is_volatile = pick(2) != 0;
      p.bind_on_realize = pick(2) != 0;
      p.phase = pick(16);
      p.align = 1 << pick(5);
      return p;
    }
    case 4: return RangeArg{ints(), static_cast<AxisType>(pick(10))};
    case 5: return NameArg{random_text(random)};
    case 6: return TypeArg{type()};
    case 7: return InsArg{static_cast<Ins>(pick(static_cast<int>(Ins::Trap) + 1)), type(), random_text(random)};
    case 8: return CodeArg{random_text(random), type()};
    case 9: return CallArg{random_text(random), pick(2) != 0, random_text(random), type()};
    case 10: return WmmaArg{{pick(99), pick(99), pick(99)}, type(), pick(64), ints()};
    case 11: return ReduceArg{static_cast<Op>(pick(kOpCount)), pick(4), texts()};
    case 12: return StageArg{texts(), static_cast<AddressSpace>(pick(5)), pick(2) != 0};
    case 13: return DeviceArg{texts()};
    case 14: return AxesArg{ints()};
    default:
      return pick(2) ? Arg(FlipArg{{pick(2) != 0, pick(2) != 0}})
                     : Arg(BytesArg{{static_cast<std::uint8_t>(random()), static_cast<std::uint8_t>(random())}});
  }
}

/// Nodes of any operation, type and argument over earlier ones: not whole, but text all the same.
Program random_nodes(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Program p;
  p.name = random_text(random);
  p.module_file = random_text(random);
  p.wide = random() % 2;
  p.block = {static_cast<int>(random()), static_cast<int>(random()), static_cast<int>(random())};
  for (std::uint32_t i = 0; i < 40; ++i) {
    const Op op = static_cast<Op>(random() % kOpCount);
    const OpInfo& info = op_info(op);
    std::vector<NodeId> sources;
    const int most = std::min(info.max_sources, info.min_sources + 3);
    const int count = info.min_sources + static_cast<int>(random() % static_cast<unsigned>(most - info.min_sources + 1));
    if (count > 0 && p.body.empty()) continue;
    for (int s = 0; s < count; ++s) sources.push_back(p.body[random() % p.body.size()]);
    const Type type = static_cast<Type>(random() % (static_cast<unsigned>(Type::F64) + 1));
    p.body.push_back(p.graph.make_raw(op, type, sources, random_arg(random), i + 1));
  }
  return p;
}

void check_round_trip(const Program& p) {
  const std::string text = print_module({&p});
  SourceManager sources;
  DiagnosticSink sink;
  const auto again = parse_program_text(sources, sources.add("p.sir", text), sink);
  INFO(render_text(sources, sink.diagnostics(), false));
  REQUIRE(again);
  REQUIRE(again->size() == 1);
  const Program& q = again->front();
  REQUIRE(print_module({&q}) == text);
  REQUIRE(q.body.size() == p.body.size());
  for (std::size_t i = 0; i < p.body.size(); ++i) {
    const bool same = p.graph.op(p.body[i]) == q.graph.op(q.body[i]) && p.graph.type(p.body[i]) == q.graph.type(q.body[i]) &&
                      p.graph.arg(p.body[i]) == q.graph.arg(q.body[i]);
    REQUIRE(same);
  }
  // With places: those of q are its lines in p.sir; they come back, and are written the same again.
  const std::string placed = std::string(kTextHeader) + "\n" + print(q, {&sources});
  const auto third = parse_program_text(sources, sources.add("q.sir", placed), sink);
  REQUIRE(third);
  REQUIRE(std::string(kTextHeader) + "\n" + print(third->front(), {&sources}) == placed);
  REQUIRE(spec::verify_program(q, 1000).size() == spec::verify_program(p, 1000).size());
}

}  // namespace

TEST_CASE("random programs come back from text, whole") {
  for (std::uint32_t seed = 1; seed <= 400; ++seed) {
    INFO("seed " << seed);
    const Program p = spec::test::RandomProgram(seed).run();
    REQUIRE(spec::verify_program(p).empty());
    check_round_trip(p);
  }
}

TEST_CASE("random nodes of every operation and argument come back from text; verifying them ends") {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    INFO("seed " << seed);
    check_round_trip(random_nodes(seed));
  }
}
