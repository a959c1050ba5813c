#include "targets/simt/tile_selector.h"

#include <algorithm>
#include <optional>

#include "ir/module.h"
#include "ir/views.h"

// The model. What a contraction folds stays short, since near memory holds both operands; what it keeps makes squares. Elsewhere
// what memory holds side by side runs along the workers, and the rest has a few rows.

namespace kdl::simt {

namespace {

using ir::AttrKey;

/// How a kernel uses the axes whose extent is one generic.
struct Role {
  bool folded = false;  ///< by a contraction
  bool kept = false;    ///< in the result of one
  bool along = false;   ///< the last index of some access
};

int64_t Wanted(const Role& role) {
  if (role.folded) return 16;
  if (role.kept) return 32;
  return role.along ? 256 : 4;
}

Role RoleOf(const ir::Function& kernel, Name generic) {
  Role role;
  auto is_extent = [&](ir::AxisId axis) {
    Size extent = kernel.axis(axis).extent;
    return extent && extent->kind == SizeKind::Symbol && extent->symbol == generic;
  };
  ir::Walk(kernel.body, [&](const ir::Op* op) {
    if (op->kind() == ir::OpKind::Contraction) {
      role.folded |= std::ranges::any_of(op->attr<AttrKey::Axes>(), is_extent);
      role.kept |= std::ranges::any_of(op->result()->type()->axes, is_extent);
    }
    const ir::Attr* access = op->FindAttr(AttrKey::Access);
    if (!access || std::get<ir::Access>(access->value).dims.empty()) return;
    const ir::AccessDim last = std::get<ir::Access>(access->value).dims.back();
    size_t index = op->kind() == ir::OpKind::Load ? size_t{ir::LoadOp::at_index}
                                                  : size_t{ir::StoreOp::at_index};
    for (const ir::AccessTerm& term : last.terms) {
      ir::Type type = op->Segment(index)[term.operand]->type();
      role.along |= type->kind == ir::TypeKind::Blk && is_extent(type->axes[0]);
    }
  });
  return role;
}

/// The largest choice that is not above what is wanted, or the smallest.
int64_t Chosen(const ir::Generic& generic, int64_t wanted) {
  if (generic.choices.empty()) return wanted;
  int64_t chosen = *std::ranges::min_element(generic.choices);
  for (int64_t choice : generic.choices) {
    if (choice <= wanted) chosen = std::max(chosen, choice);
  }
  return chosen;
}

class TileSelector final : public ir::TileSelector {
 public:
  std::vector<int64_t> Select(const ir::Function& kernel) const override {
    std::vector<int64_t> extents;
    for (const ir::Generic& generic : kernel.generics) {
      if (generic.is_auto && generic.values.empty())
        extents.push_back(Chosen(generic, Wanted(RoleOf(kernel, generic.name))));
    }
    return extents;
  }
};

}  // namespace

std::unique_ptr<const ir::TileSelector> MakeTileSelector() {
  return std::make_unique<TileSelector>();
}

}  // namespace kdl::simt
