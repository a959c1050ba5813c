#include "tools/explain/placement_map.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "ir/program_tensors.h"
#include "ir/tensor_view.h"
#include "ir/views.h"

namespace kdl::tools {

namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

constexpr std::string_view kCaller = "the caller";

class Mapper {
 public:
  Mapper(const ir::Module& module, const ir::Function& program)
      : module_(module), program_(program) {
    mapped_.name = program.base_name();
  }

  PlacedProgram Map() {
    for (const ir::Param& param : program_.params) {
      if (param.value->type()->kind == ir::TypeKind::Tensor) owners_[param.value] = kCaller;
    }
    ir::Walk(program_.body, [&](const Op* op) {
      if (op->kind() == OpKind::Lives) owners_[op->operand(0)] = op->attr<AttrKey::Device>().text();
    });
    for (const ir::Param& param : program_.params) {
      auto owner = owners_.find(param.value);
      if (owner == owners_.end()) continue;
      std::string name(param.value->name().text());
      bool is_said = owner->second != kCaller;
      mapped_.tensors.push_back({name, is_said ? "lives on " + owner->second + " at the call"
                                               : "lives where the caller has it"});
    }
    Block(program_.body, 0);
    return std::move(mapped_);
  }

 private:
  void Block(const ir::Region* region, size_t depth) {
    for (const Op* op : *region) Visit(op, depth);
  }

  void Visit(const Op* op, size_t depth) {
    switch (op->kind()) {
      case OpKind::Alloc:
        return AddTensor(op);
      case OpKind::Launch:
        return Add(StepKind::Launch, op, depth, std::string(LaunchedKernelName(op)),
                   ir::LaunchOp::at_after);
      case OpKind::Copy:
        return Add(StepKind::Other, op, depth,
                   fmt::format("copy to {}", ir::SourceName(op->operand(1))), ir::CopyOp::at_after);
      case OpKind::Fill:
        return Add(StepKind::Other, op, depth,
                   fmt::format("fill {}", ir::SourceName(op->operand(0))), ir::FillOp::at_after);
      case OpKind::Mark:
        return Add(StepKind::Other, op, depth, "everything submitted before");
      case OpKind::Transfer:
        AddMove(op, depth, op->operand(0), ir::TransferOp::at_after);
        owners_[op->result(0)] = op->attr<AttrKey::Device>().text();
        return;
      case OpKind::Relocate:
        AddMove(op, depth, op->operand(0), ir::RelocateOp::at_after);
        owners_[op->operand(0)] = op->attr<AttrKey::Device>().text();
        return;
      case OpKind::CopyBack:
        return AddBack(op, depth);
      case OpKind::Fetch:
        return AddFetch(op, depth);
      case OpKind::Swap:
        return std::swap(owners_[op->operand(0)], owners_[op->operand(1)]);
      default:
        return AddRegions(op, depth);
    }
  }

  /// Returns the distributed dimensions, such as `dimension 0` or `dimensions 0 in blocks of 64 and 1`.
  static std::string DimensionsText(const ir::RankDistribution& distribution) {
    std::vector<std::string> dimensions;
    for (size_t d = 0; d < distribution.size(); ++d) {
      const ir::RankDimension& dim = distribution[d];
      if (!dim.is_distributed()) continue;
      std::string blocks = dim.block > 0 ? fmt::format(" in blocks of {}", dim.block) : "";
      dimensions.push_back(fmt::format("{}{}", d, blocks));
    }
    return fmt::format("dimension{} {}", dimensions.size() == 1 ? "" : "s",
                       fmt::join(dimensions, " and "));
  }

  void AddTensor(const Op* op) {
    std::string device(op->attr<AttrKey::Device>().text());
    bool by_use = op->HasAttr(AttrKey::ByUse);
    if (ir::RankDistribution distribution = ir::DistributionOfAlloc(op); !distribution.empty()) {
      mapped_.tensors.push_back({std::string(op->attr<AttrKey::Name>().text()),
                                 fmt::format("is distributed over the ranks of {}, {}", device,
                                             DimensionsText(distribution))});
      return;
    }
    owners_[op->result()] = device;
    mapped_.tensors.push_back({std::string(op->attr<AttrKey::Name>().text()),
                               by_use ? fmt::format("begins on {}, where it is used first", device)
                                      : fmt::format("lives on {}", device)});
  }

  void AddMove(const Op* op, size_t depth, const Value* tensor, size_t after) {
    std::string from = owners_[ir::MemoryOf(tensor)];
    std::string to(op->attr<AttrKey::Device>().text());
    std::string_view what = op->HasAttr(AttrKey::Fresh) ? " without its elements" : "";
    Add(StepKind::Move, op, depth,
        fmt::format("{}: {} -> {}{}: {}", ir::SourceName(tensor), from, to, what,
                    op->attr<AttrKey::Cause>().text()),
        after);
    mapped_.steps.back().from = std::move(from);
  }

  void AddBack(const Op* op, size_t depth) {
    const std::string& to = owners_[op->operand(1)];
    Add(StepKind::Move, op, depth,
        fmt::format("{}: {} -> {}: {}", ir::SourceName(op->operand(1)),
                    op->attr<AttrKey::Device>().text(), to, op->attr<AttrKey::Cause>().text()),
        ir::CopyBackOp::at_after);
    mapped_.steps.back().from = to;
  }

  /// Adds the messages that bring a rank what others own. They are not put into a queue.
  void AddFetch(const Op* op, size_t depth) {
    std::string device(op->attr<AttrKey::Device>().text());
    PlacedStep step{StepKind::Move, ++count_, "", SourcePlace(op), device, 0, device, depth, {}};
    step.text = fmt::format("{}: between the ranks of {}: {}", ir::SourceName(op->operand(0)),
                            device, op->attr<AttrKey::Cause>().text());
    mapped_.steps.push_back(std::move(step));
  }

  /// Returns whether a result of an op of this kind is the upper bound of the loop.
  static bool EndsAt(const Op* loop, OpKind kind) {
    const Op* bound = loop->kind() == OpKind::Loop ? loop->operand(1)->def() : nullptr;
    return bound && bound->kind() == kind;
  }

  void AddRegions(const Op* op, size_t depth) {
    for (size_t r = 0; r < op->regions().size(); ++r) {
      size_t head = mapped_.steps.size();
      std::string_view word = op->kind() == OpKind::If          ? (r == 0 ? "if" : "else")
                              : EndsAt(op, OpKind::Ranks)       ? "for each rank"
                              : EndsAt(op, OpKind::OwnedBlocks) ? "for each of its blocks"
                                                                : "loop";
      mapped_.steps.push_back(
          {StepKind::Region, 0, std::string(word), SourcePlace(op), {}, 0, {}, depth, {}});
      Block(op->region(r), depth + 1);
      if (mapped_.steps.size() == head + 1) mapped_.steps.pop_back();
    }
  }

  /// Adds a step. `after` is the index of the operand segment that contains the events the step
  /// waits for.
  void Add(StepKind kind, const Op* op, size_t depth, std::string text,
           std::optional<size_t> after = {}) {
    PlacedStep step{kind, ++count_, std::move(text), SourcePlace(op), {}, 0, {}, depth, {}};
    step.device = op->attr<AttrKey::Device>().text();
    step.queue = op->attr<AttrKey::Queue>();
    if (after) {
      for (const Value* event : op->Segment(*after)) step.after.push_back(numbers_.at(event));
    }
    numbers_[op->results().back()] = step.number;
    mapped_.steps.push_back(std::move(step));
  }

  std::string_view LaunchedKernelName(const Op* launch) const {
    return module_.FindFunction(launch->attr<AttrKey::Callee>())->base_name();
  }

  const ir::Module& module_;
  const ir::Function& program_;
  PlacedProgram mapped_;
  std::map<const Value*, std::string> owners_;
  /// For each event, the number of the step that returns it.
  std::map<const Value*, size_t> numbers_;
  size_t count_ = 0;
};

}  // namespace

std::string SourcePlace(const Op* op) {
  ir::Loc loc = op->loc();
  if (loc.line == 0) return "";
  std::string_view file = loc.file.text();
  return fmt::format("{}:{}:{}", file.substr(file.rfind('/') + 1), loc.line, loc.column);
}

PlacementReport MapPlacement(const ir::Module& module, const std::string& file) {
  PlacementReport report{file, {}};
  for (const ir::Function* function : module.functions()) {
    if (function->kind == ir::FunctionKind::Program)
      report.programs.push_back(Mapper(module, *function).Map());
  }
  return report;
}

}  // namespace kdl::tools
