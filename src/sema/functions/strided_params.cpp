#include "sema/functions/strided_params.h"

#include <algorithm>

namespace kdl::sema {

using syntax::Direction;
using syntax::Expr;
using syntax::FunctionKind;
using syntax::NameExpr;

namespace {

/// Returns the pack that a dimension of a type is, or an empty name.
Name PackName(const Expr* dim) {
  const auto* name = syntax::DynAs<NameExpr>(dim);
  return name != nullptr && name->is_pack ? name->name : Name();
}

/// Returns whether the parameter has one pack, whose dimensions another parameter determines.
bool HasSizesOfPack(const FunctionState& state, const syntax::Param& param) {
  Name pack;
  for (const Expr* dim : param.type->dims) {
    if (PackName(dim).empty()) continue;
    if (!pack.empty()) return false;
    pack = PackName(dim);
  }
  return !pack.empty() &&
         std::ranges::any_of(state.fn.item->params, [&](const syntax::Param& other) {
           return other.strides != syntax::ParamStrides::Broadcast && !other.is_optional &&
                  std::ranges::find(other.type->dims, pack, PackName) != other.type->dims.end();
         });
}

}  // namespace

bool IsWronglyStrided(FunctionState& state, const syntax::Param& param) {
  if (param.strides == syntax::ParamStrides::Dense) return false;
  bool is_broadcast = param.strides == syntax::ParamStrides::Broadcast;
  if (state.kind() != FunctionKind::Kernel || param.type->dims.empty()) {
    state.diagnostics.Report(diag::StridedKind, param.span, param.name.name.text(),
                             is_broadcast ? "broadcast" : "strided");
    return true;
  }
  if (!is_broadcast || (param.direction == Direction::In && HasSizesOfPack(state, param)))
    return false;
  state.diagnostics.Report(diag::BroadcastKind, param.span, param.name.name.text());
  return true;
}

}  // namespace kdl::sema
