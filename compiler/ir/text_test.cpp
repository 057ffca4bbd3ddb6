// The text form: what it looks like, that it comes back bit for bit, and what it refuses.
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <random>

#include "compiler/ir/printer.h"
#include "compiler/ir/test_programs.h"
#include "compiler/ir/text_parser.h"

using namespace sarek;
using namespace sarek::ir;

namespace {

struct Parsed {
  SourceManager sources;
  DiagnosticSink sink;
  std::optional<std::vector<Program>> programs;
  explicit Parsed(std::string text, const TextLimits& limits = {}) {
    const FileId file = sources.add("test.sir", std::move(text));
    programs = parse_program_text(sources, file, sink, limits);
  }
  std::string text() const { return render_text(sources, sink.diagnostics(), false); }
};

std::string module_text(const Program& p) { return print_module({&p}); }

/// print(parse(print(p))) == print(p), and what no printer shows is equal, too.
void check_round_trip(const Program& p) {
  const std::string text = module_text(p);
  Parsed parsed(text);
  INFO(text);
  INFO(parsed.text());
  REQUIRE(parsed.programs);
  REQUIRE(parsed.programs->size() == 1);
  const Program& q = parsed.programs->front();
  CHECK(module_text(q) == text);
  REQUIRE(q.body.size() == p.body.size());
  for (std::size_t i = 0; i < p.body.size(); ++i) {
    CHECK(p.graph.arg(p.body[i]) == q.graph.arg(q.body[i]));
    CHECK(p.graph[p.body[i]].tag == q.graph[q.body[i]].tag);
    CHECK(p.graph.type(p.body[i]) == q.graph.type(q.body[i]));
  }
  CHECK(q.block == p.block);
  CHECK(q.wide == p.wide);
  CHECK(q.slots.size() == p.slots.size());
  CHECK(q.params.size() == p.params.size());
}

std::string body(const std::string& lines) { return "sarek-ir 1\nprogram \"p\" block=[1 1 1] {\n" + lines + "}\n"; }

/// The one message for a body, "line:column: message".
std::string error_of(const std::string& text) {
  Parsed parsed(text);
  CHECK_FALSE(parsed.programs);
  if (parsed.sink.diagnostics().empty()) return "no error";
  const Diagnostic& d = parsed.sink.diagnostics().front();
  const LineColumn at = parsed.sources.line_column(d.range.file, d.range.begin);
  return std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + d.message;
}

}  // namespace

TEST_CASE("a program prints one node a line, indented by its structure") {
  CHECK(print(test::saxpy()) == R"(program "saxpy" block=[256 1 1] {
  param name="a" scalar access=none first_slot=0 slots=1 element="f32" size=4 align=4 fields=["" f32 0]
  param name="x" buffer access=in first_slot=1 slots=1 element="f32" size=4 align=4 fields=["" f32 0]
  param name="y" buffer access=inout first_slot=2 slots=1 element="f32" size=4 align=4 fields=["" f32 0]
  slot kind=scalar type=f32 name="a" param=0
  slot kind=buffer type=void name="x" param=1
  slot kind=buffer type=void name="y" param=2
  slot kind=length type=i32 name="y.len" of_slot=2
  slot kind=num_groups type=i32 name="num_groups.x"
  %0 = PARAM f32 {param slot=0 name="a"}
  %1 = PARAM f32 {param slot=1 space=global name="x"}
  %2 = PARAM f32 {param slot=2 space=global name="y"}
  %3 = PARAM i32 {param slot=3 range=[0 2147483647] name="y.len"}
  %4 = PARAM i32 {param slot=4 range=[1 2147483647] name="num_groups.x"}
  %5 = SPECIAL i32 %4 {name "group_id.x"}
  %6 = CONST weak_int 256
  %7 = CAST i32 %6
  %8 = SPECIAL i32 %7 {name "local_id.x"}
  %9 = CONST weak_int 0
  %10 = CAST i32 %9
  %11 = MUL i32 %5 %7 !1
  %12 = ADD i32 %11 %8 !2
  %13 = CMPLT bool %12 %3 !3
  %14 = IF void %13 %10 !4
    %15 = INDEX f32 %1 %12 !5
    %16 = LOAD f32 %15 !6
    %17 = MUL f32 %0 %16 !7
    %18 = INDEX f32 %2 %12 !8
    %19 = LOAD f32 %18 !9
    %20 = ADD f32 %17 %19 !10
    %21 = INDEX f32 %2 %12 !11
    %22 = STORE void %21 %20 !12
  %23 = ENDIF void %14 !13
}
)");
}

TEST_CASE("programs come back bit for bit") {
  check_round_trip(test::saxpy());
  check_round_trip(test::block_sum());
  Program p = test::saxpy();
  p.wide = true;
  p.name = "quote\" back\\slash \xff\x01\n\ttab \xe2\x82\xac";
  p.module_file = "a b.sarek";
  p.params[1].view = {0, 128};
  p.params[1].element = {"Particle", 20, 4, {{"pos.0", Type::F32, 0}, {"tag", Type::I32, 16}}};
  check_round_trip(p);
}

TEST_CASE("float constants keep every bit") {
  const std::uint64_t patterns[] = {0x0ull,
                                    0x8000000000000000ull,
                                    0x1ull,
                                    0x800fffffffffffffull,
                                    0x7ff0000000000000ull,
                                    0xfff0000000000000ull,
                                    0x7ff8000000000000ull,
                                    0xfff8000000000001ull,
                                    0x7ff0000000000001ull,
                                    0x3ff0000000000000ull,
                                    0x3fb999999999999aull,
                                    0x7fefffffffffffffull};
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t bits = i < 12 ? patterns[i] : random();
    Program p;
    p.name = "p";
    p.body.push_back(p.graph.make(Op::Const, {}, ConstValue::of_float(std::bit_cast<double>(bits))));
    Parsed parsed(module_text(p));
    REQUIRE(parsed.programs);
    const Program& q = parsed.programs->front();
    const auto* v = q.graph.arg_as<ConstValue>(q.body[0]);
    REQUIRE(v);
    REQUIRE(std::bit_cast<std::uint64_t>(v->number) == bits);
  }
}

TEST_CASE("every kind of argument comes back") {
  Program p;
  p.name = "arguments";
  std::uint32_t tag = 0;
  const auto add = [&](Op op, Type type, Arg arg, std::vector<NodeId> sources = {}) {
    p.body.push_back(p.graph.make_raw(op, type, sources, std::move(arg), tag++));
    return p.body.back();
  };
  const Int128 most = ~(Int128{1} << 127);
  for (const Int128 v : {Int128{0}, Int128{-1}, most, -most - 1}) add(Op::Const, Type::WeakInt, ConstValue::of_int(v));
  add(Op::Const, Type::Bool, ConstValue::of_bool(true));
  add(Op::Const, Type::Bool, ConstValue::invalid());
  const NodeId c = add(Op::Const, Type::F64, ConstValue::of_float(-0.0));
  add(Op::Cast, Type::I32, TypeArg{Type::I32}, {c});
  add(Op::Cast, Type::I32, TypeArg{Type::F16}, {c});
  add(Op::Cast, Type::I32, {}, {c});
  add(Op::Neg, Type::I32, TypeArg{Type::I32}, {c});
  ParamArg a;
  add(Op::Param, Type::Void, a);
  a.slot = -3;
  a.type = Type::Bf16;
  a.size = INT64_MAX;
  a.range = {INT64_MIN, INT64_MAX};
  a.multiple_of = 4;
  a.name = "n \"x\"";
  a.space = AddressSpace::Alu;
  a.devices = {"CPU", "a\\b"};
  a.is_volatile = a.bind_on_realize = true;
  a.bound = -7;
  a.phase = 3;
  a.align = 4;
  add(Op::Alloc, Type::F8e4m3fnuz, a);
  for (int i = 0; i <= static_cast<int>(AxisType::Loop); ++i)
    add(Op::Range, Type::WeakInt, RangeArg{{i, -1, 5}, static_cast<AxisType>(i)}, {c});
  add(Op::Special, Type::I32, NameArg{""}, {c});
  for (int i = 0; i <= static_cast<int>(Ins::Trap); ++i)
    add(Op::Ins, Type::U32, InsArg{static_cast<Ins>(i), i % 2 ? Type::U32 : Type::F32, i % 3 ? "" : "text"});
  add(Op::Custom, Type::Void, CodeArg{"f(a, \"b\");\n", Type::Void});
  add(Op::Customi, Type::I64, CodeArg{"", Type::I32});
  add(Op::Call, Type::F32, CallArg{"name", true, "aux", Type::F32}, {c});
  add(Op::Call, Type::F32, CallArg{"", false, "", Type::Void}, {c});
  add(Op::Wmma, Type::F32, WmmaArg{{16, 8, 4}, Type::Bf16, 64, {1, 2}}, {c, c, c});
  add(Op::Reduce, Type::F32, ReduceArg{Op::Max, 2, {"x"}}, {c});
  add(Op::Reduce, Type::F32, ReduceArg{}, {c});
  add(Op::Stage, Type::F32, StageArg{{"CPU"}, AddressSpace::Local, true}, {c});
  add(Op::Copy, Type::F32, DeviceArg{{}}, {c});
  add(Op::Permute, Type::F32, AxesArg{{}}, {c});
  add(Op::Flip, Type::F32, FlipArg{{true, false}}, {c});
  add(Op::Binary, Type::U8, BytesArg{{0, 0x7f, 0xff}});
  add(Op::Binary, Type::U8, BytesArg{});
  check_round_trip(p);
}

TEST_CASE("a file holds several programs, comments and blank lines") {
  const Program a = test::saxpy(), b = test::block_sum();
  std::string text = print_module({&a, &b});
  text.insert(text.find('\n') + 1, "# a comment\n\r\n\t \n");
  Parsed parsed(text);
  REQUIRE(parsed.programs);
  CHECK(parsed.programs->size() == 2);
  CHECK((*parsed.programs)[1].name == "block_sum");
  Parsed empty("sarek-ir 1");
  REQUIRE(empty.programs);
  CHECK(empty.programs->empty());
}

TEST_CASE("places in the source are printed and come back") {
  SourceManager sources;
  const FileId file = sources.add("k.sarek", "line one\nsecond"), other = sources.add("dir/lib.sarek", "a\n\nb c");
  ProgramBuilder b("p");
  b.program().range = SourceRange{file, 0, 4};
  b.at(SourceRange{file, 10, 12});
  b.barrier();
  b.at(SourceRange{other, 5, 6});
  b.barrier();
  b.at({});
  b.barrier();
  const Program p = b.finish();
  const std::string text = "sarek-ir 1\n\n" + print(p, {&sources});
  CHECK(text.find("  source \"k.sarek\" lines=2 columns=2\n  source \"dir/lib.sarek\" lines=3 columns=3\n  declared @1:1\n") !=
        std::string::npos);
  CHECK(text.find("%0 = BARRIER void !1 @2:2\n  %1 = BARRIER void !2 @1:3:3\n  %2 = BARRIER void !3\n") != std::string::npos);
  Parsed parsed(text);
  REQUIRE(parsed.programs);
  const Program& q = parsed.programs->front();
  const auto place = [&](SourceRange r) {
    const LineColumn at = parsed.sources.line_column(r.file, r.begin);
    return parsed.sources.name(r.file) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
  };
  CHECK(place(q.range) == "k.sarek:1:1");
  CHECK(place(q.graph.range(q.body[0])) == "k.sarek:2:2");
  CHECK(place(q.graph.range(q.body[1])) == "dir/lib.sarek:3:3");
  CHECK(place(q.graph.range(q.body[2])) == "test.sir:9:3");
  check_round_trip(p);
  // Written again with the places read, the text is the same but for the node that had none.
  std::string again = "sarek-ir 1\n\n" + print(q, {&parsed.sources});
  CHECK(again.find("%0 = BARRIER void !1 @2:2\n  %1 = BARRIER void !2 @1:3:3\n") != std::string::npos);

  const std::string head = "  source \"a\" lines=2 columns=4\n  %0 = BARRIER void ";
  CHECK(error_of(body(head + "@3:1\n")) == "4:21: the place lies outside of its source file");
  CHECK(error_of(body(head + "@1:5\n")) == "4:21: the place lies outside of its source file");
  CHECK(error_of(body(head + "@1:1:1\n")) == "4:21: the place names a source file that is not stated");
  CHECK(error_of(body(head + "@1\n")) == "4:21: expected `@LINE:COLUMN` or `@FILE:LINE:COLUMN`");
  CHECK(error_of(body(head + "@1:1:1:1\n")) == "4:21: expected `@LINE:COLUMN` or `@FILE:LINE:COLUMN`");
  CHECK(error_of(body("  source \"a\" lines=99999999 columns=4\n")) == "3:20: expected a number from 1 to 16777216");
  CHECK(error_of(body("  source \"a\" lines=16777216 columns=16777216\n")).find("lines times columns") != std::string::npos);
}

TEST_CASE("nodes and programs carry the range of their text") {
  Parsed parsed(body("  %7 = CONST weak_int 1  # one\n"));
  REQUIRE(parsed.programs);
  const Program& p = parsed.programs->front();
  CHECK(parsed.sources.text(p.graph.range(p.body[0])) == "%7 = CONST weak_int 1  # one");
  CHECK(parsed.sources.text(p.range) == "\"p\"");
}

TEST_CASE("wrong lines are named with place and reason") {
  CHECK(error_of("") == "1:1: the file does not begin with `sarek-ir 1`");
  CHECK(error_of("sarek-ir 2\n") == "1:1: the file does not begin with `sarek-ir 1`");
  CHECK(error_of("\x7f"
                 "ELF\n") == "1:1: `\\x7f` has no meaning here");
  CHECK(error_of("sarek-ir 1\nkernel\n") == "2:1: expected `program`");
  CHECK(error_of("sarek-ir 1\nprogram \"p\" {\n}\n") == "2:13: a program states its `block=[x y z]`");
  CHECK(error_of("sarek-ir 1\nprogram \"p\" block=[1 1] {\n}\n") == "2:25: a block has three extents");
  CHECK(error_of("sarek-ir 1\nprogram \"p\" block=[1 1 1] {\n") == "3:1: program \"p\" is not closed by `}`");
  CHECK(error_of(body("  %0 = NOPE i32\n")) == "3:8: unknown operation `NOPE`");
  CHECK(error_of(body("  %0 = CONST int 1\n")) == "3:14: unknown type `int`");
  CHECK(error_of(body("  %0 = NEG i32 %1\n")) == "3:16: %1 does not stand before its use");
  CHECK(error_of(body("  %0 = NEG i32 %0\n")) == "3:16: %0 does not stand before its use");
  CHECK(error_of(body("  %0 = NEG i32\n")) == "3:8: NEG with 0 sources");
  CHECK(error_of(body("  %0 = CONST weak_int 1\n  %0 = CONST weak_int 2\n")) == "4:3: %0 stands twice");
  CHECK(error_of(body("  %0 = CONST weak_int 1\n  %1 = CONST weak_int 1\n")) ==
        "4:3: %1 repeats an earlier node; a tag (`!N`) tells equal nodes apart");
  CHECK(error_of(body("  %0 = CONST weak_float 1.5\n")) ==
        "3:25: `1.5` is no constant: integers are decimal, floats hexadecimal (0x1.8p+0), inf or nan:0x and 16 digits");
  CHECK(error_of(body("  %0 = CONST weak_int 170141183460469231731687303715884105728\n")).find("is no constant") != std::string::npos);
  CHECK(error_of(body("  %0 = CONST weak_float nan:0x1\n")).find("is no constant") != std::string::npos);
  CHECK(error_of(body("  %0 = BARRIER void trailing\n")) == "3:21: unexpected `trailing` at the end of the line");
  CHECK(error_of(body("  %0 = BARRIER void {name \"x\n")) == "3:27: a string that is not closed or has an unknown escape");
  CHECK(error_of(body("  %0 = BARRIER void {name \"\\q\"}\n")) == "3:27: a string that is not closed or has an unknown escape");
  CHECK(error_of(body("  %0 = BARRIER void {what}\n")) == "3:22: unknown kind of argument `what`");
  CHECK(error_of(body("  %0 = PARAM i32 {param slot=99999999999}\n")) == "3:30: expected an integer of 32 bits");
  CHECK(error_of(body("  %0 = PARAM i32 {param color=1}\n")) == "3:25: unknown property `color` of the argument");
  CHECK(error_of(body("  %0 = PARAM i32 {param red}\n")) == "3:25: unknown flag `red` of the argument");
  CHECK(error_of(body("  %0 = PARAM i32 {param space=moon}\n")) == "3:31: unknown address space `moon`");
  CHECK(error_of(body("  %0 = INS i32 {ins jump}\n")) == "3:21: unknown instruction `jump`");
  CHECK(error_of(body("  %99999999999999999999999 = BARRIER void\n")) == "3:3: the number of a node is too great");
  CHECK(error_of(body("  %0 = BARRIER void !5000000000\n")) == "3:22: a tag is a 32-bit number");
  CHECK(error_of(body("  slot kind=box\n")) == "3:13: unknown kind of slot `box`");
  CHECK(error_of(body("  param name=5\n")) == "3:14: expected a name in quotes");
  CHECK(error_of(body("  %? = BARRIER void\n")) == "3:3: `%` has no meaning here");
}

TEST_CASE("several wrong lines are reported in one run") {
  Parsed parsed(body("  %0 = NOPE i32\n  %1 = CONST weak_int 1\n  oops\n  %2 = NEG weak_int %1\n  %3 = NEG i32 %9\n"));
  CHECK_FALSE(parsed.programs);
  CHECK(parsed.sink.error_count() == 3);
  for (const Diagnostic& d : parsed.sink.diagnostics()) CHECK(d.kind == DiagnosticKind::IrSyntax);
}

TEST_CASE("input beyond the limits is refused with one message") {
  TextLimits limits;
  const auto refused = [&](const std::string& text) {
    Parsed parsed(text, limits);
    CHECK_FALSE(parsed.programs);
    REQUIRE(parsed.sink.diagnostics().size() == 1);
    CHECK(parsed.sink.diagnostics()[0].kind == DiagnosticKind::IrLimit);
  };
  limits.bytes = 20;
  refused(body(""));
  limits = {};
  limits.line = 60;
  refused(body("  %0 = BARRIER void {name \"" + std::string(100, 'x') + "\"}\n"));
  limits = {};
  limits.nodes = 1;
  refused(body("  %0 = BARRIER void !1\n  %1 = BARRIER void !2\n  %2 = BARRIER void !3\n"));
  limits = {};
  limits.list = 3;
  refused(body("  %0 = BARRIER void {axes [1 2 3 4]}\n"));
  refused(body("  %0 = CONST weak_int 1\n  %1 = STACK weak_int %0 %0 %0 %0\n"));
  limits = {};
  limits.programs = 1;
  refused(body("") + "program \"q\" block=[1 1 1] {\n}\n");
  limits = {};
  limits.slots = 1;
  refused(body("  slot kind=scalar\n  slot kind=scalar\n"));
}

TEST_CASE("cut or damaged text is refused or read, never worse") {
  const Program sum = test::block_sum();
  const std::string text = print_module({&sum});
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = text;
    for (unsigned edits = 1 + random() % 4; edits-- > 0;) {
      const std::size_t at = random() % damaged.size();
      switch (random() % 4) {
        case 0: damaged[at] = static_cast<char>(random()); break;
        case 1: damaged.erase(at, 1 + random() % 8); break;
        case 2: damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 12)); break;
        case 3: damaged.resize(at); break;
      }
      if (damaged.empty()) damaged = "x";
    }
    Parsed parsed(damaged);
    if (!parsed.programs) CHECK(parsed.sink.has_errors());
    if (parsed.programs)
      for (const Program& p : *parsed.programs) CHECK(module_text(p).size() > 0);
  }
}

TEST_CASE("expressions are rendered as written, and cut") {
  ProgramBuilder b("p", {256, 1, 1});
  const NodeId x = b.buffer_param("x", Type::F32, Access::In);
  const NodeId i = b.global_id(0);
  CHECK(render(b.graph(), i) == "((group_id.x * 256) + local_id.x)");
  CHECK(render(b.graph(), b.load(x, i)) == "x[((group_id.x * 256) + local_id.x)]");
  CHECK(render(b.graph(), b.ins(Ins::Min, Type::I32, {i, b.i32(3)})) == "min(((group_id.x * 256) + local_id.x), 3)");
  CHECK(render(b.graph(), b.cast(i, Type::F32)) == "f32(((group_id.x * 256) + local_id.x))");
  NodeId deep = i;
  for (int n = 0; n < 100000; ++n) deep = b.op(Op::Add, {deep, i});
  CHECK(render(b.graph(), deep, 50).size() <= 53);
}
