#include "syntax/build_expr.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/diagnostics.h"
#include "syntax/foreign_syntax.h"
#include "syntax/literals.h"

namespace kdl::syntax {

namespace {

using antlr4::ParserRuleContext;
using antlr4::tree::TerminalNode;

// The function that accepts a type as its first argument.
constexpr std::string_view kTypeTaker = "random";

bool IsComparison(BinaryOp op) { return op >= BinaryOp::Eq && op <= BinaryOp::Ge; }

TerminalNode* TokenAt(const ParserRuleContext* node, size_t i) {
  return static_cast<TerminalNode*>(node->children[i]);
}

const Expr* BuildInt(Builder& builder, Span span) {
  auto* literal = builder.MakeExpr<IntLit>(span);
  literal->text = builder.Text(span);
  std::optional<uint64_t> value = ParseInt(literal->text);
  if (!value) builder.diagnostics.Report(diag::IntTooLarge, span, literal->text);
  literal->value = value.value_or(0);
  return literal;
}

const Expr* BuildFloat(Builder& builder, Span span, double value) {
  auto* literal = builder.MakeExpr<FloatLit>(span);
  literal->text = builder.Text(span);
  literal->value = value;
  return literal;
}

const Expr* BuildLiteral(Builder& builder, TerminalNode* token) {
  Span span = builder.NodeSpan(token);
  switch (token->getSymbol()->getType()) {
    case P::INT:
      return BuildInt(builder, span);
    case P::FLOAT: {
      std::optional<double> value = ParseFloat(builder.Text(span));
      if (!value) {
        builder.diagnostics.Report(diag::FloatTooLarge, span, builder.Text(span))
            .Help("write inf for infinity");
      }
      return BuildFloat(builder, span, value.value_or(0));
    }
    case P::INF_WORD:
      return BuildFloat(builder, span, std::numeric_limits<double>::infinity());
    case P::NAN_WORD:
      return BuildFloat(builder, span, std::numeric_limits<double>::quiet_NaN());
    case P::AUTO:
      return builder.MakeExpr<AutoLit>(span);
    case P::STRING:
      return BuildString(builder, token);
    default: {
      auto* literal = builder.MakeExpr<BoolLit>(span);
      literal->value = token->getSymbol()->getType() == P::TRUE;
      return literal;
    }
  }
}

const Expr* BuildName(Builder& builder, P::NameContext* name) {
  Ident ident = BuildIdent(builder, name);
  auto* expr = builder.MakeExpr<NameExpr>(ident.span);
  expr->name = ident.name;
  return expr;
}

Arg BuildArg(Builder& builder, P::ArgContext* node) {
  Arg arg;
  arg.span = builder.NodeSpan(node);
  arg.name = BuildIdent(builder, node->name());
  arg.value = BuildExpr(builder, node->expr());
  return arg;
}

/// Returns an expression such as `f32` or `f32[M, K]` as a type, or null if it is not a type.
const TypeRef* AsTypeRef(Builder& builder, const Expr* expr) {
  const auto* index = DynAs<IndexExpr>(expr);
  std::optional<TypeName> name = AsTypeName(index != nullptr ? index->base : expr);
  if (!name || (index != nullptr && index->otherwise != nullptr)) return nullptr;
  auto* type = builder.arena.Make<TypeRef>();
  type->span = expr->span;
  type->name = *name;
  if (index == nullptr) return type;
  type->has_brackets = true;
  for (const Index& dim : index->indices) {
    if (dim.name || dim.hi != nullptr) return nullptr;
    type->dims.push_back(dim.value);
  }
  return type;
}

CallExpr* BuildCall(Builder& builder, Span span, P::NameContext* callee,
                    P::GenericArgsContext* generics, P::CallArgsContext* args) {
  auto* call = builder.MakeExpr<CallExpr>(span);
  call->callee = BuildIdent(builder, callee);
  call->generics = BuildGenericArgs(builder, generics);
  call->args = BuildArgs(builder, args, "a call with `.` or `<…>`");
  return call;
}

const Expr* BuildReduce(Builder& builder, Span span, P::NameContext* op, P::CallArgsContext* args) {
  auto* reduce = builder.MakeExpr<ReduceExpr>(span);
  reduce->op = BuildIdent(builder, op);
  for (P::ArgContext* node : args->arg()) {
    Arg arg = BuildArg(builder, node);
    if (arg.name) {
      builder.diagnostics.Report(diag::NamedReductionArgument, arg.name.span, arg.name.name.text(),
                                 reduce->op.name.text());
    }
    reduce->operands.push_back(arg.value);
  }
  P::OverContext* over = args->over();
  for (P::NameContext* range : over->name()) reduce->over.push_back(BuildIdent(builder, range));
  reduce->reversed = !over->REVERSED().empty();
  reduce->exclusive = !over->EXCLUSIVE().empty();
  if (P::CombineContext* combine = over->combine()) {
    reduce->combine = BuildPath(builder, combine->name());
    reduce->init = BuildExpr(builder, combine->expr());
  }
  return reduce;
}

const Expr* BuildNamed(Builder& builder, P::PrimaryContext* primary, Span span) {
  P::CallArgsContext* args = primary->callArgs();
  if (args == nullptr) return BuildName(builder, primary->name());
  if (args->over() != nullptr && primary->genericArgs() == nullptr) {
    return BuildReduce(builder, span, primary->name(), args);
  }
  CallExpr* call = BuildCall(builder, span, primary->name(), primary->genericArgs(), args);
  if (call->callee.name.text() == kTypeTaker && !call->args.empty() && !call->args[0].name) {
    if (const TypeRef* type = AsTypeRef(builder, call->args[0].value)) {
      auto* expr = builder.MakeExpr<TypeExpr>(type->span);
      expr->type = type;
      call->args[0].value = expr;
    }
  }
  return call;
}

const Expr* BuildPrimary(Builder& builder, P::PrimaryContext* primary) {
  Span span = builder.NodeSpan(primary);
  if (primary->name() != nullptr) return BuildNamed(builder, primary, span);
  std::vector<P::ExprContext*> inner = primary->expr();
  if (primary->LBRACK() != nullptr) {
    auto* list = builder.MakeExpr<ListExpr>(span);
    list->elements = BuildExprs(builder, inner);
    return list;
  }
  if (inner.size() == 1) return BuildExpr(builder, inner[0]);
  if (inner.empty()) return BuildLiteral(builder, TokenAt(primary, 0));
  auto* tuple = builder.MakeExpr<TupleExpr>(span);
  tuple->elements = BuildExprs(builder, inner);
  return tuple;
}

/// Builds an access to an element of a tuple, such as `.0`. In a nested access such as `.0.1`, `number` is
/// `0.1`, which the lexer reads as a float.
const Expr* BuildElement(Builder& builder, const Expr* base, Span whole, TerminalNode* number) {
  Span span = builder.NodeSpan(number);
  std::string_view text = builder.Text(span);
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find('.', begin), text.size());
    Span part{span.file, span.begin + static_cast<uint32_t>(begin),
              span.begin + static_cast<uint32_t>(end)};
    std::optional<uint64_t> index = ParseInt(builder.Text(part));
    if (!index || *index > std::numeric_limits<uint32_t>::max()) {
      builder.diagnostics.Report(diag::IntTooLarge, part, builder.Text(part));
      index = 0;
    }
    auto* field = builder.MakeExpr<FieldExpr>(Span{span.file, whole.begin, part.end});
    field->base = base;
    field->index = static_cast<uint32_t>(*index);
    base = field;
    begin = end + 1;
  }
  return base;
}

/// Builds one suffix of `base`. `span` extends from the start of the base to the end of the suffix.
const Expr* BuildSuffix(Builder& builder, const Expr* base, Span span, P::SuffixContext* suffix) {
  if (suffix->LBRACK() != nullptr) {
    auto* index = builder.MakeExpr<IndexExpr>(span);
    index->base = base;
    BuildIndices(builder, suffix->indices(), *index);
    return index;
  }
  if (suffix->name() == nullptr) return BuildElement(builder, base, span, TokenAt(suffix, 1));
  if (P::CallArgsContext* args = suffix->callArgs()) {
    CallExpr* call = BuildCall(builder, span, suffix->name(), suffix->genericArgs(), args);
    call->receiver = base;
    return call;
  }
  auto* field = builder.MakeExpr<FieldExpr>(span);
  field->base = base;
  field->name = BuildIdent(builder, suffix->name());
  return field;
}

/// Builds an operand: prefix operators, a primary expression with suffixes, and casts. Operators and casts
/// are applied from the inside out.
const Expr* BuildOperand(Builder& builder, P::OperandContext* operand) {
  std::vector<P::SuffixContext*> suffixes = operand->suffix();
  std::vector<P::TypeNameContext*> casts = operand->typeName();
  size_t prefixes = operand->children.size() - 1 - suffixes.size() - 2 * casts.size();
  Deeper deeper(builder, prefixes + casts.size(), builder.NodeSpan(operand));
  if (!deeper.ok()) return builder.MakeExpr<AutoLit>(builder.NodeSpan(operand));

  Span first = builder.NodeSpan(operand->primary());
  const Expr* expr = BuildPlace(builder, operand->primary(), suffixes);
  for (P::TypeNameContext* type : casts) {
    auto* cast = builder.MakeExpr<CastExpr>(Cover(first, builder.NodeSpan(type)));
    cast->operand = expr;
    cast->type = BuildTypeName(builder, type);
    expr = cast;
  }
  for (size_t i = prefixes; i-- > 0;) {
    Span op = builder.NodeSpan(TokenAt(operand, i));
    auto* unary = builder.MakeExpr<UnaryExpr>(Cover(op, builder.NodeSpan(operand)));
    unary->op = FindSpelled(builder.Text(op), UnaryOp::BitNot);
    unary->operand = expr;
    expr = unary;
  }
  return expr;
}

/// Returns what to write instead of a chain of comparisons such as `static_cast<float>(x)`, or an empty string.
std::string HelpForChain(Builder& builder, ParserRuleContext* chain) {
  auto* inner = static_cast<ParserRuleContext*>(chain->children[0]);
  auto text = [&](ParserRuleContext* node, size_t child) {
    return builder.Text(builder.NodeSpan(static_cast<ParserRuleContext*>(node->children[child])));
  };
  bool is_pair = builder.Text(builder.NodeSpan(TokenAt(inner, 1))) == "<" &&
                 builder.Text(builder.NodeSpan(TokenAt(chain, 1))) == ">";
  return is_pair ? HelpForAngles(text(inner, 0), text(inner, 2), text(chain, 2)) : std::string();
}

/// Builds a tree of binary operations. Each of its nodes is an operand or has the form `left operator right`.
/// The left spine is visited in a loop instead of recursively, because the tree of a long sum is deep on its
/// left side.
const Expr* BuildOperation(Builder& builder, ParserRuleContext* node) {
  Span span = builder.NodeSpan(node);
  std::vector<ParserRuleContext*> spine;
  while (node->children.size() == 3) {
    spine.push_back(node);
    node = static_cast<ParserRuleContext*>(node->children[0]);
  }
  Deeper deeper(builder, spine.size(), span);
  if (!deeper.ok()) return builder.MakeExpr<AutoLit>(span);

  const Expr* expr = BuildOperand(builder, static_cast<P::OperandContext*>(node->children[0]));
  std::optional<BinaryOp> previous;
  for (size_t i = spine.size(); i-- > 0;) {
    Span op_span = builder.NodeSpan(TokenAt(spine[i], 1));
    BinaryOp op = FindSpelled(builder.Text(op_span), BinaryOp::Or);
    if (previous && IsComparison(*previous) && IsComparison(op)) {
      std::string angles = HelpForChain(builder, spine[i]);
      builder.diagnostics.Report(diag::ComparisonChain, op_span, Spelling(op), Spelling(*previous))
          .Help(angles.empty() ? "write a < b && b < c instead of a < b < c" : angles);
    }
    const Expr* rhs =
        BuildOperation(builder, static_cast<ParserRuleContext*>(spine[i]->children[2]));
    auto* binary = builder.MakeExpr<BinaryExpr>(builder.NodeSpan(spine[i]));
    binary->op = op;
    binary->op_span = op_span;
    binary->lhs = expr;
    binary->rhs = rhs;
    expr = binary;
    previous = op;
  }
  return expr;
}

const Expr* BuildIf(Builder& builder, P::ExprContext* node) {
  auto* expr = builder.MakeExpr<IfExpr>(builder.NodeSpan(node));
  expr->condition = BuildIfCondition(builder, node->ifCondition());
  expr->then_value = BuildExpr(builder, node->expr(0));
  expr->else_value = BuildExpr(builder, node->expr(1));
  return expr;
}

}  // namespace

const Expr* BuildExpr(Builder& builder, P::ExprContext* expr) {
  Span span = builder.NodeSpan(expr);
  Deeper deeper(builder, 1, span);
  if (!deeper.ok()) return builder.MakeExpr<AutoLit>(span);
  if (expr->IF() != nullptr) return BuildIf(builder, expr);
  const Expr* value = BuildOperation(builder, expr->operation());
  if (expr->TO() == nullptr) return value;
  auto* move = builder.MakeExpr<MoveExpr>(span);
  move->operand = value;
  move->device = BuildIdent(builder, expr->name());
  return move;
}

const Expr* BuildIfCondition(Builder& builder, P::IfConditionContext* condition) {
  P::TypeTestContext* node = condition->typeTest();
  if (node == nullptr) return BuildExpr(builder, condition->expr());
  auto* test = builder.MakeExpr<TypeTestExpr>(builder.NodeSpan(node));
  test->type = BuildTypeName(builder, node->typeName());
  test->among = BuildTypeNames(builder, node->typeNames());
  builder.has_type_tests = true;
  return test;
}

const Expr* BuildArith(Builder& builder, P::ArithContext* arith) {
  return BuildOperation(builder, arith);
}

const Expr* BuildPlace(Builder& builder, P::PrimaryContext* primary,
                       const std::vector<P::SuffixContext*>& suffixes) {
  Deeper deeper(builder, suffixes.size(), builder.NodeSpan(primary));
  if (!deeper.ok()) return builder.MakeExpr<AutoLit>(builder.NodeSpan(primary));
  const Expr* expr = BuildPrimary(builder, primary);
  Span first = builder.NodeSpan(primary);
  for (P::SuffixContext* suffix : suffixes) {
    expr = BuildSuffix(builder, expr, Cover(first, builder.NodeSpan(suffix)), suffix);
  }
  return expr;
}

std::vector<const Expr*> BuildExprs(Builder& builder, const std::vector<P::ExprContext*>& exprs) {
  std::vector<const Expr*> out;
  out.reserve(exprs.size());
  for (P::ExprContext* expr : exprs) out.push_back(BuildExpr(builder, expr));
  return out;
}

Placement BuildPlacement(Builder& builder, P::PlacementContext* node) {
  Placement placement;
  if (node == nullptr) return placement;
  static_cast<Ident&>(placement) = BuildIdent(builder, node->name());
  for (P::DistributedContext* entry : node->distributed()) {
    DistributedDim dim;
    dim.span = builder.NodeSpan(entry);
    dim.size = BuildExpr(builder, entry->expr(0));
    if (entry->COLON() != nullptr) dim.block = BuildExpr(builder, entry->expr(1));
    placement.by.push_back(dim);
  }
  return placement;
}

std::vector<Arg> BuildArgs(Builder& builder, P::CallArgsContext* args, std::string_view what) {
  std::vector<Arg> out;
  if (args == nullptr) return out;
  for (P::ArgContext* arg : args->arg()) out.push_back(BuildArg(builder, arg));
  if (P::OverContext* over = args->over()) {
    builder.diagnostics.Report(diag::OverOutsideReduction, builder.NodeSpan(over), what);
  }
  return out;
}

std::vector<Arg> BuildGenericArgs(Builder& builder, P::GenericArgsContext* generics) {
  std::vector<Arg> out;
  if (generics == nullptr) return out;
  for (P::GenericArgContext* node : generics->genericArg()) {
    Arg& arg = out.emplace_back();
    arg.span = builder.NodeSpan(node);
    arg.name = BuildIdent(builder, node->name());
    arg.value = BuildArith(builder, node->arith());
  }
  return out;
}

void BuildIndices(Builder& builder, P::IndicesContext* indices, IndexExpr& out) {
  if (indices == nullptr) return;
  for (P::IndexContext* node : indices->index()) {
    Index& index = out.indices.emplace_back();
    index.span = builder.NodeSpan(node);
    index.name = BuildIdent(builder, node->name());
    index.value = BuildExpr(builder, node->expr(0));
    if (node->DOTDOT() != nullptr) index.hi = BuildExpr(builder, node->expr(1));
  }
  if (P::ExprContext* otherwise = indices->expr()) out.otherwise = BuildExpr(builder, otherwise);
}

const Expr* BuildPath(Builder& builder, const std::vector<P::NameContext*>& path) {
  const Expr* expr = BuildName(builder, path[0]);
  Deeper deeper(builder, path.size(), builder.NodeSpan(path[0]));
  if (!deeper.ok()) return expr;
  for (size_t i = 1; i < path.size(); ++i) {
    auto* field = builder.MakeExpr<FieldExpr>(Cover(expr->span, builder.NodeSpan(path[i])));
    field->base = expr;
    field->name = BuildIdent(builder, path[i]);
    expr = field;
  }
  return expr;
}

TypeName BuildTypeName(Builder& builder, P::TypeNameContext* node) {
  std::vector<P::NameContext*> words = node->name();
  TypeName type{BuildIdent(builder, words[0]), {}};
  type.span = builder.NodeSpan(node);
  if (words.size() > 1) type.member = BuildIdent(builder, words[1]);
  return type;
}

std::vector<TypeName> BuildTypeNames(Builder& builder, P::TypeNamesContext* node) {
  std::vector<TypeName> types;
  for (P::TypeNameContext* type : node->typeName()) types.push_back(BuildTypeName(builder, type));
  return types;
}

const Expr* BuildPack(Builder& builder, P::PackContext* node) {
  auto* pack = builder.MakeExpr<NameExpr>(builder.NodeSpan(node->name()));
  pack->name = BuildIdent(builder, node->name()).name;
  pack->is_pack = true;
  return pack;
}

const TypeRef* BuildType(Builder& builder, P::TypeContext* node) {
  auto* type = builder.arena.Make<TypeRef>();
  type->span = builder.NodeSpan(node);
  if (node->typeName() != nullptr) type->name = BuildTypeName(builder, node->typeName());
  type->has_brackets = node->LBRACK() != nullptr;
  for (P::DimContext* dim : node->dim())
    type->dims.push_back(dim->pack() != nullptr ? BuildPack(builder, dim->pack())
                                                : BuildExpr(builder, dim->expr()));
  for (P::TypeContext* element : node->type())
    type->elements.push_back(BuildType(builder, element));
  return type;
}

StringLit* BuildString(Builder& builder, TerminalNode* text) {
  Span span = builder.NodeSpan(text);
  auto* literal = builder.MakeExpr<StringLit>(span);
  std::optional<size_t> bad_escape;
  literal->value = ParseString(builder.Text(span), bad_escape);
  if (bad_escape) {
    auto at = span.begin + static_cast<uint32_t>(*bad_escape);
    Span escape{span.file, at, at + 2};
    builder.diagnostics.Report(diag::BadEscape, escape, builder.Text(escape).substr(1))
        .Help("use \\\\ for a backslash");
  }
  return literal;
}

namespace {

void BuildTolerance(Builder& builder, P::ToleranceContext* node, Equation& equation) {
  if (node == nullptr) return;
  for (P::TolerancePartContext* part : node->tolerancePart()) {
    Ident name = BuildIdent(builder, part->name());
    const Expr** place = name.name.text() == "rtol"   ? &equation.rtol
                         : name.name.text() == "atol" ? &equation.atol
                                                      : nullptr;
    if (place == nullptr || *place != nullptr) {
      builder.diagnostics.Report(diag::BadTolerance, name.span, name.name.text());
      continue;
    }
    *place = BuildExpr(builder, part->expr());
  }
}

/// Reports an equation with `=` whose left side is neither a name nor an indexed name.
void CheckDefines(Builder& builder, const Equation& equation) {
  const auto* index = DynAs<IndexExpr>(equation.lhs);
  bool defines = DynAs<NameExpr>(index != nullptr ? index->base : equation.lhs) != nullptr;
  if (!equation.compared && !defines) {
    builder.diagnostics
        .Report(diag::BadEquation, equation.lhs->span, builder.Text(equation.lhs->span))
        .Help("use `~` to compare the two sides");
  }
}

}  // namespace

Equation BuildEquation(Builder& builder, P::EquationContext* node) {
  Equation equation;
  equation.span = builder.NodeSpan(node);
  equation.compared = node->ASSIGN() == nullptr;
  equation.lhs = BuildArith(builder, node->arith());
  if (P::SelectionContext* selection = node->selection()) {
    equation.exact = node->EQ() != nullptr;
    equation.rhs = BuildExpr(builder, selection->expr(0));
    if (selection->WHERE() != nullptr) equation.condition = BuildExpr(builder, selection->expr(1));
    for (P::NameContext* name : selection->name())
      equation.over.push_back(BuildIdent(builder, name));
  } else {
    equation.rhs = BuildExpr(builder, node->expr());
  }
  BuildTolerance(builder, node->tolerance(), equation);
  CheckDefines(builder, equation);
  return equation;
}

Equation BuildExpectation(Builder& builder, P::ExpectStmtContext* node) {
  Equation equation;
  equation.lhs = BuildExpr(builder, node->expr(0));
  equation.span = equation.lhs->span;
  if (node->expr().size() == 1) return equation;
  equation.compared = node->TILDE() != nullptr;
  equation.rhs = BuildExpr(builder, node->expr(1));
  equation.span.end = equation.rhs->span.end;
  BuildTolerance(builder, node->tolerance(), equation);
  CheckDefines(builder, equation);
  return equation;
}

}  // namespace kdl::syntax
