#include <algorithm>
#include <bit>
#include <optional>
#include <set>
#include <unordered_set>
#include <vector>

#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/rewriting/block_loops.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "proofs/proofs.h"
#include "targets/simt/passes.h"
#include "targets/simt/reduce_blocks_together.h"
#include "targets/simt/store_blocks_together.h"

// keep-rows: loads a long row that several loops read into workgroup memory, if it fits there, so that it is read only
// once from global memory. The rows of a block are then handled one after the other. A workgroup has too many threads for
// a short row, so several short rows are still handled at once.
//
//   loop %c in 0 .. %C step 256 { … elementwise (%i in %r, %j in …) { … load %x[%i, %j] … } … }
//   loop %c in 0 .. %C step 256 { … elementwise (%i in %r, %j in …) { … load %x[%i, %j] … } … }
//   ->
//   if 4096 <= %C and %C <= 8192 {                         and the same for 8193 .. 16384, with more memory
//     loop %n in 0 .. size(r) {
//       %r.1 = make_block start(r) + %n, 1, … : block<r.1>
//       %row = elementwise (%j in %all) { yield load %x[start(r) + %n, %j] } : tile<f32; all>
//       loop %c in 0 .. %C step 256 { … elementwise (%i in %r.1, %j in …) { … element %row at (%j) … } … }
//       loop %c in 0 .. %C step 256 { … elementwise (%i in %r.1, %j in …) { … element %row at (%j) … } … } }
//   } else { … as before }

namespace kdl::simt {

namespace {

// The workgroup memory for rows. Six workgroups fit on a multiprocessor of 228 KiB, and four on one of 164 KiB: while
// some of them load their rows, others compute. Launches with longer rows have twice as much if three workgroups fit. With
// one or two, there are too few threads to hide latency: rows of 32768 columns that are read from global memory again are
// faster (softmax in tests/gpu/NOTES.md).
constexpr int64_t kKeptRowBytes = 32 << 10;
constexpr int64_t kLeastWorkgroups = 3;
constexpr int64_t kSumBytes = 12 << 10;  // for the sums of reductions
// A row is long if each of 128 threads has 32 elements of it. Between rows, threads wait at several barriers.
constexpr int64_t kLongRow = 4096;
// If reductions have shorter blocks, their sums need more memory than is left of a sixth of a multiprocessor.
constexpr int64_t kLeastBlock = 512;

/// The loads of one row of a tensor at the points of elementwise loops.
struct Row {
  Value* tensor;
  std::vector<Value*> blocks;  ///< the blocks that index all dimensions but the last
  std::vector<Op*> loads;
};

/// Returns the block along which a parameter of an elementwise loop runs, or null for other values.
Value* BlockOfParam(const Value* index, const Op* elementwise) {
  bool is_own = !index->def() && index->parent_region() == elementwise->region();
  return is_own ? elementwise->operand(index->index()) : nullptr;
}

/// If the load reads `tensor[%i, …, %j]` at the point (%i, …, %j) of an elementwise loop, and the blocks cover the
/// dimensions of the tensor, returns these blocks. Otherwise returns nothing.
std::vector<Value*> BlocksOfPoint(const ir::Function& kernel, const Op* load) {
  const Op* elementwise = load->parent_region()->parent();
  ir::LoadOp view(const_cast<Op*>(load));
  if (!elementwise || elementwise->kind() != OpKind::Elementwise || MayTrap(load) ||
      view.otherwise() || view.mask())
    return {};
  const ir::Access access = load->attr<AttrKey::Access>();
  std::vector<Value*> blocks;
  for (size_t d = 0; d < access.dims.size(); ++d) {
    const ir::AccessDim& dim = access.dims[d];
    if (dim.terms.size() != 1 || !IsConstant(dim.terms[0].coefficient, 1) ||
        !IsConstant(dim.offset, 0))
      return {};
    Value* block = BlockOfParam(view.index()[dim.terms[0].operand], elementwise);
    bool covers =
        block && kernel.axis(block->type()->axes[0]).domain == view.tensor()->type()->dims[d];
    if (!covers || Contains(blocks, block)) return {};
    blocks.push_back(block);
  }
  return blocks;
}

/// Returns whether the op has no effect, and does not trap.
bool IsFree(const Op* op) {
  bool is_free = op->info().has(ir::kPure) || op->info().has(ir::kElementwise) ||
                 op->info().has(ir::kTerminator);
  return is_free && op->regions().empty() && !MayTrap(op);
}

/// The ops of a block of an spmd. Those that compute which blocks there are, and which one comes next, are not part of
/// `body`.
class SpmdBlock {
 public:
  SpmdBlock(const ir::Function& kernel, Op* loop) : kernel_(kernel), loop_(loop) {}

  /// Returns the rows that several loops read, if their blocks can be handled one row after the other.
  std::vector<Row> RowsReadAgain() {
    std::vector<Row> rows;
    for (Op* load : OpsIn(loop_->region(), [](const Op* op) { return op->kind() == OpKind::Load; }))
      AddLoad(load, rows);
    std::erase_if(rows, [&](const Row& row) { return !IsReadAgain(row); });
    if (rows.empty()) return {};
    blocks_ = rows[0].blocks;
    std::erase_if(rows, [&](const Row& row) { return row.blocks != blocks_; });
    return FindBody() && std::ranges::all_of(body_, [&](Op* op) { return IsRowwise(op); })
               ? rows
               : std::vector<Row>();
  }

  Op* loop() const { return loop_; }
  const std::vector<Value*>& blocks() const { return blocks_; }
  const std::vector<Op*>& body() const { return body_; }

  /// Returns whether the body uses nothing that an iteration of the loop makes but the blocks of the rows.
  bool UsesOnlyRows() const {
    auto is_known = [&](Value* value) {
      bool is_of_body = value->def() && Contains(body_, value->def());
      return ir::MadeIn(value) != loop_->region() || is_of_body || Contains(blocks_, value);
    };
    return std::ranges::all_of(
        body_, [&](const Op* op) { return std::ranges::all_of(OutsideOperands(op), is_known); });
  }

  /// Returns whether no op outside of the loop accesses the tensors that its blocks write. Then it does not matter which core
  /// handles a row. It would matter to a loop over the same domain, which may read the row without a `sync`.
  bool WritesForItself() const {
    std::set<const Value*> written;
    ir::Walk(loop_->region(), [&](const Op* op) {
      if (op->kind() == OpKind::Store)
        written.insert(ir::MemoryOf(op->operand(ir::StoreOp::at_tensor)));
    });
    return !ir::AnyBelow(kernel_.body, [&](const Op* op) {
      return !IsInside(op, loop_) && std::ranges::any_of(op->operands(), [&](const Value* operand) {
        return operand->type()->kind == ir::TypeKind::Tensor &&
               written.contains(ir::MemoryOf(operand));
      });
    });
  }

 private:
  void AddLoad(Op* load, std::vector<Row>& rows) const {
    std::vector<Value*> blocks = BlocksOfPoint(kernel_, load);
    Value* tensor = load->operand(ir::LoadOp::at_tensor);
    if (blocks.size() < 2 || !proofs::IsInput(tensor)) return;
    blocks.pop_back();
    bool are_of_spmd = std::ranges::all_of(blocks, [&](const Value* block) {
      return block->def() && block->def()->parent_region() == loop_->region();
    });
    if (!are_of_spmd) return;
    auto same = std::ranges::find_if(
        rows, [&](const Row& row) { return row.tensor == tensor && row.blocks == blocks; });
    if (same == rows.end()) same = rows.insert(rows.end(), {tensor, blocks, {}});
    same->loads.push_back(load);
  }

  /// Returns whether several loops read the row, in long blocks.
  bool IsReadAgain(const Row& row) const {
    std::set<const Value*> columns;
    for (const Op* load : row.loads) {
      const ir::AccessDim last = load->attr<AttrKey::Access>().dims.back();
      columns.insert(
          BlockOfParam(IndexOf(load)[last.terms[0].operand], load->parent_region()->parent()));
    }
    return columns.size() > 1 && std::ranges::all_of(columns, [&](const Value* block) {
             return kernel_.axis(block->type()->axes[0]).extent->value >= kLeastBlock;
           });
  }

  /// Finds the ops of the body. Returns false if some of them also determine the next block.
  bool FindBody() {
    std::unordered_set<const Op*> others;
    std::vector<const Op*> open = {loop_->region()->terminator()};
    for (const Value* block : blocks_) open.push_back(block->def());
    while (!open.empty()) {
      const Op* op = open.back();
      open.pop_back();
      if (op->parent_region() != loop_->region() || !others.insert(op).second) continue;
      if (!IsFree(op)) return false;
      for (const Value* operand : op->operands()) {
        if (operand->def()) open.push_back(operand->def());
      }
    }
    for (Op* op : *loop_->region()) {
      if (!others.contains(op)) body_.push_back(op);
    }
    return true;
  }

  bool IsOfRows(AxisId axis) const {
    return std::ranges::any_of(blocks_,
                               [&](const Value* block) { return block->type()->axes[0] == axis; });
  }

  /// Returns whether the op, and each op in it, treats each row on its own.
  bool IsRowwise(const Op* op) const {
    for (const ir::Region* region : op->regions()) {
      for (const Op* inner : *region) {
        if (!IsRowwise(inner)) return false;
      }
    }
    if (MayTrap(op)) return false;
    bool reduces_rows =
        op->HasAttr(AttrKey::Axes) &&
        std::ranges::any_of(op->attr<AttrKey::Axes>(), [&](AxisId axis) { return IsOfRows(axis); });
    bool reads_block =
        op->kind() != OpKind::Elementwise &&
        std::ranges::any_of(op->operands(), [&](Value* value) { return Contains(blocks_, value); });
    if (reduces_rows || reads_block) return false;
    switch (op->kind()) {
      case OpKind::Elementwise:
      case OpKind::Loop:
      case OpKind::If:
        return true;
      case OpKind::Load:
        return !op->HasAttr(AttrKey::Copied) && proofs::IsInput(op->operand(ir::LoadOp::at_tensor));
      case OpKind::Store: {
        const Op* elementwise = Around(op, OpKind::Elementwise);
        return elementwise && std::ranges::all_of(blocks_, [&](Value* block) {
                 return Contains(elementwise->operands(), block);
               });
      }
      case OpKind::Contraction:
        return op->result()->type()->axes.size() <= 1;
      case OpKind::Element:
        return ReadsOwnRow(op);
      default:
        return IsFree(op);
    }
  }

  bool ReadsOwnRow(const Op* element) const {
    const Op* elementwise = Around(element, OpKind::Elementwise);
    const AxisList& axes = element->operand(0)->type()->axes;
    auto point = element->Segment(ir::ElementOp::at_point);
    for (size_t i = 0; i < axes.size(); ++i) {
      if (!IsOfRows(axes[i])) continue;
      const Value* block = BlockOfParam(point[i], elementwise);
      if (!block || block->type()->axes[0] != axes[i]) return false;
    }
    return true;
  }

  const ir::Function& kernel_;
  Op* loop_;
  std::vector<Value*> blocks_;  ///< the blocks of the rows
  std::vector<Op*> body_;
};

class RowKeeper {
 public:
  RowKeeper(ir::Module& module, ir::Function& kernel, const SpmdBlock& block,
            const std::vector<Row>& rows)
      : kernel_(kernel), block_(block), rows_(rows), b_(module) {}

  /// Emits versions of the block for rows that fit into `kKeptRowBytes`, into twice as many bytes, and so on up to
  /// `most_bytes`. Returns the bytes of workgroup memory that they need together, which are at most `room`.
  int64_t KeepRows(int64_t most_bytes, int64_t room) {
    int64_t needed = 0;
    std::vector<int64_t> lengths;
    for (int64_t bytes = kKeptRowBytes; bytes <= most_bytes; bytes *= 2) {
      if (MostColumns(bytes) < kLongRow || needed + bytes + kSumBytes > room) continue;
      needed += bytes + kSumBytes;
      lengths.push_back(MostColumns(bytes));
    }
    if (!lengths.empty()) EmitVersions(lengths);
    return needed;
  }

 private:
  /// Emits a version of the block for each of the lengths, which rows of the version have at most. Longer rows and short ones
  /// are not kept.
  void EmitVersions(const std::vector<int64_t>& lengths) {
    bool has_own_blocks = block_.loop()->results().empty() && block_.blocks().size() == 1 &&
                          block_.UsesOnlyRows() && block_.WritesForItself();
    b_.StandAt(has_own_blocks ? block_.loop() : block_.loop()->region()->terminator());
    for (const Value* block : block_.blocks()) {
      AxisId axis = block->type()->axes[0];
      one_row_.Set(axis, NewAxis(kernel_.axis(axis), 1));
    }
    if (has_own_blocks) NoteBusyCores();
    ir::Region* others = nullptr;
    int64_t least = kLongRow;
    for (int64_t most : lengths) {
      Op* branch = passes::MakeBranch(b_, AreBetween(least, most));
      b_.SetInsertionPoint(branch->region(0)->terminator());
      has_own_blocks ? RowsOfCore(most) : RowsOfBlock(most);
      others = branch->region(1);
      b_.SetInsertionPoint(others->terminator());
      least = most + 1;
    }
    if (has_own_blocks) return MoveInto(others, block_.loop());
    for (Op* op : block_.body()) MoveInto(others, op);
  }

  static Size Columns(const Row& row) { return row.tensor->type()->dims.back(); }

  /// Returns how many columns rows with so many bytes have at most.
  int64_t MostColumns(int64_t bytes) const {
    int64_t of_column = 0;
    for (const Row& row : rows_) of_column += Bytes(row.tensor->type()->scalar);
    return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes / of_column)));
  }

  AxisId NewAxis(ir::Axis like, int64_t extent) {
    like.extent = b_.types().sizes().Constant(extent);
    return kernel_.AddAxis(like);
  }

  /// Emits the condition that the rows have at least and at most so many columns.
  Value* AreBetween(int64_t least, int64_t most) {
    Value* all = nullptr;
    for (const Row& row : rows_) {
      Value* columns = b_.SizeValue(Columns(row));
      Value* is_long = b_.Le(b_.I64(least), columns);
      Value* fits = b_.Le(columns, b_.I64(most));
      fits = b_.And(is_long, fits);
      all = all ? b_.And(all, fits) : fits;
    }
    return all;
  }

  /// Notes that as many cores can be busy as there are rows.
  void NoteBusyCores() {
    if (OpsOfKind(kernel_, OpKind::BusyCores).empty()) return;
    ir::Builder b(b_.module(), kernel_.body->first());
    Size rows = kernel_.axis(block_.blocks()[0]->type()->axes[0]).domain;
    b.Create(OpKind::BusyCores, {}, {}, {ir::MakeAttr<AttrKey::Size>(rows)});
  }

  /// Emits a loop over consecutive rows for each core. The cores' numbers of rows differ by at most one, unlike those of
  /// whole blocks.
  void RowsOfCore(int64_t columns) {
    Size rows = kernel_.axis(block_.blocks()[0]->type()->axes[0]).domain;
    Value* core = b_.CoreId();
    Value* all = b_.SizeValue(rows);
    passes::CoreShare share = passes::CoreShareOf(b_, core, all, b_.CoreNum());
    passes::MakeLoop(b_, {share.begin, share.end}, [&](Value* index) {
      b_.region()->parent()->SetAttr(ir::MakeAttr<AttrKey::Blocks>(1));
      OneRow({index}, columns);
    });
  }

  void RowsOfBlock(int64_t columns) {
    Values sizes;
    for (Value* block : block_.blocks()) sizes.push_back(b_.BlockSize(block));
    MakeLoops(b_, sizes, [&](const Values& places) {
      Values indices;
      for (size_t i = 0; i < places.size(); ++i)
        indices.push_back(b_.Add(b_.BlockStart(block_.blocks()[i]), places[i]));
      OneRow(indices, columns);
    });
  }

  void OneRow(const Values& indices, int64_t columns) {
    // The next row is not fetched ahead: other workgroups load while this one computes.
    b_.region()->parent()->SetAttr(ir::MakeAttr<AttrKey::Ahead>(0));
    ir::ValueMap map;
    for (size_t i = 0; i < indices.size(); ++i) {
      Value* block = block_.blocks()[i];
      ir::Type type = b_.types().Block(one_row_.Replaced(block->type()->axes[0]));
      map[block] = b_.Make(OpKind::MakeBlock, {indices[i], b_.I64(1), indices[i]}, type);
    }
    Values kept;
    for (const Row& row : rows_) {
      AxisId axis = NewAxis({{}, nullptr, Columns(row), {}}, columns);
      kept.push_back(LoadRow(row, axis, indices));
    }
    for (const Op* op : block_.body()) {
      Op* copy = ir::Clone(op, b_, map);
      one_row_.Retype(b_.types(), copy);
    }
    for (size_t i = 0; i < rows_.size(); ++i) {
      for (const Op* load : rows_[i].loads) ReadKept(map.at(load->result())->def(), kept[i]);
    }
  }

  /// Emits a load of the row at these indices.
  Value* LoadRow(const Row& row, AxisId axis, const Values& indices) {
    Value* columns = b_.SizeValue(Columns(row));
    Value* zero = b_.I64(0);
    Value* block = b_.Make(OpKind::MakeBlock, {zero, columns, zero}, b_.types().Block(axis));
    ir::Type type = b_.types().Tile(row.tensor->type()->scalar, {axis});
    Op* loop = b_.Create(OpKind::Elementwise, {{block}}, {type});
    Value* column = b_.AddParam(loop->region(), b_.I64Type(), {});
    FillRegion(b_, loop->region(), [&] {
      const Op* like = row.loads[0];
      const ir::Access access = like->attr<AttrKey::Access>();
      ir::ValueMap map;
      for (size_t d = 0; d < access.dims.size(); ++d)
        map[IndexOf(like)[access.dims[d].terms[0].operand]] =
            d < indices.size() ? indices[d] : column;
      Op* load = ir::Clone(like, b_, map);
      load->SetAttr(ir::MakeAttr<AttrKey::BoundsMode>(ir::BoundsMode::Proven));
      return Values{load->result()};
    });
    loop->result()->set_name(row.tensor->name());
    return loop->result();
  }

  /// Replaces a load by the element of the row.
  void ReadKept(Op* load, Value* row) {
    ir::Builder b(b_.module(), load);
    const ir::AccessDim last = load->attr<AttrKey::Access>().dims.back();
    Value* column = IndexOf(load)[last.terms[0].operand];
    Op* element = b.Create(OpKind::Element, {{row}, {column}}, {load->result()->type()});
    load->result()->ReplaceAllUsesWith(element->result());
    ir::Erase(load);
  }

  ir::Function& kernel_;
  const SpmdBlock& block_;
  const std::vector<Row>& rows_;
  ir::Builder b_;
  OtherAxes one_row_;  ///< maps the axes of rows to axes of a single row
};

}  // namespace

void RunKeepRows(PassContext& context, ir::Function& kernel) {
  const SimtFacts& facts = SimtFactsOf(context);
  if (facts.multiprocessor_bytes == 0 || facts.copy_bytes == 0) return;
  int64_t most_bytes =
      std::max(kKeptRowBytes, facts.multiprocessor_bytes / kLeastWorkgroups - kSumBytes);
  // Although a launch uses only one version, buffers that do not fit together would be in global memory.
  int64_t room = facts.workgroup_bytes;
  for (Op* loop : OpsOfKind(kernel, OpKind::Loop)) {
    if (!loop->HasAttr(AttrKey::Blocks)) continue;
    SpmdBlock block(kernel, loop);
    std::vector<Row> rows = block.RowsReadAgain();
    if (!rows.empty())
      room -= RowKeeper(context.module, kernel, block, rows).KeepRows(most_bytes, room);
  }
  ReduceBlocksTogether(context.module, kernel);
  StoreBlocksTogether(context.module, kernel);
}

}  // namespace kdl::simt
