// Arithmetic notation for passes that write longer formulas: `select(x < y, x, y) + 1` emits the nodes. An Expr is a node of the new body
// and the Rewriter that appends to it. Literals take the type of the operand beside them.
#pragma once

#include <concepts>

#include "compiler/passes/rewrite.h"

namespace sarek::passes {

struct Expr {
  Rewriter* rw = nullptr;
  NodeId id;

  ir::Type type() const { return rw->graph().type(id); }
  Expr wrap(NodeId node) const { return {rw, node}; }
  /// The literal of this expression's type.
  Expr lit(ir::Int128 v) const {
    return wrap(is_float(type()) ? rw->constant(type(), ir::ConstValue::of_float(static_cast<double>(v))) : rw->integer(type(), v));
  }
  Expr lit_float(double v) const { return wrap(rw->constant(type(), ir::ConstValue::of_float(v))); }
  Expr to(ir::Type t) const { return wrap(rw->cast(id, t)); }
  Expr bits(ir::Type t) const { return wrap(rw->bitcast(id, t)); }
  Expr op(ir::Op o) const { return wrap(rw->emit(o, {id})); }
  Expr op(ir::Op o, Expr y) const { return wrap(rw->emit(o, {id, y.id})); }
  Expr ins(ir::Ins code) const { return wrap(rw->emit(ir::Op::Ins, {id}, ir::InsArg{code, type(), {}})); }
  Expr ins(ir::Ins code, Expr y) const { return wrap(rw->emit(ir::Op::Ins, {id, y.id}, ir::InsArg{code, type(), {}})); }
};

inline Expr operator+(Expr x, Expr y) { return x.op(ir::Op::Add, y); }
inline Expr operator-(Expr x, Expr y) { return x.op(ir::Op::Sub, y); }
inline Expr operator*(Expr x, Expr y) { return x.op(ir::Op::Mul, y); }
inline Expr operator&(Expr x, Expr y) { return x.op(ir::Op::And, y); }
inline Expr operator|(Expr x, Expr y) { return x.op(ir::Op::Or, y); }
inline Expr operator^(Expr x, Expr y) { return x.op(ir::Op::Xor, y); }
inline Expr operator<<(Expr x, Expr y) { return x.op(ir::Op::Shl, y); }
inline Expr operator>>(Expr x, Expr y) { return x.op(ir::Op::Shr, y); }
inline Expr operator<(Expr x, Expr y) { return x.op(ir::Op::Cmplt, y); }
inline Expr operator==(Expr x, Expr y) { return x.op(ir::Op::Cmpeq, y); }
inline Expr operator!=(Expr x, Expr y) { return x.op(ir::Op::Cmpne, y); }
inline Expr operator-(Expr x) { return x.op(ir::Op::Neg); }
inline Expr operator!(Expr x) { return x.wrap(x.rw->logical_not(x.id)); }
inline Expr select(Expr c, Expr x, Expr y) { return c.wrap(c.rw->emit(ir::Op::Where, {c.id, x.id, y.id})); }

template <class I>
concept Integral = std::integral<I> || std::same_as<I, ir::Int128>;  // __int128 is no std::integral in strict mode

// With an integer on either side.
#define SAREK_EXPR_WITH_LITERAL(op)                \
  template <Integral I>                            \
  Expr operator op(Expr x, I y) {                  \
    return x op x.lit(static_cast<ir::Int128>(y)); \
  }                                                \
  template <Integral I>                            \
  Expr operator op(I x, Expr y) {                  \
    return y.lit(static_cast<ir::Int128>(x)) op y; \
  }
SAREK_EXPR_WITH_LITERAL(+)
SAREK_EXPR_WITH_LITERAL(-)
SAREK_EXPR_WITH_LITERAL(*)
SAREK_EXPR_WITH_LITERAL(&)
SAREK_EXPR_WITH_LITERAL(|)
SAREK_EXPR_WITH_LITERAL(^)
SAREK_EXPR_WITH_LITERAL(<<)
SAREK_EXPR_WITH_LITERAL(>>)
SAREK_EXPR_WITH_LITERAL(<)
SAREK_EXPR_WITH_LITERAL(==)
SAREK_EXPR_WITH_LITERAL(!=)
#undef SAREK_EXPR_WITH_LITERAL

}  // namespace sarek::passes
