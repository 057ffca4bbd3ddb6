// What the filter decides before the parser runs: words that are keywords in places only, and brackets that look like operators.
#include <catch2/catch_test_macros.hpp>

#include "compiler/syntax/cst.h"
#include "compiler/syntax/test_support.h"

using namespace sarek;
using namespace sarek::syntax;

namespace {

// The kinds of all filtered tokens that are none of the lexer's own, in order.
std::vector<TokenKind> special(std::string_view text) {
  Faults faults;
  LexedFile lexed = run_lexer(text, FileId(0));
  REQUIRE(filter_tokens(text, FileId(0), lexed.tokens, faults));
  std::vector<TokenKind> out;
  for (const Token& token : lexed.tokens)
    if (token.kind >= TokenKind::TemplateOpen && token.kind != TokenKind::Tail) out.push_back(token.kind);
  return out;
}
using K = TokenKind;
using Kinds = std::vector<TokenKind>;

}  // namespace

TEST_CASE("contextual words are names everywhere else") {
  CHECK(
      special("fn f() { let out = inout + step * block - wide / test; graph(pipeline, tensor, expect, same, error, divergent); }").empty());
  CHECK(special("kernel k(out: out [f32], inout: inout [f32]) block(4) wide {}") == Kinds{K::Out, K::Inout, K::Block, K::Wide});
  CHECK(special("fn block(step: i32) {}").empty());
  CHECK(special("fn f() { for step in 0..n step 2 { } }") == Kinds{K::Step});
  CHECK(special("fn f() { superstep divergent divergent { } }") == Kinds{K::Divergent});
  CHECK(special("fn f() { let p = P { a: out[0] }; }") == Kinds{K::RecordOpen});
  CHECK(special("test test for test { expect = 1; expect expect = 2; expect same as interp; }") ==
        Kinds{K::Test, K::Expect, K::Expect, K::Same});
  CHECK(special("graph graph(x: tensor<f32>[1]) -> tensor<f32>[1] { x }") ==
        Kinds{K::Graph, K::Tensor, K::TemplateOpen, K::TemplateClose, K::Tensor, K::TemplateOpen, K::TemplateClose});
}

TEST_CASE("a less-than sign opens type arguments only where no comparison could be meant") {
  const Kinds none;
  const Kinds one{K::TemplateOpen, K::TemplateClose};
  CHECK(special("fn f() { g(a < b, c > d); }") == none);
  CHECK(special("fn f() { g(a < b, c > -d); }") == none);
  CHECK(special("fn f() { g(a < b, c > d.e); }") == none);
  CHECK(special("fn f() { a < b && c > (d) }") == none);
  CHECK(special("fn f() { (a < b) == (c > (d)) }") == none);
  CHECK(special("fn f() { a < 1 >> (2) }") == none);
  CHECK(special("fn f() { x as i32 < y }") == none);
  CHECK(special("fn f() { if a < b { } }") == none);
  CHECK(special("fn f() { g<f32>(x) }") == one);
  CHECK(special("fn f(x: A<f32>) {}") == one);
  CHECK(special("fn f(x: A<[f32; N * 2], (i32, B)>) {}") == one);
  CHECK(special("fn f() { let a: A<f32> = b; }") == one);
  CHECK(special("fn f<T: number>(x: T) {}") == one);
  CHECK(special("fn f() { A<i32>.b }") == one);
  CHECK(special("fn f(x: A<B<i32>>) {}") == Kinds{K::TemplateOpen, K::TemplateOpen, K::TemplateClose, K::TemplateClose});
  CHECK(special("fn f(x: A<B<C<i32>>>) {}").size() == 6);
}

TEST_CASE("a brace opens a record only before a field") {
  CHECK(special("fn f() { if a { b } }").empty());
  CHECK(special("fn f() { match a { b => c } }").empty());
  CHECK(special("fn f() { if a == P { x: 1 } { b } }") == Kinds{K::RecordOpen});
  CHECK(special("fn f() { P { ..b } }") == Kinds{K::RecordOpen});
  CHECK(special("struct P { x: f32 }").empty());
  CHECK(special("const A: P = P { x: 1 };") == Kinds{K::RecordOpen});
}

TEST_CASE("launches are marked in pipelines only") {
  CHECK(special("fn f() { k << 1 >> (x) }").empty());
  CHECK(special("pipeline p() { k<<1>>(x); let a = b << c; }") == Kinds{K::Pipeline, K::LaunchName, K::LaunchOpen, K::LaunchClose});
}

TEST_CASE("levels count the open brackets") {
  const std::string_view text = "fn f(a: [i32]) { g(1); }";
  Faults faults;
  LexedFile lexed = run_lexer(text, FileId(0));
  REQUIRE(filter_tokens(text, FileId(0), lexed.tokens, faults));
  std::string levels;
  for (const Token& token : lexed.tokens) levels += static_cast<char>('0' + token.level);
  //                fn f ( a : [ i32 ] ) { g ( 1 ) ; } end
  CHECK(levels ==
        "00011"
        "1"
        "2"
        "1"
        "0"
        "0"
        "1"
        "1"
        "2"
        "1"
        "1"
        "0"
        "0");
}
