#include "targets/host/tile_selector.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "ir/attr.h"
#include "ir/module.h"
#include "ir/op.h"
#include "ir/target_facts.h"
#include "ir/type.h"
#include "support/names.h"
#include "support/scalar.h"
#include "support/size.h"

// The model. What a block's tiles take together should stay in a cache: in L2 where the kernel
// contracts, since a contraction comes back to its operands, else in L1. Extents grow by powers of
// two (or along the `choices`), the axes that memory holds contiguously first, because short runs
// waste cache lines, then the others, until a role's largest useful extent or the cache is reached.
// Everything is counted from the kernel alone, so the same kernel gives the same tiles on every
// run.

namespace kdl::targets {

namespace {

using ir::AxisId;

/// How a kernel uses the axes whose extent is one generic.
struct Role {
  bool contracted = false;  ///< summed over by a contraction
  bool kept = false;        ///< stays in the result of a contraction
  bool contiguous = false;  ///< the last index of some access
  bool strided = false;     ///< an earlier index of some access

  /// Long runs pay: memory holds the elements side by side wherever the axis indexes.
  bool runs() const { return contiguous && !strided; }
};

struct Choice {
  const ir::Generic* generic;
  Role role;
  int64_t extent = 1;
};

/// Extents up to which a role profits, in the three rounds of growing.
struct Caps {
  int64_t contiguous_first;
  int64_t others;
  int64_t rest;
};

constexpr int64_t kUnknownExtent = 256;  // stands for a size that only the launch knows

Caps CapsOf(const Role& role) {
  if (role.kept) return {64, 64, 64};
  if (role.contracted) return {64, 64, 256};
  return {256, 64, 4096};
}

/// The generic that is an axis's extent, or an empty name.
Name ExtentGeneric(const ir::Function& kernel, AxisId axis) {
  Size extent = kernel.axis(axis).extent;
  return extent && extent->kind == SizeKind::Symbol ? extent->symbol : Name();
}

class Selection {
 public:
  Selection(const ir::Function& kernel, const ir::TargetFacts& facts) : kernel_(kernel) {
    for (const ir::Generic& generic : kernel.generics) {
      if (!generic.is_auto || !generic.values.empty()) continue;
      int64_t least = generic.choices.empty()
                          ? 1
                          : *std::min_element(generic.choices.begin(), generic.choices.end());
      choices_.push_back({&generic, {}, least});
    }
    ir::Walk(kernel.body, [this](const ir::Op* op) { Study(op); });
    budget_ = contracts_ ? facts.l2_bytes / 2 : facts.l1_bytes * 3 / 4;
  }

  std::vector<int64_t> Run() {
    for (Choice& choice : choices_) {
      if (choice.role.runs()) Grow(choice, CapsOf(choice.role).contiguous_first);
    }
    for (Choice& choice : choices_) Grow(choice, CapsOf(choice.role).others);
    for (Choice& choice : choices_) {
      if (choice.role.runs() || choice.role.contracted) Grow(choice, CapsOf(choice.role).rest);
    }
    std::vector<int64_t> extents;
    extents.reserve(choices_.size());
    for (const Choice& choice : choices_) extents.push_back(choice.extent);
    return extents;
  }

 private:
  Choice* FindChoice(Name name) {
    auto found = std::find_if(choices_.begin(), choices_.end(),
                              [&](const Choice& c) { return c.generic->name == name; });
    return found == choices_.end() ? nullptr : &*found;
  }

  void Mark(AxisId axis, bool Role::* flag) {
    if (Choice* choice = FindChoice(ExtentGeneric(kernel_, axis))) choice->role.*flag = true;
  }

  void Study(const ir::Op* op) {
    for (const ir::Value* result : op->results()) {
      if (ir::IsTile(result->type()) && !ir::IsScalar(result->type()))
        tiles_.insert(result->type());
    }
    if (op->kind() == ir::OpKind::Contract) {
      contracts_ = true;
      for (AxisId axis : op->attr<ir::AttrKey::Axes>()) Mark(axis, &Role::contracted);
      for (AxisId axis : op->result()->type()->axes) Mark(axis, &Role::kept);
    }
    if (!op->HasAttr(ir::AttrKey::Access)) return;
    const ir::Access access = op->attr<ir::AttrKey::Access>();
    size_t index = op->kind() == ir::OpKind::Load ? 1 : 2;  // the operand segment of the indices
    for (const ir::AccessDim& dim : access.dims) {
      for (const ir::AccessTerm& term : dim.terms) {
        ir::Type type = op->Segment(index)[term.operand]->type();
        if (type->kind != ir::TypeKind::Blk) continue;
        Mark(type->axes[0], &dim == &access.dims.back() ? &Role::contiguous : &Role::strided);
      }
    }
  }

  int64_t Extent(AxisId axis) {
    Size extent = kernel_.axis(axis).extent;
    if (!extent) return kUnknownExtent;
    auto symbol = [this](Name name) -> std::optional<int64_t> {
      if (const Choice* choice = FindChoice(name)) return choice->extent;
      for (const ir::Generic& generic : kernel_.generics) {
        if (generic.name == name && !generic.values.empty()) return generic.values[0];
      }
      return kUnknownExtent;
    };
    return std::clamp<int64_t>(Evaluate(extent, symbol).value_or(kUnknownExtent), 1, 1 << 20);
  }

  bool Fits() {
    double bytes = 0;
    for (ir::Type tile : tiles_) {
      double tile_bytes = Bytes(tile->scalar);
      for (AxisId axis : tile->axes) tile_bytes *= static_cast<double>(Extent(axis));
      bytes += tile_bytes;
    }
    return bytes <= static_cast<double>(budget_);
  }

  /// The next larger extent, or the present one where there is none.
  static int64_t Next(const Choice& choice) {
    if (choice.generic->choices.empty()) return choice.extent * 2;
    int64_t next = choice.extent;
    for (int64_t candidate : choice.generic->choices) {
      if (candidate > choice.extent && (next == choice.extent || candidate < next))
        next = candidate;
    }
    return next;
  }

  void Grow(Choice& choice, int64_t cap) {
    while (true) {
      int64_t before = choice.extent;
      int64_t next = Next(choice);
      if (next == before || next > cap) return;
      choice.extent = next;
      if (Fits()) continue;
      choice.extent = before;
      return;
    }
  }

  const ir::Function& kernel_;
  std::vector<Choice> choices_;
  std::set<ir::Type> tiles_;
  bool contracts_ = false;
  int64_t budget_ = 0;
};

class HostTileSelector final : public ir::TileSelector {
 public:
  std::vector<int64_t> Select(const ir::Function& kernel,
                              const ir::TargetFacts& facts) const override {
    return Selection(kernel, facts).Run();
  }
};

}  // namespace

std::unique_ptr<const ir::TileSelector> MakeHostTileSelector() {
  return std::make_unique<HostTileSelector>();
}

}  // namespace kdl::targets
