#include <algorithm>
#include <utility>

#include "interp/core.h"
#include "interp/elements.h"
#include "interp/ops/op_rows.h"
#include "ir/format.h"
#include "ir/lookup.h"
#include "ir/op_info.h"
#include "ir/ring.h"
#include "ir/views.h"
#include "support/check.h"

namespace kdl::interp {

namespace {

using ir::AttrKey;
using ir::AxisId;
using ir::Op;
using ir::OpKind;
using ir::TypeKind;

SlotKind SlotKindOf(ir::Type type) {
  switch (type->kind) {
    case TypeKind::Tile:
      return type->axes.empty() ? SlotKind::Scalar : SlotKind::Tile;
    case TypeKind::Tensor:
      return SlotKind::Tensor;
    case TypeKind::Block:
      return SlotKind::Block;
    case TypeKind::TileBuffer:
    case TypeKind::Buffer:
      return SlotKind::Buffer;
    case TypeKind::Vector:
      return SlotKind::Vector;
    case TypeKind::Event:
      return SlotKind::Event;
    case TypeKind::Pipe:
      return SlotKind::Pipe;
    case TypeKind::Workspace:
      return SlotKind::Workspace;
  }
  KDL_UNREACHABLE("unexpected type kind {}", static_cast<int>(type->kind));
}

int Find(const std::vector<AxisId>& axes, AxisId axis) {
  auto found = std::find(axes.begin(), axes.end(), axis);
  return found == axes.end() ? -1 : static_cast<int>(found - axes.begin());
}

/// Returns the index of the only operand of an optional operand segment, or -1 if the segment is empty.
int OptionalOperand(const Op& op, size_t segment) {
  return op.Segment(segment).empty() ? -1 : static_cast<int>(op.SegmentBegin(segment));
}

OpForm OperandForm(const Instruction& instruction) {
  OpForm form = OpForm::Scalars;
  for (const auto* slots : {&instruction.operands, &instruction.results}) {
    for (Slot slot : *slots) {
      if (slot.kind == SlotKind::Vector) return OpForm::Vectors;
      if (slot.kind == SlotKind::Tile) form = OpForm::Tiles;
      // The op stores a scalar to each element of a block.
      bool over_block = slot.kind == SlotKind::Block && instruction.op->kind() == OpKind::Store;
      if (over_block) form = OpForm::Tiles;
    }
  }
  return form;
}

/// Returns the axes of a push or pop, in ascending order.
std::vector<AxisId> AxesOfPositions(const Op& op) {
  ir::AxisList axes = op.attr<AttrKey::Axes>();
  std::sort(axes.begin(), axes.end());
  return axes;
}

/// Prepares the code of one function.
class FunctionPreparer {
 public:
  using PrepareCallee = std::function<Result<const Code*>(Name)>;

  FunctionPreparer(const ir::Function& function, const ir::Context& context, const Symbols& symbols,
                   PrepareCallee callee, Code& code)
      : function_(function),
        context_(context),
        symbols_(symbols),
        callee_(std::move(callee)),
        code_(code) {}

  Status PrepareFunction() {
    code_.function = &function_;
    if (function_.kind == ir::FunctionKind::Program) code_.symbols = symbols_;
    AddRegion(*function_.body);
    return failure_ ? Status(*failure_) : Status();
  }

 private:
  uint32_t AddRegion(const ir::Region& region) {
    auto number = static_cast<uint32_t>(code_.blocks.size());
    code_.blocks.emplace_back();
    RegionCode made;
    for (const ir::Value* param : region.params()) made.params.push_back(ValueSlot(param));
    for (const Op* op : region) made.instructions.push_back(MakeInstruction(*op));
    code_.blocks[number] = std::move(made);
    return number;
  }

  Slot ValueSlot(const ir::Value* value) {
    auto [known, is_new] = slots_.try_emplace(value);
    if (is_new) {
      SlotKind kind = SlotKindOf(value->type());
      known->second = {kind, code_.slot_counts[static_cast<size_t>(kind)]++};
    }
    return known->second;
  }

  Instruction MakeInstruction(const Op& op) {
    Instruction made;
    made.op = &op;
    made.dynamic_counters = op.HasAttr(AttrKey::DynamicCounter);
    made.breaks = op.HasAttr(AttrKey::Breaks);
    for (const ir::Value* operand : op.operands()) made.operands.push_back(ValueSlot(operand));
    for (const ir::Value* result : op.results()) made.results.push_back(ValueSlot(result));
    OpForm form = OperandForm(made);
    const OpRow& row = FindOpRow(op.kind());
    made.run = row.HandlerOf(form);
    made.yield = row.yield;
    AddPlan(made, row.plan, form);
    for (const ir::Region* region : op.regions()) made.regions.push_back(AddRegion(*region));
    return made;
  }

  void AddPlan(Instruction& made, Plan plan, OpForm form) {
    const Op& op = *made.op;
    switch (plan) {
      case Plan::None:
        return;
      case Plan::Computed:
        return AddElementwise(made, form);
      case Plan::Constant:
        made.number = op.attr<AttrKey::Bits>();
        return;
      case Plan::Size:
        made.number = Number(op.attr<AttrKey::Size>(), op);
        return;
      case Plan::Bound:
        made.bound = ir::FindBound(*ir::OpFromSpelling(op.attr<AttrKey::Rule>().text()));
        return;
      case Plan::Call:
        return AddCall(made);
      case Plan::Access:
        return AddAccess(made);
      case Plan::AsyncCopy:
        AddSizes(made, ir::CopyEndsOf(&op).buffer->type());
        return AddAccess(made);
      case Plan::ResultAxes:
        return AddPoints(made, op.result()->type()->axes);
      case Plan::OperandAxes:
        return AddPoints(made, UnionOfOperandAxes(op));
      case Plan::Positions:
        return AddPoints(made, AxesOfPositions(op));
      case Plan::Reduce:
        return AddReduce(made);
      case Plan::VectorMma:
        return AddVectorMma(made);
      case Plan::Contraction:
        return AddContraction(made);
      case Plan::ReduceInLoop:
        return AddReduceInLoop(made);
      case Plan::ScanInLoop:
        return AddScanInLoop(made);
      case Plan::MultiReduce:
        return AddFold(made);
      case Plan::SlidingWindow:
        return AddSlidingWindow(made);
      case Plan::Gather:
        return AddGather(made);
      case Plan::Extent:
        made.numbers.push_back(NumericExtent(op.region()->param(0)->type(), op));
        return;
      case Plan::Split:
        made.numbers = op.attr<AttrKey::Sizes>();
        return;
      case Plan::Spmd:
        return AddSpmd(made);
      case Plan::Elementwise:
        return AddElementwiseLoop(made);
      case Plan::Pipe:
        return AddPipe(made);
      case Plan::TileBuffer:
        return AddTileBuffer(made, op.result()->type());
      case Plan::LoadTile:
        AddTileBuffer(made, op.operand(0)->type());
        return AddPart(made, op.operand(0)->type(), op.result()->type(), ir::LoadTileOp::at_panel);
      case Plan::StoreTile:
        AddTileBuffer(made, op.operand(1)->type());
        return AddPart(made, op.operand(1)->type(), op.operand(0)->type(),
                       ir::StoreTileOp::at_panel);
      case Plan::Table:
        return AddTable(made);
      case Plan::CheckedSizes:
        if (op.parent_region()->function()->kind == ir::FunctionKind::Kernel)
          AddCheckedSizes(made, op.result()->type());
        return;
      case Plan::ResultSizes:
        return AddSizes(made, op.result()->type());
      case Plan::BufferLoad:
        return AddSizes(made, op.operand(0)->type());
      case Plan::BufferStore:
        return AddSizes(made, op.operand(1)->type());
    }
  }

  // -- Numbers for sizes -------------------------------------------------------------------------

  int64_t Number(Size size, const Op& op) {
    std::optional<int64_t> number = Evaluate(size, symbols_);
    if (!number && !failure_) {
      failure_ =
          Failure{fmt::format("{}: '{}' has no value in {}, but '{}' needs it", ToString(op.loc()),
                              kdl::ToString(size), function_.name.text(), op.info().spelling)};
    }
    return number.value_or(1);
  }

  int64_t NumericExtent(ir::Type block, const Op& op) {
    int64_t extent = Number(function_.axis(block->axes[0]).extent, op);
    KDL_CHECK(extent > 0, "{}: a block has {} elements", ToString(op.loc()), extent);
    return extent;
  }

  void AddSizes(Instruction& made, ir::Type type) {
    for (Size dim : type->dims) made.numbers.push_back(Number(dim, *made.op));
  }

  /// Adds the sizes of a type. A size without a value becomes an error only when the op is executed.
  void AddCheckedSizes(Instruction& made, ir::Type type) {
    for (Size dim : type->dims) {
      std::optional<int64_t> number = EvaluateChecked(dim, symbols_);
      if (!number && !made.faulty) made.faulty = dim;
      made.numbers.push_back(number.value_or(0));
    }
  }

  void AddTable(Instruction& made) {
    Scalar scalar = made.op->result()->type()->scalar;
    auto bytes = static_cast<size_t>(Bytes(scalar));
    ir::ElementBits elements = made.op->attr<AttrKey::Elements>();
    AddSizes(made, made.op->result()->type());
    made.table = std::make_unique<std::byte[]>(elements.size() * bytes);
    for (size_t i = 0; i < elements.size(); ++i)
      WriteElement(&made.table[i * bytes], scalar, elements[i]);
  }

  void AddSpmd(Instruction& made) {
    for (const ir::Value* param : made.op->region()->params()) {
      bool is_block = param->type()->kind == TypeKind::Block;
      made.order.push_back(made.numbers.size());
      made.numbers.push_back(is_block ? NumericExtent(param->type(), *made.op) : 0);
    }
    if (made.op->attr<AttrKey::Distribute>() == ir::DistributionKind::Grouped) {
      made.group_variables = std::make_unique<ir::GroupVariables>(ir::GroupVariablesOf(made.op));
      made.order.clear();
      for (const auto* some : {&made.group_variables->outer, &made.group_variables->combined,
                               &made.group_variables->inner})
        made.order.insert(made.order.end(), some->begin(), some->end());
    }
    ir::Walk(made.op->region(), [&](const Op* op) {
      bool of_group =
          op->kind() == OpKind::Update && op->attr<AttrKey::Scope>() == ir::ScopeKind::Group;
      if (of_group)
        made.group_targets.push_back(
            {ValueSlot(op->operand(ir::UpdateOp::at_tensor)), op->attr<AttrKey::How>()});
    });
  }

  void AddPipe(Instruction& made) {
    ir::Type type = made.op->result()->type();
    AddSizes(made, type);
    std::vector<Size> extents;
    for (int64_t extent : made.numbers) extents.push_back(sizes_.Constant(extent));
    ir::TypeNode bound{TypeKind::Pipe, type->scalar, {}, std::move(extents)};
    std::optional<int64_t> slot = ir::SlotBytes(&bound);
    if (!slot && !failure_)
      failure_ =
          Failure{fmt::format("{}: a slot of '{}' has 2^62 bytes or more", ToString(made.op->loc()),
                              made.op->attr<AttrKey::Name>().text())};
    made.number = slot.value_or(0);
  }

  /// Adds the extents of a tile buffer's axes, in ascending order of axes. Any order is correct, because the
  /// memory layout of a tile buffer cannot be observed.
  void AddTileBuffer(Instruction& made, ir::Type tile_buffer) {
    std::vector<AxisId> axes = tile_buffer->axes;
    std::sort(axes.begin(), axes.end());
    for (AxisId axis : axes) made.numbers.push_back(Number(function_.axis(axis).extent, *made.op));
  }

  /// Computes the position of a tile in its tile buffer.
  void AddPart(Instruction& made, ir::Type tile_buffer, ir::Type tile, size_t panel) {
    AddPoints(made, tile->axes);
    std::vector<AxisId> sorted = tile_buffer->axes;
    std::sort(sorted.begin(), sorted.end());
    std::vector<int64_t> strides(sorted.size(), 1);
    for (size_t i = sorted.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * made.numbers[i];
    made.tile_buffer = std::make_unique<TileBufferPlan>();
    made.tile_buffer->panel = tile_buffer->panel;
    made.tile_buffer->panel_operand = OptionalOperand(*made.op, panel);
    made.tile_buffer->axes.resize(sorted.size());
    ir::AxisList part = *ir::SubtileAxes(function_, tile_buffer, tile);
    for (size_t i = 0; i < part.size(); ++i) {
      auto place = static_cast<size_t>(Find(tile->axes, part[i]));
      auto number = static_cast<size_t>(Find(sorted, tile_buffer->axes[i]));
      const ir::Value* whole = ir::FindBlock(made.op, tile_buffer->axes[i]);
      made.tile_buffer->axes[place] = {ValueSlot(whole).index, made.numbers[number],
                                       strides[number]};
      made.tile_buffer->last = place;
    }
  }

  // -- Tiles ------------------------------------------------------------------------------------

  /// Adds the points over `axes`. The blocks of these axes must be in scope.
  void AddPoints(Instruction& made, const std::vector<AxisId>& axes) {
    made.points = std::make_unique<PointsPlan>();
    made.points->axes = axes;
    for (AxisId axis : axes) {
      const ir::Value* block = ir::FindBlock(made.op, axis);
      KDL_CHECK(
          block, "{}: '{}' makes a tile over axis '{}', but no block of this axis is in scope",
          ToString(made.op->loc()), made.op->info().spelling, function_.axis(axis).name.text());
      made.points->blocks.push_back(ValueSlot(block).index);
    }
    for (const ir::Value* operand : made.op->operands()) {
      std::vector<int> numbers;
      bool is_tile = operand->type()->kind == TypeKind::Tile;
      for (AxisId axis : axes) numbers.push_back(is_tile ? Find(operand->type()->axes, axis) : -1);
      made.points->axis_in_operand.push_back(std::move(numbers));
    }
  }

  void AddElementwise(Instruction& made, OpForm form) {
    const Op& op = *made.op;
    Scalar operand = op.operands().back()->type()->scalar;
    made.eval = ir::FindEval(op.kind(), operand, op.result()->type()->scalar);
    if (form == OpForm::Tiles) AddPoints(made, op.result()->type()->axes);
  }

  static std::vector<AxisId> UnionOfOperandAxes(const Op& op) {
    std::vector<AxisId> axes;
    for (const ir::Value* operand : op.operands())
      axes = ir::UnionAxes(axes, operand->type()->axes);
    return axes;
  }

  /// Returns the axes of the operands, except those that the call binds to axes of the fn.
  static std::vector<AxisId> MappedAxes(const Op& call) {
    std::vector<AxisId> axes;
    for (const ir::Value* operand : call.operands()) {
      if (operand->type()->kind == TypeKind::Tile)
        axes = ir::UnionAxes(axes, operand->type()->axes);
    }
    for (const ir::Value* operand : call.operands()) {
      if (operand->type()->kind == TypeKind::Block) std::erase(axes, operand->type()->axes[0]);
    }
    return axes;
  }

  void AddCall(Instruction& made) {
    AddPoints(made, MappedAxes(*made.op));
    Result<const Code*> callee = callee_(made.op->attr<AttrKey::Callee>());
    if (callee.ok()) {
      made.callee = *callee;
    } else if (!failure_) {
      failure_ = callee.failure();
    }
  }

  void AddElementwiseLoop(Instruction& made) {
    std::vector<AxisId> axes;
    for (const ir::Value* block : made.op->operands()) axes.push_back(block->type()->axes[0]);
    made.points = std::make_unique<PointsPlan>();
    made.points->axes = axes;
    for (Slot block : made.operands) made.points->blocks.push_back(block.index);
  }

  void AddFold(Instruction& made) {
    const Op& op = *made.op;
    std::vector<AxisId> points = op.result(0)->type()->axes;
    ir::AxisList reduced = op.attr<AttrKey::Axes>();
    if (op.kind() == OpKind::Scan) std::erase(points, reduced[0]);
    points.insert(points.end(), reduced.begin(), reduced.end());
    AddPoints(made, points);
    made.points->reduced = reduced.size();
    AddOrder(made);
  }

  void AddOrder(Instruction& made) {
    const Op& op = *made.op;
    made.fold = std::make_unique<FoldPlan>();
    if (op.HasAttr(AttrKey::Order)) made.fold->order = op.attr<AttrKey::Order>();
    KDL_CHECK(made.fold->order != ir::OrderKind::Open,
              "{}: '{}' has no order yet; fix-reduction-order decides it", ToString(op.loc()),
              op.info().spelling);
  }

  void AddReduce(Instruction& made) {
    AddFold(made);
    AddSingles(made);
  }

  /// Sets the functions that a reduction of single values uses.
  void AddSingles(Instruction& made) {
    auto kind = made.op->attr<AttrKey::Reduction>();
    auto acc = made.op->attr<AttrKey::Acc>();
    made.fold->identity = ir::FoldIdentity(kind, acc);
    made.fold->fold = ir::FindFold(kind, acc);
  }

  void AddContraction(Instruction& made) {
    AddFold(made);
    AddProducts(made);
    made.fold->plus = OptionalOperand(*made.op, ir::ContractionOp::at_plus);
  }

  /// Sets the functions that a reduction of products uses.
  void AddProducts(Instruction& made) {
    auto acc = made.op->attr<AttrKey::Acc>();
    for (size_t i : {0, 1}) {
      Scalar element = made.op->operand(i)->type()->scalar;
      if (element != acc) made.fold->widen[i] = ir::FindEval(OpKind::Cast, element, acc);
    }
    made.fold->fold = ir::FindFold(ir::ReductionKind::Sum, acc);
    made.fold->term = ir::FindMultiplyAdd(acc);
    const ir::MatrixInstruction* mma = ir::InstructionOf(*made.op, context_);
    bool matters = mma && mma->order != ir::StepOrder::Any;
    made.fold->mma = matters ? mma : nullptr;
  }

  void AddVectorMma(Instruction& made) {
    made.fold = std::make_unique<FoldPlan>();
    made.fold->mma = ir::InstructionOf(*made.op, context_);
    const ir::MatrixInstruction& mma = *made.fold->mma;
    for (size_t i : {0, 1}) {
      Scalar element = made.op->operand(i)->type()->scalar;
      made.fold->widen[i] = ir::FindEval(OpKind::Cast, element, mma.acc);
    }
  }

  void AddReduceInLoop(Instruction& made) {
    const Op& op = *made.op;
    std::vector<AxisId> walked;
    for (const ir::Value* block : op.parent_region()->parent()->operands())
      walked.push_back(block->type()->axes[0]);
    AddPoints(made, walked);
    made.points->reduced = op.attr<AttrKey::Axes>().size();
    AddOrder(made);
    op.Segment(ir::ReduceInLoopOp::at_terms).size() == 1 ? AddSingles(made) : AddProducts(made);
    for (const Op* other = op.parent_region()->first(); other != &op; other = other->next())
      made.number += other->kind() == OpKind::ReduceInLoop ? 1 : 0;
  }

  void AddScanInLoop(Instruction& made) {
    std::span<ir::Value* const> blocks = made.op->parent_region()->parent()->operands();
    ir::AxisId axis = made.op->attr<AttrKey::Axes>()[0];
    auto has_axis = [&](const ir::Value* block) { return block->type()->axes[0] == axis; };
    made.number = std::ranges::find_if(blocks, has_axis) - blocks.begin();
  }

  void AddGather(Instruction& made) {
    const Op& op = *made.op;
    AddPoints(made, op.result()->type()->axes);
    for (AxisId axis : op.attr<AttrKey::Axes>())
      made.taken.push_back(ValueSlot(ir::FindBlock(&op, axis)).index);
  }

  void AddSlidingWindow(Instruction& made) {
    AddGather(made);
    made.access = std::make_unique<AccessPlan>();
    AddDims(made, made.op->SegmentBegin(ir::SlidingWindowOp::at_index));
  }

  // -- Memory -----------------------------------------------------------------------------------

  void AddAccess(Instruction& made) {
    const Op& op = *made.op;
    size_t first_index = op.SegmentBegin(ir::AccessOperands(op.kind()));

    std::vector<AxisId> axes;
    for (const ir::Value* operand : op.operands()) {
      if (operand->type()->kind != TypeKind::Tensor)
        axes = ir::UnionAxes(axes, operand->type()->axes);
    }
    AddPoints(made, axes);
    made.access = std::make_unique<AccessPlan>();
    made.access->bounds_mode =
        op.HasAttr(AttrKey::BoundsMode) ? op.attr<AttrKey::BoundsMode>() : ir::BoundsMode::Proven;
    AddDims(made, first_index);
    if (op.kind() == OpKind::Load) {
      made.access->otherwise = OptionalOperand(op, ir::LoadOp::at_otherwise);
      made.access->mask = OptionalOperand(op, ir::LoadOp::at_mask);
    } else if (op.kind() == OpKind::Store || op.kind() == OpKind::Update) {
      made.access->value = 0;
      made.access->mask = OptionalOperand(op, ir::StoreOp::at_mask);
    }
  }

  void AddDims(Instruction& made, size_t first_index) {
    for (const ir::AccessDim& dim : made.op->attr<AttrKey::Access>().dims) {
      DimPlan plan{Number(dim.offset, *made.op), {}};
      for (const ir::AccessTerm& term : dim.terms)
        plan.terms.push_back(TermOf(made, term, first_index + term.operand));
      made.access->dims.push_back(std::move(plan));
    }
  }

  TermPlan TermOf(const Instruction& made, const ir::AccessTerm& term, size_t operand) {
    TermPlan plan{Number(term.coefficient, *made.op), operand,
                  made.op->operand(operand)->type()->scalar, made.operands[operand].index, -1};
    if (made.operands[operand].kind == SlotKind::Block) {
      plan.point_axis = Find(made.points->axes, made.op->operand(operand)->type()->axes[0]);
    }
    return plan;
  }

  SizeTable sizes_;
  const ir::Function& function_;
  const ir::Context& context_;
  const Symbols& symbols_;
  PrepareCallee callee_;
  Code& code_;
  std::unordered_map<const ir::Value*, Slot> slots_;
  std::optional<Failure> failure_;
};

Result<const Code*> PrepareFunction(const ir::Module& module, const ir::Function& function,
                                    const Symbols& symbols, Image& image) {
  auto [known, is_new] = image.codes.try_emplace(&function);
  if (!is_new) return static_cast<const Code*>(known->second.get());
  known->second = std::make_unique<Code>();
  Code& code = *known->second;
  auto callee = [&](Name name) -> Result<const Code*> {
    const ir::Function* called = module.FindFunction(name);
    KDL_CHECK(called, "'{}' calls '{}', which is not in the module", function.name.text(),
              name.text());
    return PrepareFunction(module, *called, symbols, image);
  };
  Status status =
      FunctionPreparer(function, module.context(), symbols, callee, code).PrepareFunction();
  if (!status.ok()) return status.failure();
  return static_cast<const Code*>(&code);
}

}  // namespace

Result<Image> Prepare(const ir::Module& module, const ir::Function& function,
                      const Symbols& symbols) {
  Image image;
  Result<const Code*> entry = PrepareFunction(module, function, symbols, image);
  if (!entry.ok()) return entry.failure();
  image.entry = *entry;
  return image;
}

}  // namespace kdl::interp
