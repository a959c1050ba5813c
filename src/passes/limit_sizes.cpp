#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "ir/builder.h"
#include "ir/op_kind.h"
#include "passes/passes.h"
#include "proofs/proofs.h"

// limit-sizes: makes sure that no product of sizes in a kernel overflows 64 bits, even when multiplied by the
// constant factors that the kernel uses.
//
//   kernel @f dims(%N, %M) { … mul %i, %M … }    with %i from 0 to %N
//   kernel @f dims(%N, %M) { require (M*N) le 4611686018427387904 … }
//
// The launch evaluates this product without overflow. If the number of cores is a factor, each core asserts
// the limit instead. The number of blocks of an `spmd for` over several dimensions is also limited, because
// blocks are distributed to the cores by number. A bound of an `spmd for` may be a value that sizes do not
// limit, such as a parameter. In this case, an assert before the loop checks that the loop's number of
// indices does not overflow.

namespace kdl::passes {

namespace {

using ir::MakeAttr;
using proofs::AccessView;
using proofs::LaunchProduct;
using proofs::Magnitude;
using proofs::Wraps;

constexpr int64_t kMostIndices = int64_t{1}
                                 << 62;  ///< the maximum number of indices of one `spmd for`

/// Collects the products of sizes that bound the magnitudes of values, each with the largest constant factor.
class Products {
 public:
  explicit Products(const ir::Function& kernel) : kernel_(kernel), wraps_(kernel) {}

  struct Use {
    double times = 1;
    const Op* op = nullptr;  ///< the first op that needs the product
  };
  using Uses = std::map<LaunchProduct, Use>;

  Uses Find() {
    for (const ir::Axis& axis : kernel_.axes) AddSize(nullptr, axis.extent);
    ir::Walk(kernel_.body, [&](const Op* op) {
      for (const Value* result : op->results()) AddValue(op, result);
      for (const ir::Region* region : op->regions()) {
        for (const Value* param : region->params()) AddValue(op, param);
      }
      if (op->kind() == OpKind::SizeOf) AddSize(op, op->attr<AttrKey::Size>());
      if (op->kind() == OpKind::Spmd) AddBlocks(op);
      if (auto view = proofs::FindAccess(const_cast<Op*>(op))) AddAccess(*view);
    });
    return std::move(uses_);
  }

 private:
  void Add(const Op* op, const Magnitude& magnitude) {
    if (!magnitude.both()) return;
    for (const LaunchProduct& product : magnitude.products) {
      if (product.size() < 2) continue;
      auto [use, is_new] = uses_.try_emplace(product, Use{magnitude.times, op});
      use->second.times = std::max(use->second.times, magnitude.times);
    }
  }

  void AddSize(const Op* op, Size size) {
    if (!size) return;
    Add(op, wraps_.MagnitudeOf(size));
    AddSize(op, size->lhs);
    AddSize(op, size->rhs);
  }

  void AddValue(const Op* op, const Value* value) {
    if (value->type()->kind == ir::TypeKind::Block)
      return Add(op, wraps_.MagnitudeOfElements(value));
    if (ir::IsTile(value->type())) Add(op, wraps_.MagnitudeOf(value));
  }

  void AddAccess(const AccessView& view) {
    for (const ir::AccessDim& dim : view.access().dims) {
      AddSize(view.op, dim.offset);
      for (const ir::AccessTerm& term : dim.terms) AddSize(view.op, term.coefficient);
      Add(view.op, wraps_.SummandsOf(dim, view.index).known);
    }
  }

  /// Adds the number of blocks of an `spmd for`.
  void AddBlocks(const Op* walk) {
    if (walk->operands().size() < 4) return;
    Magnitude blocks{true, true, 1, 0};
    for (size_t i = 0; i < walk->operands().size(); i += 2)
      blocks = blocks *
               (wraps_.MagnitudeOf(walk->operand(i + 1)) + wraps_.MagnitudeOf(walk->operand(i)));
    // The runtime already limits the number of elements of a tensor, but not multiples of that number.
    if (blocks.times <= 1)
      std::erase_if(blocks.products,
                    [&](const LaunchProduct& product) { return IsShape(product); });
    Add(walk, blocks);
  }

  /// Returns whether the product is the number of elements of a parameter. If so, the runtime has already
  /// checked its number of bytes.
  bool IsShape(const LaunchProduct& product) const {
    return std::ranges::any_of(kernel_.params, [&](const ir::Param& param) {
      if (param.value->type()->kind != ir::TypeKind::Tensor) return false;
      LaunchProduct shape;
      for (Size dim : param.value->type()->dims) {
        if (dim->kind == SizeKind::Symbol) shape.push_back(dim->symbol);
      }
      std::sort(shape.begin(), shape.end());
      return shape == product && shape.size() == param.value->type()->dims.size();
    });
  }

  const ir::Function& kernel_;
  Wraps wraps_;
  Uses uses_;
};

/// Returns whether the value is known not to be negative: a dimension or a constant.
bool IsNotNegative(const ir::Function& kernel, const Value* value) {
  const Op* def = value->def();
  if (!def) return value->parent_region() == kernel.body && value->index() < kernel.dims.size();
  return def->kind() == OpKind::Const && static_cast<int64_t>(def->attr<AttrKey::Bits>()) >= 0;
}

/// Returns the `spmd for` loops whose number of indices may overflow 64 bits.
std::vector<Op*> UncountedWalks(const ir::Function& kernel) {
  std::vector<Op*> walks;
  Wraps wraps(kernel);
  ir::Walk(kernel.body, [&](Op* op) {
    if (op->kind() != OpKind::Spmd) return;
    Magnitude count{true, true, 1, 0};
    for (size_t i = 0; i < op->operands().size(); i += 2)
      count = count * (wraps.MagnitudeOf(op->operand(i + 1)) + wraps.MagnitudeOf(op->operand(i)));
    bool stays = op->operands().size() == 2 && IsNotNegative(kernel, op->operand(0));
    if (!count.both() && !stays) walks.push_back(op);
  });
  return walks;
}

/// Returns a limit on a product such that times * product is at most Magnitude::kLargest.
int64_t LimitOf(double times) {
  int bits = std::ilogb(Magnitude::kLargest);
  return int64_t{1} << (bits - static_cast<int>(std::ceil(std::log2(std::max(times, 1.0)))));
}

class Limiter {
 public:
  Limiter(PassContext& context, const ir::Function& kernel)
      : context_(context), builder_(context.module) {
    Op* first = kernel.body->first();
    while (first->kind() == OpKind::Require) first = first->next();
    builder_.SetInsertionPoint(first);
    builder_.set_loc(kernel.loc);
  }

  /// Asserts before an `spmd for` that its number of indices does not overflow. Divides the limit by each
  /// extent, which cannot overflow. The last quotient is at least 1 only if the product of the extents is
  /// within the limit.
  void Count(Op* walk) {
    builder_.SetInsertionPoint(walk);
    builder_.set_loc(walk->loc());
    Value* zero = builder_.I64(0);
    Value* one = builder_.I64(1);
    Value* left = builder_.I64(kMostIndices);
    Value* empty = builder_.Bool(false);
    Value* counts = builder_.Bool(true);
    for (size_t i = 0; i < walk->operands().size(); i += 2) {
      Value* lo = walk->operand(i);
      Value* hi = walk->operand(i + 1);
      Value* count = builder_.Sub(hi, lo);
      empty = builder_.Or(empty, builder_.Le(hi, lo));
      counts = builder_.And(counts, builder_.Lt(zero, count));
      left = builder_.Div(left, builder_.Max(count, one));
    }
    counts = builder_.And(counts, builder_.Le(one, left));
    Name text = context_.module.context().names.Intern("`spmd for` has at most 2^62 indices");
    builder_.Create(OpKind::Assert, {{builder_.Or(empty, counts)}, {}}, {},
                    {MakeAttr<AttrKey::Text>(text)});
  }

  void Limit(const LaunchProduct& product, const Products::Use& use) {
    SizeTable& sizes = context_.module.types().sizes();
    Size of_sizes = sizes.Constant(1);
    size_t cores = static_cast<size_t>(std::ranges::count(product, Name()));
    // If a size is 0, the product is 0, but a product of some of the other sizes may overflow. In this case,
    // the first factor is 0, so that no partial product overflows.
    if (product.size() - cores > 2) of_sizes = IsAny(product);
    std::string source;
    for (Name name : product) {
      source += source.empty() ? "" : " * ";
      source += name.empty() ? ir::kCoreNum : name.text();
      if (!name.empty()) of_sizes = sizes.Binary(SizeKind::Mul, of_sizes, sizes.Symbol(name));
    }
    int64_t most = LimitOf(use.times);
    Name text = context_.module.context().names.Intern(fmt::format("{} <= {}", source, most));
    if (use.op) builder_.set_loc(use.op->loc());
    if (product.size() - cores > 1) Require(of_sizes, most, text);
    if (cores > 0) Assert(of_sizes, cores, most, text);
  }

 private:
  /// Returns a size that is 0 if any size in the product is 0, otherwise 1.
  Size IsAny(const LaunchProduct& product) {
    SizeTable& sizes = context_.module.types().sizes();
    Size any = sizes.Constant(1);
    for (Name name : std::set(product.begin(), product.end())) {
      if (name.empty()) continue;
      Size one = sizes.Binary(SizeKind::Min, sizes.Constant(1), sizes.Symbol(name));
      any = sizes.Binary(SizeKind::Mul, any, one);
    }
    return any;
  }

  void Require(Size product, int64_t most, Name text) {
    Size limit = context_.module.types().sizes().Constant(most);
    builder_.Create(
        OpKind::Require, {}, {},
        {MakeAttr<AttrKey::Left>(product), MakeAttr<AttrKey::Compare>(ir::CompareKind::Le),
         MakeAttr<AttrKey::Right>(limit), MakeAttr<AttrKey::Text>(text)});
  }

  /// Asserts the limit on each core, because the check before a launch does not know the number of cores.
  /// Uses division, which cannot overflow.
  void Assert(Size of_sizes, size_t cores, int64_t most, Name text) {
    Value* left = builder_.I64(most);
    Value* core_num = builder_.Make(OpKind::CoreNum, {}, left->type());
    for (size_t n = 0; n < cores; ++n) left = builder_.Div(left, core_num);
    Value* size =
        builder_.Make(OpKind::SizeOf, {}, left->type(), {MakeAttr<AttrKey::Size>(of_sizes)});
    builder_.Create(OpKind::Assert, {{builder_.Le(size, left)}, {}}, {},
                    {MakeAttr<AttrKey::Text>(text)});
  }

  PassContext& context_;
  ir::Builder builder_;
};

}  // namespace

void RunLimitSizes(PassContext& context, ir::Function& kernel) {
  Products::Uses uses = Products(kernel).Find();
  std::vector<Op*> uncounted = UncountedWalks(kernel);
  if (uses.empty() && uncounted.empty()) return;
  // Products that contain only sizes come first, because `require` ops must precede the code.
  Limiter limiter(context, kernel);
  auto of_cores = [](const auto& entry) { return entry.first.front().empty(); };
  for (bool cores : {false, true}) {
    for (const auto& entry : uses) {
      if (of_cores(entry) == cores) limiter.Limit(entry.first, entry.second);
    }
  }
  for (Op* walk : uncounted) limiter.Count(walk);
}

}  // namespace kdl::passes
