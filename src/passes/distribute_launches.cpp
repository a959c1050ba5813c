#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/analysis/tensor_touches.h"
#include "passes/diagnostics.h"
#include "passes/fusion/producer.h"
#include "passes/passes.h"
#include "passes/ranks/needed_code.h"
#include "passes/ranks/part_kernel.h"
#include "passes/ranks/rank_ops.h"
#include "passes/ranks/rank_tensors.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"

// distribute-launches: makes the ranks of a device share the launches that write distributed tensors. Each rank runs
// the blocks that write what it owns. Before that, it gets the elements that these blocks read and others own:
//   %y = alloc y on @grid {dimension = 0}      launch @relax on @grid (%x, %y)
//   -> loop %r in 0 .. %count {                 // all processes execute this
//        %first, %end = owned %M rank %r on @grid
//        if %first < %end { fetch %x [max(0, %first - 1) .. min(%M, %end + 1)] rank %r {cause = "relax reads it"} } }
//      finish_fetches on @grid
//      loop %r in %local_first .. %local_end {   // the ranks of this process
//        %first, %end = owned %M rank %r on @grid
//        if %first < %end {
//          %xr = rank_memory %x rank %r ; %yr = rank_memory %y rank %r
//          launch @relax_part on @grid (%xr, %yr, %first, %end) } }
//      rewritten %y on @grid
// A launch that writes only tensors without a dimension runs completely in every process, after the ranks have got all
// elements that it reads. The number of ranks is known only at run time, and with one rank nothing is sent.

namespace kdl::passes {

namespace {

/// A distributed tensor among the arguments of a launch.
struct RankArgument {
  size_t param = 0;
  Value* tensor = nullptr;
  size_t dimension = 0;
  bool is_written = false;
};

/// What a rank needs of one argument of a launch.
struct RankNeed {
  RankArgument argument;
  std::vector<proofs::NeededPart> parts;
};

/// Returns whether a bound is `param` plus an offset from `least` to `most`.
bool IsOffset(const proofs::LaunchBound& bound, const Value* param, int64_t least, int64_t most) {
  const proofs::LaunchSum& sum = bound.sum;
  bool is_param = bound.divisor == 1 && sum.sizes.empty() && sum.params.size() == 1 &&
                  sum.params[0] == std::pair(param, int64_t{1});
  return is_param && least <= sum.constant && sum.constant <= most;
}

/// Returns whether all indices in `needed` are in first .. end - 1.
bool IsWithin(const proofs::NeededPart& needed, const proofs::KernelPart& part) {
  return std::ranges::any_of(
             needed.least,
             [&](const auto& one) { return IsOffset(one, part.first, 0, INT64_MAX); }) &&
         std::ranges::any_of(
             needed.most, [&](const auto& one) { return IsOffset(one, part.end, INT64_MIN, -1); });
}

class Distributor {
 public:
  Distributor(PassContext& context, ir::Function& program)
      : context_(context),
        module_(context.module),
        program_(program),
        tensors_(FindRankTensors(program)),
        ops_(module_, tensors_) {}

  void Distribute() {
    if (tensors_.empty() || !CheckUses(context_, program_, tensors_)) return;
    for (Op* launch : OpsOfKind(program_, OpKind::Launch)) DistributeLaunch(launch);
    for (Op* copy : OpsOfKind(program_, OpKind::Copy)) DistributeCopy(copy);
    for (Op* fill : OpsOfKind(program_, OpKind::Fill)) DistributeFill(fill);
  }

 private:
  // -- Launches ---------------------------------------------------------------------------------------

  void DistributeLaunch(Op* launch) {
    ir::LaunchOp view(launch);
    const ir::Function* kernel = module_.FindFunction(launch->attr<AttrKey::Callee>());
    std::vector<RankArgument> arguments;
    for (size_t p = 0; p < view.arguments().size(); ++p) {
      Value* argument = view.arguments()[p];
      std::optional<size_t> dimension = tensors_.DimensionOf(argument);
      bool is_written = kernel->params[p].direction != ir::Direction::In;
      if (dimension) arguments.push_back({p, argument, *dimension, is_written});
    }
    if (arguments.empty()) return;
    // The events of KIR text are replaced when launches are ordered.
    for (const ir::Use& use : std::vector<ir::Use>(launch->result()->uses()))
      SetAfter(use.user, {});
    if (std::ranges::any_of(arguments, &RankArgument::is_written)) {
      LaunchParts(launch, *kernel, arguments);
    } else {
      LaunchEverywhere(launch, *kernel, arguments);
    }
  }

  /// Each rank runs the blocks that write what it owns.
  void LaunchParts(Op* launch, const ir::Function& kernel,
                   const std::vector<RankArgument>& arguments) {
    const RankArgument& written =
        *std::ranges::find_if(arguments, [](const auto& one) { return one.is_written; });
    std::optional<size_t> binder = BinderOf(launch, kernel, arguments, written);
    if (!binder) return;
    PartKernel part = PartOf(kernel, *binder);
    proofs::KernelPart limits{part.first, part.end};
    std::optional<std::vector<RankNeed>> needs = NeedsOf(launch, *part.kernel, arguments, limits);
    if (!needs) return;
    Size rows = written.tensor->type()->dims[written.dimension];
    for (RankNeed& need : *needs) {
      if (need.argument.tensor->type()->dims[need.argument.dimension] == rows)
        std::erase_if(need.parts, [&](const auto& one) { return IsWithin(one, limits); });
    }
    std::erase_if(*needs, [](const RankNeed& need) { return need.parts.empty(); });
    ir::Builder b(module_, launch);
    RankValues ranks = ops_.Ranks(b);
    FetchNeeds(b, launch, *part.kernel, ranks, *needs,
               [&](Value* rank) { return ops_.Owned(b, rows, rank); });
    MakeLoop(b, {ranks.first, ranks.end}, [&](Value* rank) {
      PartValues owned = ops_.Owned(b, rows, rank);
      MakeIf(b, b.Lt(owned.first, owned.end), [&] {
        std::vector<Value*> operands = InMemoryOf(b, launch, arguments, rank);
        operands.push_back(owned.first);
        operands.push_back(owned.end);
        CreateLaunch(b, launch, part.kernel->name, operands);
      });
    });
    for (const RankArgument& argument : arguments) {
      if (argument.is_written) ops_.Rewritten(b, argument.tensor);
    }
    ir::Erase(launch);
  }

  /// All blocks run in every process.
  void LaunchEverywhere(Op* launch, const ir::Function& kernel,
                        const std::vector<RankArgument>& arguments) {
    std::optional<std::vector<RankNeed>> needs = NeedsOf(launch, kernel, arguments, std::nullopt);
    if (!needs) return;
    ir::Builder b(module_, launch);
    RankValues ranks = ops_.Ranks(b);
    FetchNeeds(b, launch, kernel, ranks, *needs, [&](Value*) { return PartValues(); });
    std::vector<Value*> operands = InMemoryOf(b, launch, arguments, ranks.first);
    CreateLaunch(b, launch, kernel.name, operands);
    ir::Erase(launch);
  }

  /// Returns the binder that is the index of the distributed dimensions of all tensors that the kernel writes. Reports an
  /// error if there is none.
  std::optional<size_t> BinderOf(const Op* launch, const ir::Function& kernel,
                                 const std::vector<RankArgument>& arguments,
                                 const RankArgument& written) {
    Obstacle obstacle;
    std::optional<Producer> producer = ProducerOf(kernel, obstacle);
    std::string_view name = written.tensor->name().text();
    if (!producer) {
      context_.diagnostics
          .Report(diag::RankKernel, context_.SpanOf(obstacle.loc), kernel.base_name(), name,
                  obstacle.reason)
          .Note(context_.SpanOf(launch->loc()), "it is launched here")
          .Help(fmt::format("declare '{}' without `by`, so that every rank computes all of it",
                            name));
      return std::nullopt;
    }
    std::optional<size_t> binder;
    for (const ProducedTensor& produced : producer->tensors) {
      auto argument = std::ranges::find(arguments, produced.param, &RankArgument::param);
      const Value* tensor = ir::LaunchOp(const_cast<Op*>(launch)).arguments()[produced.param];
      if (argument == arguments.end())
        return Refuse(
            launch, kernel, name,
            fmt::format("it also writes '{}', which is not distributed", tensor->name().text()));
      size_t own = produced.binders[argument->dimension];
      Size rows = tensor->type()->dims[argument->dimension];
      bool is_same =
          (!binder || *binder == own) && rows == written.tensor->type()->dims[written.dimension];
      if (!is_same)
        return Refuse(launch, kernel, name,
                      fmt::format("it also writes '{}', which is distributed in another way",
                                  tensor->name().text()));
      binder = own;
    }
    return binder;
  }

  std::optional<size_t> Refuse(const Op* launch, const ir::Function& kernel, std::string_view name,
                               std::string reason) {
    context_.diagnostics.Report(diag::RankKernel, context_.SpanOf(launch->loc()),
                                kernel.base_name(), name, std::move(reason));
    return std::nullopt;
  }

  const PartKernel& PartOf(const ir::Function& kernel, size_t binder) {
    auto [known, is_new] = parts_.try_emplace({kernel.name, binder});
    if (is_new) known->second = MakePartKernel(module_, kernel, binder);
    return known->second;
  }

  std::optional<std::vector<RankNeed>> NeedsOf(const Op* launch, const ir::Function& kernel,
                                               const std::vector<RankArgument>& arguments,
                                               const std::optional<proofs::KernelPart>& part) {
    std::vector<RankNeed> needs;
    for (const RankArgument& argument : arguments) {
      if (argument.is_written) continue;
      proofs::NeededParts needed = proofs::FindNeededParts(
          kernel, module_.types(), kernel.params[argument.param].value, argument.dimension, part);
      if (needed.unknown) {
        context_.diagnostics
            .Report(diag::RankRead, context_.SpanOf(needed.unknown->loc()),
                    argument.tensor->name().text(), NameInSource(launch))
            .Note(context_.SpanOf(launch->loc()), "it is launched here")
            .Help(fmt::format("declare '{}' without `by`", argument.tensor->name().text()));
        return std::nullopt;
      }
      needs.push_back({argument, std::move(needed.parts)});
    }
    return needs;
  }

  // -- Creating ops -----------------------------------------------------------------------------------

  /// Sends each rank what it needs. `part_of` creates the part of the kernel's blocks that a rank runs; if it returns
  /// null, the rank runs all of them.
  template <class PartOfRank>
  void FetchNeeds(ir::Builder& b, const Op* launch, const ir::Function& kernel,
                  const RankValues& ranks, const std::vector<RankNeed>& needs, PartOfRank part_of) {
    if (needs.empty()) return;
    std::string cause = fmt::format("{} reads it", NameInSource(launch));
    MakeLoop(b, {b.I64(0), ranks.count}, [&](Value* rank) {
      PartValues part = part_of(rank);
      auto fetch = [&] {
        LaunchNumbers numbers = NumbersOf(b, launch, kernel, part);
        for (const RankNeed& need : needs) FetchParts(b, need, rank, numbers, cause);
      };
      part.first ? MakeIf(b, b.Lt(part.first, part.end), fetch) : fetch();
    });
    ops_.FinishFetches(b);
  }

  void FetchParts(ir::Builder& b, const RankNeed& need, Value* rank, const LaunchNumbers& numbers,
                  const std::string& cause) const {
    const RankArgument& argument = need.argument;
    for (const proofs::NeededPart& part : need.parts) {
      Value* size = RankOps::SizeValue(b, argument.tensor->type()->dims[argument.dimension]);
      NeededRange range = MakeNeededRange(b, part, size, numbers);
      MakeIf(b, range.condition,
             [&] { ops_.Fetch(b, argument.tensor, rank, {range.first, range.end}, cause); });
    }
  }

  std::string NameInSource(const Op* launch) const {
    return std::string(module_.FindFunction(launch->attr<AttrKey::Callee>())->base_name());
  }

  /// Returns the values that the launch gives the kernel's sizes and parameters.
  static LaunchNumbers NumbersOf(ir::Builder& b, const Op* launch, const ir::Function& kernel,
                                 const PartValues& part) {
    LaunchNumbers numbers;
    std::span<Value* const> arguments = ir::LaunchOp(const_cast<Op*>(launch)).arguments();
    for (size_t p = 0; p < arguments.size(); ++p) {
      const Value* param = kernel.params[p].value;
      numbers.params[param] = arguments[p];
      if (!IsTensor(param)) continue;
      for (size_t d = 0; d < param->type()->dims.size(); ++d) {
        Size dim = param->type()->dims[d];
        bool is_new = dim->kind == SizeKind::Symbol && !numbers.sizes.contains(dim->symbol);
        if (is_new)
          numbers.sizes[dim->symbol] = RankOps::SizeValue(b, arguments[p]->type()->dims[d]);
      }
    }
    if (!part.first) return numbers;
    numbers.params[kernel.params[arguments.size()].value] = part.first;
    numbers.params[kernel.params[arguments.size() + 1].value] = part.end;
    return numbers;
  }

  /// Returns the arguments of a launch, in which the memory of the rank replaces distributed tensors.
  std::vector<Value*> InMemoryOf(ir::Builder& b, const Op* launch,
                                 const std::vector<RankArgument>& arguments, Value* rank) const {
    std::span<Value* const> given = ir::LaunchOp(const_cast<Op*>(launch)).arguments();
    std::vector<Value*> operands(given.begin(), given.end());
    std::map<Value*, Value*> memories;
    for (const RankArgument& argument : arguments) {
      Value*& memory = memories[argument.tensor];
      if (!memory) memory = ops_.Memory(b, argument.tensor, rank);
      operands[argument.param] = memory;
    }
    return operands;
  }

  static void CreateLaunch(ir::Builder& b, const Op* launch, Name kernel,
                           const std::vector<Value*>& operands) {
    std::vector<ir::Attr> attrs = {ir::MakeAttr<AttrKey::Callee>(kernel),
                                   ir::MakeAttr<AttrKey::Device>(launch->attr<AttrKey::Device>()),
                                   ir::MakeAttr<AttrKey::Queue>(launch->attr<AttrKey::Queue>())};
    if (launch->HasAttr(AttrKey::Constants))
      attrs.push_back(ir::MakeAttr<AttrKey::Constants>(launch->attr<AttrKey::Constants>()));
    Value* cores = ir::LaunchOp(const_cast<Op*>(launch)).cores();
    b.Create(OpKind::Launch, {OneOrNone(cores), {}, operands, {}}, {b.types().Event()},
             std::move(attrs));
  }

  // -- Copies -----------------------------------------------------------------------------------------

  /// Each rank copies what it owns of the destination, or everything if the destination is not distributed.
  void DistributeCopy(Op* copy) {
    Value* from = copy->operand(0);
    Value* to = copy->operand(1);
    std::optional<size_t> source = tensors_.DimensionOf(from);
    std::optional<size_t> target = tensors_.DimensionOf(to);
    if (!source && !target) return;
    if (source && target && *source != *target) {
      context_.diagnostics.Report(
          diag::RankUse, context_.SpanOf(copy->loc()), from->name().text(),
          fmt::format("copying it to '{}', which is distributed along another dimension,",
                      to->name().text()));
      return;
    }
    ir::Builder b(module_, copy);
    RankValues ranks = ops_.Ranks(b);
    Size rows = to->type()->dims[target ? *target : *source];
    if (source) {
      MakeLoop(b, {b.I64(0), ranks.count}, [&](Value* rank) {
        PartValues part =
            target ? ops_.Owned(b, rows, rank) : PartValues{b.I64(0), RankOps::SizeValue(b, rows)};
        MakeIf(b, b.Lt(part.first, part.end),
               [&] { ops_.Fetch(b, from, rank, part, "copy reads it"); });
      });
      ops_.FinishFetches(b);
    }
    if (target) {
      ForOwned(b, ranks, rows, [&](Value* rank, const PartValues& part) {
        Value* source_memory = source ? ops_.Memory(b, from, rank) : from;
        Value* owned_source = ops_.Slice(b, source_memory, *target, part);
        CreateCopy(b, copy, owned_source, ops_.Slice(b, ops_.Memory(b, to, rank), *target, part));
      });
      ops_.Rewritten(b, to);
    } else {
      CreateCopy(b, copy, ops_.Memory(b, from, ranks.first), to);
    }
    ir::Erase(copy);
  }

  void DistributeFill(Op* fill) {
    Value* tensor = fill->operand(0);
    std::optional<size_t> dimension = tensors_.DimensionOf(tensor);
    if (!dimension) return;
    ir::Builder b(module_, fill);
    Size rows = tensor->type()->dims[*dimension];
    ForOwned(b, ops_.Ranks(b), rows, [&](Value* rank, const PartValues& part) {
      Value* slice = ops_.Slice(b, ops_.Memory(b, tensor, rank), *dimension, part);
      b.Create(OpKind::Fill, {{slice}, {fill->operand(1)}, {}}, {b.types().Event()},
               {ir::MakeAttr<AttrKey::Device>(tensors_.device), ir::MakeAttr<AttrKey::Queue>(0)});
    });
    ops_.Rewritten(b, tensor);
    ir::Erase(fill);
  }

  /// Creates a loop over the ranks of this process that own anything.
  template <class Body>
  void ForOwned(ir::Builder& b, const RankValues& ranks, Size rows, Body body) {
    MakeLoop(b, {ranks.first, ranks.end}, [&](Value* rank) {
      PartValues part = ops_.Owned(b, rows, rank);
      MakeIf(b, b.Lt(part.first, part.end), [&] { body(rank, part); });
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
  RankTensors tensors_;
  RankOps ops_;
  std::map<std::pair<Name, size_t>, PartKernel> parts_;  ///< by kernel and binder
};

}  // namespace

void RunDistributeLaunches(PassContext& context) {
  const std::vector<ir::Function*> functions = context.module.functions();
  for (ir::Function* function : functions) {
    if (function->kind == ir::FunctionKind::Program) Distributor(context, *function).Distribute();
  }
}

}  // namespace kdl::passes
