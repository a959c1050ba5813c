#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/analysis/tensor_touches.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"
#include "passes/ranks/group_kernels.h"
#include "passes/ranks/group_launch.h"
#include "passes/ranks/interior.h"
#include "passes/ranks/kept_parts.h"
#include "passes/ranks/launch_axes.h"
#include "passes/ranks/launch_code.h"
#include "passes/ranks/panel_kernel.h"
#include "passes/ranks/panel_launch.h"
#include "passes/ranks/part_kernel.h"
#include "passes/ranks/rank_ops.h"
#include "passes/ranks/rank_tensors.h"
#include "passes/ranks/split_kernel.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"

// distribute-launches: makes the ranks of a device share the launches that write distributed tensors. Each rank runs
// the blocks that write what it owns. Before that, it gets the elements that these blocks read and others own:
//   %y = alloc y on @grid {rank_axes = [0, -1]}      launch @relax on @grid (%x, %y)
//   -> loop %r in 0 .. %count {                 // all processes execute this
//        %first, %end = owned %M rank %r on @grid axis 0
//        if %first < %end {
//          fetch %x from(max(0, %first - 1), 0) to(min(%M, %end + 1), %N) rank %r {cause = "relax reads it"} } }
//      finish_fetches on @grid
//      loop %r in %local_first .. %local_end {   // the ranks of this process
//        %first, %end = owned %M rank %r on @grid axis 0
//        if %first < %end {
//          %xr = rank_memory %x rank %r ; %yr = rank_memory %y rank %r
//          launch @relax_part_i on @grid (%xr, %yr, %first, %end) } }
//      rewritten %y on @grid
// Blocks that need nothing of others, because they are far enough from the ends of the part, run before finish_fetches
// (ranks/interior.h). If blocks have a loop whose iterations need parts of a tensor one after another, as in a matrix product,
// ranks run some iterations at a time (ranks/panel_launch.h).
// Launches whose blocks reduce are divided in the same way if the loop variables are kept along which their results are
// distributed (ranks/kept_parts.h), else by segments of blocks (ranks/group_launch.h). A launch whose blocks store and reduce
// becomes two (ranks/split_kernel.h). Other launches that write only whole tensors
// run completely in every process, after the ranks have got all elements that they read. The number of ranks is known only at run time, and with one rank nothing is sent.

namespace kdl::passes {

namespace {

/// Returns whether a bound is `param` plus an offset from `least` to `most`.
bool IsOffset(const proofs::LaunchBound& bound, const Value* param, int64_t least, int64_t most) {
  const proofs::LaunchSum& sum = bound.sum;
  bool is_param = bound.divisor == 1 && sum.sizes.empty() && sum.params.size() == 1 &&
                  sum.params[0] == std::pair(param, int64_t{1});
  return is_param && least <= sum.constant && sum.constant <= most;
}

/// Returns whether all indices in `needed` are in first - reach .. end - 1 + reach.
bool IsWithin(const proofs::NeededIndices& needed, const proofs::KernelPart& part, int64_t reach) {
  return std::ranges::any_of(
             needed.least,
             [&](const auto& one) { return IsOffset(one, part.first, -reach, INT64_MAX); }) &&
         std::ranges::any_of(needed.most, [&](const auto& one) {
           return IsOffset(one, part.end, INT64_MIN, reach - 1);
         });
}

/// Returns whether a rank that runs the blocks in `parts` owns all elements in `needed`, or elements that are at most `reach`
/// away from them in each dimension.
bool IsOwned(const proofs::NeededPart& needed, const RankArgument& argument,
             const std::vector<LaunchAxis>& axes, const std::vector<proofs::KernelPart>& parts,
             int64_t reach = 0) {
  for (size_t d = 0; d < needed.dims.size(); ++d) {
    const ir::RankDimension& dim = (*argument.distribution)[d];
    if (!dim.is_distributed()) continue;
    auto axis = std::ranges::find(axes, dim.axis, &LaunchAxis::axis);
    bool is_same = axis != axes.end() && axis->size == argument.tensor->type()->dims[d] &&
                   axis->block == dim.block;
    auto at = static_cast<size_t>(axis - axes.begin());
    // Blocks may have no more elements than their neighbours.
    if (!is_same || !IsWithin(needed.dims[d], parts[at], dim.block > 0 ? 0 : reach)) return false;
  }
  return true;
}

/// The kernels that the launches of all programs of a module have become.
struct DistributedKernels {
  /// By kernel and limited binders.
  std::map<std::pair<Name, std::vector<size_t>>, PartKernel> parts;
  std::map<std::pair<Name, std::vector<size_t>>, std::optional<PanelKernel>> panels;
  std::map<Name, GroupKernels> groups;                ///< by kernel
  std::map<Name, std::optional<SplitKernel>> splits;  ///< by kernel
};

/// Says what to write instead of an access with an index that is not a sum.
std::string HelpForRead(const Op* access, std::string_view tensor) {
  bool has_remainder = std::ranges::any_of(access->operands(), [](const Value* operand) {
    const Op* def = operand->def();
    while (def && (def->kind() == OpKind::Cast || def->kind() == OpKind::Broadcast))
      def = def->operand(0)->def();
    return def && def->kind() == OpKind::Rem;
  });
  if (has_remainder)
    return "for neighbors beyond the end of a dimension, use `else` instead of `%`: x[i + 1 else "
           "x[0]], and x[i - 1 else x[N - 1]]";
  return fmt::format(
      "declare '{0}' without `by`, or copy it before the launch to a tensor without `by` that the "
      "kernel reads: `copy({0}, …);`",
      tensor);
}

class Distributor {
 public:
  Distributor(PassContext& context, ir::Function& program, DistributedKernels& kernels)
      : context_(context),
        module_(context.module),
        program_(program),
        kernels_(kernels),
        tensors_(FindRankTensors(program)),
        ops_(module_, tensors_) {}

  void Distribute() {
    if (tensors_.empty()) return WarnIfShared(context_, program_);
    if (!CheckUses(context_, program_, tensors_)) return;
    for (Op* launch : OpsOfKind(program_, OpKind::Launch)) DistributeLaunch(launch);
    for (Op* copy : OpsOfKind(program_, OpKind::Copy)) DistributeCopy(copy);
    for (Op* copy : OpsOfKind(program_, OpKind::CopyBack)) DistributeCopyBack(copy);
    for (Op* fill : OpsOfKind(program_, OpKind::Fill)) DistributeFill(fill);
  }

 private:
  // -- Launches ---------------------------------------------------------------------------------------

  void DistributeLaunch(Op* launch) {
    const ir::Function* kernel = module_.FindFunction(launch->attr<AttrKey::Callee>());
    std::vector<RankArgument> arguments = FindRankArguments(launch, *kernel, tensors_);
    if (arguments.empty()) return;
    // The events of KIR text are replaced when launches are ordered.
    for (const ir::Use& use : std::vector<ir::Use>(launch->result()->uses()))
      SetAfter(use.user, {});
    bool writes = std::ranges::any_of(arguments, &RankArgument::is_written);
    if (const SplitKernel* split = writes ? SplitOf(*kernel) : nullptr) {
      ir::Builder b(module_, launch);
      ir::ValueMap map;
      Op* first = ir::Clone(launch, b, map);
      DistributeLaunchOf(first, *split->stores);
      DistributeLaunchOf(launch, *split->reduces);
    } else {
      DistributeLaunchOf(launch, *kernel);
    }
  }

  /// Shares a launch of a kernel, or what `kernel` does of it.
  void DistributeLaunchOf(Op* launch, const ir::Function& kernel) {
    std::vector<RankArgument> arguments = FindRankArguments(launch, kernel, tensors_);
    if (Reduces(kernel)) {
      LaunchReduction(launch, kernel, arguments);
    } else if (std::ranges::any_of(arguments, &RankArgument::is_written)) {
      LaunchParts(launch, kernel, arguments);
    } else {
      LaunchEverywhere(launch, kernel, arguments);
    }
  }

  /// Returns null if the kernel cannot be divided into one that stores and one that reduces, or need not be.
  const SplitKernel* SplitOf(const ir::Function& kernel) {
    auto [known, is_new] = kernels_.splits.try_emplace(kernel.name);
    if (is_new) known->second = SplitStoresFromReductions(module_, kernel);
    return known->second ? &*known->second : nullptr;
  }

  /// Each rank runs the blocks that write what it owns.
  void LaunchParts(Op* launch, const ir::Function& kernel,
                   const std::vector<RankArgument>& arguments) {
    std::optional<std::vector<LaunchAxis>> axes =
        FindLaunchAxes(context_, launch, kernel, arguments);
    if (!axes) return;
    const PartKernel& part = PartOf(kernel, *axes);
    if (!ReadsOwned(launch, part, arguments, *axes)) return;
    std::optional<std::vector<RankNeed>> needs =
        ForeignNeeds(launch, *part.kernel, arguments, *axes, part.parts);
    if (!needs) return;
    bool has_panels = !needs->empty() && !MarginsOf(*needs, *axes, part.parts) &&
                      LaunchPanels(launch, kernel, arguments, *axes);
    if (!has_panels) LaunchPartsAlong(launch, arguments, *axes, part, *needs);
  }

  /// Returns whether the ranks own all elements that these blocks read of the tensors that they write. Otherwise, reports it:
  /// another rank could write an element before or after it is sent.
  bool ReadsOwned(const Op* launch, const PartKernel& part,
                  const std::vector<RankArgument>& arguments, const std::vector<LaunchAxis>& axes) {
    for (const RankArgument& argument : arguments) {
      if (!argument.is_written) continue;
      const Value* tensor = part.kernel->params[argument.param].value;
      auto read = std::ranges::find_if(
          tensor->uses(), [](const ir::Use& use) { return use.user->kind() == OpKind::Load; });
      if (read == tensor->uses().end()) continue;
      proofs::NeededParts needed = FindNeeded(*part.kernel, argument, part.parts);
      bool is_owned = !needed.unknown && std::ranges::all_of(needed.parts, [&](const auto& one) {
        return IsOwned(one, argument, axes, part.parts);
      });
      if (is_owned) continue;
      const Op* at = needed.unknown ? needed.unknown : read->user;
      ReportKernel(context_, launch, *argument.tensor, ReadsOfOthers(at->loc(), *argument.tensor));
      return false;
    }
    return true;
  }

  /// Returns what the ranks need of others for these blocks of a kernel.
  std::optional<std::vector<RankNeed>> ForeignNeeds(const Op* launch, const ir::Function& kernel,
                                                    const std::vector<RankArgument>& arguments,
                                                    const std::vector<LaunchAxis>& axes,
                                                    const std::vector<proofs::KernelPart>& parts,
                                                    bool reports = true) {
    std::optional<std::vector<RankNeed>> needs = NeedsOf(launch, kernel, arguments, parts, reports);
    if (!needs) return std::nullopt;
    for (RankNeed& need : *needs)
      std::erase_if(need.parts, [&](const proofs::NeededPart& one) {
        return IsOwned(one, need.argument, axes, parts);
      });
    std::erase_if(*needs, [](const RankNeed& need) { return need.parts.empty(); });
    return needs;
  }

  /// Runs a launch in panels, if that is possible, so that ranks need less at the same time.
  bool LaunchPanels(Op* launch, const ir::Function& kernel,
                    const std::vector<RankArgument>& arguments,
                    const std::vector<LaunchAxis>& axes) {
    std::vector<size_t> binders = BindersOf(axes);
    auto [known, is_new] = kernels_.panels.try_emplace({kernel.name, binders});
    if (is_new) known->second = MakePanelKernel(module_, kernel, binders);
    if (!known->second) return false;
    const PanelKernel& panel = *known->second;
    std::vector<proofs::KernelPart> parts = panel.part.parts;
    parts.push_back(panel.iterations);
    std::optional<std::vector<RankNeed>> needs =
        ForeignNeeds(launch, *panel.part.kernel, arguments, axes, parts, false);
    if (!needs) return false;
    std::optional<Panels> panels = FindPanels(module_.types().sizes(), launch, panel, *needs);
    if (!panels) return false;
    LaunchCode code(module_, ops_, launch);
    LaunchInPanels(code, panel, *panels, axes, arguments, *needs);
    FinishLaunch(code, arguments);
    return true;
  }

  /// Each rank runs its blocks after it has got what they need of others.
  void LaunchPartsAlong(Op* launch, const std::vector<RankArgument>& arguments,
                        const std::vector<LaunchAxis>& axes, const PartKernel& part,
                        const std::vector<RankNeed>& needs) {
    LaunchCode code(module_, ops_, launch);
    SharedLaunch shared{code, part, axes, arguments};
    auto margins = needs.empty() ? std::nullopt : MarginsOf(needs, axes, part.parts);
    if (margins) {
      LaunchDivided(shared, needs, *margins);
    } else {
      LaunchCode::ForPartsOfRank for_owned = code.ForOwnedParts(axes);
      code.FetchNeeds(*part.kernel, needs, for_owned);
      MakeLoop(code.b(), {code.ranks().first, code.ranks().end}, [&](Value* rank) {
        for_owned(rank,
                  [&](const std::vector<PartValues>& owned) { LaunchPart(shared, rank, owned); });
      });
    }
    FinishLaunch(code, arguments);
  }

  /// The ranks have written what they own.
  void FinishLaunch(LaunchCode& code, const std::vector<RankArgument>& arguments) const {
    for (const RankArgument& argument : arguments) {
      if (argument.is_written) ops_.Rewritten(code.b(), argument.tensor);
    }
    ir::Erase(code.launch());
  }

  /// Shares a launch whose blocks reduce. Each rank computes the results that it owns, if it owns almost everything that it
  /// needs for them. Otherwise, partial results are sent.
  void LaunchReduction(Op* launch, const ir::Function& kernel,
                       const std::vector<RankArgument>& arguments) {
    std::optional<std::vector<LaunchAxis>> axes = FindKeptAxes(kernel, arguments);
    if (!axes) return LaunchGroups(launch, kernel, arguments);
    auto [known, is_new] = kernels_.parts.try_emplace({kernel.name, BindersOf(*axes)});
    if (is_new) known->second = MakeKeptPart(module_, kernel, BindersOf(*axes));
    if (!NeedsOnlyNeighbours(launch, arguments, *axes, known->second))
      return LaunchGroups(launch, kernel, arguments);
    FillOwned(launch, kernel, arguments);
    std::optional<std::vector<RankNeed>> needs =
        ForeignNeeds(launch, *known->second.kernel, arguments, *axes, known->second.parts);
    if (needs) LaunchPartsAlong(launch, arguments, *axes, known->second, *needs);
  }

  /// Returns whether ranks that run these parts of a kernel only need elements that they own, or neighbours of those.
  bool NeedsOnlyNeighbours(const Op* launch, const std::vector<RankArgument>& arguments,
                           const std::vector<LaunchAxis>& axes, const PartKernel& part) {
    constexpr int64_t kReach = 64;  // as many elements as stencils need around their own
    std::optional<std::vector<RankNeed>> needs =
        NeedsOf(launch, *part.kernel, arguments, part.parts, false);
    return needs && std::ranges::all_of(*needs, [&](const RankNeed& need) {
             return std::ranges::all_of(need.parts, [&](const proofs::NeededPart& one) {
               return IsOwned(one, need.argument, axes, part.parts, kReach);
             });
           });
  }

  /// Fills what ranks own of the `out` tensors of a launch with the values that reductions begin with.
  void FillOwned(Op* launch, const ir::Function& kernel,
                 const std::vector<RankArgument>& arguments) {
    ir::Builder b(module_, launch);
    for (const RankArgument& argument : arguments) {
      if (kernel.params[argument.param].direction != ir::Direction::Out) continue;
      Scalar scalar = argument.tensor->type()->scalar;
      Value* identity = b.Bits(scalar, IdentityOf(kernel, argument.param));
      FillOwnedWith(b, argument.tensor, identity);
    }
  }

  /// A launch of which each rank runs the blocks that write what it owns.
  struct SharedLaunch {
    LaunchCode& code;
    const PartKernel& part;
    const std::vector<LaunchAxis>& axes;
    const std::vector<RankArgument>& arguments;
  };

  std::vector<PartValues> OwnedParts(const SharedLaunch& shared, Value* rank) const {
    std::vector<PartValues> owned;
    for (const LaunchAxis& axis : shared.axes)
      owned.push_back(ops_.Owned(shared.code.b(), axis.size, rank, axis.axis));
    return owned;
  }

  /// Creates a loop over the ranks of this process, each of which owns one box.
  template <class Body>
  void ForEachPart(const SharedLaunch& shared, Body body) const {
    const RankValues& ranks = shared.code.ranks();
    MakeLoop(shared.code.b(), {ranks.first, ranks.end},
             [&](Value* rank) { body(rank, OwnedParts(shared, rank)); });
  }

  /// Runs the blocks of a box, which is not empty.
  static void LaunchPart(const SharedLaunch& shared, Value* rank,
                         const std::vector<PartValues>& box) {
    std::vector<Value*> operands = shared.code.InMemoryOf(shared.arguments, rank);
    for (const PartValues& one : box) operands.insert(operands.end(), {one.first, one.end});
    shared.code.CreateLaunch(*shared.part.kernel, operands);
  }

  /// Runs the blocks of a box, unless it is empty.
  static void LaunchIfAny(const SharedLaunch& shared, Value* rank,
                          const std::vector<PartValues>& box) {
    MakeIf(shared.code.b(), RankOps::HasAny(shared.code.b(), box),
           [&] { LaunchPart(shared, rank, box); });
  }

  /// Runs the blocks that need nothing of others while messages travel, and then the rest.
  void LaunchDivided(const SharedLaunch& shared, const std::vector<RankNeed>& needs,
                     const std::vector<Margins>& margins) const {
    auto divided = [&](const std::vector<PartValues>& owned) {
      return DividedPart(shared.code.b(), shared.axes, margins, owned);
    };
    shared.code.RequestNeeds(*shared.part.kernel, needs, shared.code.ForOwnedParts(shared.axes));
    ForEachPart(shared, [&](Value* rank, const std::vector<PartValues>& owned) {
      LaunchIfAny(shared, rank, divided(owned).interior());
    });
    ops_.FinishFetches(shared.code.b());
    ForEachPart(shared, [&](Value* rank, const std::vector<PartValues>& owned) {
      for (const std::vector<PartValues>& side : divided(owned).Rest())
        LaunchIfAny(shared, rank, side);
    });
  }

  /// Shares a launch whose blocks reduce. If that is impossible, it runs in every process, or is an error if it writes a
  /// distributed tensor.
  void LaunchGroups(Op* launch, const ir::Function& kernel,
                    const std::vector<RankArgument>& arguments) {
    Obstacle obstacle;
    GroupKernels* kernels = GroupsOf(launch, kernel, obstacle);
    if (!kernels) {
      auto written = std::ranges::find(arguments, true, &RankArgument::is_written);
      if (written != arguments.end())
        return ReportKernel(context_, launch, *written->tensor, obstacle);
      WarnOfEverywhere(launch, obstacle);
      return LaunchEverywhere(launch, kernel, arguments);
    }
    std::optional<std::vector<RankNeed>> needs =
        NeedsOf(launch, *kernels->limited.kernel, arguments, kernels->limited.parts);
    if (!needs) return;
    LaunchCode code(module_, ops_, launch);
    ShareGroups(module_, code, *kernels, kernel, arguments, *needs);
    ir::Erase(launch);
  }

  void WarnOfEverywhere(const Op* launch, const Obstacle& obstacle) {
    Diagnostic& report =
        context_.diagnostics.Report(diag::ReducesEverywhere, context_.SpanOf(obstacle.loc),
                                    KernelOf(module_, launch), obstacle.reason);
    report.Note(context_.SpanOf(launch->loc()), "it is launched here");
    if (!obstacle.help.empty()) report.Help(obstacle.help);
  }

  /// All blocks run in every process.
  void LaunchEverywhere(Op* launch, const ir::Function& kernel,
                        const std::vector<RankArgument>& arguments) {
    std::optional<std::vector<RankNeed>> needs = NeedsOf(launch, kernel, arguments, {});
    if (!needs) return;
    LaunchCode code(module_, ops_, launch);
    code.FetchNeeds(kernel, *needs, [](Value*, const LaunchCode::PartBody& body) { body({}); });
    code.CreateLaunch(kernel, code.InMemoryOf(arguments, code.ranks().first));
    ir::Erase(launch);
  }

  /// Returns null, and states why, if ranks cannot share the groups of the launch.
  GroupKernels* GroupsOf(const Op* launch, const ir::Function& kernel, Obstacle& obstacle) {
    auto known = kernels_.groups.find(kernel.name);
    if (known == kernels_.groups.end()) {
      std::optional<GroupKernels> made = MakeGroupKernels(module_, kernel, obstacle);
      if (!made) return nullptr;
      known = kernels_.groups.emplace(kernel.name, std::move(*made)).first;
    }
    if (GroupsOfLaunch(module_.types().sizes(), launch, kernel, known->second))
      return &known->second;
    obstacle = {Obstacle::Kind::Kernel,
                0,
                "",
                launch->loc(),
                "the sizes of its arguments do not determine the number of blocks",
                ""};
    return nullptr;
  }

  static std::vector<size_t> BindersOf(const std::vector<LaunchAxis>& axes) {
    std::vector<size_t> binders;
    for (const LaunchAxis& axis : axes) binders.push_back(axis.binder);
    return binders;
  }

  const PartKernel& PartOf(const ir::Function& kernel, const std::vector<LaunchAxis>& axes) {
    auto [known, is_new] = kernels_.parts.try_emplace({kernel.name, BindersOf(axes)});
    if (is_new) known->second = MakePartKernel(module_, kernel, BindersOf(axes));
    return known->second;
  }

  proofs::NeededParts FindNeeded(const ir::Function& kernel, const RankArgument& argument,
                                 const std::vector<proofs::KernelPart>& parts) const {
    std::vector<bool> is_distributed;
    for (const ir::RankDimension& dim : *argument.distribution)
      is_distributed.push_back(dim.is_distributed());
    return proofs::FindNeededParts(kernel, module_.types(), kernel.params[argument.param].value,
                                   is_distributed, parts);
  }

  std::optional<std::vector<RankNeed>> NeedsOf(const Op* launch, const ir::Function& kernel,
                                               const std::vector<RankArgument>& arguments,
                                               const std::vector<proofs::KernelPart>& parts,
                                               bool reports = true) {
    std::vector<RankNeed> needs;
    for (const RankArgument& argument : arguments) {
      if (argument.is_written) continue;
      proofs::NeededParts needed = FindNeeded(kernel, argument, parts);
      if (needed.unknown && !reports) return std::nullopt;
      if (needed.unknown) {
        context_.diagnostics
            .Report(diag::RankRead, context_.SpanOf(needed.unknown->loc()),
                    argument.tensor->name().text(), KernelOf(module_, launch))
            .Note(context_.SpanOf(launch->loc()), "it is launched here")
            .Help(HelpForRead(needed.unknown, argument.tensor->name().text()));
        return std::nullopt;
      }
      if (!needed.parts.empty()) needs.push_back({argument, std::move(needed.parts)});
    }
    return needs;
  }

  // -- Copies -----------------------------------------------------------------------------------------

  /// Each rank copies what it owns of the destination, or everything if the destination is not distributed.
  void DistributeCopy(Op* copy) {
    Value* from = copy->operand(0);
    Value* to = copy->operand(1);
    bool has_source = tensors_.FindDistribution(from);
    bool has_target = tensors_.FindDistribution(to);
    if (!has_source && !has_target) return;
    ir::Builder b(module_, copy);
    RankValues ranks = ops_.Ranks(b);
    if (has_source) {
      MakeLoop(b, {b.I64(0), ranks.count}, [&](Value* rank) {
        auto fetch = [&](const BoxValues& box) { ops_.Fetch(b, from, rank, box, "copy reads it"); };
        if (has_target) return ops_.ForEachOwned(b, to, rank, fetch);
        BoxValues whole = RankOps::WholeBox(b, from);
        MakeIf(b, RankOps::HasAny(b, whole), [&] { fetch(whole); });
      });
      ops_.FinishFetches(b);
    }
    if (has_target) {
      ForOwned(b, ranks, to, [&](Value* rank, const BoxValues& box) {
        Value* source = ops_.Slice(b, has_source ? ops_.Memory(b, from, rank) : from, box, to);
        CreateCopy(b, copy, source, ops_.Slice(b, ops_.Memory(b, to, rank), box, to));
      });
      ops_.Rewritten(b, to);
    } else {
      CreateCopy(b, copy, ops_.Memory(b, from, ranks.first), to);
    }
    ir::Erase(copy);
  }

  /// Each rank copies what it owns of a parameter to the caller's tensor.
  void DistributeCopyBack(Op* copy) {
    Value* from = copy->operand(0);
    if (!tensors_.FindDistribution(from)) return;
    ir::Builder b(module_, copy);
    ForOwned(b, ops_.Ranks(b), from, [&](Value* rank, const BoxValues& box) {
      std::vector<Value*> slices =
          ops_.Slices(b, {ops_.Memory(b, from, rank), copy->operand(1)}, box, from);
      b.Create(OpKind::CopyBack, {{slices[0]}, {slices[1]}, {}}, {b.types().Event()},
               {ir::MakeAttr<AttrKey::Device>(copy->attr<AttrKey::Device>()),
                ir::MakeAttr<AttrKey::Queue>(copy->attr<AttrKey::Queue>()),
                ir::MakeAttr<AttrKey::Cause>(copy->attr<AttrKey::Cause>())});
    });
    ir::Erase(copy);
  }

  void DistributeFill(Op* fill) {
    Value* tensor = fill->operand(0);
    if (!tensors_.FindDistribution(tensor)) return;
    ir::Builder b(module_, fill);
    FillOwnedWith(b, tensor, fill->operand(1));
    ir::Erase(fill);
  }

  void FillOwnedWith(ir::Builder& b, Value* tensor, Value* value) {
    ForOwned(b, ops_.Ranks(b), tensor, [&](Value* rank, const BoxValues& box) {
      Value* slice = ops_.Slice(b, ops_.Memory(b, tensor, rank), box, tensor);
      b.Create(OpKind::Fill, {{slice}, {value}, {}}, {b.types().Event()},
               {ir::MakeAttr<AttrKey::Device>(tensors_.device), ir::MakeAttr<AttrKey::Queue>(0)});
    });
    ops_.Rewritten(b, tensor);
  }

  /// Creates a loop over the boxes of elements of the tensor that the ranks of this process own.
  template <class Body>
  void ForOwned(ir::Builder& b, const RankValues& ranks, const Value* tensor, Body body) {
    MakeLoop(b, {ranks.first, ranks.end}, [&](Value* rank) {
      ops_.ForEachOwned(b, tensor, rank, [&](const BoxValues& box) { body(rank, box); });
    });
  }

  static void CreateCopy(ir::Builder& b, const Op* copy, Value* from, Value* to) {
    b.Create(OpKind::Copy, {{from}, {to}, {}}, {b.types().Event()},
             {ir::MakeAttr<AttrKey::Device>(copy->attr<AttrKey::Device>()),
              ir::MakeAttr<AttrKey::Queue>(copy->attr<AttrKey::Queue>())});
  }

  PassContext& context_;
  ir::Module& module_;
  ir::Function& program_;
  DistributedKernels& kernels_;
  RankTensors tensors_;
  RankOps ops_;
};

/// Erases the copies of kernels that no launch uses, because it was shared in another way.
void EraseUnused(ir::Module& module, const DistributedKernels& kernels) {
  std::set<Name> used;
  for (const ir::Function* function : module.functions()) {
    for (const Op* launch : OpsOfKind(*function, OpKind::Launch))
      used.insert(launch->attr<AttrKey::Callee>());
  }
  auto erase = [&](const ir::Function* kernel) {
    if (!used.contains(kernel->name)) std::erase(module.functions(), kernel);
  };
  for (const auto& [key, split] : kernels.splits) {
    if (!split) continue;
    erase(split->stores);
    erase(split->reduces);
  }
  for (const auto& [key, part] : kernels.parts) erase(part.kernel);
  for (const auto& [key, panel] : kernels.panels)
    if (panel) erase(panel->part.kernel);
}

}  // namespace

void RunDistributeLaunches(PassContext& context) {
  const std::vector<ir::Function*> functions = context.module.functions();
  DistributedKernels kernels;
  for (ir::Function* function : functions) {
    if (function->kind == ir::FunctionKind::Program)
      Distributor(context, *function, kernels).Distribute();
  }
  EraseUnused(context.module, kernels);
}

}  // namespace kdl::passes
