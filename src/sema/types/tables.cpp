#include "sema/types/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include "sema/types/coerce.h"
#include "sema/types/literal_value.h"
#include "sema/types/tensor_type.h"
#include "sema/walk/constants.h"
#include "sema/walk/resolve.h"
#include "support/check.h"

namespace kdl::sema {

namespace {

using syntax::Expr;
using syntax::ListExpr;

/// If there are more elements than this, helps do not list them.
constexpr size_t kMostShown = 16;

/// Returns the type of a table. Its sizes must be positive constants.
std::optional<Type> TableType(FunctionState& state, const syntax::TypeRef& ref) {
  std::optional<Type> type = TensorType(state, ref);
  if (!type) return std::nullopt;
  for (size_t d = 0; d < type->dims.size(); ++d) {
    if (IsConstant(type->dims[d]) && type->dims[d]->value > 0) continue;
    state.diagnostics.Report(diag::TableSize, ref.dims[d]->span, ToString(type->dims[d]));
    return std::nullopt;
  }
  return type;
}

/// Adds the elements of nested lists in their order.
void AddElements(const Expr* expr, std::vector<const Expr*>& elements) {
  const auto* list = syntax::DynAs<ListExpr>(expr);
  if (list == nullptr) return elements.push_back(expr);
  for (const Expr* element : list->elements) AddElements(element, elements);
}

std::vector<const Expr*> ElementsIn(const Expr* expr) {
  std::vector<const Expr*> elements;
  AddElements(expr, elements);
  return elements;
}

/// Returns nested lists of these sizes. `next` returns the text of each element.
std::string NestedLists(std::span<const size_t> sizes,
                        const std::function<std::string_view()>& next) {
  if (sizes.empty()) return std::string(next());
  std::string text;
  for (size_t i = 0; i < sizes[0]; ++i)
    text += (i == 0 ? "" : ", ") + NestedLists(sizes.subspan(1), next);
  return fmt::format("[{}]", text);
}

size_t Product(std::span<const size_t> sizes) {
  size_t product = 1;
  for (size_t size : sizes) product *= std::min(size, kMostShown + 1);
  return product;
}

/// Reads the elements of a table or tensor from nested lists.
class ElementReader {
 public:
  ElementReader(FunctionState& state, std::string_view name, const Type& type, const Expr* value)
      : state_(state), name_(name), type_(type), value_(value) {}

  bool Read() { return ReadDimension(value_, 0); }

  std::vector<uint64_t>& elements() { return elements_; }

 private:
  /// Reads the list for dimension `d`. If `d` is the rank, reads a single element.
  bool ReadDimension(const Expr* expr, size_t d) {
    const auto* list = syntax::DynAs<ListExpr>(expr);
    if (d == type_.dims.size()) return list == nullptr ? ReadElement(expr) : TooDeep(expr);
    auto wanted = static_cast<size_t>(type_.dims[d]->value);
    if (list == nullptr || list->elements.size() != wanted) {
      std::string found =
          list == nullptr ? "a single value" : Counted(list->elements.size(), "element");
      ShowForm(state_.diagnostics.Report(diag::TableShape, expr->span, name_, d,
                                         Counted(wanted, "element"), found));
      return false;
    }
    return std::ranges::all_of(list->elements,
                               [&](const Expr* element) { return ReadDimension(element, d + 1); });
  }

  bool TooDeep(const Expr* expr) {
    ShowForm(state_.diagnostics.Report(diag::TableDepth, expr->span, name_, ToString(type_)));
    return false;
  }

  /// Says how the lists must be nested: with the elements that are given if their number is right.
  void ShowForm(Diagnostic& report) {
    std::vector<size_t> sizes;
    for (Size dim : type_.dims) sizes.push_back(static_cast<size_t>(dim->value));
    if (Product(sizes) > kMostShown) return;
    std::vector<const Expr*> given = ElementsIn(value_);
    size_t next = 0;
    if (given.size() == Product(sizes)) {
      report.Help(fmt::format(
          "write `{}`", NestedLists(sizes, [&] { return state_.Text(given[next++]->span); })));
    } else {
      report.Help(fmt::format("{} has the form {}", ToString(type_),
                              NestedLists(sizes, [] { return std::string_view("…"); })));
    }
  }

  bool ReadElement(const Expr* expr) {
    Scalar scalar = type_.scalar;
    std::optional<Literal> value = EvaluateLiteral(state_, expr, "an element of a list");
    if (!value) return false;
    Type type = state_.fn.exprs[expr].type;
    if (!Fits(state_, expr, scalar)) {
      state_.diagnostics.Report(diag::ValueType, expr->span, name_, ToString(type_), ToString(type))
          .Help(ConvertHelp(state_, expr, scalar));
      return false;
    }
    const std::optional<Constant>& constant = state_.fn.exprs[expr].constant;
    KDL_CHECK(constant || state_.diagnostics.error_count() > 0,
              "an element of '{}' has no constant", name_);
    if (constant) elements_.push_back(constant->bits);
    return constant.has_value();
  }

  FunctionState& state_;
  std::string_view name_;
  const Type& type_;
  const Expr* value_;
  std::vector<uint64_t> elements_;
};

/// Returns the table that a name means, or null.
const Entity* NamedTable(const FunctionState& state, const Expr* expr) {
  const auto* name = syntax::DynAs<syntax::NameExpr>(expr);
  const Entity* entity = name != nullptr ? state.scopes.Find(name->name) : nullptr;
  bool is_table = entity != nullptr && entity->kind == EntityKind::Const;
  return is_table && !state.in_const ? entity : nullptr;
}

/// Returns the type that a list of literals probably has. Its sizes are those of the first list of each level.
std::string ProbableType(const Expr* list) {
  std::string_view scalar = "i32";
  for (const Expr* element : ElementsIn(list)) {
    const auto* sign = syntax::DynAs<syntax::UnaryExpr>(element);
    const Expr* number = sign != nullptr ? sign->operand : element;
    if (number->kind == syntax::ExprKind::BoolLit) scalar = "bool";
    if (number->kind == syntax::ExprKind::FloatLit) scalar = "f32";
  }
  std::string sizes;
  for (const auto* level = syntax::DynAs<ListExpr>(list); level != nullptr;) {
    sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", level->elements.size());
    level = level->elements.empty() ? nullptr : syntax::DynAs<ListExpr>(level->elements[0]);
  }
  return fmt::format("{}[{}]", scalar, sizes);
}

}  // namespace

bool EvaluateTable(FunctionState& state, const syntax::ConstItem& item, Entity& entity) {
  std::optional<Type> type = TableType(state, *item.type);
  if (!type) return false;
  ElementReader reader(state, entity.name.text(), *type, item.value);
  if (!reader.Read()) return false;
  entity.type = *std::move(type);
  entity.elements = std::move(reader.elements());
  return true;
}

bool ListsElements(FunctionState& state, const Expr* expr) {
  if (expr->kind == syntax::ExprKind::List) return true;
  const Entity* table = NamedTable(state, expr);
  if (table == nullptr) return false;
  ConstValue(state, table);  // a const has its type when it has been evaluated
  return table->type.is_tensor();
}

std::optional<std::vector<uint64_t>> ListedElements(FunctionState& state, const Entity& tensor,
                                                    const Type& type, const Expr* expr) {
  std::string_view name = tensor.name.text();
  for (Size dim : type.dims) {
    if (IsConstant(dim)) continue;
    state.diagnostics.Report(diag::GivenSize, expr->span, name, ToString(dim))
        .Help(fmt::format("use the size that the list has, or write a loop that assigns {}[…]",
                          name));
    return std::nullopt;
  }
  if (const Entity* table = NamedTable(state, expr)) {
    if (table->type == type) return table->elements;
    state.diagnostics.Report(diag::ValueType, expr->span, name, ToString(type),
                             ToString(table->type));
    return std::nullopt;
  }
  ElementReader reader(state, name, type, expr);
  if (!reader.Read()) return std::nullopt;
  return std::move(reader.elements());
}

std::string ListHelp(const FunctionState& state, const Expr* list, std::string_view name) {
  std::string type = ProbableType(list);
  if (state.kind() == syntax::FunctionKind::Program)
    return fmt::format("declare a tensor, with its type: `let {}: {} = …;`", name, type);
  return fmt::format("declare a table before the {}, `const {}: {} = …;`, and index it",
                     state.kind() == syntax::FunctionKind::Fn ? "fn" : "kernel", name, type);
}

std::optional<Constant> TableElement(const IndexInfo& index) {
  const Entity& table = *index.base;
  if (table.kind != EntityKind::Const) return std::nullopt;
  size_t place = 0;
  for (size_t d = 0; d < index.dims.size(); ++d) {
    const IndexDim& dim = index.dims[d];
    int64_t size = table.type.dims[d]->value;
    bool inside = dim.terms.empty() && IsConstant(dim.offset) && dim.offset->value >= 0 &&
                  dim.offset->value < size;
    if (!inside) return std::nullopt;
    place = place * static_cast<size_t>(size) + static_cast<size_t>(dim.offset->value);
  }
  return Constant{table.type.scalar, table.elements[place]};
}

}  // namespace kdl::sema
