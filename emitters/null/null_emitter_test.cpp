// What the null emitter prints, and that emitters/README.md names what exists.
#include "emitters/null/null_emitter.h"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "compiler/ir/test_programs.h"
#include "compiler/spec/verify.h"

using namespace sarek;
using namespace sarek::ir;

TEST_CASE("a kernel prints as pseudo-C") {
  const auto text = emit::print_null(test::saxpy());
  REQUIRE(text);
  CHECK(*text == R"(kernel saxpy(a: f32, x: in [f32], y: inout [f32]) block(256, 1, 1) {
  i32 v11 = group_id.x * 256;
  i32 v12 = v11 + local_id.x;
  bool v13 = v12 < y.len;
  if (v13) {
    f32 v16 = x[v12];
    f32 v17 = a * v16;
    f32 v19 = y[v12];
    f32 v20 = v17 + v19;
    y[v12] = v20;
  }
}
)");
}

TEST_CASE("loops, shared memory, registers, barriers and instructions print") {
  const auto text = emit::print_null(test::block_sum());
  REQUIRE(text);
  for (const char* part : {"shared i32 tile[64];\n", "var i32 sum[1];\n", "tile[local_id.x] = v", "  barrier();\n", "  for (i32 v",
                           "< 64; ++v", "  do {\n", "  } while (v", "= warp_reduce_max(v", "atomic_add(out_sums[group_id.x], v", "trap(v",
                           ";  // \"a \\\"negative\\\" sum\\n\"\n", " ? x[v"})
    CHECK(text->find(part) != std::string::npos);
}

TEST_CASE("a node of another stage is refused by name") {
  Program p;
  p.name = "p";
  p.body.push_back(p.graph.make(Op::Sink, {}));
  const auto text = emit::print_null(p);
  REQUIRE_FALSE(text);
  CHECK(text.error().message == "a program holds no SINK; it was not verified");
}

TEST_CASE("every operation that a program may hold prints") {
  // One node of each elementwise operation, verified: what the verifier lets through the emitter prints.
  ProgramBuilder b("all", {1, 1, 1});
  const NodeId f = b.scalar_param("f", Type::F32), i = b.scalar_param("i", Type::I32), c = b.scalar_param("c", Type::Bool);
  int printed = 0;
  for (int n = 0; n < kOpCount; ++n) {
    const Op op = static_cast<Op>(n);
    if (!is_alu(op)) continue;
    const bool integer = op == Op::Cdiv || op == Op::Cmod || op == Op::Floordiv || op == Op::Floormod || op == Op::And || op == Op::Or ||
                         op == Op::Xor || op == Op::Shl || op == Op::Shr || op == Op::Threefry;
    const NodeId x = integer ? i : f;
    if (op == Op::Where) {
      b.op(op, {c, x, x});
    } else if (has_trait(op, kTernary)) {
      b.op(op, {x, x, x});
    } else if (has_trait(op, kBinary)) {
      b.op(op, {x, x});
    } else {
      b.op(op, {x});
    }
    ++printed;
  }
  const Program p = b.finish();
  CHECK(spec::describe(p, spec::verify_program(p)).empty());
  const auto text = emit::print_null(p);
  REQUIRE(text);
  CHECK(std::count(text->begin(), text->end(), '\n') == printed + 2);
}

TEST_CASE("how to add a backend is a page that names files that exist") {
  const std::string root = SAREK_SOURCE_DIR;
  std::ifstream in(root + "/emitters/README.md");
  std::stringstream stream;
  stream << in.rdbuf();
  const std::string readme = stream.str();
  REQUIRE_FALSE(readme.empty());
  CHECK(std::count(readme.begin(), readme.end(), '\n') <= 60);
  const std::regex path("`((compiler|emitters|runtime|policy|tests|tools)/[A-Za-z0-9_./-]*)`");
  int paths = 0;
  for (auto it = std::sregex_iterator(readme.begin(), readme.end(), path); it != std::sregex_iterator(); ++it) {
    INFO((*it)[1].str());
    CHECK(std::filesystem::exists(root + "/" + (*it)[1].str()));
    ++paths;
  }
  CHECK(paths >= 8);
}
