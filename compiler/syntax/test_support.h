// What the tests of this folder share: parsing a string, and random source text. Not part of the library.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "compiler/support/diagnostic.h"
#include "compiler/syntax/parse.h"

namespace sarek::syntax::testing {

/// One parsed string with all that the tests look at.
struct Parsed {
  SourceManager sources;
  FileId file;
  DiagnosticSink sink;
  Ast ast;

  explicit Parsed(std::string text) : file(sources.add("t.sarek", std::move(text))), ast(parse(sources, file, sink)) {}
  std::string dump() const { return dump_ast(sources, ast, false); }
  std::string errors() const { return render_text(sources, sink.diagnostics(), false); }
};

/// Random text that the grammar accepts, of every construct, with random white space and comments between its tokens.
class RandomSource {
 public:
  explicit RandomSource(std::uint32_t seed) : random_(seed) {}

  std::string file() {
    out_.clear();
    const int items = below(4) + 1;
    for (int i = 0; i < items; ++i) item();
    gap();
    return out_;
  }
  /// One expression without statements in it.
  std::string expression() {
    out_.clear();
    expr(3);
    return out_;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint32_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <std::size_t N>
  const char* pick(const char* const (&from)[N]) {
    return from[below(static_cast<int>(N))];
  }

  void gap() {
    switch (below(24)) {
      case 0: out_ += "\n"; break;
      case 1: out_ += "\n\n\n  "; break;
      case 2: out_ += " // a remark  \n"; break;
      case 3: out_ += "\n  // on its own line\n"; break;
      case 4: out_ += " /* inside */ "; break;
      case 5: out_ += "\n/* two\n   lines */\n"; break;
      case 6: out_ += "\t \n"; break;
      default: out_ += " "; break;
    }
  }
  void put(std::string_view token) {
    gap();
    out_ += token;
  }
  void name() {
    static const char* const kNames[] = {"a",    "b",     "x",    "tile", "step",   "out", "block",
                                         "test", "graph", "wide", "same", "expect", "_q",  "n1"};
    put(pick(kNames));
  }
  void type_name() {
    static const char* const kNames[] = {
        "f32", "i32", "u64", "bf16", "Particle", "Pair<f32>", "m.Shape", "fragment_a<f16, 16, 16, 16>", "Box<Box<i32>>"};
    put(pick(kNames));
  }
  void literal() {
    static const char* const kLiterals[] = {"0",       "42",   "0xff_u8", "0b1010",  "1_000i64", "1.0",  "1e-3f32",
                                            "0x1.8p3", "2f64", "inf",     "nan_f32", "true",     "false"};
    put(pick(kLiterals));
  }
  template <class Each>
  void list(int least, int most, Each each) {
    const int count = least + below(most - least + 1);
    for (int i = 0; i < count; ++i) {
      if (i > 0) put(",");
      each();
    }
    if (count > 0 && chance(15)) put(",");
  }

  void type(int depth) {
    if (depth == 0) return type_name();
    switch (below(6)) {
      case 0:
        put("[");
        type(depth - 1);
        if (chance(70)) {
          put(";");
          if (chance(20)) {
            put("dyn");
          } else {
            list(1, 2, [&] { expr(1); });
          }
        }
        return put("]");
      case 1:
        put("(");
        type(depth - 1);
        put(",");
        type(depth - 1);
        return put(")");
      case 2: return put("()");
      default: return type_name();
    }
  }

  void expr(int depth) {
    static const char* const kSafe[] = {"*", "/", "%", "@", "+", "-", "<<", ">>", "&", "^", "|"};
    static const char* const kCompare[] = {"==", "!=", "<=", ">="};
    operand(depth);
    const int more = depth == 0 ? 0 : below(3);
    for (int i = 0; i < more; ++i) {
      put(pick(kSafe));
      operand(depth - 1);
    }
    if (depth > 0 && more == 0 && chance(30)) {
      put(pick(kCompare));
      operand(depth - 1);
      if (chance(50)) {
        put(chance(50) ? "&&" : "||");
        operand(depth - 1);
      }
    }
  }

  void operand(int depth) {
    static const char* const kPrefix[] = {"-", "!", "~"};
    for (int i = below(8); i > 6; --i) put(pick(kPrefix));
    primary(depth);
    for (int i = depth == 0 ? 0 : below(4); i > 1; --i) suffix(depth - 1);
    if (chance(10)) {
      put("as");
      put("u32");
    }
  }

  void primary(int depth) {
    if (depth == 0) return chance(50) ? literal() : name();
    switch (below(12)) {
      case 0:
        put("(");
        expr(depth - 1);
        return put(")");
      case 1:
        put("(");
        expr(depth - 1);
        put(",");
        list(1, 2, [&] { expr(depth - 1); });
        return put(")");
      case 2:
        put("[");
        list(0, 4, [&] { expr(depth - 1); });
        return put("]");
      case 3:
        put("[");
        expr(depth - 1);
        put(";");
        expr(depth - 1);
        return put("]");
      case 4: return if_expr(depth);
      case 5:
        put("match");
        name();
        put("{");
        for (int i = below(3); i >= 0; --i) {
          pattern(2);
          if (chance(20)) {
            put("if");
            name();
          }
          put("=>");
          if (chance(30)) {
            block(depth - 1);
            if (chance(50)) put(",");
          } else {
            name();
            put(",");
          }
        }
        return put("}");
      case 6:
        put(chance(50) ? "Particle" : "Pair<f32>");
        put("{");
        name();
        put(":");
        expr(depth - 1);
        if (chance(30)) {
          put(",");
          put("..");
          name();
        }
        return put("}");
      case 7:
        put("bitcast<u32>");
        put("(");
        expr(depth - 1);
        return put(")");
      case 8:
        put("native");
        put("{");
        list(0, 2, [&] {
          put("cuda");
          put(":");
          put(chance(50) ? "\"a \\\" b\"" : "\"\"\"raw \" text\"\"\"");
        });
        put("}");
        put("else");
        return block(depth - 1);
      default: return chance(50) ? literal() : name();
    }
  }

  void if_expr(int depth) {
    put("if");
    name();
    block(depth - 1);
    if (chance(40)) {
      put("else");
      put("if");
      name();
      block(depth - 1);
    }
    if (chance(60)) {
      put("else");
      block(depth - 1);
    }
  }

  void suffix(int depth) {
    switch (below(4)) {
      case 0:
        put("(");
        list(0, 3, [&] { expr(depth); });
        return put(")");
      case 1:
        put("[");
        list(1, 2, [&] { expr(depth); });
        return put("]");
      case 2: put("."); return name();
      default: put("."); return put("0");
    }
  }

  void pattern(int depth) {
    switch (depth == 0 ? below(3) : below(6)) {
      case 0: return put("_");
      case 1: return name();
      case 2: return put(chance(50) ? "-1" : "true");
      case 3:
        put(chance(50) ? "circle" : "Shape.circle");
        put("(");
        list(0, 2, [&] { pattern(depth - 1); });
        return put(")");
      case 4:
        put("(");
        pattern(depth - 1);
        put(",");
        pattern(depth - 1);
        return put(")");
      default:
        pattern(depth - 1);
        put("|");
        return pattern(depth - 1);
    }
  }

  void block(int depth) {
    put("{");
    for (int i = depth <= 0 ? below(2) : below(4); i > 0; --i) statement(depth);
    if (chance(40)) name();
    put("}");
  }

  void statement(int depth) {
    static const char* const kAssign[] = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};
    const int inner = depth > 0 ? depth - 1 : 0;
    switch (depth <= 0 ? below(5) : below(12)) {
      case 0:
        put(chance(50) ? "let" : "var");
        if (chance(20)) {
          put("(");
          name();
          put(",");
          put("_");
          put(")");
        } else {
          name();
        }
        if (chance(40)) {
          put(":");
          type(1);
        }
        put("=");
        expr(inner);
        return put(";");
      case 1:
        name();
        if (chance(50)) {
          put("[");
          expr(inner);
          put("]");
        }
        put(pick(kAssign));
        expr(inner);
        return put(";");
      case 2:
        name();
        put("(");
        list(0, 2, [&] { expr(inner); });
        put(")");
        return put(";");
      case 3:
        put("return");
        if (chance(50)) expr(inner);
        return put(";");
      case 4: put(chance(50) ? "break" : "continue"); return put(";");
      case 5:
        if (chance(30)) put("unroll");
        else if (chance(30)) put("unroll(4)");
        put("for");
        name();
        put("in");
        if (chance(30)) {
          put("[");
          list(1, 3, [&] { literal(); });
          put("]");
        } else {
          put("0");
          put(chance(50) ? ".." : "..=");
          put("n");
          if (chance(40)) {
            put("step");
            put("-1");
          }
        }
        return block(inner);
      case 6:
        put("while");
        name();
        return block(inner);
      case 7:
        put("superstep");
        name();
        if (chance(30)) put("divergent");
        return block(inner);
      case 8:
        put("shared");
        name();
        put(":");
        type(1);
        return put(";");
      case 9: return if_expr(depth);
      case 10: put("loop"); return block(inner);
      default: return put(";");
    }
  }

  void params() {
    put("(");
    list(0, 3, [&] {
      name();
      put(":");
      if (chance(40)) {
        static const char* const kAccess[] = {"in", "out", "inout"};
        put(pick(kAccess));
        put("[f32]");
      } else {
        type(1);
      }
    });
    put(")");
  }

  void item() {
    if (chance(20)) out_ += "\n/// About the next one.\n";
    switch (below(9)) {
      case 0:
        put("import");
        put("\"a/b.sarek\"");
        if (chance(40)) {
          put("as");
          name();
        }
        return put(";");
      case 1:
        put("const");
        put("N");
        put(":");
        type(1);
        put("=");
        expr(2);
        return put(";");
      case 2:
        put("struct");
        put(chance(50) ? "S" : "S<T: number, U>");
        put("{");
        list(0, 3, [&] {
          name();
          put(":");
          type(2);
        });
        return put("}");
      case 3:
        put("enum");
        put("E");
        put("{");
        list(1, 3, [&] {
          name();
          if (chance(50)) {
            put("(");
            list(1, 2, [&] { type(1); });
            put(")");
          }
        });
        return put("}");
      case 4:
        put("\npipeline");
        put("p");
        params();
        put("{");
        put("saxpy<<(n >> (1)), n / 2>>");
        put("(");
        list(0, 2, [&] { expr(1); });
        put(")");
        put(";");
        return put("}");
      case 5:
        put("\ngraph");
        put("g");
        params();
        put("->");
        put("tensor<f32>[n, 128]");
        return block(1);
      case 6:
        put("\ntest");
        put("t");
        put("for");
        put("k");
        put("{");
        put("grid(1);");
        put("x");
        put("=");
        expr(1);
        put(";");
        put("expect same as interp;");
        return put("}");
      case 7:
        if (chance(30)) put("inline(3)");
        put("fn");
        put("f");
        params();
        if (chance(50)) {
          put("->");
          type(1);
        }
        return block(3);
      default:
        put("kernel");
        put("k");
        params();
        if (chance(70)) put("block(16, 16)");
        if (chance(20)) put("wide");
        return block(3);
    }
  }

  std::mt19937 random_;
  std::string out_;
};

}  // namespace sarek::syntax::testing
