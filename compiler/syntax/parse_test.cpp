// Trees of well-formed text: one case per construct, precedence against an independent reading, and the tables that later stages rely on.
#include "compiler/syntax/parse.h"

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <sstream>

#include "compiler/syntax/test_support.h"

using namespace sarek;
using namespace sarek::syntax;
using namespace sarek::syntax::testing;

namespace {

// An expression with every operation in parentheses; names, numbers, calls and members as they are.
std::string grouped(const Expr& e) {
  switch (e.kind) {
    case ExprKind::Int: return std::string(e.as<IntExpr>().text);
    case ExprKind::Float: return std::string(e.as<FloatExpr>().text);
    case ExprKind::Bool: return e.as<BoolExpr>().value ? "true" : "false";
    case ExprKind::Name: return std::string(e.as<NameExpr>().name.text);
    case ExprKind::Unary: return "(" + std::string(spelling(e.as<UnaryExpr>().op)) + grouped(*e.as<UnaryExpr>().operand) + ")";
    case ExprKind::Binary:
      return "(" + grouped(*e.as<BinaryExpr>().left) + " " + std::string(spelling(e.as<BinaryExpr>().op)) + " " +
             grouped(*e.as<BinaryExpr>().right) + ")";
    case ExprKind::Call: {
      std::string out = grouped(*e.as<CallExpr>().callee) + "(";
      for (const Expr* arg : e.as<CallExpr>().args) out += (out.back() == '(' ? "" : ", ") + grouped(*arg);
      return out + ")";
    }
    case ExprKind::Member: return grouped(*e.as<MemberExpr>().base) + "." + std::string(e.as<MemberExpr>().name.text);
    case ExprKind::TupleIndex: return grouped(*e.as<TupleIndexExpr>().base) + "." + std::to_string(e.as<TupleIndexExpr>().index);
    case ExprKind::Index: return grouped(*e.as<IndexExpr>().base) + "[" + grouped(*e.as<IndexExpr>().indexes[0]) + "]";
    case ExprKind::Cast:
      return "(" + grouped(*e.as<CastExpr>().operand) + " as " + std::string(e.as<CastExpr>().type->as<NamedType>().name.text) + ")";
    case ExprKind::If:
    case ExprKind::Match:
    case ExprKind::Block:
    case ExprKind::Record:
    case ExprKind::Array:
    case ExprKind::ArrayRepeat:
    case ExprKind::Tuple:
    case ExprKind::Native:
    case ExprKind::Error: return "<" + std::to_string(static_cast<int>(e.kind)) + ">";
  }
  return "";
}

std::string grouped(const std::string& expression) {
  const Parsed parsed("const X: i32 = " + expression + ";");
  INFO(parsed.errors());
  REQUIRE(parsed.sink.diagnostics().empty());
  REQUIRE(parsed.ast.items.size() == 1);
  return grouped(*parsed.ast.items[0]->as<ConstItem>().value);
}

// The dump of the body of `fn f() { text }`, without its first line, two levels to the left.
std::string body(const std::string& text) {
  const Parsed parsed("fn f() { " + text + " }");
  INFO(text << "\n" << parsed.errors());
  REQUIRE(parsed.sink.diagnostics().empty());
  std::istringstream lines(parsed.dump());
  std::string out;
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);
  while (std::getline(lines, line)) out += line.substr(4) + "\n";
  return out;
}

std::string item(const std::string& text) {
  const Parsed parsed(text);
  INFO(text << "\n" << parsed.errors());
  REQUIRE(parsed.sink.diagnostics().empty());
  return parsed.dump();
}

}  // namespace

TEST_CASE("precedence and associativity") {
  const std::pair<const char*, const char*> kCases[] = {
      {"a + b * c", "(a + (b * c))"},
      {"a - b - c", "((a - b) - c)"},
      {"a / b * c % d", "(((a / b) * c) % d)"},
      {"a << b + c", "(a << (b + c))"},
      {"a & b << c", "(a & (b << c))"},
      {"a | b ^ c & d", "(a | (b ^ (c & d)))"},
      {"a || b && c", "(a || (b && c))"},
      {"a && b || c && d", "((a && b) || (c && d))"},
      {"a + b < c * d", "((a + b) < (c * d))"},
      {"a == b && c != d", "((a == b) && (c != d))"},
      {"(a & b) == c", "((a & b) == c)"},
      {"(a < b) == (c < d)", "((a < b) == (c < d))"},
      {"-a * b", "((-a) * b)"},
      {"-a as u32 * b", "(((-a) as u32) * b)"},
      {"a as i32 < b", "((a as i32) < b)"},
      {"a as f32 as u32", "((a as f32) as u32)"},
      {"!a.b[c](d)", "(!a.b[c](d))"},
      {"- -a", "(-(-a))"},
      {"~a ^ b", "((~a) ^ b)"},
      {"a @ b + c", "((a @ b) + c)"},
      {"a - -b", "(a - (-b))"},
      {"t.0.1 + t.2", "(t.0.1 + t.2)"},
      {"a < b", "(a < b)"},
      {"f(a < b, c > d)", "f((a < b), (c > d))"},
      {"a < (b >> c)", "(a < (b >> c))"},
      {"a < b >> c", "(a < (b >> c))"},
  };
  for (const auto& [source, wanted] : kCases) CHECK(grouped(source) == wanted);
}

TEST_CASE("a fully grouped expression reads as the one it was printed from") {
  // The printed form needs no precedence, so reading it again is an independent check of the table.
  static const char* const kOps[] = {"*", "/", "%", "+", "-", "<<", ">>", "&", "^", "|", "&&", "||"};
  std::mt19937 random(3);
  for (int round = 0; round < 400; ++round) {
    std::string text = "a";
    for (int k = 0; k < 6; ++k)
      text += std::string(" ") + kOps[random() % 12] + (random() % 4 == 0 ? " -" : " ") + static_cast<char>('a' + k);
    CHECK(grouped(grouped(text)) == grouped(text));
  }
}

TEST_CASE("literals keep their text") {
  const Parsed parsed(
      "const A: u64 = 0xffff_ffff_ffff_ffff;\nconst B: u8 = 0b1010_1010u8;\nconst C: i64 = 1_000_i64;\nconst D: f32 = 1_0.5e-3_f32;\n"
      "const E: f64 = 0x1.8p3;\nconst F: bf16 = 2bf16;\nconst G: f32 = inf;\nconst H: f64 = nan_f64;\nconst I: f16 = 0x1fp-2f16;\n");
  REQUIRE(parsed.sink.diagnostics().empty());
  const auto integer = [&](std::size_t i) -> const IntExpr& { return parsed.ast.items[i]->as<ConstItem>().value->as<IntExpr>(); };
  const auto number = [&](std::size_t i) -> const FloatExpr& { return parsed.ast.items[i]->as<ConstItem>().value->as<FloatExpr>(); };
  CHECK(integer(0).value == 0xffffffffffffffffull);
  CHECK(integer(0).suffix.empty());
  CHECK(integer(1).value == 0xaa);
  CHECK(integer(1).suffix == "u8");
  CHECK(integer(2).value == 1000);
  CHECK(integer(2).suffix == "i64");
  CHECK(number(3).digits == "10.5e-3");
  CHECK(number(3).suffix == "f32");
  CHECK(number(3).text == "1_0.5e-3_f32");
  CHECK(number(4).digits == "0x1.8p3");
  CHECK(number(4).suffix.empty());
  CHECK(number(5).digits == "2");
  CHECK(number(5).suffix == "bf16");
  CHECK(number(6).digits == "inf");
  CHECK(number(7).digits == "nan");
  CHECK(number(7).suffix == "f64");
  CHECK(number(8).digits == "0x1fp-2");
  CHECK(number(8).suffix == "f16");
}

TEST_CASE("statements") {
  CHECK(body("let x: i32 = 1;") == "let\n  name-pattern x\n  type\n    type i32\n  init\n    int 1\n");
  CHECK(body("var (a, _) = t;") == "var\n  tuple-pattern\n    name-pattern a\n    wildcard\n  init\n    name t\n");
  CHECK(body("x[i, j].f <<= 1;") ==
        "assign <<=\n  member f\n    index\n      name x\n      indexes\n        name i\n        name j\n  int 1\n");
  CHECK(body("for i: u32 in 7..=0 step -1 { break; }") ==
        "for i ..=\n  type\n    type u32\n  first\n    int 7\n  last\n    int 0\n  step\n    unary -\n      int 1\n  block\n    break\n");
  CHECK(body("unroll for s in [2, 1] { continue; }") == "for s list\n  unroll\n  list\n    int 2\n    int 1\n  block\n    continue\n");
  CHECK(body("unroll(4) while a { }") == "while\n  unroll\n    int 4\n  name a\n  block\n");
  CHECK(body("loop { return 1 }") == "loop\n  block\n    return\n      int 1\n");
  CHECK(body("superstep s divergent { f(); }") == "superstep s divergent\n  block\n    expr\n      call\n        name f\n");
  CHECK(body("shared t: [f32; dyn];") == "shared t\n  array-type dyn\n    type f32\n");
  CHECK(body("const N = 3;") == "const N\n  int 3\n");
}

TEST_CASE("the value of a block") {
  CHECK(body("f(); g()") == "expr\n  call\n    name f\nvalue\n  call\n    name g\n");
  CHECK(body("f(); g();") == "expr\n  call\n    name f\nexpr\n  call\n    name g\n");
  CHECK(body("if a { 1 } else { 2 }") ==
        "value\n  if\n    name a\n    block\n      value\n        int 1\n    else\n      block\n        value\n          int 2\n");
  CHECK(body("if a { } -b") == "expr\n  if\n    name a\n    block\nvalue\n  unary -\n    name b\n");
  CHECK(body("if a { };") == "expr\n  if\n    name a\n    block\n");
  CHECK(body("a = 1") == "assign =\n  name a\n  int 1\n");
  CHECK(body("match a { _ => 1 }") == "value\n  match\n    name a\n    arm\n      wildcard\n      int 1\n");
  CHECK(body("if a { } else if b { } else { }") ==
        "value\n  if\n    name a\n    block\n    else\n      if\n        name b\n        block\n        else\n          block\n");
}

TEST_CASE("patterns") {
  CHECK(body("match x { 0 | -1 => 1, circle(r) if r > 0.0 => { 2 } Shape.none => 3, (true, y) => 4 }") ==
        "value\n  match\n    name x\n"
        "    arm\n      or-pattern\n        literal-pattern\n          int 0\n        literal-pattern\n          unary -\n            int "
        "1\n      int 1\n"
        "    arm\n      constructor-pattern circle()\n        name-pattern r\n      guard\n        binary >\n          name r\n          "
        "float 0.0\n"
        "      block\n        value\n          int 2\n"
        "    arm\n      constructor-pattern Shape.none\n      int 3\n"
        "    arm\n      tuple-pattern\n        literal-pattern\n          bool true\n        name-pattern y\n      int 4\n");
}

TEST_CASE("records, arrays, tuples and type arguments") {
  CHECK(body("let p = m.Pair<f32> { a: 1, ..old };") ==
        "let\n  name-pattern p\n  init\n    record m.Pair\n      type-args\n        type f32\n      field a\n        int 1\n      base\n   "
        "     name old\n");
  CHECK(body("[1, 2,]; [0; 4]; (); (1, 2); (1)") ==
        "expr\n  array\n    int 1\n    int 2\nexpr\n  array-repeat\n    int 0\n    int 4\nexpr\n  tuple\nexpr\n  tuple\n    int 1\n    int "
        "2\nvalue\n  int 1\n");
  CHECK(body("bitcast<Box<Box<u32>>>(x); Option<f32>.none") ==
        "expr\n  call\n    name bitcast\n    type-args\n      type Box\n        type-args\n          type Box\n            type-args\n     "
        "         type u32\n"
        "    args\n      name x\nvalue\n  member none\n    name Option\n    type-args\n      type f32\n");
  CHECK(body("native { cuda: \"a\\n\\\"\", opencl: \"\"\"b\\n\"\"\" } else { 1 }") ==
        "value\n  native\n    text cuda \"a\\n\\\"\"\n    text opencl \"b\\\\n\"\n    block\n      value\n        int 1\n");
}

TEST_CASE("items") {
  CHECK(item("import \"a.sarek\" as a;") == "import \"a.sarek\" as a\n");
  CHECK(item("/// One.\n/// Two.\nstruct S<T: number> { x: [T; 3], }") ==
        "struct S\n  doc \"One.\\nTwo.\\n\"\n  type-param T: number\n  field x\n    array-type\n      type T\n      extents\n        int "
        "3\n");
  CHECK(item("/// Not about f.\n\nfn f() {}") == "fn f\n  block\n");
  CHECK(item("enum E { a(i32, f32), b }") == "enum E\n  variant a\n    type i32\n    type f32\n  variant b\n");
  CHECK(item("inline(6) unroll(2) fn f(x: in [f32; n, 4]) -> (i32, f32) { }") ==
        "fn f\n  inline\n    int 6\n  unroll\n    int 2\n  param x in\n    array-type\n      type f32\n      extents\n        name n\n     "
        "   int 4\n"
        "  result\n    tuple-type\n      type i32\n      type f32\n  block\n");
  CHECK(item("kernel k(out: out [f32]) block(8, N * 2) wide { }") ==
        "kernel k wide\n  param out out\n    buffer-type\n      type f32\n  block-size\n    int 8\n    binary *\n      name N\n      int "
        "2\n  block\n");
  CHECK(item("pipeline p() { k<<n / 2, 1; 64>>(a); m.k<<1>>(); }") ==
        "pipeline p\n  block\n    launch k\n      grid\n        binary /\n          name n\n          int 2\n        int 1\n      "
        "dynamic-elements\n"
        "        int 64\n      args\n        name a\n    launch m.k\n      grid\n        int 1\n");
  CHECK(item("graph g(x: tensor<f32>[n, 4]) -> tensor<f32>[n] { x @ w }") ==
        "graph g\n  param x\n    tensor-type\n      type f32\n      extents\n        name n\n        int 4\n  result\n    tensor-type\n    "
        "  type f32\n"
        "      extents\n        name n\n  block\n    value\n      binary @\n        name x\n        name w\n");
  CHECK(item("test t for k { let n = any(1, 9); grid(n); shared(4); seed(1); x = random(n); expect = 3; expect y = [1]; expect same as "
             "interp; "
             "expect error \"race\"; }") ==
        "test t for k\n  let n\n    call\n      name any\n      args\n        int 1\n        int 9\n  grid\n    name n\n  shared\n    int "
        "4\n  seed\n    int 1\n"
        "  bind x\n    call\n      name random\n      args\n        name n\n  bind expect\n    int 3\n  expect y\n    array\n      int 1\n"
        "  expect-same-as interp\n  expect-error \"race\"\n");
}

TEST_CASE("every node has its range, and ids have no gaps") {
  const std::string text = "fn f(a: i32) -> i32 {\n  let b = (a + 1) * g(a);\n  b as i32\n}\n";
  const Parsed parsed(text);
  REQUIRE(parsed.sink.diagnostics().empty());
  const auto& function = parsed.ast.items[0]->as<FunctionItem>();
  const auto spelled = [&](SourceRange r) { return std::string(parsed.sources.text(r)); };
  CHECK(spelled(function.range) == text.substr(0, text.size() - 1));
  CHECK(spelled(function.name.range) == "f");
  CHECK(spelled(function.params[0].range) == "a: i32");
  const auto& let = function.body->statements[0]->as<LetStmt>();
  CHECK(spelled(let.range) == "let b = (a + 1) * g(a);");
  const auto& product = let.init->as<BinaryExpr>();
  CHECK(spelled(product.op_range) == "*");
  CHECK(spelled(product.left->range) == "a + 1");
  CHECK(spelled(product.right->range) == "g(a)");
  CHECK(spelled(function.body->value->range) == "b as i32");
  CHECK(parsed.ast.expr_count == 10);
  CHECK(parsed.ast.stmt_count == 1);
  CHECK(parsed.ast.pattern_count == 1);
}

TEST_CASE("generated programs parse") {
  for (std::uint32_t seed = 5000; seed < 5500; ++seed) {
    const std::string text = RandomSource(seed).file();
    const Parsed parsed(text);
    INFO(text << "\n" << parsed.errors());
    REQUIRE(parsed.sink.diagnostics().empty());
  }
}

TEST_CASE("the grammar decides everything with one token") {
  // The generated parser calls adaptivePredict where it needs more; besides being slow, that would find faults later than they are.
  std::ifstream in(std::string(SAREK_BINARY_DIR) + "/compiler/syntax/generated/SarekParser.cpp");
  REQUIRE(in);
  std::stringstream text;
  text << in.rdbuf();
  CHECK(text.str().find("SarekParser::file()") != std::string::npos);
  CHECK(text.str().find("adaptivePredict") == std::string::npos);
}
