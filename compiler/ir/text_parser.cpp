// A line reader: every construct of the text form ends with its line, so one wrong line costs one message and nothing recurses.
#include "compiler/ir/text_parser.h"

#include <array>
#include <charconv>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "compiler/ir/printer.h"
#include "compiler/ir/shape.h"

namespace sarek::ir {
namespace {

enum class Tok : std::uint8_t { End, Word, Number, Ref, String, Place, Punct, Bad };

struct Token {
  Tok kind = Tok::End;
  std::string_view text;    // as written
  std::string value;        // String: unescaped
  std::uint32_t begin = 0;  // byte offset in the file
  std::uint32_t end() const { return begin + static_cast<std::uint32_t>(text.size()); }
};

bool is_word_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Splits one line into tokens. A word is letters, digits, '_'; a number is anything that starts with a digit or a sign (hexadecimal floats
/// too); `nan:0x...` is a number.
class Lexer {
 public:
  Lexer(std::string_view line, std::uint32_t begin) : line_(line), begin_(begin) {}

  Token next() {
    while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t' || line_[at_] == '\r')) ++at_;
    if (at_ >= line_.size() || line_[at_] == '#') return token(Tok::End, 0);
    const char c = line_[at_];
    std::size_t n = 1;
    const auto peek = [&](std::size_t i) { return at_ + i < line_.size() ? line_[at_ + i] : '\0'; };
    if (line_.compare(at_, 6, "nan:0x") == 0) {
      n = 6;
      while (hex_value(peek(n)) >= 0) ++n;
      return token(Tok::Number, n);
    }
    if (is_word_start(c)) {
      while (is_word_start(peek(n)) || is_digit(peek(n))) ++n;
      return token(Tok::Word, n);
    }
    if (is_digit(c) || c == '-' || c == '+') {
      // The sign of an exponent belongs to the number.
      while (is_word_start(peek(n)) || is_digit(peek(n)) || peek(n) == '.' ||
             ((peek(n) == '-' || peek(n) == '+') && (peek(n - 1) == 'p' || peek(n - 1) == 'P')))
        ++n;
      return token(Tok::Number, n);
    }
    if (c == '%') {
      while (is_digit(peek(n))) ++n;
      return token(n > 1 ? Tok::Ref : Tok::Bad, n);
    }
    if (c == '@') {
      while (is_digit(peek(n)) || peek(n) == ':') ++n;
      return token(Tok::Place, n);
    }
    if (c == '"') return string();
    return token(std::strchr("{}[]=!", c) && c != '\0' ? Tok::Punct : Tok::Bad, 1);
  }

 private:
  Token token(Tok kind, std::size_t n) {
    Token t;
    t.kind = kind;
    t.text = line_.substr(std::min(at_, line_.size()), n);
    t.begin = begin_ + static_cast<std::uint32_t>(std::min(at_, line_.size()));
    at_ += n;
    return t;
  }

  Token string() {
    std::string value;
    std::size_t i = at_ + 1;
    for (; i < line_.size() && line_[i] != '"'; ++i) {
      if (line_[i] != '\\') {
        value += line_[i];
        continue;
      }
      const char e = i + 1 < line_.size() ? line_[i + 1] : '\0';
      ++i;
      if (e == 'n') {
        value += '\n';
      } else if (e == 't') {
        value += '\t';
      } else if (e == '"' || e == '\\') {
        value += e;
      } else if (e == 'x' && i + 2 < line_.size() && hex_value(line_[i + 1]) >= 0 && hex_value(line_[i + 2]) >= 0) {
        value += static_cast<char>(hex_value(line_[i + 1]) * 16 + hex_value(line_[i + 2]));
        i += 2;
      } else {
        return token(Tok::Bad, i - at_ + (i < line_.size() ? 1 : 0));
      }
    }
    if (i >= line_.size()) return token(Tok::Bad, line_.size() - at_);
    Token t = token(Tok::String, i + 1 - at_);
    t.value = std::move(value);
    return t;
  }

  std::string_view line_;
  std::uint32_t begin_;
  std::size_t at_ = 0;
};

/// Stops the reading of one line; caught in `Reader::line`, never crosses this file.
struct LineError {
  DiagnosticKind kind;
  std::uint32_t begin, end;
  std::string message;
};

std::optional<Int128> parse_int128(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.empty()) return std::nullopt;
  Int128 v = 0;
  for (const char c : text) {
    // Downwards: the least value has no positive counterpart.
    if (!is_digit(c) || __builtin_mul_overflow(v, Int128{10}, &v) || __builtin_sub_overflow(v, Int128{c - '0'}, &v)) return std::nullopt;
  }
  if (negative) return v;
  if (__builtin_sub_overflow(Int128{0}, v, &v)) return std::nullopt;
  return v;
}

std::optional<double> parse_float(std::string_view text) {
  if (text == "inf" || text == "+inf") return std::bit_cast<double>(0x7ff0000000000000ull);
  if (text == "-inf") return std::bit_cast<double>(0xfff0000000000000ull);
  if (text.starts_with("nan:0x")) {
    std::uint64_t bits = 0;
    const auto [end, error] = std::from_chars(text.data() + 6, text.data() + text.size(), bits, 16);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    const double v = std::bit_cast<double>(bits);
    return v != v ? std::optional<double>(v) : std::nullopt;
  }
  const bool negative = text.starts_with("-");
  if (negative || text.starts_with("+")) text.remove_prefix(1);
  if (!text.starts_with("0x")) return std::nullopt;
  text.remove_prefix(2);
  double v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v, std::chars_format::hex);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return negative ? -v : v;
}

class Reader {
 public:
  Reader(SourceManager& sources, FileId file, DiagnosticSink& sink, const TextLimits& limits)
      : sources_(sources), owned_(sources.text(file)), text_(owned_), file_(file), sink_(sink), limits_(limits) {}

  std::optional<std::vector<Program>> run() {
    if (text_.size() > limits_.bytes) {
      report({DiagnosticKind::IrLimit, 0, 0, "the file is longer than " + std::to_string(limits_.bytes) + " bytes"});
      return std::nullopt;
    }
    std::size_t begin = 0;
    while (begin < text_.size() && !fatal_) {
      std::size_t end = text_.find('\n', begin);
      if (end == std::string_view::npos) end = text_.size();
      line(begin, end);
      begin = end + 1;
    }
    const auto at_end = static_cast<std::uint32_t>(text_.size());
    if (!fatal_ && !header_) report({DiagnosticKind::IrSyntax, 0, 0, "the file does not begin with `" + std::string(kTextHeader) + "`"});
    if (!fatal_ && open_) report({DiagnosticKind::IrSyntax, at_end, at_end, "program " + quote(current_.name) + " is not closed by `}`"});
    if (failed_) return std::nullopt;
    return std::move(programs_);
  }
  std::vector<std::vector<SourceRange>> take_lines() { return std::move(lines_); }

 private:
  // --- lines ----------------------------------------------------------------------------------------------------------------
  void line(std::size_t begin, std::size_t end) {
    const auto from = static_cast<std::uint32_t>(begin), to = static_cast<std::uint32_t>(end);
    try {
      if (end - begin > limits_.line)
        throw LineError{DiagnosticKind::IrLimit, from, from, "the line is longer than " + std::to_string(limits_.line) + " bytes"};
      lexer_.emplace(text_.substr(begin, end - begin), from);
      line_ = SourceRange{file_, from, to};
      advance();
      if (token_.kind == Tok::End) return;
      line_.begin = token_.begin;
      while (line_.end > line_.begin && (text_[line_.end - 1] == '\r' || text_[line_.end - 1] == ' ')) --line_.end;
      if (!header_) {
        header();
      } else if (!open_) {
        program();
      } else if (is_punct('}')) {
        advance();
        expect_end();
        close();
      } else if (is_word("param")) {
        parameter();
      } else if (is_word("slot")) {
        slot();
      } else if (is_word("source")) {
        source();
      } else if (is_word("declared")) {
        advance();
        if (token_.kind != Tok::Place) fail("expected `@LINE:COLUMN`");
        current_.range = take_place();
        expect_end();
      } else {
        node();
      }
    } catch (const LineError& e) {
      report(e);
      // A file of another kind, or one that is too much: further messages would help nobody.
      if (!header_ || e.kind == DiagnosticKind::IrLimit) fatal_ = true;
    }
  }

  void header() {
    if (text_.substr(line_.begin, line_.end - line_.begin) != kTextHeader)
      fail("the file does not begin with `" + std::string(kTextHeader) + "`");
    header_ = true;
  }

  void program() {
    if (!is_word("program")) fail("expected `program`");
    if (programs_.size() >= limits_.programs) limit("more than " + std::to_string(limits_.programs) + " programs");
    advance();
    // From here on the lines that follow belong to this program, also when its own line is wrong.
    open_ = true;
    current_ = Program{};
    names_.clear();
    files_.clear();
    lines_.emplace_back();
    current_.range = SourceRange{file_, token_.begin, token_.end()};
    current_.name = take_string("the program's name");
    bool block = false;
    while (!is_punct('{')) {
      const std::string key = take_word("`block`, `wide`, `module` or `{`");
      if (key == "wide") {
        current_.wide = true;
      } else if (key == "block") {
        equals();
        const std::vector<std::int64_t> extents = int_list();
        if (extents.size() != 3) fail("a block has three extents");
        for (std::size_t i = 0; i < 3; ++i) current_.block[i] = narrow_int(extents[i]);
        block = true;
      } else if (key == "module") {
        equals();
        current_.module_file = take_string("a file name");
      } else {
        fail("unknown property `" + key + "` of a program");
      }
    }
    if (!block) fail("a program states its `block=[x y z]`");
    advance();
    expect_end();
  }

  void close() {
    programs_.push_back(std::move(current_));
    current_ = Program{};
    open_ = false;
  }

  void parameter() {
    if (current_.params.size() >= limits_.slots) limit("more than " + std::to_string(limits_.slots) + " parameters");
    advance();
    KernelParam p;
    while (token_.kind != Tok::End) {
      const std::string key = take_word("a property of the parameter");
      if (key == "buffer" || key == "scalar") {
        p.is_buffer = key == "buffer";
        continue;
      }
      equals();
      if (key == "name") {
        p.name = take_string("a name");
      } else if (key == "access") {
        const std::string word = take_word("none, in, out or inout");
        const auto access = by_name<Access>(word, access_name, Access::InOut);
        if (!access) fail_before("unknown access `" + word + "`");
        p.access = *access;
      } else if (key == "first_slot") {
        p.first_slot = take_int32();
      } else if (key == "slots") {
        p.slot_count = take_int32();
      } else if (key == "view") {
        p.view = int_list();
      } else if (key == "element") {
        p.element.type_name = take_string("a type name");
      } else if (key == "size") {
        p.element.size = take_int64();
      } else if (key == "align") {
        p.element.align = take_int64();
      } else if (key == "fields") {
        open_list();
        while (!is_punct(']')) {
          check_list(p.element.fields.size());
          LayoutField f;
          f.path = take_string("the path of a field");
          f.type = take_type();
          f.offset = take_int64();
          p.element.fields.push_back(std::move(f));
        }
        advance();
      } else {
        fail_before("unknown property `" + key + "` of a parameter");
      }
    }
    current_.params.push_back(std::move(p));
  }

  void slot() {
    if (current_.slots.size() >= limits_.slots) limit("more than " + std::to_string(limits_.slots) + " slots");
    advance();
    Slot s;
    while (token_.kind != Tok::End) {
      const std::string key = take_word("a property of the slot");
      equals();
      if (key == "kind") {
        const std::string word = take_word("the kind of a slot");
        const auto kind = by_name<Slot::Kind>(word, slot_kind_name, Slot::Kind::SharedLength);
        if (!kind) fail_before("unknown kind of slot `" + word + "`");
        s.kind = *kind;
      } else if (key == "type") {
        s.type = take_type();
      } else if (key == "name") {
        s.name = take_string("a name");
      } else if (key == "param") {
        s.param = take_int32();
      } else if (key == "of_slot") {
        s.of_slot = take_int32();
      } else if (key == "axis") {
        s.axis = take_int32();
      } else {
        fail_before("unknown property `" + key + "` of a slot");
      }
    }
    current_.slots.push_back(std::move(s));
  }

  /// A file that places count in. One that an earlier program named alike is used again.
  void source() {
    if (files_.size() >= limits_.list) limit("more than " + std::to_string(limits_.list) + " source files");
    advance();
    Places f;
    const std::string name = take_string("a file name");
    while (token_.kind != Tok::End) {
      const std::string key = take_word("`lines` or `columns`");
      equals();
      if (key != "lines" && key != "columns") fail_before("unknown property `" + key + "` of a source file");
      const std::int64_t v = take_int64();
      if (v < 1 || v > kMaxSourceCells) fail_before("expected a number from 1 to " + std::to_string(kMaxSourceCells));
      (key == "lines" ? f.lines : f.columns) = static_cast<std::uint32_t>(v);
    }
    const auto [known, is_new] = added_.try_emplace({name, f.lines, f.columns});
    if (is_new) {
      // Blank text of the stated extents: line_column of a place in it is the place in the user's file.
      cells_ += std::uint64_t{f.lines} * (f.columns + 1);
      if (cells_ > std::uint64_t{4} * kMaxSourceCells)
        limit("source files of more than " + std::to_string(4 * kMaxSourceCells) + " lines times columns");
      const std::string blank = std::string(f.columns, ' ') + "\n";
      std::string text;
      text.reserve(blank.size() * f.lines);
      for (std::uint32_t i = 0; i < f.lines; ++i) text += blank;
      known->second = sources_.add(name, std::move(text));
    }
    f.id = known->second;
    files_.push_back(f);
  }

  SourceRange take_place() {
    const Token t = token_;
    std::array<std::uint64_t, 3> numbers{};
    std::size_t count = 0;
    std::string_view rest = t.text.substr(1);
    while (count < 3) {
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), numbers[count]);
      if (error != std::errc()) break;
      ++count;
      rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
      if (rest.empty() || rest[0] != ':') break;
      rest.remove_prefix(1);
    }
    if (count < 2 || !rest.empty()) fail_at(t, "expected `@LINE:COLUMN` or `@FILE:LINE:COLUMN`");
    const std::uint64_t file = count == 3 ? numbers[0] : 0, line = numbers[count - 2], column = numbers[count - 1];
    if (file >= files_.size()) fail_at(t, "the place names a source file that is not stated");
    const Places& f = files_[file];
    if (line < 1 || line > f.lines || column < 1 || column > f.columns) fail_at(t, "the place lies outside of its source file");
    advance();
    const auto offset = static_cast<std::uint32_t>((line - 1) * (f.columns + 1) + (column - 1));
    return SourceRange{f.id, offset, offset + 1};
  }

  void node() {
    if (token_.kind != Tok::Ref) fail("expected `%N = OP TYPE ...`, `param`, `slot` or `}`");
    if (current_.body.size() >= limits_.nodes) limit("more than " + std::to_string(limits_.nodes) + " nodes");
    const Token name = token_;
    const std::uint64_t number = take_ref();
    if (names_.count(number)) fail_at(name, std::string(name.text) + " stands twice");
    equals();
    const Token op_token = token_;
    const std::string op_name = take_word("an operation");
    const std::optional<Op> op = op_by_name(op_name);
    if (!op) fail_at(op_token, "unknown operation `" + op_name + "`");
    const Type type = take_type();
    std::vector<NodeId> sources;
    while (token_.kind == Tok::Ref) {
      check_list(sources.size());
      const Token source = token_;
      const auto it = names_.find(take_ref());
      if (it == names_.end()) fail_at(source, std::string(source.text) + " does not stand before its use");
      sources.push_back(it->second);
    }
    const OpInfo& info = op_info(*op);
    if (static_cast<int>(sources.size()) < info.min_sources || static_cast<int>(sources.size()) > info.max_sources)
      fail_at(op_token, op_name + " with " + std::to_string(sources.size()) + " sources");
    Arg arg = argument(*op, type);
    std::uint32_t tag = 0;
    if (is_punct('!')) {
      advance();
      const std::int64_t v = take_int64();
      if (v < 0 || v > 0xffffffffll) fail_before("a tag is a 32-bit number");
      tag = static_cast<std::uint32_t>(v);
    }
    const SourceRange place = token_.kind == Tok::Place ? take_place() : line_;
    expect_end();
    if (sources.size() > 0xffff) limit("more than 65535 sources");
    const std::size_t before = current_.graph.size();
    const NodeId id = current_.graph.make_raw(*op, type, sources, std::move(arg), tag, place);
    if (current_.graph.size() == before)
      fail_at(name, std::string(name.text) + " repeats an earlier node; a tag (`!N`) tells equal nodes apart");
    names_.emplace(number, id);
    current_.body.push_back(id);
    lines_.back().push_back(line_);
  }

  // --- arguments ------------------------------------------------------------------------------------------------------------
  Arg argument(Op op, Type type) {
    const bool cast = op == Op::Cast || op == Op::Bitcast;
    if (token_.kind == Tok::Number || is_word("true") || is_word("false") || is_word("invalid") || is_word("inf")) return value();
    if (!is_punct('{')) return cast ? Arg(TypeArg{type}) : Arg();
    advance();
    const Token kind_token = token_;
    const std::string kind = take_word("the kind of the argument");
    Arg arg;
    if (kind == "none") {
      arg = std::monostate{};
    } else if (kind == "param") {
      arg = param_arg(type);
    } else if (kind == "range") {
      RangeArg a;
      properties([&](const std::string& key) {
        if (key == "axes") return a.axis_id = int32_list(), true;
        if (key != "axis") return false;
        const std::string word = take_word("an axis type");
        const auto axis = axis_type_by_name(word);
        if (!axis) fail_before("unknown axis type `" + word + "`");
        a.axis_type = *axis;
        return true;
      });
      arg = std::move(a);
    } else if (kind == "name") {
      arg = NameArg{take_string("a name")};
    } else if (kind == "type") {
      arg = TypeArg{take_type()};
    } else if (kind == "ins") {
      const std::string word = take_word("an instruction");
      const auto code = ins_by_name(word);
      if (!code) fail_before("unknown instruction `" + word + "`");
      InsArg a{*code, type, {}};
      properties([&](const std::string& key) {
        if (key == "type") return a.type = take_type(), true;
        if (key == "text") return a.text = take_string("a text"), true;
        return false;
      });
      arg = std::move(a);
    } else if (kind == "code") {
      CodeArg a{take_string("a text"), type};
      properties([&](const std::string& key) { return key == "type" ? (a.type = take_type(), true) : false; });
      arg = std::move(a);
    } else if (kind == "call") {
      CallArg a;
      a.type = type;
      properties(
          [&](const std::string& key) {
            if (key == "name") return a.name = take_string("a name"), true;
            if (key == "aux") return a.aux = take_string("a text"), true;
            if (key == "type") return a.type = take_type(), true;
            return false;
          },
          [&](const std::string& flag) { return flag == "precompile" && (a.precompile = true); });
      arg = std::move(a);
    } else if (kind == "wmma") {
      WmmaArg a;
      properties([&](const std::string& key) {
        if (key == "dims") {
          const std::vector<int> dims = int32_list();
          if (dims.size() != 3) fail_before("a matrix multiplication has three extents");
          for (std::size_t i = 0; i < 3; ++i) a.dims[i] = dims[i];
          return true;
        }
        if (key == "in") return a.type_in = take_type(), true;
        if (key == "threads") return a.threads = take_int32(), true;
        if (key == "upcast") return a.upcast_axes = int32_list(), true;
        return false;
      });
      arg = std::move(a);
    } else if (kind == "reduce") {
      ReduceArg a;
      properties([&](const std::string& key) {
        if (key == "axes") return a.axes = take_int32(), true;
        if (key == "devices") return a.devices = string_list(), true;
        if (key != "op") return false;
        const std::string word = take_word("an operation");
        const auto code = op_by_name(word);
        if (!code) fail_before("unknown operation `" + word + "`");
        a.op = *code;
        return true;
      });
      arg = std::move(a);
    } else if (kind == "stage") {
      StageArg a;
      properties(
          [&](const std::string& key) {
            if (key == "space") return a.space = take_space(), true;
            if (key == "devices") return a.devices = string_list(), true;
            return false;
          },
          [&](const std::string& flag) { return flag == "keep" && (a.keep = true); });
      arg = std::move(a);
    } else if (kind == "device") {
      arg = DeviceArg{string_list()};
    } else if (kind == "axes") {
      arg = AxesArg{int32_list()};
    } else if (kind == "flip") {
      FlipArg a;
      open_list();
      while (!is_punct(']')) {
        check_list(a.flips.size());
        const std::string word = take_word("true or false");
        if (word != "true" && word != "false") fail_before("expected true or false");
        a.flips.push_back(word == "true");
      }
      advance();
      arg = std::move(a);
    } else if (kind == "bytes") {
      BytesArg a;
      const std::string hex = take_string("hexadecimal bytes");
      if (hex.size() % 2 != 0) fail_before("an odd number of hexadecimal digits");
      for (std::size_t i = 0; i < hex.size(); i += 2) {
        if (hex_value(hex[i]) < 0 || hex_value(hex[i + 1]) < 0) fail_before("not hexadecimal");
        a.bytes.push_back(static_cast<std::uint8_t>(hex_value(hex[i]) * 16 + hex_value(hex[i + 1])));
      }
      arg = std::move(a);
    } else {
      fail_at(kind_token, "unknown kind of argument `" + kind + "`");
    }
    if (!is_punct('}')) fail("expected `}`");
    advance();
    return arg;
  }

  Arg param_arg(Type type) {
    ParamArg a;
    a.type = type;
    properties(
        [&](const std::string& key) {
          if (key == "slot") return a.slot = take_int32(), true;
          if (key == "space") return a.space = take_space(), true;
          if (key == "size") return a.size = take_int64(), true;
          if (key == "multiple_of") return a.multiple_of = take_int64(), true;
          if (key == "devices") return a.devices = string_list(), true;
          if (key == "bound") return a.bound = take_int64(), true;
          if (key == "phase") return a.phase = take_int32(), true;
          if (key == "align") return a.align = take_int32(), true;
          if (key == "type") return a.type = take_type(), true;
          if (key == "name") return a.name = take_string("a name"), true;
          if (key != "range") return false;
          const std::vector<std::int64_t> ends = int_list();
          if (ends.size() != 2) fail_before("a range has two ends");
          a.range = std::pair(ends[0], ends[1]);
          return true;
        },
        [&](const std::string& flag) {
          if (flag == "volatile") return a.is_volatile = true;
          if (flag == "bind_on_realize") return a.bind_on_realize = true;
          return false;
        });
    return a;
  }

  /// `key=value` pairs and flags up to the closing brace.
  template <class OnKey>
  void properties(OnKey on_key) {
    properties(on_key, [](const std::string&) { return false; });
  }
  template <class OnKey, class OnFlag>
  void properties(OnKey on_key, OnFlag on_flag) {
    while (token_.kind == Tok::Word) {
      const Token key = token_;
      const std::string name(key.text);
      advance();
      if (is_punct('=')) {
        advance();
        if (!on_key(name)) fail_at(key, "unknown property `" + name + "` of the argument");
      } else if (!on_flag(name)) {
        fail_at(key, "unknown flag `" + name + "` of the argument");
      }
    }
  }

  ConstValue value() {
    const Token t = token_;
    advance();
    if (t.text == "true" || t.text == "false") return ConstValue::of_bool(t.text == "true");
    if (t.text == "invalid") return ConstValue::invalid();
    if (const auto v = parse_int128(t.text)) return ConstValue::of_int(*v);
    if (const auto v = parse_float(t.text)) return ConstValue::of_float(*v);
    fail_at(t, "`" + std::string(t.text.substr(0, 60)) +
                   "` is no constant: integers are decimal, floats hexadecimal (0x1.8p+0), inf or nan:0x and 16 digits");
  }

  // --- tokens ---------------------------------------------------------------------------------------------------------------
  void advance() {
    previous_ = token_;
    token_ = lexer_->next();
    if (token_.kind == Tok::Bad)
      fail(token_.text.starts_with('"') ? "a string that is not closed or has an unknown escape"
                                        : "`" + printable(token_.text.substr(0, 20)) + "` has no meaning here");
  }
  static std::string printable(std::string_view text) {
    std::string q = quote(text);
    return q.substr(1, q.size() - 2);
  }
  bool is_punct(char c) const { return token_.kind == Tok::Punct && token_.text[0] == c; }
  bool is_word(std::string_view w) const { return token_.kind == Tok::Word && token_.text == w; }
  void equals() {
    if (!is_punct('=')) fail("expected `=`");
    advance();
  }
  void expect_end() {
    if (token_.kind != Tok::End) fail("unexpected `" + std::string(token_.text.substr(0, 40)) + "` at the end of the line");
  }
  std::string take_word(std::string_view what) {
    if (token_.kind != Tok::Word) fail("expected " + std::string(what));
    std::string word(token_.text);
    advance();
    return word;
  }
  std::string take_string(std::string_view what) {
    if (token_.kind != Tok::String) fail("expected " + std::string(what) + " in quotes");
    std::string value = std::move(token_.value);
    advance();
    return value;
  }
  std::uint64_t take_ref() {
    std::uint64_t v = 0;
    const std::string_view digits = token_.text.substr(1);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), v).ec != std::errc()) fail("the number of a node is too great");
    advance();
    return v;
  }
  std::int64_t take_int64() {
    const std::optional<Int128> v = token_.kind == Tok::Number ? parse_int128(token_.text) : std::nullopt;
    if (!v || *v < INT64_MIN || *v > INT64_MAX) fail("expected an integer of 64 bits");
    advance();
    return static_cast<std::int64_t>(*v);
  }
  int narrow_int(std::int64_t v) {
    if (v < INT32_MIN || v > INT32_MAX) fail_before("expected an integer of 32 bits");
    return static_cast<int>(v);
  }
  int take_int32() { return narrow_int(take_int64()); }
  Type take_type() {
    const Token t = token_;
    const std::string word = take_word("a type");
    const std::optional<Type> type = type_by_name(word);
    if (!type) fail_at(t, "unknown type `" + word + "`");
    return *type;
  }
  AddressSpace take_space() {
    const std::string word = take_word("an address space");
    const auto space = by_name<AddressSpace>(word, address_space_name, AddressSpace::Alu);
    if (!space) fail_before("unknown address space `" + word + "`");
    return *space;
  }
  void open_list() {
    if (!is_punct('[')) fail("expected `[`");
    advance();
  }
  void check_list(std::size_t size) {
    if (size >= limits_.list) limit("more than " + std::to_string(limits_.list) + " elements");
  }
  std::vector<std::int64_t> int_list() {
    std::vector<std::int64_t> out;
    open_list();
    while (!is_punct(']')) {
      check_list(out.size());
      out.push_back(take_int64());
    }
    advance();
    return out;
  }
  std::vector<int> int32_list() {
    std::vector<int> out;
    for (const std::int64_t v : int_list()) out.push_back(narrow_int(v));
    return out;
  }
  std::vector<std::string> string_list() {
    std::vector<std::string> out;
    open_list();
    while (!is_punct(']')) {
      check_list(out.size());
      out.push_back(take_string("a device"));
    }
    advance();
    return out;
  }
  /// The enumerator whose name is `word`, by asking the printer's function for each up to `last`.
  template <class E>
  static std::optional<E> by_name(std::string_view word, std::string_view (*name)(E), E last) {
    for (int i = 0; i <= static_cast<int>(last); ++i)
      if (name(static_cast<E>(i)) == word) return static_cast<E>(i);
    return std::nullopt;
  }

  // --- errors ---------------------------------------------------------------------------------------------------------------
  [[noreturn]] void fail_at(const Token& t, std::string message) {
    throw LineError{DiagnosticKind::IrSyntax, t.begin, t.end(), std::move(message)};
  }
  [[noreturn]] void fail(std::string message) { fail_at(token_, std::move(message)); }
  /// About the token that was just taken.
  [[noreturn]] void fail_before(std::string message) { fail_at(previous_, std::move(message)); }
  [[noreturn]] void limit(std::string message) { throw LineError{DiagnosticKind::IrLimit, token_.begin, token_.end(), std::move(message)}; }
  void report(const LineError& e) {
    failed_ = true;
    sink_.report(e.kind, SourceRange{file_, e.begin, e.end}, e.message);
  }

  struct Places {
    FileId id;
    std::uint32_t lines = 1, columns = 1;
  };

  SourceManager& sources_;
  std::string owned_;  // a copy: adding files may move the manager's texts
  std::string_view text_;
  FileId file_;
  DiagnosticSink& sink_;
  TextLimits limits_;
  std::optional<Lexer> lexer_;
  Token token_, previous_;
  SourceRange line_;
  bool header_ = false, open_ = false, failed_ = false, fatal_ = false;
  Program current_;
  std::unordered_map<std::uint64_t, NodeId> names_;
  std::vector<Places> files_;  // of the current program
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, FileId> added_;
  std::uint64_t cells_ = 0;
  std::vector<Program> programs_;
  std::vector<std::vector<SourceRange>> lines_;  // by program, by position
};

}  // namespace

std::optional<std::vector<Program>> parse_program_text(SourceManager& sources, FileId file, DiagnosticSink& sink, const TextLimits& limits,
                                                       std::vector<std::vector<SourceRange>>* lines) {
  Reader reader(sources, file, sink, limits);
  std::optional<std::vector<Program>> programs = reader.run();
  if (lines) *lines = reader.take_lines();
  return programs;
}

}  // namespace sarek::ir
