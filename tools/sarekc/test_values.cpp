#include "tools/sarekc/test_values.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "compiler/ir/evaluate.h"
#include "compiler/support/numeric.h"
#include "tools/sarekc/array_file.h"

namespace sarek::tool {
namespace {

using Kind = sema::TestExpr::Kind;

constexpr std::int64_t kMaxCells = std::int64_t{1} << 28;

TestValue scalar(ir::Type type, std::uint64_t bits) { return {{bits}, {type}, false}; }

std::uint64_t truncate(ir::Type type, std::uint64_t bits) {
  const int width = type_bits(type);
  return width >= 64 || width == 0 ? bits : bits & ((std::uint64_t{1} << width) - 1);
}

std::int64_t as_integer(const TestValue& v) {
  const ir::Type type = v.type(0);
  const int width = type_bits(type);
  std::uint64_t bits = v.cells[0];
  if (ir::is_signed(type) && width < 64 && (bits >> (width - 1) & 1)) bits |= ~std::uint64_t{0} << width;
  return static_cast<std::int64_t>(bits);
}

double as_double(const TestValue& v) {
  const std::array<ir::Type, 1> from = {v.type(0)};
  const std::array<std::uint64_t, 1> bits = {v.cells[0]};
  const std::optional<std::uint64_t> wide = ir::evaluate(ir::Op::Cast, ir::Type::F64, from, bits);
  return wide ? numeric::f64(*wide) : 0.0;
}

std::uint64_t float_bits(ir::Type type, double value) {
  const std::array<ir::Type, 1> from = {ir::Type::F64};
  const std::array<std::uint64_t, 1> bits = {numeric::bits(value)};
  return ir::evaluate(ir::Op::Cast, type, from, bits).value_or(0);
}

/// Edge values and random bits alike; a draw of zero is zero, so that shrinking ends there.
std::uint64_t any_bits(ir::Type type, Choices& choices) {
  const std::uint64_t draw = choices.draw();
  if (type == ir::Type::Bool) return draw & 1;
  const int width = type_bits(type);
  if (draw % 3 != 0) return truncate(type, draw * 0x9e3779b97f4a7c15ull >> (64 - width));
  if (ir::is_float(type)) {
    const int mantissa = type == ir::Type::F16 ? 10 : type == ir::Type::Bf16 ? 7 : type == ir::Type::F32 ? 23 : 52;
    const std::uint64_t sign = std::uint64_t{1} << (width - 1);
    const std::uint64_t infinity = (sign - 1) >> mantissa << mantissa;
    const std::array<std::uint64_t, 9> edges = {0,
                                                sign,
                                                1,
                                                infinity,
                                                infinity | sign,
                                                infinity - 1,
                                                std::uint64_t{1} << mantissa,
                                                infinity | std::uint64_t{1} << (mantissa - 1),
                                                (infinity >> 1) & infinity};
    return edges[draw / 3 % edges.size()];
  }
  const std::uint64_t top = truncate(type, ~std::uint64_t{0});
  const std::array<std::uint64_t, 6> edges = {0, 1, top, top >> 1, (top >> 1) + 1, static_cast<std::uint64_t>(width)};
  return edges[draw / 3 % edges.size()];
}

class Evaluator {
 public:
  Evaluator(const std::vector<TestValue>& lets, Choices& choices) : lets_(lets), choices_(choices) {}

  Result<TestValue> operator()(const sema::TestExpr& e) {
    switch (e.kind) {
      case Kind::Value: return scalar(e.type, e.bits);
      case Kind::Let: return lets_[static_cast<std::size_t>(e.index)];
      case Kind::AnyInt: return any_integer(e);
      case Kind::RandomReal: return random_real(e, 0);
      case Kind::RandomList:
      case Kind::AnyList: return random_list(e);
      case Kind::List: return list(e);
      case Kind::Repeat: return repeat(e);
      case Kind::Record: return record(e);
      case Kind::Unary:
      case Kind::Binary:
      case Kind::Cast: return operation(e);
      case Kind::CeilDiv: return ceil_div(e);
      case Kind::Min:
      case Kind::Max: return minimum(e);
    }
    return err("an expression of an unknown kind");
  }

 private:
  /// A random integer between parts[from] and parts[from + 1], or of the whole type.
  Result<TestValue> any_integer(const sema::TestExpr& e, std::size_t from = 0) {
    if (e.parts.size() < from + 2) return scalar(e.type, any_bits(e.type, choices_));
    Result<TestValue> low = (*this)(e.parts[from]);
    if (!low) return low;
    Result<TestValue> high = (*this)(e.parts[from + 1]);
    if (!high) return high;
    const auto a = static_cast<std::uint64_t>(as_integer(*low));
    const auto b = static_cast<std::uint64_t>(as_integer(*high));
    const bool empty = ir::is_signed(e.type) ? as_integer(*low) > as_integer(*high) : a > b;
    if (empty) return err("the range of a random integer is empty");
    const std::uint64_t span = b - a;
    const std::uint64_t draw = choices_.draw();
    return scalar(e.type, truncate(e.type, a + (span == UINT64_MAX ? draw : draw % (span + 1))));
  }

  Result<TestValue> random_real(const sema::TestExpr& e, std::size_t from) {
    double low = 0;
    double high = 1;
    if (e.parts.size() >= from + 2) {
      Result<TestValue> a = (*this)(e.parts[from]);
      if (!a) return a;
      Result<TestValue> b = (*this)(e.parts[from + 1]);
      if (!b) return b;
      low = as_double(*a);
      high = as_double(*b);
    }
    const double unit = static_cast<double>(choices_.draw() >> 11) * 0x1p-53;
    return scalar(e.type, float_bits(e.type, low + (high - low) * unit));
  }

  Result<std::int64_t> length(const sema::TestExpr& e) {
    Result<TestValue> n = (*this)(e);
    if (!n) return Err(n.error());
    const std::int64_t value = as_integer(*n);
    if (value < 0 || value > kMaxCells) return err("a list of " + std::to_string(value) + " elements is refused");
    return value;
  }

  Result<TestValue> random_list(const sema::TestExpr& e) {
    const Result<std::int64_t> n = length(e.parts[0]);
    if (!n) return Err(n.error());
    TestValue out{{}, {e.type}, true};
    for (std::int64_t i = 0; i < *n; ++i) {
      Result<TestValue> one = e.kind == Kind::AnyList && e.parts.size() == 1 ? Result<TestValue>(scalar(e.type, any_bits(e.type, choices_)))
                              : ir::is_float(e.type)                         ? random_real(e, 1)
                                                                             : any_integer(e, 1);
      if (!one) return one;
      out.cells.push_back(one->cells[0]);
    }
    return out;
  }

  Result<TestValue> list(const sema::TestExpr& e) {
    TestValue out{{}, {}, true};
    for (const sema::TestExpr& part : e.parts)
      if (Result<TestValue> one = append(out, part); !one) return one;
    if (out.types.empty()) out.types.push_back(e.type);
    return out;
  }

  Result<TestValue> record(const sema::TestExpr& e) {
    Result<TestValue> out = list(e);
    if (out) out->is_list = false;
    return out;
  }

  /// Adds the cells of `part`, each with its type.
  Result<TestValue> append(TestValue& out, const sema::TestExpr& part) {
    Result<TestValue> one = (*this)(part);
    if (!one) return one;
    for (std::size_t c = 0; c < one->cells.size(); ++c) {
      out.cells.push_back(one->cells[c]);
      out.types.push_back(one->type(c));
    }
    return one;
  }

  Result<TestValue> repeat(const sema::TestExpr& e) {
    Result<TestValue> one = (*this)(e.parts[0]);
    if (!one) return one;
    const Result<std::int64_t> n = length(e.parts[1]);
    if (!n) return Err(n.error());
    if (static_cast<std::int64_t>(one->cells.size()) * *n > kMaxCells)
      return err("a list of " + std::to_string(*n) + " records is refused");
    TestValue out{{}, {}, true};
    for (std::int64_t i = 0; i < *n; ++i)
      for (std::size_t c = 0; c < one->cells.size(); ++c) {
        out.cells.push_back(one->cells[c]);
        out.types.push_back(one->type(c));
      }
    if (out.types.empty()) out.types.push_back(one->types.empty() ? e.type : one->type(0));
    return out;
  }

  Result<TestValue> operation(const sema::TestExpr& e) {
    std::vector<ir::Type> types;
    std::vector<std::uint64_t> operands;
    for (const sema::TestExpr& part : e.parts) {
      Result<TestValue> one = (*this)(part);
      if (!one) return one;
      types.push_back(one->type(0));
      operands.push_back(one->cells[0]);
    }
    if (e.swapped && operands.size() == 2) {
      std::swap(types[0], types[1]);
      std::swap(operands[0], operands[1]);
    }
    const ir::Op op = e.kind == Kind::Cast ? ir::Op::Cast : e.op;
    std::optional<std::uint64_t> bits = ir::evaluate(op, e.type, types, operands);
    if (!bits) return err("an operation of a test has no value");
    if (e.negated) bits = *bits ^ 1;
    return scalar(e.type, *bits);
  }

  Result<TestValue> ceil_div(const sema::TestExpr& e) {
    Result<TestValue> a = (*this)(e.parts[0]);
    if (!a) return a;
    Result<TestValue> b = (*this)(e.parts[1]);
    if (!b) return b;
    const std::int64_t divisor = as_integer(*b);
    if (divisor <= 0) return err("ceil_div by a number that is not positive");
    const std::int64_t value = as_integer(*a);
    return scalar(e.type, truncate(e.type, static_cast<std::uint64_t>(value / divisor + (value % divisor > 0 ? 1 : 0))));
  }

  Result<TestValue> minimum(const sema::TestExpr& e) {
    Result<TestValue> a = (*this)(e.parts[0]);
    if (!a) return a;
    Result<TestValue> b = (*this)(e.parts[1]);
    if (!b) return b;
    const std::array<ir::Type, 2> types = {a->type(0), b->type(0)};
    const std::array<std::uint64_t, 2> operands = {a->cells[0], b->cells[0]};
    const std::optional<std::uint64_t> bits =
        e.kind == Kind::Max ? ir::evaluate(ir::Op::Max, e.type, types, operands) : ir::evaluate(ir::Ins::Min, e.type, types, operands);
    if (!bits) return err("min and max of a test need two numbers of one type");
    return scalar(e.type, *bits);
  }

  const std::vector<TestValue>& lets_;
  Choices& choices_;
};

}  // namespace

std::uint64_t Choices::draw() {
  if (!replaying_) {
    made_.push_back(random_.next());
    return made_.back();
  }
  return position_ < made_.size() ? made_[position_++] : 0;
}

Result<TestCase> make_case(const sema::TestInfo& test, Choices& choices) {
  std::vector<TestValue> lets;
  Evaluator evaluate(lets, choices);
  for (const sema::TestLet& let : test.lets) {
    Result<TestValue> value = evaluate(let.value);
    if (!value) return Err(value.error());
    lets.push_back(std::move(value).value());
  }
  TestCase out;
  for (const sema::TestExpr& g : test.grid) {
    Result<TestValue> value = evaluate(g);
    if (!value) return Err(value.error());
    out.grid.push_back(as_integer(*value));
  }
  if (test.dynamic_shared) {
    Result<TestValue> value = evaluate(*test.dynamic_shared);
    if (!value) return Err(value.error());
    out.dynamic_shared.push_back(as_integer(*value));
  }
  const auto evaluate_all = [&](const std::vector<sema::TestBinding>& bindings, std::vector<TestValue>& values) -> Result<Unit> {
    for (const sema::TestBinding& b : bindings) {
      Result<TestValue> value = evaluate(b.value);
      if (!value) return Err(value.error());
      values.push_back(std::move(value).value());
    }
    return Unit{};
  };
  if (const Result<Unit> r = evaluate_all(test.arguments, out.arguments); !r) return Err(r.error());
  if (const Result<Unit> r = evaluate_all(test.expectations, out.expectations); !r) return Err(r.error());
  return out;
}

Result<std::vector<std::uint8_t>> layout_bytes(const TestValue& value, const artifact::Param& param) {
  const std::size_t fields = std::max<std::size_t>(1, param.fields.size());
  if (value.cells.size() % fields != 0)
    return err("`" + param.name + "` has " + std::to_string(fields) + " cells an element, " + std::to_string(value.cells.size()) +
               " were given");
  const std::size_t elements = value.cells.size() / fields;
  std::vector<std::uint8_t> bytes(elements * static_cast<std::size_t>(param.size));
  for (std::size_t c = 0; c < value.cells.size(); ++c) {
    const artifact::Field& field = param.fields[c % fields];
    const std::size_t at = c / fields * static_cast<std::size_t>(param.size) + static_cast<std::size_t>(field.offset);
    std::memcpy(bytes.data() + at, &value.cells[c], static_cast<std::size_t>(scalar_bytes(field.type)));
  }
  return bytes;
}

}  // namespace sarek::tool
