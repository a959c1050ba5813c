#include "passes/ranks/group_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "ir/groups.h"
#include "ir/views.h"
#include "passes/ranks/combine_kernels.h"
#include "passes/ranks/segment_tree.h"
#include "passes/rewriting/structured.h"
#include "support/rank_limit.h"

namespace kdl::passes {

namespace {

/// The code for one launch.
class GroupSharer {
 public:
  GroupSharer(ir::Module& module, LaunchCode& code, GroupKernels& kernels,
              const ir::Function& kernel, const std::vector<RankArgument>& arguments)
      : module_(module),
        code_(code),
        b_(code.b()),
        kernels_(kernels),
        arguments_(arguments),
        groups_(GroupsOfLaunch(module.types().sizes(), code.launch(), kernel, kernels)) {
    for (const GroupBinder& binder : kernels.binders)
      binder_ends_.push_back(
          SizeInProgram(module.types().sizes(), code.launch(), kernel, binder.hi));
  }

  void Share(const std::vector<RankNeed>& needs) {
    for (const ReducedTensor& reduced : kernels_.reduced) AllocParts(reduced);
    if (!needs.empty()) {
      code_.FetchForAll([&](Value* rank) {
        IfHasGroups(rank, [&](const PartValues& groups) {
          code_.FetchNeedsOf(rank, *kernels_.limited.kernel, needs, BindersOf(groups));
        });
      });
    }
    MakeLoop(b_, {code_.ranks().first, code_.ranks().end}, [&](Value* rank) {
      IfHasGroups(rank, [&](const PartValues& groups) { LaunchGroups(rank, groups); });
    });
    for (Value* parts : parts_) code_.ops().Rewritten(b_, parts);
    for (size_t i = 0; i < parts_.size(); ++i) Combine(kernels_.reduced[i], parts_[i]);
  }

 private:
  Value* ArgumentOf(const ReducedTensor& reduced) const {
    return ir::LaunchOp(code_.launch()).arguments()[reduced.param];
  }

  const RankArgument* FindRankArgument(const ReducedTensor& reduced) const {
    auto found = std::ranges::find(arguments_, reduced.param, &RankArgument::param);
    return found == arguments_.end() ? nullptr : &*found;
  }

  /// Returns the op before which partial results are allocated: the outermost loop around the launch, so that all iterations use the
  /// same memory; or the launch, if the size is only known there.
  Op* PlaceOfParts(ir::Type type) const {
    Op* place = code_.launch();
    const ir::Function& program = *place->parent_region()->function();
    if (!std::ranges::all_of(type->dims, [&](Size size) { return IsKnown(program, size); }))
      return place;
    for (Op* op = place->parent_region()->parent(); op; op = op->parent_region()->parent())
      if (op->kind() != OpKind::If) place = op;
    return place;
  }

  /// Returns whether a call of the program determines the size.
  static bool IsKnown(const ir::Function& program, Size size) {
    if (size->kind == SizeKind::Symbol) return program.FindDim(size->symbol) != nullptr;
    return !size->lhs || (IsKnown(program, size->lhs) && IsKnown(program, size->rhs));
  }

  void AllocParts(const ReducedTensor& reduced) {
    const Value* tensor = ArgumentOf(reduced);
    ir::NumberList axes(tensor->type()->dims.size() + 1, -1);
    axes[0] = kAllRanks;
    Name name = PartsName(module_, tensor);
    ir::Type type = PartsType(module_, tensor->type(), reduced.acc, groups_);
    ir::Builder before(module_, PlaceOfParts(type));
    before.set_loc(code_.launch()->loc());
    Value* parts = before.Make(
        OpKind::Alloc, {}, type,
        {ir::MakeAttr<AttrKey::Device>(code_.launch()->attr<AttrKey::Device>()),
         ir::MakeAttr<AttrKey::Name>(name), ir::MakeAttr<AttrKey::RankAxes>(std::move(axes))});
    parts->set_name(name);
    parts_.push_back(parts);
  }

  void IfHasGroups(Value* rank, const std::function<void(const PartValues& groups)>& make) {
    PartValues groups = code_.ops().Owned(b_, groups_, rank, kAllRanks);
    MakeIf(b_, b_.Lt(groups.first, groups.end), [&] { make(groups); });
  }

  // -- The blocks of groups ---------------------------------------------------------------------------

  /// Returns the numbers of blocks of the binders.
  std::vector<Value*> Counts() {
    std::vector<Value*> counts;
    for (size_t k = 0; k < binder_ends_.size(); ++k) {
      Value* hi = RankOps::SizeValue(b_, binder_ends_[k]);
      int64_t length = kernels_.binders[k].length;
      counts.push_back(length == 1 ? hi : b_.Div(b_.Add(hi, b_.I64(length - 1)), b_.I64(length)));
    }
    return counts;
  }

  /// Returns the number of the first block of a group, as the kernel computes it.
  Value* FirstBlockOf(Value* group, Value* blocks) {
    Value* groups = RankOps::SizeValue(b_, groups_);
    Value* whole = b_.Mul(group, b_.Div(blocks, groups));
    Value* rest = b_.Mul(group, b_.Rem(blocks, groups));
    return b_.Add(whole, b_.Div(rest, groups));
  }

  /// Returns the indices of each binder in the blocks of the groups, which are segments. There is at least one block. The blocks
  /// that are combined are numbered so that the last binder varies fastest: a binder has all indices unless all blocks have the
  /// same values of the combined binders before it.
  std::vector<PartValues> BindersOf(const PartValues& groups) {
    std::vector<Value*> counts = Counts();
    std::vector<Value*> inner(counts.size());
    Value* blocks = b_.I64(1);
    for (size_t k = counts.size(); k-- > 0;) {
      inner[k] = blocks;
      if (kernels_.binders[k].is_combined) blocks = b_.Mul(blocks, counts[k]);
    }
    Value* first = FirstBlockOf(groups.first, blocks);
    Value* last = b_.Sub(FirstBlockOf(groups.end, blocks), b_.I64(1));
    Value* same = nullptr;
    std::vector<PartValues> parts;
    for (size_t k = 0; k < counts.size(); ++k) {
      if (!kernels_.binders[k].is_combined) {
        parts.push_back({b_.I64(0), counts[k]});
        ToIndices(parts.back(), k);
        continue;
      }
      Value* from = b_.Div(first, inner[k]);
      Value* to = b_.Div(last, inner[k]);
      Value* equal = b_.Eq(from, to);
      Value* end = b_.Add(to, b_.I64(1));
      if (same) {
        parts.push_back({b_.Select(same, from, b_.I64(0)), b_.Select(same, end, counts[k])});
        same = b_.And(same, equal);
      } else {
        parts.push_back({from, end});
        same = equal;
      }
      first = b_.Rem(first, inner[k]);
      last = b_.Rem(last, inner[k]);
      ToIndices(parts.back(), k);
    }
    return parts;
  }

  void ToIndices(PartValues& blocks, size_t binder) {
    int64_t length = kernels_.binders[binder].length;
    if (length == 1) return;
    blocks.first = b_.Mul(blocks.first, b_.I64(length));
    Value* end = b_.Mul(blocks.end, b_.I64(length));
    blocks.end = b_.Min(end, RankOps::SizeValue(b_, binder_ends_[binder]));
  }

  void LaunchGroups(Value* rank, const PartValues& groups) {
    std::vector<Value*> given = code_.InMemoryOf(arguments_, rank);
    std::vector<Value*> operands;
    for (size_t p = 0; p < given.size(); ++p)
      if (!Contains(kernels_.reduced, p)) operands.push_back(given[p]);
    for (Value* parts : parts_) operands.push_back(code_.ops().Memory(b_, parts, rank));
    operands.insert(operands.end(), {groups.first, groups.end});
    code_.CreateLaunch(*kernels_.groups, operands);
    for (size_t i = 0; i < parts_.size(); ++i) {
      Value* memory = code_.ops().Memory(b_, parts_[i], rank);
      code_.CreateLaunch(*kernels_.reduced[i].subtotals, {memory, groups.first, groups.end}, false);
    }
  }

  static bool Contains(const std::vector<ReducedTensor>& reduced, size_t param) {
    return std::ranges::find(reduced, param, &ReducedTensor::param) != reduced.end();
  }

  // -- Combining partial results ----------------------------------------------------------------------

  void Combine(ReducedTensor& reduced, Value* parts) {
    Value* tensor = ArgumentOf(reduced);
    const RankArgument* argument = FindRankArgument(reduced);
    std::string cause = fmt::format("{} combines it", KernelOf(module_, code_.launch()));
    code_.FetchForAll([&](Value* rank) {
      ForEachOwnedPart(tensor, argument, rank,
                       [&](const BoxValues& box) { FetchSubtotals(parts, rank, box, cause); });
    });
    if (!argument) {
      Value* memory = code_.ops().Memory(b_, parts, code_.ranks().first);
      return code_.CreateLaunch(*reduced.combine, {memory, tensor, code_.ranks().count}, false);
    }
    CombineOwned(reduced, *argument, parts);
  }

  /// Requests the subtotals of the elements in a box.
  void FetchSubtotals(Value* parts, Value* rank, const BoxValues& elements,
                      const std::string& cause) {
    Value* segments = RankOps::SizeValue(b_, groups_);
    MakeLoop(b_, {b_.I64(0), segments}, [&](Value* segment) {
      MakeIf(b_, HasSubtotal(b_, segment, segments, code_.ranks().count), [&] {
        BoxValues box = {{segment, b_.Add(segment, b_.I64(1))}};
        box.insert(box.end(), elements.begin(), elements.end());
        code_.ops().Fetch(b_, parts, rank, box, cause);
      });
    });
  }

  /// Creates what `body` creates for each box of elements that a rank owns.
  void ForEachOwnedPart(const Value* tensor, const RankArgument* argument, Value* rank,
                        const std::function<void(const BoxValues&)>& body) {
    const std::vector<Size>& sizes = tensor->type()->dims;
    ir::RankDistribution dims(sizes.size());
    if (argument) dims = *argument->distribution;
    code_.ops().ForEachOwned(b_, sizes, dims, rank, body);
  }

  void CombineOwned(ReducedTensor& reduced, const RankArgument& argument, Value* parts) {
    std::vector<size_t> binders;
    for (size_t d = 0; d < argument.distribution->size(); ++d)
      if ((*argument.distribution)[d].is_distributed()) binders.push_back(d);
    auto [known, is_new] = reduced.parts.try_emplace(binders);
    if (is_new) known->second = MakePartKernel(module_, *reduced.combine, binders);
    const ir::Function& kernel = *known->second.kernel;
    MakeLoop(b_, {code_.ranks().first, code_.ranks().end}, [&](Value* rank) {
      code_.ops().ForEachOwned(b_, argument.tensor, rank, [&](const BoxValues& box) {
        std::vector<Value*> operands = {code_.ops().Memory(b_, parts, rank),
                                        code_.ops().Memory(b_, argument.tensor, rank),
                                        code_.ranks().count};
        for (size_t d : binders) operands.insert(operands.end(), {box[d].first, box[d].end});
        code_.CreateLaunch(kernel, operands, false);
      });
    });
    code_.ops().Rewritten(b_, argument.tensor);
  }

  ir::Module& module_;
  LaunchCode& code_;
  ir::Builder& b_;
  GroupKernels& kernels_;
  const std::vector<RankArgument>& arguments_;
  Size groups_;
  std::vector<Size> binder_ends_;  ///< the ends of the binders, in the sizes of the program
  std::vector<Value*> parts_;      ///< for each reduced tensor
};

}  // namespace

Size GroupsOfLaunch(SizeTable& sizes, const Op* launch, const ir::Function& kernel,
                    const GroupKernels& kernels) {
  Size blocks = SizeInProgram(sizes, launch, kernel, kernels.blocks);
  return blocks ? ir::SegmentCount(sizes, blocks) : nullptr;
}

void ShareGroups(ir::Module& module, LaunchCode& code, GroupKernels& kernels,
                 const ir::Function& kernel, const std::vector<RankArgument>& arguments,
                 const std::vector<RankNeed>& needs) {
  GroupSharer(module, code, kernels, kernel, arguments).Share(needs);
}

}  // namespace kdl::passes
