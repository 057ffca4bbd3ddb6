// Whole programs: what verify_program accepts, and one program for every fault it names.
#include "compiler/spec/verify.h"

#include <catch2/catch_test_macros.hpp>

#include "compiler/ir/printer.h"
#include "compiler/ir/test_programs.h"
#include "compiler/spec/read_text.h"

using namespace sarek;
using namespace sarek::ir;
using namespace sarek::spec;

namespace {

/// "position: message [rule]" of the first failure.
std::string first(const Program& p) {
  const std::vector<ProgramFailure> f = verify_program(p);
  if (f.empty()) return "whole";
  return std::to_string(f[0].position) + ": " + f[0].message + " [" + f[0].rule + "]";
}

/// Body lines after a fixed prologue: %0 x (in f32), %1 y (out f32), %2 length of x, %3 = 0, %4 = i32 0, %5 void, %6 f32 0, %7 = r i32[4]
/// in registers.
std::string with_body(const std::string& lines, const std::string& slots = {}) {
  return R"(sarek-ir 1
program "p" block=[8 1 1] {
  param name="x" buffer access=in first_slot=0 slots=1 element="f32" size=4 align=4 fields=["" f32 0]
  param name="y" buffer access=out first_slot=1 slots=1 element="f32" size=4 align=4 fields=["" f32 0]
  slot kind=buffer type=void name="x" param=0
  slot kind=buffer type=void name="y" param=1
  slot kind=length type=i32 name="x.len" of_slot=0
)" + slots +
         R"(  %0 = PARAM f32 {param slot=0 space=global name="x"}
  %1 = PARAM f32 {param slot=1 space=global name="y"}
  %2 = PARAM i32 {param slot=2 name="x.len"}
  %3 = CONST weak_int 0
  %4 = CAST i32 %3
  %5 = GROUP void
  %6 = CAST f32 %3
  %7 = BUFFER i32 {param slot=0 size=4 space=reg}
)" + lines +
         "}\n";
}

std::string first_of(const std::string& lines, const std::string& slots = {}) {
  SourceManager sources;
  DiagnosticSink sink;
  const FileId file = sources.add("t.sir", with_body(lines, slots));
  const auto programs = parse_program_text(sources, file, sink);
  INFO(render_text(sources, sink.diagnostics(), false));
  REQUIRE(programs);
  return first(programs->front());
}

}  // namespace

TEST_CASE("programs from the builder are whole") {
  CHECK(first(test::saxpy()) == "whole");
  CHECK(first(test::block_sum()) == "whole");
  CHECK(first_of("") == "whole");
  ProgramBuilder b("wide", {4, 4, 4});
  b.program().wide = true;
  const NodeId x = b.buffer_param("x", Type::U8, Access::InOut);
  const NodeId tile = b.dynamic_shared("tile", Type::F64);
  b.store(tile, b.linear_local_id(), b.zero(Type::F64));
  const NodeId s = b.begin_if(b.op(Op::Cmplt, {b.global_id(2), b.length(b.slot_of(x))}));
  b.store(x, b.global_id(2), b.zero(Type::U8));
  b.end_if(s);
  CHECK(first(b.finish()) == "whole");
}

TEST_CASE("structure: order, partners, nesting") {
  CHECK(first_of("  %8 = RANGE i32 %4 {range axes=[0] axis=Loop}\n") == "8: RANGE is never closed [structure]");
  CHECK(
      first_of("  %8 = CONST bool true\n  %9 = CAST bool %8\n  %10 = IF void %9 %4\n  %11 = ENDIF void %10\n  %12 = ENDIF void %10 !1\n") ==
      "12: ENDIF closes %10, which is not open [structure]");
  CHECK(first_of("  %8 = RANGE i32 %4 {range axes=[0] axis=Loop}\n  %9 = RANGE i32 %4 {range axes=[1] axis=Loop}\n  %10 = END void %5 %8\n "
                 " %11 = END void %5 %9\n") == "10: END closes %8 while %9 inside it is open [structure]");
  CHECK(
      first_of(
          "  %8 = RANGE i32 %4 {range axes=[0] axis=Loop}\n  %9 = RANGE i32 %4 {range axes=[1] axis=Loop}\n  %10 = END void %5 %9 %8\n") ==
      "8: RANGE is never closed [structure]");
  CHECK(first_of("  %8 = RANGE i32 %4 {range axes=[0] axis=Global}\n  %9 = END void %5 %8\n") ==
        "8: a RANGE of a program is a Loop, or marked Unroll [structure]");
  CHECK(first_of("  %8 = GROUP void %5\n") == "8: a GROUP of a program is the empty void value [structure]");
  CHECK(first_of("  %8 = BARRIER void %5\n") == "8: a BARRIER of a program has no sources [structure]");
  CHECK(first_of("  %8 = BARRIER void\n  %9 = RANGE i32 %4 {range axes=[0] axis=Loop}\n  %10 = END void %8 %9\n") ==
        "10: source 0 of END is not the void value GROUP [structure]");
  CHECK(first_of("  %8 = ADD i64 %4 %4\n").find("[S12]") != std::string::npos);
  CHECK(first_of("  %8 = CMPLT bool %6 %6\n  %9 = XOR bool %8 %8\n") == "whole");
}

TEST_CASE("scope: what is made inside a loop or an IF stays inside") {
  CHECK(first_of("  %8 = RANGE i32 %4 {range axes=[0] axis=Loop}\n  %9 = NEG i32 %8\n  %10 = END void %5 %8\n  %11 = NEG i32 %9\n") ==
        "11: source 0, %9, was made inside %8, which is closed here [scope]");
  CHECK(first_of("  %8 = RANGE i32 %4 {range axes=[0] axis=Loop}\n  %9 = END void %5 %8\n  %10 = NEG i32 %8\n") ==
        "10: source 0, %8, was made inside %8, which is closed here [scope]");
  CHECK(first_of("  %8 = RANGE i32 %4 {range axes=[0] axis=Loop}\n  %9 = CONST weak_int 7\n  %10 = END void %5 %8\n") ==
        "9: the leaf CONST stands inside %8 [scope]");
  // The condition of a back-edge is made in its loop.
  CHECK(first_of("  %8 = RANGE void %5 {range axes=[0] axis=Loop}\n  %9 = CMPLT bool %4 %2\n  %10 = BACKEDGE void %5 %8 %9\n") == "whole");
  CHECK(first_of("  %8 = RANGE void %5 {range axes=[0] axis=Loop}\n  %9 = CMPLT bool %4 %2\n  %10 = IF void %9 %4\n  %11 = CMPLT bool %2 "
                 "%4\n  %12 = ENDIF void %10\n"
                 "  %13 = BACKEDGE void %5 %8 %11\n") == "13: source 2, %11, was made inside %10, which is closed here [scope]");
}

TEST_CASE("access: places, declared access, gates") {
  CHECK(first_of("  %8 = INDEX f32 %0 %4\n  %9 = LOAD f32 %8\n  %10 = INDEX f32 %1 %4\n  %11 = STORE void %10 %9\n") == "whole");
  CHECK(first_of("  %8 = INDEX f32 %1 %4\n  %9 = LOAD f32 %8\n") == "9: buffer \"y\" is declared `out` and is read [access]");
  CHECK(first_of("  %8 = INDEX f32 %0 %4\n  %9 = STORE void %8 %6\n") == "9: buffer \"x\" is declared `in` and is written [access]");
  CHECK(first_of("  %8 = INDEX i32 %2 %4\n") == "8: INDEX into %2, which is no storage [access]");
  CHECK(first_of("  %8 = INDEX f32 %0 %4 %4\n") == "8: INDEX of a program has exactly one index [access]");
  CHECK(first_of("  %8 = INDEX f32 %0 %6\n") == "8: INDEX f32 %0 %6 (of f32 f32): a program has no INDEX of this form [program]");
  CHECK(first_of("  %8 = INDEX f32 %0 %4\n  %9 = LOAD f32 %8 %6\n") == "9: LOAD f32 %8 %6 (of f32 f32): an alternative needs a gate [P10]");
  CHECK(first_of("  %8 = INDEX i32 %7 %4\n  %9 = STORE void %8 %6\n") ==
        "9: STORE void %8 %6 (of i32 f32): a store writes a value of its target's type, in bounds [S30]");
  CHECK(first_of("  %8 = STORE void %7 %4\n") == "8: STORE of a program goes through an INDEX [access]");
}

TEST_CASE("access: storage and places are no values") {
  CHECK(first_of("  %8 = ADD i32 %4 %7\n") == "8: source 1, %7, is storage, not a value [access]");
  CHECK(first_of("  %8 = NEG f32 %0\n") == "8: source 0, %0, is storage, not a value [access]");
  CHECK(first_of("  %8 = INDEX i32 %7 %7\n") == "8: source 1, %7, is storage, not a value [access]");
  CHECK(first_of("  %8 = INDEX i32 %7 %4\n  %9 = ADD i32 %8 %4\n") == "9: source 0, %8, is a place in storage, not a value [access]");
  CHECK(first_of("  %8 = INDEX i32 %7 %4\n  %9 = STORE void %8 %8\n") == "9: source 1, %8, is a place in storage, not a value [access]");
  CHECK(first_of("  %8 = INDEX i32 %7 %4\n  %9 = INS i32 %8 %4 {ins min}\n") ==
        "9: source 0, %8, is a place in storage, not a value [access]");
  CHECK(first_of("  %8 = RANGE i32 %7 {range axes=[0] axis=Loop}\n  %9 = END void %5 %8\n") ==
        "8: source 0, %7, is storage, not a value [access]");
  // What an IF guards may mark it.
  CHECK(first_of("  %8 = INDEX i32 %7 %4\n  %9 = CMPLT bool %4 %2\n  %10 = IF void %9 %8\n  %11 = ENDIF void %10\n") == "whole");
  CHECK(first_of("  %8 = CUSTOM i32 %4\n") == "8: CUSTOM has no text in its argument [structure]");
}

TEST_CASE("declarations: slots, parameters, storage") {
  CHECK(first_of("  %8 = PARAM i64 {param slot=2}\n") == "8: PARAM of type i64 names slot \"x.len\" of type i32 [declaration]");
  CHECK(first_of("  %8 = PARAM i32 {param slot=2 range=[0 15]}\n") ==
        "8: PARAM of \"x.len\" has a range narrower than what a launch may pass [declaration]");
  CHECK(first_of("  %8 = PARAM f32 {param slot=0}\n") == "8: a scalar PARAM names the buffer slot \"x\" [declaration]");
  CHECK(first_of("  %8 = PARAM f32 {param slot=9}\n") == "8: PARAM names slot 9, which does not exist [declaration]");
  CHECK(first_of("  %8 = PARAM i32 {param slot=2 space=global}\n") ==
        "8: a storage PARAM names slot \"x.len\", which is no buffer [declaration]");
  CHECK(first_of("  %8 = PARAM i64 {param slot=0 space=global}\n") ==
        "8: PARAM views buffer \"x\" as i64, which its element \"f32\" has no field of [declaration]");
  CHECK(first_of("  %8 = BUFFER i32 {param slot=0 size=1 space=reg}\n") == "8: two BUFFERs have the number 0 [declaration]");
  CHECK(first_of("  %8 = BUFFER i32 {param slot=1 size=1000000000000 space=reg}\n") ==
        "8: the BUFFERs of the program hold more than any memory [declaration]");
  CHECK(first_of("  %8 = BUFFER i32 {param slot=1 space=reg}\n") == "8: a BUFFER in registers has a size [declaration]");
  CHECK(first_of("  %8 = BUFFER i32 {param slot=1 space=local name=\"t\"}\n") ==
        "8: dynamic shared BUFFER \"t\" has no slot with its length [declaration]");
  CHECK(first_of("  %8 = BUFFER i32 {param slot=1 size=-1 space=reg}\n") == "8: BUFFER has a size of -1 elements [declaration]");
  CHECK(first_of("  %8 = SPECIAL i32 %4 {name \"lane\"}\n") ==
        "8: SPECIAL \"lane\" is neither local_id nor group_id along x, y or z [declaration]");
  CHECK(first_of("  %8 = SPECIAL i32 %4 {name \"local_id.x\"}\n") ==
        "8: SPECIAL \"local_id.x\" is not bounded by the block's extent 8 [declaration]");
  CHECK(first_of("  %8 = SPECIAL i32 %4 {name \"group_id.x\"}\n") ==
        "8: SPECIAL \"group_id.x\" is not bounded by the number of blocks along its axis [declaration]");
  CHECK(first_of("", "  slot kind=scalar type=f32 name=\"s\"\n") == "-1: slot 3 \"s\" belongs to no parameter [declaration]");
  CHECK(first_of("", "  slot kind=length type=i32 name=\"l\" of_slot=2\n") == "-1: slot 3 \"l\" is the length of no buffer [declaration]");
  CHECK(first_of("", "  slot kind=length type=i64 name=\"l\" of_slot=0\n") == "-1: slot 3 \"l\" is a length of type i64 [declaration]");
  CHECK(first_of("", "  slot kind=num_groups type=i32 name=\"n\" axis=3\n") == "-1: slot 3 \"n\" counts blocks along axis 3 [declaration]");
  Program p = test::saxpy();
  p.block = {0, 1, 1};
  CHECK(first(p) == "-1: a block extent of 0 is not between 1 and 65536 [declaration]");
  ProgramBuilder b("p");
  b.scalar_param("n", Type::I32);
  p = b.finish();
  ParamArg ranged = *p.graph.arg_as<ParamArg>(p.body[0]);
  ranged.range = {0, 15};
  p.body[0] = p.graph.make(Op::Param, {}, ranged);
  CHECK(first(p) == "0: PARAM of the argument \"n\" has a range, which nothing checks at launch [declaration]");
  p = test::saxpy();
  p.params[1].access = Access::None;
  CHECK(first(p) == "-1: parameter \"x\" is a buffer without access [declaration]");
  p = test::saxpy();
  p.params[1].element.fields[0].offset = 2;
  CHECK(first(p) == "-1: parameter \"x\" has the field \"\" outside of its element or not aligned [declaration]");
  p = test::saxpy();
  p.params[2].first_slot = 100;
  CHECK(first(p) == "-1: parameter \"y\" names slots that do not exist [declaration]");
}

TEST_CASE("instructions: arity and types of sources") {
  const auto ins = [](const std::string& line) {
    return first_of("  %8 = CMPLT bool %4 %2\n  %9 = INDEX i32 %7 %4\n  %10 = INDEX f32 %0 %4\n  %11 = INS " + line + "\n");
  };
  CHECK(ins("i32 %4 %2 {ins min}") == "whole");
  CHECK(ins("i32 %4 {ins min}") == "11: min takes 2 sources, not 1 [instruction]");
  CHECK(ins("i32 %4 %6 {ins min}") == "11: min takes two numbers of its type, not INS i32 %4 %6 (of i32 f32) {ins min} [instruction]");
  CHECK(ins("i32 %4 {ins floor}") == "11: floor takes a float of its type, not INS i32 %4 (of i32) {ins floor} [instruction]");
  CHECK(ins("u32 %4 {ins warp_ballot}") ==
        "11: warp_ballot takes a bool and gives u32, not INS u32 %4 (of i32) {ins warp_ballot} [instruction]");
  CHECK(ins("u32 %8 {ins warp_ballot}") == "whole");
  CHECK(ins("void %4 {ins trap}") == "11: trap takes a bool and gives nothing, not INS void %4 (of i32) {ins trap} [instruction]");
  CHECK(ins("void %8 {ins trap text=\"no\"}") == "whole");
  CHECK(ins("f32 %6 %6 {ins warp_shuffle}") ==
        "11: warp_shuffle takes a value of its type and an integer, not INS f32 %6 %6 (of f32 f32) {ins warp_shuffle} [instruction]");
  CHECK(ins("i32 %4 %4 {ins atomic_add}") == "11: atomic_add works on an INDEX, not on %4 [instruction]");
  CHECK(ins("i32 %9 %4 {ins atomic_add}") == "11: atomic_add works on global or shared storage, not on registers [instruction]");
  CHECK(ins("f32 %10 %6 {ins atomic_and}") == "11: atomic_and does not work on f32 [instruction]");
  CHECK(ins("f32 %10 %6 {ins atomic_add}") == "11: buffer \"x\" is declared `in` and is written [access]");
  CHECK(ins("i32 {ins warp_barrier}") == "11: warp_barrier gives nothing, not INS i32 {ins warp_barrier} [instruction]");
}

TEST_CASE("operations of other stages have no place in a program") {
  CHECK(first_of("  %8 = AFTER f32 %0 %5\n") == "8: AFTER has no place in a program's body [program]");
  CHECK(first_of("  %8 = REDUCE i32 %4 {reduce op=ADD axes=0}\n") ==
        "8: REDUCE i32 %4 (of i32) {reduce op=ADD axes=0}: a program has no REDUCE of this form [program]");
  CHECK(first_of("  %8 = NOOP void\n") == "8: NOOP has no place in a program's body [program]");
  CHECK(first_of("  %8 = CONST bool invalid\n") == "8: CONST bool invalid: no index is Invalid any more [P7]");
  CHECK(first_of("  %8 = ADD weak_int %3 %3\n") ==
        "8: ADD weak_int %3 %3 (of weak_int weak_int): a constant appears only under the cast that types it [P1]");
}

TEST_CASE("a body that is no list of sound nodes is named and nothing else is looked at") {
  Program p = test::saxpy();
  p.body.push_back(NodeId(1u << 30));
  CHECK(first(p) == "24: the body names a node that does not exist [structure]");
  p = test::saxpy();
  p.body.push_back(p.body[3]);
  CHECK(first(p) == "24: the node stands twice in the body, first at position 3 [structure]");
  p = test::saxpy();
  std::swap(p.body[15], p.body[16]);
  CHECK(first(p).find("15: source 0, INDEX f32") == 0);
  p = test::saxpy();
  p.body.push_back(p.graph.make_raw(Op::Add, Type::I32, {}, {}));
  CHECK(first(p) == "24: ADD with 0 sources [structure]");
}

TEST_CASE("every failure up to the limit is listed, in order") {
  std::string lines;
  for (int i = 8; i < 40; ++i) lines += "  %" + std::to_string(i) + " = PARAM f32 {param slot=" + std::to_string(i) + "}\n";
  SourceManager sources;
  DiagnosticSink sink;
  const auto programs = parse_program_text(sources, sources.add("t.sir", with_body(lines)), sink);
  REQUIRE(programs);
  const auto failures = verify_program(programs->front(), 5);
  REQUIRE(failures.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) CHECK(failures[i].position == static_cast<int>(8 + i));
  CHECK(describe(programs->front(), failures).find("program \"p\", position 8: PARAM names slot 8, which does not exist [declaration]\n") ==
        0);
}

TEST_CASE("IR text is verified when it is read, and refused at the line") {
  SourceManager sources;
  DiagnosticSink sink;
  const FileId file = sources.add("t.sir", with_body("  %8 = ADD f32 %6 %4\n  %9 = NEG i32 %4\n  %10 = FDIV f32 %6 %2\n"));
  CHECK_FALSE(read_programs(sources, file, sink));
  REQUIRE(sink.diagnostics().size() == 2);
  CHECK(sink.diagnostics()[0].kind == DiagnosticKind::IrInvalid);
  CHECK(sources.text(sink.diagnostics()[0].range) == "%8 = ADD f32 %6 %4");
  CHECK(sink.diagnostics()[0].message == "ADD f32 %6 %4 (of f32 i32): arithmetic has operands of its type (S12)");
  CHECK(sources.text(sink.diagnostics()[1].range) == "%10 = FDIV f32 %6 %2");

  DiagnosticSink good;
  CHECK(read_programs(sources, sources.add("g.sir", with_body("")), good));
  CHECK_FALSE(good.has_errors());

  const Program p = test::saxpy();
  DiagnosticSink twice;
  CHECK_FALSE(read_programs(sources, sources.add("d.sir", print_module({&p, &p})), twice));
  REQUIRE(twice.diagnostics().size() == 1);
  CHECK(twice.diagnostics()[0].message == "two programs have the name \"saxpy\"");
  CHECK(twice.diagnostics()[0].notes.size() == 1);
}

TEST_CASE("a program of a hundred thousand nodes is verified at once") {
  ProgramBuilder b("long", {1, 1, 1});
  NodeId x = b.scalar_param("x", Type::I32);
  for (int i = 0; i < 20000; ++i) {
    const NodeId s = b.begin_if(b.op(Op::Cmplt, {x, b.i32(i % 100)}));
    b.end_if(s);
    x = b.op(Op::Add, {x, x});
  }
  CHECK(first(b.finish()) == "whole");
}
