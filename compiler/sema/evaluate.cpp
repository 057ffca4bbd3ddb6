// Evaluation of typed expressions before the kernel runs: constants, array lengths, block sizes. Values are the bits of their cells in slot
// order; arithmetic is ir::evaluate, so that a constant and a kernel that computes it agree. Functions may be called; a limit on steps ends
// what would not.
#include <cfenv>
#include <cstdlib>

#include "compiler/ir/evaluate.h"
#include "compiler/sema/check.h"
#include "compiler/support/numeric.h"

namespace sarek::sema {

namespace {

using Cells = std::vector<std::uint64_t>;

/// The decimal or hexadecimal text as a binary64 rounded to odd: a later rounding to f16 or bf16 is then the one correct rounding
/// (Boldo and Melquiond, 2008). strtod rounds as the environment says.
double parse_to_odd(const std::string& text) {
  const int before = std::fegetround();
  std::fesetround(FE_DOWNWARD);
  const double low = std::strtod(text.c_str(), nullptr);
  std::fesetround(FE_UPWARD);
  const double high = std::strtod(text.c_str(), nullptr);
  std::fesetround(before);
  if (low == high) return low;
  return numeric::bits(low) & 1 ? low : high;
}

std::uint64_t mask_to(std::uint64_t bits, ir::Type type) {
  const int width = ir::type_bits(type);
  return width >= 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
}

constexpr int kSteps = 1'000'000;
constexpr int kDepth = 200;

class Evaluator {
 public:
  explicit Evaluator(Checker& c) : c_(c), types_(c.types) {}

  std::optional<Cells> run(Body& body, const Expr& e) {
    Frame frame{&body, {}, {}, {}};
    return value(frame, e);
  }

 private:
  struct Frame {
    Body* body;
    std::map<std::uint32_t, Cells> locals;
    Substitution by;
    std::optional<Cells> returned;
  };
  enum class Flow : std::uint8_t { Next, Break, Continue, Return, Fault };

  TypeId type_of(const Frame& f, TypeId t) { return types_.substitute(t, f.by); }

  std::optional<Cells> fault(SourceRange range, const std::string& message) {
    if (!told_) c_.report(DiagnosticKind::NotConstant, range, message);
    told_ = true;
    return std::nullopt;
  }
  bool step(SourceRange range) {
    if (++steps_ <= kSteps) return true;
    fault(range, "the value of this constant takes more than " + std::to_string(kSteps) + " steps");
    return false;
  }

  /// Where an element or field lies among the cells of its whole: for each slot of the part, the first cell.
  struct Part {
    TypeId type;
    std::vector<std::size_t> cells;  // positions in the root's cells
  };

  std::vector<std::size_t> all_cells(TypeId t) {
    std::vector<std::size_t> out(static_cast<std::size_t>(types_.cells(t)));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = i;
    return out;
  }

  Part field(const Part& of, std::size_t index) {
    const TypeNode node = types_[of.type];
    const TypeId t = node.form == TypeForm::Tuple ? node.args[index] : types_.member(of.type, types_.def_of(of.type).fields[index].type);
    const std::vector<Slot> slots = types_.slots(of.type);
    const std::size_t first = types_.first_slot(of.type, index);
    std::size_t at = 0;
    for (std::size_t s = 0; s < first; ++s) at += static_cast<std::size_t>(slots[s].count);
    Part out{t, {}};
    const auto count = static_cast<std::size_t>(types_.cells(t));
    out.cells.assign(of.cells.begin() + static_cast<std::ptrdiff_t>(at), of.cells.begin() + static_cast<std::ptrdiff_t>(at + count));
    return out;
  }

  Part element(const Part& of, std::size_t index) {
    const TypeId t = types_[of.type].args[0];
    Part out{t, {}};
    std::size_t at = 0;
    const std::vector<Slot> inner = types_.slots(t);
    const std::vector<Slot> outer = types_.slots(of.type);
    for (std::size_t s = 0; s < inner.size(); ++s) {
      const auto count = static_cast<std::size_t>(inner[s].count);
      for (std::size_t k = 0; k < count; ++k) out.cells.push_back(of.cells[at + index * count + k]);
      at += static_cast<std::size_t>(outer[s].count);
    }
    return out;
  }

  /// The cells of a place, as positions in the root local.
  std::optional<Part> place(Frame& f, const Expr& e, std::uint32_t& local) {
    if (e.form == ExprForm::Local) {
      local = e.index;
      const TypeId t = type_of(f, e.type);
      return Part{t, all_cells(t)};
    }
    std::optional<Part> base = place(f, *e.args[0], local);
    if (!base) return std::nullopt;
    if (e.form == ExprForm::Field) return field(*base, e.index);
    const std::optional<std::size_t> index = flat_index(f, e, base->type);
    if (!index) return std::nullopt;
    return element(*base, *index);
  }

  std::optional<std::size_t> flat_index(Frame& f, const Expr& e, TypeId base) {
    const std::vector<std::int64_t> extents = types_[base].extents;
    std::int64_t flat = 0;
    for (std::size_t i = 1; i < e.args.size(); ++i) {
      const std::optional<Cells> v = value(f, *e.args[i]);
      if (!v) return std::nullopt;
      const std::int64_t index = as_integer((*v)[0], types_.scalar_of(type_of(f, e.args[i]->type)));
      if (index < 0 || index >= extents[i - 1]) {
        fault(e.args[i]->range, "index " + std::to_string(index) + " is outside of `" + types_.text(base) + "`");
        return std::nullopt;
      }
      flat = flat * extents[i - 1] + index;
    }
    return static_cast<std::size_t>(flat);
  }

  static std::int64_t as_integer(std::uint64_t bits, ir::Type type) {
    const int width = ir::type_bits(type);
    if (width >= 64 || !ir::is_signed(type)) return static_cast<std::int64_t>(bits);
    const std::uint64_t sign = std::uint64_t{1} << (width - 1);
    return static_cast<std::int64_t>((bits ^ sign) - sign);
  }

  std::optional<Cells> scalar(SourceRange range, std::optional<std::uint64_t> bits) {
    if (!bits) return fault(range, "this has no value before the kernel runs");
    return Cells{*bits};
  }

  std::optional<Cells> value(Frame& f, const Expr& e) {
    if (!step(e.range)) return std::nullopt;
    const TypeId type = type_of(f, e.type);
    switch (e.form) {
      case ExprForm::Error: told_ = true; return std::nullopt;
      case ExprForm::Literal: return scalar(e.range, literal_bits(e, types_.scalar_of(type)));
      case ExprForm::Cells: return e.cells;
      case ExprForm::Local: {
        const auto found = f.locals.find(e.index);
        if (found != f.locals.end()) return found->second;
        return fault(e.range, "`" + f.body->locals[e.index].name + "` has no value before the kernel runs");
      }
      case ExprForm::Id: return fault(e.range, "`" + std::string(id_name(e.id)) + "` has no value before the kernel runs");
      case ExprForm::Unary: {
        const std::optional<Cells> v = value(f, *e.args[0]);
        if (!v) return std::nullopt;
        const ir::Type t = types_.scalar_of(type);
        if (e.op == Op::Neg) return scalar(e.range, ir::evaluate(ir::Op::Neg, t, std::array{t}, std::array{(*v)[0]}));
        return Cells{mask_to((*v)[0] ^ (e.op == Op::Not ? std::uint64_t{1} : ~std::uint64_t{0}), t)};
      }
      case ExprForm::Binary: return binary(f, e);
      case ExprForm::Logic: {
        const std::optional<Cells> left = value(f, *e.args[0]);
        if (!left) return std::nullopt;
        if (((*left)[0] != 0) != (e.op == Op::And)) return left;
        return value(f, *e.args[1]);
      }
      case ExprForm::Cast:
      case ExprForm::Bitcast: {
        const std::optional<Cells> v = value(f, *e.args[0]);
        if (!v) return std::nullopt;
        const ir::Type from = types_.scalar_of(type_of(f, e.args[0]->type));
        const ir::Type to = types_.scalar_of(type);
        if (from == to) return v;
        return scalar(e.range,
                      ir::evaluate(e.form == ExprForm::Cast ? ir::Op::Cast : ir::Op::Bitcast, to, std::array{from}, std::array{(*v)[0]}));
      }
      case ExprForm::Call: return call(f, e);
      case ExprForm::Intrinsic: return intrinsic(f, e);
      case ExprForm::Construct: {
        std::vector<Cells> parts;
        for (const Expr* a : e.args) {
          std::optional<Cells> v = value(f, *a);
          if (!v) return std::nullopt;
          parts.push_back(std::move(*v));
        }
        Part whole{type, all_cells(type)};
        Cells out(whole.cells.size());
        for (std::size_t i = 0; i < parts.size(); ++i) {
          const Part part = types_.form(type) == TypeForm::Array ? element(whole, i) : field(whole, i);
          for (std::size_t k = 0; k < part.cells.size(); ++k) out[part.cells[k]] = parts[i][k];
        }
        return out;
      }
      case ExprForm::Repeat: {
        const std::optional<Cells> v = value(f, *e.args[0]);
        if (!v) return std::nullopt;
        const Part whole{type, all_cells(type)};
        Cells out(whole.cells.size());
        for (std::size_t i = 0; i < static_cast<std::size_t>(types_.element_count(type)); ++i) {
          if (!step(e.range)) return std::nullopt;
          const Part part = element(whole, i);
          for (std::size_t k = 0; k < part.cells.size(); ++k) out[part.cells[k]] = (*v)[k];
        }
        return out;
      }
      case ExprForm::Inject: {
        const std::vector<Slot> slots = types_.slots(type);
        std::vector<std::size_t> starts;
        std::size_t total = 0;
        for (const Slot& s : slots) {
          starts.push_back(total);
          total += static_cast<std::size_t>(s.count);
        }
        Cells out(total, 0);
        out[0] = e.index;
        for (std::size_t i = 0; i < e.args.size(); ++i) {
          const std::optional<Cells> v = value(f, *e.args[i]);
          if (!v) return std::nullopt;
          std::size_t cell = 0;
          const std::vector<Slot> inner = types_.slots(type_of(f, e.args[i]->type));
          const auto places = types_.payload_slots(type, e.index, i);
          for (std::size_t s = 0; s < inner.size(); ++s)
            for (std::int64_t k = 0; k < inner[s].count; ++k)
              out[starts[places[s].first] + static_cast<std::size_t>(places[s].second + k)] = (*v)[cell++];
        }
        return out;
      }
      case ExprForm::Field:
      case ExprForm::Index: {
        const std::optional<Cells> base = value(f, *e.args[0]);
        if (!base) return std::nullopt;
        const TypeId base_type = type_of(f, e.args[0]->type);
        const Part whole{base_type, all_cells(base_type)};
        Part part{};
        if (e.form == ExprForm::Field) {
          part = field(whole, e.index);
        } else {
          const std::optional<std::size_t> index = flat_index(f, e, base_type);
          if (!index) return std::nullopt;
          part = element(whole, *index);
        }
        Cells out;
        for (const std::size_t c : part.cells) out.push_back((*base)[c]);
        return out;
      }
      case ExprForm::Length: return fault(e.range, "a length has no value before the kernel runs");
      case ExprForm::If: {
        const std::optional<Cells> condition = value(f, *e.args[0]);
        if (!condition) return std::nullopt;
        if ((*condition)[0]) return value(f, *e.args[1]);
        return e.args[2] ? value(f, *e.args[2]) : Cells{};
      }
      case ExprForm::Match: {
        const std::optional<Cells> scrutinee = value(f, *e.args[0]);
        if (!scrutinee) return std::nullopt;
        for (const Arm& arm : e.arms) {
          if (!matches(f, *arm.pattern, *scrutinee)) continue;
          if (arm.guard) {
            const std::optional<Cells> guard = value(f, *arm.guard);
            if (!guard) return std::nullopt;
            if (!(*guard)[0]) continue;
          }
          return value(f, *arm.body);
        }
        return fault(e.range, "no arm of this match applies");
      }
      case ExprForm::Block: {
        for (const Stmt* s : e.statements) {
          const Flow flow = statement(f, *s);
          if (flow == Flow::Fault) return std::nullopt;
          if (flow != Flow::Next) {
            pending_ = flow;
            return std::nullopt;
          }
        }
        return e.args[0] ? value(f, *e.args[0]) : Cells{};
      }
    }
    return std::nullopt;
  }

  std::optional<Cells> binary(Frame& f, const Expr& e) {
    const std::optional<Cells> left = value(f, *e.args[0]);
    if (!left) return std::nullopt;
    const std::optional<Cells> right = value(f, *e.args[1]);
    if (!right) return std::nullopt;
    const TypeId operand = type_of(f, e.args[0]->type);
    const ir::Type t = types_.scalar_of(operand);
    if (e.op == Op::Eq || e.op == Op::Ne) {
      bool equal = true;
      std::size_t cell = 0;
      for (const Slot& s : std::vector<Slot>(types_.slots(operand)))
        for (std::int64_t k = 0; k < s.count; ++k, ++cell) {
          const auto same =
              ir::evaluate(ir::Op::Cmpeq, ir::Type::Bool, std::array{s.type, s.type}, std::array{(*left)[cell], (*right)[cell]});
          equal = equal && same && *same;
        }
      return Cells{(e.op == Op::Eq) == equal ? 1u : 0u};
    }
    const auto compute = [&](ir::Op op, ir::Type result, bool swap = false) {
      const std::array operands{(*(swap ? right : left))[0], (*(swap ? left : right))[0]};
      return ir::evaluate(op, result, std::array{t, t}, operands);
    };
    // A NaN makes every order false, so <= is "less or equal", not "not greater".
    const auto less_equal = [&](bool swap) {
      const auto less = compute(ir::Op::Cmplt, ir::Type::Bool, swap);
      const auto same = compute(ir::Op::Cmpeq, ir::Type::Bool);
      return less && same ? std::optional<std::uint64_t>(*less | *same) : std::nullopt;
    };
    if ((e.op == Op::Div || e.op == Op::Mod) && ir::is_int(t) && (*right)[0] == 0) return fault(e.range, "division by zero in a constant");
    switch (e.op) {
      case Op::Mul: return scalar(e.range, compute(ir::Op::Mul, t));
      case Op::Div: return scalar(e.range, compute(ir::is_float(t) ? ir::Op::Fdiv : ir::Op::Cdiv, t));
      case Op::Mod: return scalar(e.range, compute(ir::Op::Cmod, t));
      case Op::Add: return scalar(e.range, compute(ir::Op::Add, t));
      case Op::Sub: return scalar(e.range, compute(ir::Op::Sub, t));
      case Op::Shl:
      case Op::Shr: {
        const std::uint64_t count = (*right)[0] & static_cast<std::uint64_t>(ir::type_bits(t) - 1);
        return scalar(e.range,
                      ir::evaluate(e.op == Op::Shl ? ir::Op::Shl : ir::Op::Shr, t, std::array{t, t}, std::array{(*left)[0], count}));
      }
      case Op::BitAnd: return Cells{(*left)[0] & (*right)[0]};
      case Op::BitXor: return Cells{(*left)[0] ^ (*right)[0]};
      case Op::BitOr: return Cells{(*left)[0] | (*right)[0]};
      case Op::Lt: return scalar(e.range, compute(ir::Op::Cmplt, ir::Type::Bool));
      case Op::Gt: return scalar(e.range, compute(ir::Op::Cmplt, ir::Type::Bool, true));
      case Op::Le: return scalar(e.range, less_equal(false));
      case Op::Ge: return scalar(e.range, less_equal(true));
      case Op::Neg:
      case Op::Not:
      case Op::BitNot:
      case Op::Eq:
      case Op::Ne:
      case Op::And:
      case Op::Or: break;
    }
    return std::nullopt;
  }

  std::optional<Cells> intrinsic(Frame& f, const Expr& e) {
    std::vector<std::uint64_t> v;
    std::vector<ir::Type> t;
    for (const Expr* a : e.args) {
      const std::optional<Cells> part = value(f, *a);
      if (!part) return std::nullopt;
      v.push_back((*part)[0]);
      t.push_back(types_.scalar_of(type_of(f, a->type)));
    }
    const ir::Type result = types_.scalar_of(type_of(f, e.type));
    const auto op = [&](ir::Op o) { return scalar(e.range, ir::evaluate(o, result, t, v)); };
    const auto ins = [&](ir::Ins o) { return scalar(e.range, ir::evaluate(o, result, t, v)); };
    switch (e.builtin) {
      case Builtin::Sqrt: return op(ir::Op::Sqrt);
      case Builtin::Trunc: return op(ir::Op::Trunc);
      case Builtin::Max: return op(ir::Op::Max);
      case Builtin::Fma: return op(ir::Op::Mulacc);
      case Builtin::Floor: return ins(ir::Ins::Floor);
      case Builtin::Ceil: return ins(ir::Ins::Ceil);
      case Builtin::Round: return ins(ir::Ins::Round);
      case Builtin::Fabs:
      case Builtin::Abs: return ins(ir::Ins::Abs);
      case Builtin::Copysign: return ins(ir::Ins::Copysign);
      case Builtin::Min: return ins(ir::Ins::Min);
      case Builtin::Clz: return ins(ir::Ins::Clz);
      case Builtin::Ctz: return ins(ir::Ins::Ctz);
      case Builtin::Popcount: return ins(ir::Ins::Popcount);
      case Builtin::MulHigh: return ins(ir::Ins::MulHigh);
      case Builtin::CeilDiv: {
        if (v[1] == 0) return fault(e.range, "division by zero in a constant");
        const std::int64_t a = as_integer(v[0], result);
        const std::int64_t b = as_integer(v[1], result);
        if (!ir::is_signed(result)) return Cells{v[0] / v[1] + (v[0] % v[1] != 0)};
        if (b == -1) return op(ir::Op::Cdiv);
        return Cells{mask_to(static_cast<std::uint64_t>(a / b + ((a % b != 0 && (a < 0) == (b < 0)) ? 1 : 0)), result)};
      }
      case Builtin::Barrier:
      case Builtin::WarpBarrier:
      case Builtin::FenceBlock:
      case Builtin::FenceDevice:
      case Builtin::Shuffle:
      case Builtin::ShuffleUp:
      case Builtin::ShuffleDown:
      case Builtin::ShuffleXor:
      case Builtin::VoteAll:
      case Builtin::VoteAny:
      case Builtin::Ballot:
      case Builtin::ActiveMask:
      case Builtin::ReduceAdd:
      case Builtin::ReduceMin:
      case Builtin::ReduceMax:
      case Builtin::ReduceAnd:
      case Builtin::ReduceOr:
      case Builtin::ReduceXor:
      case Builtin::AtomicAdd:
      case Builtin::AtomicSub:
      case Builtin::AtomicExchange:
      case Builtin::AtomicMin:
      case Builtin::AtomicMax:
      case Builtin::AtomicAnd:
      case Builtin::AtomicOr:
      case Builtin::AtomicXor:
      case Builtin::AtomicInc:
      case Builtin::AtomicDec:
      case Builtin::AtomicCas:
      case Builtin::Sin:
      case Builtin::Cos:
      case Builtin::Tan:
      case Builtin::Asin:
      case Builtin::Acos:
      case Builtin::Atan:
      case Builtin::Atan2:
      case Builtin::Sinh:
      case Builtin::Cosh:
      case Builtin::Tanh:
      case Builtin::Exp:
      case Builtin::Exp2:
      case Builtin::Expm1:
      case Builtin::Log:
      case Builtin::Log2:
      case Builtin::Log10:
      case Builtin::Log1p:
      case Builtin::Pow:
      case Builtin::Cbrt:
      case Builtin::Hypot:
      case Builtin::Rsqrt:
      case Builtin::Erf: break;
    }
    return fault(e.range, "`" + std::string(builtin_info(e.builtin).name) + "` has no value before the kernel runs");
  }

  std::optional<Cells> call(Frame& f, const Expr& e) {
    if (++depth_ > kDepth) return fault(e.range, "the value of this constant needs calls more than " + std::to_string(kDepth) + " deep");
    Body* body = e.callee->any_body();
    if (!body) body = c_.body_of(*e.callee, false);
    if (!body || body->faulty || !body->root) return fault(e.range, "`" + e.callee->name + "` cannot be called in a constant here");
    Frame inner{body, {}, {}, {}};
    for (std::size_t i = 0; i < e.type_args.size(); ++i) inner.by[e.callee->type_params[i].second] = type_of(f, e.type_args[i]);
    for (std::size_t i = 0; i < e.args.size(); ++i) {
      std::optional<Cells> v = value(f, *e.args[i]);
      if (!v) return std::nullopt;
      inner.locals[static_cast<std::uint32_t>(i)] = std::move(*v);
    }
    std::optional<Cells> out = value(inner, *body->root);
    --depth_;
    if (!out && pending_ == Flow::Return && inner.returned) {
      pending_ = Flow::Next;
      return inner.returned;
    }
    return out;
  }

  bool matches(Frame& f, const Pattern& p, const Cells& v) {
    switch (p.form) {
      case PatternForm::Wildcard: return true;
      case PatternForm::Bind: f.locals[p.local] = v; return true;
      case PatternForm::Literal: {
        const ir::Type t = types_.scalar_of(type_of(f, p.type));
        return mask_to(static_cast<std::uint64_t>(p.value), t == ir::Type::Bool ? ir::Type::U8 : t) == v[0];
      }
      case PatternForm::Or:
        for (const Pattern* part : p.parts)
          if (matches(f, *part, v)) return true;
        return false;
      case PatternForm::Tuple: {
        const TypeId type = type_of(f, p.type);
        const Part whole{type, all_cells(type)};
        for (std::size_t i = 0; i < p.parts.size(); ++i) {
          Cells inner;
          const Part part = field(whole, i);
          for (const std::size_t c : part.cells) inner.push_back(v[c]);
          if (!matches(f, *p.parts[i], inner)) return false;
        }
        return true;
      }
      case PatternForm::Constructor: {
        if (v[0] != p.constructor) return false;
        const TypeId type = type_of(f, p.type);
        const std::vector<Slot> slots = types_.slots(type);
        std::vector<std::size_t> starts;
        std::size_t total = 0;
        for (const Slot& s : slots) {
          starts.push_back(total);
          total += static_cast<std::size_t>(s.count);
        }
        for (std::size_t i = 0; i < p.parts.size(); ++i) {
          const TypeId part = types_.member(type, types_.def_of(type).constructors[p.constructor].payload[i]);
          const std::vector<Slot> part_slots = types_.slots(part);
          const auto places = types_.payload_slots(type, p.constructor, i);
          Cells inner;
          for (std::size_t s = 0; s < part_slots.size(); ++s)
            for (std::int64_t k = 0; k < part_slots[s].count; ++k)
              inner.push_back(v[starts[places[s].first] + static_cast<std::size_t>(places[s].second + k)]);
          if (!matches(f, *p.parts[i], inner)) return false;
        }
        return true;
      }
    }
    return false;
  }

  /// Runs a body and takes what left it: Fault when there is no value and nothing left it either.
  Flow run_block(Frame& f, const Expr& e) {
    if (value(f, e)) return Flow::Next;
    const Flow flow = pending_;
    pending_ = Flow::Next;
    return flow == Flow::Next ? Flow::Fault : flow;
  }

  Flow statement(Frame& f, const Stmt& s) {
    if (!step(s.range)) return Flow::Fault;
    const auto plain = [&](const Expr& e) -> std::optional<Cells> { return value(f, e); };
    // A value that is missing because something left the expression passes that on.
    const auto left = [&] {
      const Flow flow = pending_;
      pending_ = Flow::Next;
      return flow == Flow::Next ? Flow::Fault : flow;
    };
    switch (s.form) {
      case StmtForm::Error: told_ = true; return Flow::Fault;
      case StmtForm::Let:
      case StmtForm::Var: {
        Cells v;
        if (s.value) {
          std::optional<Cells> made = plain(*s.value);
          if (!made) return left();
          v = std::move(*made);
        } else {
          v.assign(static_cast<std::size_t>(types_.cells(type_of(f, s.pattern->type))), 0);
        }
        matches(f, *s.pattern, v);
        return Flow::Next;
      }
      case StmtForm::Assign: {
        std::optional<Cells> v = plain(*s.value);
        if (!v) return left();
        std::uint32_t local = 0;
        const std::optional<Part> target = place(f, *s.target, local);
        if (!target) return Flow::Fault;
        if (s.is_compound) {
          Expr sum;
          sum.form = ExprForm::Binary;
          sum.type = s.target->type;
          sum.op = s.op;
          sum.range = s.range;
          sum.args = {s.target, s.value};
          v = binary(f, sum);
          if (!v) return left();
        }
        Cells& whole = f.locals[local];
        for (std::size_t k = 0; k < target->cells.size(); ++k) whole[target->cells[k]] = (*v)[k];
        return Flow::Next;
      }
      case StmtForm::Expr: return plain(*s.value) ? Flow::Next : left();
      case StmtForm::For: {
        const std::optional<Cells> first = plain(*s.first);
        const std::optional<Cells> last = plain(*s.last);
        if (!first || !last) return left();
        const TypeId type = type_of(f, f.body->locals[s.local].type);
        const ir::Type t = types_.scalar_of(type);
        std::int64_t step_by = 1;
        if (s.step) {
          const std::optional<Cells> by = plain(*s.step);
          if (!by) return left();
          step_by = as_integer((*by)[0], types_.scalar_of(type_of(f, s.step->type)));
        }
        const std::int64_t end = as_integer((*last)[0], t);
        for (std::int64_t i = as_integer((*first)[0], t);
             step_by > 0 ? (s.inclusive ? i <= end : i < end) : (s.inclusive ? i >= end : i > end);) {
          f.locals[s.local] = {mask_to(static_cast<std::uint64_t>(i), t)};
          const Flow flow = run_block(f, *s.body);
          if (flow == Flow::Break) break;
          if (flow == Flow::Return || flow == Flow::Fault) return flow;
          if (!step(s.range) || __builtin_add_overflow(i, step_by, &i)) break;
        }
        return steps_ > kSteps ? Flow::Fault : Flow::Next;
      }
      case StmtForm::ForList:
        for (const Expr* item : s.list) {
          const std::optional<Cells> v = plain(*item);
          if (!v) return left();
          f.locals[s.local] = *v;
          const Flow flow = run_block(f, *s.body);
          if (flow == Flow::Break) break;
          if (flow == Flow::Return || flow == Flow::Fault) return flow;
        }
        return Flow::Next;
      case StmtForm::While:
      case StmtForm::Loop:
        while (true) {
          if (s.form == StmtForm::While) {
            const std::optional<Cells> condition = plain(*s.value);
            if (!condition) return left();
            if (!(*condition)[0]) return Flow::Next;
          }
          const Flow flow = run_block(f, *s.body);
          if (flow == Flow::Break) return Flow::Next;
          if (flow == Flow::Return || flow == Flow::Fault) return flow;
          if (!step(s.range)) return Flow::Fault;
        }
      case StmtForm::Break: return Flow::Break;
      case StmtForm::Continue: return Flow::Continue;
      case StmtForm::Return:
        if (s.value) {
          std::optional<Cells> v = plain(*s.value);
          if (!v) return left();
          f.returned = std::move(*v);
        } else {
          f.returned = Cells{};
        }
        return Flow::Return;
      case StmtForm::Superstep:
      case StmtForm::Launch: fault(s.range, "this has no value before the kernel runs"); return Flow::Fault;
    }
    return Flow::Fault;
  }

  Checker& c_;
  TypeTable& types_;
  Flow pending_ = Flow::Next;
  int steps_ = 0;
  int depth_ = 0;
  bool told_ = false;
};

}  // namespace

std::optional<std::uint64_t> literal_bits(const Expr& literal, ir::Type type) {
  if (literal.is_float) {
    if (!ir::is_float(type)) return std::nullopt;
    const std::string text = (literal.negative ? "-" : "") + std::string(literal.digits);
    if (literal.digits == "nan") {
      switch (type_bits(type)) {
        case 16: return type == ir::Type::F16 ? numeric::kNanF16 : numeric::kNanBf16;
        case 32: return numeric::kNanF32;
        default: return numeric::kNanF64;
      }
    }
    if (type == ir::Type::F64) return numeric::bits(std::strtod(text.c_str(), nullptr));
    if (type == ir::Type::F32) return numeric::bits(std::strtof(text.c_str(), nullptr));
    const double odd = parse_to_odd(text);
    return type == ir::Type::F16 ? numeric::f16_from(odd) : numeric::bf16_from(odd);
  }
  const std::uint64_t v = literal.integer;
  switch (ir::type_kind(type)) {
    case ir::TypeKind::Signed: {
      const std::uint64_t top = std::uint64_t{1} << (ir::type_bits(type) - 1);
      if (literal.negative ? v > top : v >= top) return std::nullopt;
      return mask_to(literal.negative ? 0 - v : v, type);
    }
    case ir::TypeKind::Unsigned:
      if ((literal.negative && v != 0) || (ir::type_bits(type) < 64 && v >> ir::type_bits(type))) return std::nullopt;
      return v;
    case ir::TypeKind::Float: {
      // The magnitude is rounded once; the sign does not matter to rounding to nearest.
      std::uint64_t bits = 0;
      if (type == ir::Type::F64) bits = numeric::bits(static_cast<double>(v));
      else if (type == ir::Type::F32) bits = numeric::bits(static_cast<float>(v));
      else if (type == ir::Type::F16) bits = numeric::f16_from(numeric::double_to_odd(v));
      else bits = numeric::bf16_from(numeric::double_to_odd(v));
      return literal.negative ? bits | (std::uint64_t{1} << (ir::type_bits(type) - 1)) : bits;
    }
    case ir::TypeKind::None:
    case ir::TypeKind::Bool:
    case ir::TypeKind::WeakInt:
    case ir::TypeKind::WeakFloat: return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::vector<std::uint64_t>> evaluate(Checker& checker, Body& body, const Expr& expr) {
  return Evaluator(checker).run(body, expr);
}

}  // namespace sarek::sema
