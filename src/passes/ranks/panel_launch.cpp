#include "passes/ranks/panel_launch.h"

#include <algorithm>
#include <utility>

#include "passes/rewriting/structured.h"
#include "support/rank_limit.h"

namespace kdl::passes {

namespace {

bool AnyMentions(const std::vector<proofs::LaunchBound>& bounds, const Value* param) {
  return std::ranges::any_of(bounds, [&](const proofs::LaunchBound& bound) {
    return std::ranges::find(bound.sum.params, param, &std::pair<const Value*, int64_t>::first) !=
           bound.sum.params.end();
  });
}

/// Returns whether both bounds of these indices follow the iterations.
bool Follows(const proofs::NeededIndices& indices, const proofs::KernelPart& iterations) {
  auto follows = [&](const std::vector<proofs::LaunchBound>& bounds) {
    return AnyMentions(bounds, iterations.first) || AnyMentions(bounds, iterations.end);
  };
  return follows(indices.least) && follows(indices.most);
}

bool IsPanel(const proofs::NeededPart& part, const proofs::KernelPart& iterations) {
  return std::ranges::any_of(part.dims, [&](const proofs::NeededIndices& indices) {
    return Follows(indices, iterations);
  });
}

/// Returns whether all that is needed of the tensor is in panels.
bool IsInPanels(const Value* tensor, const std::vector<RankNeed>& needs,
                const proofs::KernelPart& iterations) {
  return std::ranges::all_of(needs, [&](const RankNeed& need) {
    return need.argument.tensor != tensor ||
           std::ranges::all_of(need.parts, [&](const proofs::NeededPart& part) {
             return IsPanel(part, iterations);
           });
  });
}

/// Adds the axes along which the panels of a need are distributed.
void AddAxes(const RankNeed& need, const proofs::KernelPart& iterations,
             std::vector<int64_t>& axes) {
  for (const proofs::NeededPart& part : need.parts) {
    for (size_t d = 0; d < part.dims.size(); ++d) {
      const ir::RankDimension& dim = (*need.argument.distribution)[d];
      bool is_along = dim.is_distributed() && Follows(part.dims[d], iterations);
      if (is_along && !Contains(axes, dim.axis)) axes.push_back(dim.axis);
    }
  }
}

/// The code for one launch.
class PanelSharer {
 public:
  PanelSharer(LaunchCode& code, const PanelKernel& kernel, const Panels& panels,
              const std::vector<LaunchAxis>& axes, const std::vector<RankArgument>& arguments)
      : code_(code),
        b_(code.b()),
        kernel_(kernel),
        panels_(panels),
        arguments_(arguments),
        for_owned_(code.ForOwnedParts(axes)) {}

  void Share(const std::vector<RankNeed>& needs) {
    for (const KeptTensor& kept : kernel_.kept) Alloc(kept);
    Value* size = RankOps::SizeValue(b_, panels_.iterations);
    Value* length = PanelLength(size);
    Value* count = b_.Div(b_.Add(size, b_.Sub(length, b_.I64(1))), length);
    count = b_.Max(count, b_.I64(1));
    MakeLoop(b_, {b_.I64(0), b_.Add(count, b_.I64(1))}, [&](Value* number) {
      Value* first = b_.Mul(number, length);
      MakeIf(b_, b_.Lt(number, count),
             [&] { Request({first, b_.Min(b_.Add(first, length), size)}, needs); });
      MakeIf(b_, b_.Gt(number, b_.I64(0)),
             [&] { RunBlocks({b_.Sub(first, length), b_.Min(first, size)}); });
      // If there are only two panels, a rank has both at the same time anyway, and a later launch may need them again.
      MakeIf(b_, b_.Gt(count, b_.I64(2)), [&] {
        for (Value* tensor : panels_.tensors) code_.ops().Rewritten(b_, tensor);
      });
      code_.ops().FinishFetches(b_);
    });
  }

 private:
  /// Allocates a tensor that is distributed like one that the kernel writes.
  void Alloc(const KeptTensor& kept) {
    auto like = std::ranges::find(arguments_, kernel_.like, &RankArgument::param);
    ir::NumberList axes;
    ir::NumberList blocks;
    for (const ir::RankDimension& dim : *like->distribution) {
      axes.push_back(dim.axis);
      blocks.push_back(dim.block);
    }
    bool has_blocks = std::ranges::any_of(blocks, [](int64_t block) { return block > 0; });
    std::vector<ir::Attr> attrs = {
        ir::MakeAttr<AttrKey::Device>(code_.launch()->attr<AttrKey::Device>()),
        ir::MakeAttr<AttrKey::Name>(kept.name), ir::MakeAttr<AttrKey::RankAxes>(std::move(axes))};
    if (has_blocks) attrs.push_back(ir::MakeAttr<AttrKey::RankBlocks>(std::move(blocks)));
    Value* tensor =
        b_.Make(OpKind::Alloc, {}, b_.types().Tensor(kept.scalar, like->tensor->type()->dims),
                std::move(attrs));
    tensor->set_name(kept.name);
    kept_.push_back(tensor);
  }

  /// Returns how many iterations a panel has: what the first rank owns of them, which is most, rounded up to a multiple.
  Value* PanelLength(Value* size) {
    Value* length = size;
    for (int64_t axis : panels_.axes)
      length = b_.Min(length, code_.ops().Owned(b_, panels_.iterations, b_.I64(0), axis).end);
    Value* multiple = b_.I64(kernel_.multiple);
    Value* rounded = b_.Div(b_.Add(length, b_.I64(kernel_.multiple - 1)), multiple);
    return b_.Mul(b_.Max(rounded, b_.I64(1)), multiple);
  }

  /// Requests what the iterations of all ranks read.
  void Request(const PartValues& iterations, const std::vector<RankNeed>& needs) {
    code_.RequestNeeds(*kernel_.part.kernel, needs,
                       [&](Value* rank, const LaunchCode::PartBody& body) {
                         for_owned_(rank, [&](std::vector<PartValues> parts) {
                           parts.push_back(iterations);
                           body(parts);
                         });
                       });
  }

  /// Runs these iterations in the blocks of the ranks of this process.
  void RunBlocks(const PartValues& iterations) {
    MakeLoop(b_, {code_.ranks().first, code_.ranks().end}, [&](Value* rank) {
      for_owned_(rank, [&](std::vector<PartValues> parts) {
        parts.push_back(iterations);
        Launch(rank, parts);
      });
    });
  }

  void Launch(Value* rank, const std::vector<PartValues>& parts) {
    std::vector<Value*> operands = code_.InMemoryOf(arguments_, rank);
    for (const PartValues& part : parts) operands.insert(operands.end(), {part.first, part.end});
    for (Value* tensor : kept_) operands.push_back(code_.ops().Memory(b_, tensor, rank));
    code_.CreateLaunch(*kernel_.part.kernel, operands);
  }

  LaunchCode& code_;
  ir::Builder& b_;
  const PanelKernel& kernel_;
  const Panels& panels_;
  const std::vector<RankArgument>& arguments_;
  LaunchCode::ForPartsOfRank for_owned_;
  std::vector<Value*> kept_;
};

}  // namespace

std::optional<Panels> FindPanels(SizeTable& sizes, const Op* launch, const PanelKernel& kernel,
                                 const std::vector<RankNeed>& needs) {
  Panels panels{SizeInProgram(sizes, launch, *kernel.part.kernel, kernel.size), {}, {}};
  if (!panels.iterations) return std::nullopt;
  for (const RankNeed& need : needs) {
    Value* tensor = need.argument.tensor;
    if (!IsInPanels(tensor, needs, kernel.iterations)) continue;
    AddAxes(need, kernel.iterations, panels.axes);
    if (!Contains(panels.tensors, tensor)) panels.tensors.push_back(tensor);
  }
  if (panels.tensors.empty()) return std::nullopt;
  if (panels.axes.empty()) panels.axes.push_back(kAllRanks);
  return panels;
}

void LaunchInPanels(LaunchCode& code, const PanelKernel& kernel, const Panels& panels,
                    const std::vector<LaunchAxis>& axes, const std::vector<RankArgument>& arguments,
                    const std::vector<RankNeed>& needs) {
  PanelSharer(code, kernel, panels, axes, arguments).Share(needs);
}

}  // namespace kdl::passes
