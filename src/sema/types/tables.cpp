#include "sema/types/tables.h"

#include <fmt/format.h>

#include "sema/types/coerce.h"
#include "sema/types/literal_value.h"
#include "sema/types/tensor_type.h"
#include "sema/walk/resolve.h"

namespace kdl::sema {

namespace {

using syntax::Expr;

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

/// Reads the elements of a table from its nested lists.
class TableReader {
 public:
  TableReader(FunctionState& state, const Entity& entity, const Type& type)
      : state_(state), entity_(entity), type_(type) {}

  /// Reads the list for dimension `d`. If `d` is the rank, reads a single element.
  bool Read(const Expr* expr, size_t d) {
    const auto* list = syntax::DynAs<syntax::ListExpr>(expr);
    if (d == type_.dims.size()) return list == nullptr ? ReadElement(expr) : TooDeep(expr);
    auto wanted = static_cast<size_t>(type_.dims[d]->value);
    if (list == nullptr || list->elements.size() != wanted) {
      std::string found =
          list == nullptr ? "a single value" : Counted(list->elements.size(), "element");
      state_.diagnostics.Report(diag::TableShape, expr->span, entity_.name.text(), d,
                                Counted(wanted, "element"), found);
      return false;
    }
    for (const Expr* element : list->elements) {
      if (!Read(element, d + 1)) return false;
    }
    return true;
  }

  std::vector<uint64_t>& elements() { return elements_; }

 private:
  bool TooDeep(const Expr* expr) {
    state_.diagnostics.Report(diag::TableDepth, expr->span, entity_.name.text(), ToString(type_));
    return false;
  }

  bool ReadElement(const Expr* expr) {
    Scalar scalar = type_.scalar;
    std::optional<Literal> value = EvaluateLiteral(state_, expr, "an element of a table");
    if (!value) return false;
    Type type = state_.fn.exprs[expr].type;
    if (!Fits(state_, expr, scalar)) {
      state_.diagnostics.Report(diag::ValueType, expr->span, entity_.name.text(), ToString(type_),
                                ToString(type));
      return false;
    }
    const std::optional<Constant>& constant = state_.fn.exprs[expr].constant;
    if (constant) elements_.push_back(constant->bits);
    return constant.has_value();
  }

  FunctionState& state_;
  const Entity& entity_;
  const Type& type_;
  std::vector<uint64_t> elements_;
};

}  // namespace

bool EvaluateTable(FunctionState& state, const syntax::ConstItem& item, Entity& entity) {
  std::optional<Type> type = TableType(state, *item.type);
  if (!type) return false;
  TableReader reader(state, entity, *type);
  if (!reader.Read(item.value, 0)) return false;
  entity.type = *std::move(type);
  entity.elements = std::move(reader.elements());
  return true;
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
