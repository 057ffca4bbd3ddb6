// The tree builder's class, shared by its files: build_items.cpp (items), build_ast.cpp (statements, types,
// patterns) and build_expr.cpp (expressions and literals). Private to this folder.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "compiler/syntax/cst.h"

namespace sarek::syntax {

/// Turns the concrete tree of one file into its AST. Where parsing has stopped, children are missing: then an Error node stands there
/// and nothing is reported again.
class Builder {
 public:
  Builder(std::string_view text, const Cst& cst, Ast& ast, Faults& faults) : text_(text), cst_(cst), ast_(ast), faults_(faults) {}

  void file();

 private:
  using K = TokenKind;

  /// Walks the children of one node from left to right. Past the end everything is absent.
  class Cursor {
   public:
    Cursor(const Builder& builder, CstId id) : builder_(builder), children_(builder.cst_.children(id)) {}
    bool done() const { return at_ >= children_.size(); }
    CstId peek() const { return done() ? CstId{} : children_[at_]; }
    bool at(Rule rule) const { return !done() && !builder_.cst_[peek()].is_token && builder_.cst_[peek()].rule == rule; }
    bool at(K kind) const { return !done() && builder_.cst_[peek()].is_token && builder_.token(peek()).kind == kind; }
    CstId take() { return done() ? CstId{} : children_[at_++]; }
    CstId take(Rule rule) { return at(rule) ? take() : CstId{}; }
    CstId take(K kind) { return at(kind) ? take() : CstId{}; }
    bool accept(K kind) { return static_cast<bool>(take(kind)); }

   private:
    const Builder& builder_;
    std::span<const CstId> children_;
    std::size_t at_ = 0;
  };

  const Token& token(CstId id) const { return cst_.tokens[cst_[id].token]; }
  SourceRange range(CstId id) const { return id ? SourceRange{ast_.file, cst_[id].begin, cst_[id].end} : SourceRange{}; }
  std::string_view spelled(CstId id) const { return text_.substr(cst_[id].begin, cst_[id].end - cst_[id].begin); }
  SourceRange here(SourceRange node) const { return {ast_.file, node.begin, node.begin}; }
  Name name(CstId id) { return id ? Name{ast_.arena.copy(spelled(id)), range(id)} : Name{}; }

  /// Calls `element(cursor)` for each element of a comma list, until a token that is neither comma nor element.
  template <class AtElement, class Element>
  void list(Cursor& cursor, AtElement at_element, Element element) {
    bool after_comma = false;
    while (!cursor.done()) {
      if (cursor.at(K::Comma)) {
        const CstId comma = cursor.take();
        if (after_comma)
          faults_.add(DiagnosticKind::SyntaxError, range(comma), "expected an element before this `,`").fix(range(comma), "", "remove it");
        after_comma = true;
      } else if (at_element(cursor)) {
        element(cursor);
        after_comma = false;
      } else {
        return;
      }
    }
  }
  List<const Expr*> expr_list(Cursor& cursor);
  List<const Type*> type_list(Cursor& cursor);

  template <class T>
  T* make_expr(ExprKind kind, SourceRange range, std::uint32_t children_depth) {
    T* made = ast_.arena.make<T>();
    made->kind = kind;
    made->id = ExprId(ast_.expr_count++);
    made->range = range;
    depths_.push_back(children_depth + 1);
    check_depth(children_depth + 1, range);
    return made;
  }
  template <class T>
  T* make_stmt(StmtKind kind, SourceRange range) {
    T* made = ast_.arena.make<T>();
    made->kind = kind;
    made->id = StmtId(ast_.stmt_count++);
    made->range = range;
    return made;
  }
  template <class T>
  T* make_pattern(PatternKind kind, SourceRange range) {
    T* made = ast_.arena.make<T>();
    made->kind = kind;
    made->id = PatternId(ast_.pattern_count++);
    made->range = range;
    return made;
  }
  template <class T>
  T* make_type(TypeKind kind, SourceRange range) {
    T* made = ast_.arena.make<T>();
    made->kind = kind;
    made->range = range;
    return made;
  }
  template <class T>
  T* make_item(ItemKind kind, CstId id) {
    T* made = ast_.arena.make<T>();
    made->kind = kind;
    made->range = range(id);
    made->doc = doc_before(cst_[id].begin);
    return made;
  }

  std::uint32_t depth(const Expr* expr) const { return expr == nullptr ? 0 : depths_[expr->id.index()]; }
  template <class... E>
  std::uint32_t deepest(const E*... exprs) const {
    return std::max({std::uint32_t{0}, depth(exprs)...});
  }
  std::uint32_t deepest(List<const Expr*> exprs) const;
  void check_depth(std::uint32_t depth, SourceRange range);

  // items
  const Item* item(CstId id);
  const Item* import_item(CstId id);
  const Item* const_item(CstId id);
  const Item* struct_item(CstId id);
  const Item* enum_item(CstId id);
  const Item* function_item(CstId id);
  const Item* kernel_item(CstId id);
  const Item* pipeline_item(CstId id);
  const Item* graph_item(CstId id);
  const Item* test_item(CstId id);
  TestStmt test_statement(CstId id);
  void check_directive(TestStmt& statement);
  List<TypeParam> type_params(Cursor& cursor);
  List<Param> params(CstId id);
  Unroll unroll(CstId id);
  std::string_view doc_before(std::uint32_t offset);
  std::string_view string_value(CstId id);

  // types and patterns
  const Type* type(CstId id);
  List<TypeArg> type_args(CstId id);
  const Pattern* pattern(CstId id);
  const Pattern* pattern_atom(CstId id);
  void check_binding(const Pattern* pattern);

  // statements
  const BlockExpr* block(CstId id);
  const Expr* part(CstId id);             // an expression of a statement: its depth counts for the block around it
  const BlockExpr* part_block(CstId id);  // a block of a statement, likewise
  const Stmt* statement(CstId id);
  const Stmt* let_statement(CstId id);
  const Stmt* loop_statement(CstId id);
  const Stmt* for_loop(CstId id, CstId whole, Unroll unroll);
  const Stmt* jump_statement(CstId id);
  const Stmt* launch_statement(CstId id);
  const Stmt* expr_statement(CstId id);
  void require_semicolon(CstId end, std::string_view what);
  void report_strays(std::span<const CstId> children, std::size_t& at, std::string_view wanted);

  // expressions
  const Expr* error_expr(SourceRange range) { return make_expr<Expr>(ExprKind::Error, range, 0); }
  /// `made`, or an Error in its place when it is too deep (reported): whoever walks the tree may recurse.
  const Expr* bounded(const Expr* made);
  const Expr* expr(CstId id);  // an Expr or StatementExpr node; none gives Error
  const Expr* operand(CstId id);
  const Expr* primary(CstId id);
  const Expr* suffix(const Expr* base, CstId id, List<TypeArg>& type_args);
  const Expr* record(const Expr* base, CstId id, List<TypeArg> type_args);
  const Expr* block_like(CstId id);
  const Expr* if_expr(CstId id);
  const Expr* match_expr(CstId id);
  const Expr* native_expr(CstId id);
  const Expr* integer(CstId id);
  const Expr* floating(CstId id);
  const Expr* combine(BinaryOp op, SourceRange op_range, const Expr* left, bool left_bare, const Expr* right, bool right_bare);

  std::string_view text_;
  const Cst& cst_;
  Ast& ast_;
  Faults& faults_;
  std::vector<std::uint32_t> depths_;  // by ExprId
  std::uint32_t body_depth_ = 0;       // the deepest expression of the statements built since the enclosing block began
  bool too_deep_ = false;
};

}  // namespace sarek::syntax
