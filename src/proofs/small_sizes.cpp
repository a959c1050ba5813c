#include <algorithm>
#include <set>

#include "ir/op_kind.h"
#include "ir/requirement.h"
#include "proofs/examples.h"
#include "proofs/made_values.h"

namespace kdl::proofs {

namespace {

using ir::CompareKind;

constexpr size_t kMostTried = 16;
constexpr int kMostDrawn = 400;
constexpr int64_t kSpacious = 15;
constexpr int64_t kRoomy = 500;
/// Values to try for open int generics: first those that yield several blocks, then others that static
/// asserts may require.
constexpr int64_t kConstants[] = {2, 1, 3, 4, 8, 16, 32, 64, 128, 256};

std::optional<int64_t> EvaluateSize(Size size, const Sizes& sizes) {
  return EvaluateChecked(size, [&](Name name) -> std::optional<int64_t> {
    auto found = sizes.find(name);
    return found == sizes.end() ? std::nullopt : std::optional(found->second);
  });
}

bool HasShape(const ir::Value* tensor, const Sizes& sizes) {
  return std::ranges::all_of(tensor->type()->dims,
                             [&](Size dim) { return EvaluateSize(dim, sizes).value_or(-1) >= 0; });
}

/// Returns whether the requirements of the launch are satisfied. Sets each size that an equation determines
/// to the value of the equation.
bool MeetsLaunch(const ir::Function& function, Sizes& sizes) {
  for (Op* op : *function.body) {
    if (op->kind() != ir::OpKind::Require) continue;
    Size left = op->attr<AttrKey::Left>();
    Size right = op->attr<AttrKey::Right>();
    CompareKind kind = op->attr<AttrKey::Compare>();
    std::optional<int64_t> a = EvaluateSize(left, sizes);
    std::optional<int64_t> b = EvaluateSize(right, sizes);
    if (!a || !b) return false;
    if (ir::Holds(kind, *a, *b)) continue;
    if (kind != CompareKind::Eq) return false;
    if (left->kind == SizeKind::Symbol && sizes.contains(left->symbol) && *b >= 0) {
      sizes[left->symbol] = *b;
    } else if (right->kind == SizeKind::Symbol && sizes.contains(right->symbol) && *a >= 0) {
      sizes[right->symbol] = *a;
    } else {
      return false;
    }
  }
  return std::all_of(function.params.begin(), function.params.end(), [&](const ir::Param& param) {
    return param.value->type()->kind != ir::TypeKind::Tensor || HasShape(param.value, sizes);
  });
}

/// Returns whether all static asserts are satisfied.
bool MeetsStatics(const ir::Function& function, const Sizes& sizes) {
  bool meets = true;
  ir::Walk(function.body, [&](const Op* op) {
    if (op->kind() == ir::OpKind::StaticAssert)
      meets = meets && ConstantBits(op->operand(0), sizes) != 0;
  });
  return meets;
}

class Drawer {
 public:
  explicit Drawer(const ir::Function& function) : function_(function), constants_(Constants()) {}

  std::vector<Sizes> DrawLaunches() {
    found_.push_back(constants_);
    for (int64_t all : {1, 2, 3, 5}) {
      Sizes sizes = constants_;
      for (Name dim : function_.dims) sizes[dim] = all;
      Take(sizes);
    }
    Take(PastOneBlock(1));
    for (int64_t other : {kSpacious, kRoomy}) Take(PastOneBlock(other));
    for (int64_t all : {0, 7}) {
      Sizes sizes = constants_;
      for (Name dim : function_.dims) sizes[dim] = all;
      Take(sizes);
    }
    for (int drawn = 0; drawn < kMostDrawn && found_.size() < kMostTried; ++drawn) {
      Sizes sizes = constants_;
      for (Name dim : function_.dims) {
        int64_t more = LargestBlock(dim);
        sizes[dim] = Draw(4) == 0 && more > 1 ? more + 1 : Draw(10);
      }
      Take(sizes);
    }
    return found_;
  }

 private:
  /// Returns the first values of the open int generics that the static asserts allow, trying the choices in
  /// ascending order.
  Sizes Constants() const {
    for (size_t n = 0; n < std::size(kConstants); ++n) {
      Sizes sizes;
      for (const ir::Generic& generic : function_.generics) {
        std::vector<int64_t> from = generic.values.empty() ? generic.choices : generic.values;
        std::ranges::sort(from);
        sizes[generic.name] = from.empty() ? kConstants[n] : from[std::min(n, from.size() - 1)];
      }
      if (MeetsStatics(function_, sizes)) return sizes;
    }
    return {};
  }

  /// Returns the largest extent of the blocks into which a size is divided.
  int64_t LargestBlock(Name dim) const {
    int64_t most = 0;
    for (const ir::Axis& axis : function_.axes) {
      bool walks = axis.domain && axis.domain->kind == SizeKind::Symbol &&
                   axis.domain->symbol == dim && axis.domain != axis.extent;
      if (walks) most = std::max(most, EvaluateSize(axis.extent, constants_).value_or(0));
    }
    return most;
  }

  /// Returns sizes that exceed one block by 1. Sizes that are not divided into blocks become `other` + 1.
  Sizes PastOneBlock(int64_t other) const {
    Sizes sizes = constants_;
    for (Name dim : function_.dims)
      sizes[dim] = (LargestBlock(dim) > 1 ? LargestBlock(dim) : other) + 1;
    return sizes;
  }

  int64_t Draw(int64_t below) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<int64_t>((state_ >> 33) % static_cast<uint64_t>(below));
  }

  void Take(Sizes sizes) {
    // The check runs twice, because equations may depend on one another.
    bool meets = MeetsLaunch(function_, sizes) && MeetsLaunch(function_, sizes);
    if (meets && seen_.insert(sizes).second) found_.push_back(std::move(sizes));
  }

  const ir::Function& function_;
  Sizes constants_;
  std::vector<Sizes> found_;
  std::set<Sizes> seen_;
  uint64_t state_ = 1;
};

}  // namespace

std::vector<Sizes> LaunchesToTry(const ir::Function& function) {
  return Drawer(function).DrawLaunches();
}

}  // namespace kdl::proofs
