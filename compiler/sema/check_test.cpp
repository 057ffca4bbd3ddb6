// Refusals: every file of tests/errors/sema, what is accepted next to it, and input that tries to break the checker.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "compiler/sema/test_support.h"
#include "compiler/syntax/test_support.h"

using namespace sarek;
using namespace sarek::sema::testing;

namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> refused(const std::string& text) {
  Checked c(text);
  c.programs();
  return c.kinds();
}

using Kinds = std::vector<std::string>;

}  // namespace

TEST_CASE("each kind of this folder has a file in tests/errors/sema that reports it") {
  const std::filesystem::path folder = std::filesystem::path(SAREK_SOURCE_DIR) / "tests/errors/sema";
  // The kinds between the headings of the table that are this folder's.
  std::istringstream table(read(std::filesystem::path(SAREK_SOURCE_DIR) / "compiler/support/diagnostics.def"));
  bool ours = false;
  int count = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.starts_with("// ---"))
      ours = line.find("names and types") != std::string::npos || line.find("convergence") != std::string::npos;
    const std::size_t quote = line.find('"');
    if (!ours || !line.starts_with("SAREK_DIAGNOSTIC(") || quote == std::string::npos) continue;
    const std::string kind = line.substr(quote + 1, line.find('"', quote + 1) - quote - 1);
    ++count;
    std::string name = kind;
    std::replace(name.begin(), name.end(), '-', '_');
    INFO(kind);
    REQUIRE(std::filesystem::exists(folder / (name + ".sarek")));
    const std::string text = read(folder / (name + ".sarek"));
    CHECK(text.starts_with("// RUN: sarekc check "));
    CHECK(std::filesystem::exists(folder / (name + ".expected")));
    std::vector<std::string> defines;
    std::istringstream words(text.substr(0, text.find('\n')));
    for (std::string word; words >> word;)
      if (word == "-D") {
        words >> word;
        defines.push_back(word);
      }
    Checked c(text, {{name + ".sarek", text}}, defines);
    c.programs();
    const std::vector<std::string> kinds = c.kinds();
    INFO(c.errors());
    CHECK(std::any_of(kinds.begin(), kinds.end(), [&](const std::string& k) { return k.starts_with(kind + " "); }));
  }
  CHECK(count >= 50);
}

TEST_CASE("five forms of barriers that every thread reaches") {
  const std::string head = "kernel k(n: i32, y: out [i32]) block(64) {\n  let t = local_id.x;\n  shared s: [i32; 64];\n  s[t] = t;\n";
  for (const char* body :
       {"barrier();", "if n > 3 { barrier(); } else { barrier(); }", "for i in 0..4 { barrier(); }", "if t > 16 { s[t] = 1; } barrier();",
        "if t > 16 { s[t] = 1; }",
        // Uniform by data flow: a flag that all read, a loop until all agree, a call, a local that is uniform again.
        "var left = n; while left > 0 { barrier(); left -= 1; }", "loop { barrier(); if s[0] > 3 { break; } barrier(); s[0] += 1; }",
        "var x = t; x = n; if x > 3 { barrier(); }", "for i in 0..n { if group_id.x == i { continue; } barrier(); }",
        "superstep a divergent { if t > 3 { s[t] = 2; } }", "superstep b { s[t] = if t > 3 && n > 0 { s[t - 1] } else { 0 }; }",
        "if n > 3 { return; } barrier();", "barrier(); if t > 3 { return; }"}) {
    INFO(body);
    Checked c(head + body + "\n  y[global_id.x] = s[t] + n;\n}\n");
    c.programs();
    CHECK(c.errors() == "");
  }
}

TEST_CASE("barriers that some threads may miss, by data flow") {
  const std::string head =
      "fn varies(x: i32) -> i32 { x * 2 + 1 }\nfn waits(c: bool) { if c { barrier(); } }\n"
      "kernel k(n: i32, x: in [i32], y: out [i32]) block(64) {\n  let t = local_id.x;\n  shared s: [i32; 64];\n  s[t] = t;\n";
  for (const char* body : {"if t > 16 { barrier(); }",
                           "let late = t > 16; if late { barrier(); }",
                           "if varies(t) > 3 { barrier(); }",
                           "waits(t > 3);",
                           "var c = false; if t > 3 { c = true; } if c { barrier(); }",
                           "for i in 0..t { barrier(); }",
                           "for i in t..64 { barrier(); }",
                           "var i = t; while i < 64 { barrier(); i += 1; }",
                           "loop { barrier(); if t < n { break; } }",
                           "if t >= n { return; } barrier();",
                           "for i in 0..4 { if t == i { continue; } barrier(); }",
                           "if s[t] > 3 { barrier(); }",
                           "if x[t] > 3 { barrier(); }",
                           "match t { 0 => { barrier(); }, _ => { } }",
                           "let b = if t > 3 { 1 } else { 2 }; if b == 1 { barrier(); }",
                           "if n > 0 { if t > 3 { barrier(); } }",
                           "superstep a { if t > 3 { s[t] = 1; } }",
                           "superstep a divergent { if t > 3 { barrier(); } }",
                           "var last = 0; for i in 0..4 { if last > 2 { barrier(); } last = t; }",
                           "var a: [i32; 4]; a[t % 4] = 1; if a[0] > 0 { barrier(); }",
                           "if warp_shuffle_xor(n, 1) > 2 { barrier(); }",
                           "if warp_ballot(t > 3) > 2 { barrier(); }",
                           "if t > 3 { y[t] = warp_reduce_add(t); }",
                           "if t > 3 { warp_barrier(); }",
                           "for u in [1, 2] { if t > u { barrier(); } }"}) {
    INFO(body);
    const Kinds kinds = refused(head + body + "\n  y[global_id.x] = s[t] + n + x[0];\n}\n");
    INFO((kinds.empty() ? std::string() : kinds[0]));
    CHECK(std::any_of(kinds.begin(), kinds.end(), [](const std::string& k) {
      return k.starts_with("barrier-in") || k.starts_with("collective-in") || k.starts_with("divergent-s");
    }));
  }
}

TEST_CASE("a warp operation needs its warp, not its block") {
  CHECK(refused("kernel k(y: out [i32]) block(64) { let t = local_id.x; if t / 32 == 1 { y[t] = warp_reduce_add(t); } }\n") == Kinds{});
  CHECK(refused("kernel k(y: out [i32]) block(64) { let t = local_id.x; if warp_any(t > 3) { y[t] = warp_reduce_add(t); } }\n") == Kinds{});
  CHECK(refused("kernel k(y: out [i32]) block(64) { let t = local_id.x; if t / 32 == 1 { barrier(); } y[t] = 1; }\n") ==
        Kinds{"barrier-in-divergent-flow 1:73"});
  // In a block of one warp what the warp agrees on the block agrees on.
  CHECK(refused("kernel k(y: out [i32]) block(32) { let t = local_id.x; if warp_any(t > 3) { barrier(); } y[t] = 1; }\n") == Kinds{});
}

TEST_CASE("the notes of a barrier lead to where the threads part") {
  Checked c(
      "kernel k(y: out [i32]) block(64) {\n  let tid = local_id.x;\n  let odd = tid & 1;\n  if odd == 1 { barrier(); }\n  y[tid] = "
      "1;\n}\n");
  c.programs();
  REQUIRE(c.sink.diagnostics().size() == 1);
  const Diagnostic& d = c.sink.diagnostics()[0];
  CHECK(c.sources.text(d.range) == "barrier()");
  REQUIRE(d.notes.size() == 2);
  CHECK(c.sources.text(d.notes[0].range) == "odd == 1");
  CHECK(c.sources.text(d.notes[1].range) == "local_id.x");
}

TEST_CASE("one fault is told once, and the others too") {
  CHECK(refused("fn f(x: Missing) -> f32 { x.a + 1 }\nkernel k(y: out [f32]) block(1) { let a = unknown; let b = a + 1; y[0] = b.c + f(a); "
                "y[1] = true; }\n") == Kinds{"unknown-type 1:9", "unknown-name 2:43", "type-mismatch 2:93"});
  CHECK(refused("const N: i32 = M;\nkernel k(y: out [f32]) block(N) { var t: [f32; N]; y[0] = t[N]; }\n") == Kinds{"unknown-name 1:16"});
  CHECK(refused("struct S { a: T }\nkernel k(s: in [S], y: out [f32]) block(1) { let v = s[0]; y[0] = v.a; }\n") ==
        Kinds{"unknown-type 1:15"});
}

TEST_CASE("a name that targets reserve is a name like any other") {
  // Reserved words of C, OpenCL, CUDA, Metal and GLSL are mangled when code is printed.
  CHECK(refused("fn double(int: i32) -> i32 { int * 2 }\nkernel texture(float: i32, half: out [i32]) block(1) { let uint4 = double(float); "
                "half[0] = uint4; }\n") == Kinds{});
}

TEST_CASE("inlining is bounded by nodes") {
  const auto fib = [](const std::string& depth) {
    return refused("inline(" + depth +
                   ") fn fib(n: i32) -> i32 { if n < 2 { n } else { fib(n - 1) + fib(n - 2) } }\nkernel k(y: out [i32]) block(1) { y[0] = "
                   "fib(6); }\n");
  };
  CHECK(fib("6") == Kinds{});
  CHECK(fib("8") == Kinds{"inline-limit 1:1"});
}

TEST_CASE("fix-its mend what they are attached to") {
  for (const char* text :
       {"kernel k(x: in [f32], y: out [i32]) block(1) { y[0] = x[0] * (x[1] + x[2]); }\n",
        "kernel k(x: in [f32], n: i32, y: out [f32]) block(1) { y[0] = x[0] + n; }\n",
        "kernel k(y: out [i32]) block(1) { let a = 1; a += 1; y[0] = a; }\n",
        "kernel k(y: out [i32]) block(1) { let value = 1; y[0] = valeu; }\n",
        "kernel k(y: out [f32]) block(1) { y[0] = local_id as f32; }\n",
        "fn f(x: i32) -> i32 { x + 1; }\nkernel k(y: out [i32]) block(1) { y[0] = f(1); }\n",
        "kernel k(x: [f32], y: out [f32]) block(1) { y[0] = x[0]; }\n", "kernel k(y: inout [i32]) block(1) { atomic_add(y[0], 1) }\n",
        "kernel k(y: inout [i32]) block(64) { superstep s { if local_id.x > 3 { y[local_id.x] = 1; } } }\n"}) {
    INFO(text);
    Checked broken(text);
    broken.programs();
    const Diagnostic* error = nullptr;
    for (const Diagnostic& d : broken.sink.diagnostics())
      if (d.severity == Severity::Error && !error) error = &d;
    INFO(broken.errors());
    REQUIRE(error);
    REQUIRE(error->fixes.size() == 1);
    const FixIt& fix = error->fixes[0];
    std::string mended = text;
    mended.replace(fix.range.begin, fix.range.end - fix.range.begin, fix.replacement);
    INFO(mended);
    Checked again(mended);
    CHECK(again.programs().size() == 1);
    CHECK(!again.sink.has_errors());
  }
}

TEST_CASE("tests are typed for their kernel") {
  const std::string kernel =
      "struct P { a: [i16; 2], b: f32 }\nkernel k(a: f32, p: in [P], y: inout [f32]) block(64) { y[0] = a + p[0].b; }\n";
  Checked c(kernel +
            "test one for k {\n  let n = any(1, 10);\n  grid(ceil_div(n, 64), 2);\n  cases(5);\n  seed(9);\n  a = random(-1.0, 1.0);\n"
            "  p = [P { b: 1.5, a: [1, -2] }; n];\n  y = zeros(n * 2);\n  expect y = [2.5, 0.0];\n  expect same as interp;\n}\n");
  CHECK(c.errors() == "");
  REQUIRE(c.module.tests().size() == 1);
  const sema::TestInfo& t = c.module.tests()[0];
  CHECK((t.cases == 5 && t.seed == 9 && t.grid.size() == 2 && t.lets.size() == 1 && t.same_as == "interp"));
  REQUIRE(t.arguments.size() == 3);
  using Kind = sema::TestExpr::Kind;
  CHECK((t.arguments[0].value.kind == Kind::RandomReal && t.arguments[0].value.type == ir::Type::F32));
  const sema::TestExpr& p = t.arguments[1].value;
  REQUIRE((p.kind == Kind::Repeat && p.parts[0].kind == Kind::Record));
  CHECK((p.parts[0].parts[0].parts[1].bits == 0xfffe && p.parts[0].parts[1].bits == 0x3fc00000));
  CHECK(t.expectations.size() == 1);
  const auto fault = [&](const std::string& body) { return refused(kernel + "test t for k { " + body + " }\n"); };
  CHECK(fault("grid(1); a = 1; p = [P { a: [1, 2], b: 1 }]; y = [0.0]; expect q = [1.0];") ==
        Kinds{"unknown-name 3:79", "invalid-test 3:6"});
  CHECK(fault("grid(1); a = 1.0; p = any(3); y = [0.0]; expect same as cuda;").size() == 3);
  CHECK(fault("grid(1.5); a = true; p = [P { a: [1, 2], b: 1 }]; y = [300i64]; expect y = [1.0];") ==
        Kinds{"type-mismatch 3:21", "type-mismatch 3:31", "type-mismatch 3:71"});
  CHECK(fault("a = 1.0; y = [0.0];") == Kinds{"invalid-test 3:6", "invalid-test 3:6"});
}

TEST_CASE("the examples of the language's documentation mean something") {
  std::istringstream lines(read(std::filesystem::path(SAREK_SOURCE_DIR) / "grammar/language.md"));
  int compiled = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("```sarek compiles") && !line.starts_with("```sarek error")) continue;
    const bool compiles = line.starts_with("```sarek compiles");
    std::string text;
    while (std::getline(lines, line) && line != "```") text += line + "\n";
    INFO(text);
    Checked c(text);
    for (const ir::Program& p : c.programs()) CHECK(spec::verify_program(p).empty());
    INFO(c.errors());
    CHECK(c.sink.has_errors() == !compiles);
    compiled += compiles;
  }
  CHECK(compiled >= 8);
}

TEST_CASE("the samples are checked, lowered and whole") {
  int kernels = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::filesystem::path(SAREK_SOURCE_DIR) / "samples")) {
    if (entry.path().extension() != ".sarek") continue;
    INFO(entry.path().string());
    Checked c(read(entry.path()));
    for (const ir::Program& p : c.programs()) {
      ++kernels;
      INFO(spec::describe(p, spec::verify_program(p)));
      CHECK(spec::verify_program(p).empty());
    }
    CHECK(c.errors() == "");
  }
  CHECK(kernels >= 10);
}

TEST_CASE("random text that parses is checked without a crash") {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    Checked c(syntax::testing::RandomSource(seed).file());
    c.programs();
    for (const Diagnostic& d : c.sink.diagnostics()) CHECK(!d.message.empty());
  }
}
