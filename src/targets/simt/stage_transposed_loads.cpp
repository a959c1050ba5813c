#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "proofs/proofs.h"
#include "targets/simt/passes.h"

// stage-transposed-loads: moves a load of columns out of an elementwise loop that walks rows, into a loop of its own that
// walks the tensor's rows. So adjacent threads load and store adjacent elements, and only workgroup memory is read by
// columns.
//
//   elementwise (%c in %bc, %r in %br) { %e = load %x[%r, %c] ; store %e to %y[%c, %r] }
//   ->
//   %t = elementwise (%r in %br, %c in %bc) { %e = load %x[%r, %c] ; yield %e } : tile<f32; r c>
//   elementwise (%c in %bc, %r in %br) { %e = element %t at (%r, %c) ; store %e to %y[%c, %r] }

namespace kdl::simt {

namespace {

using ir::AttrKey;

// The largest tile, so that the tiles of several workgroups fit on a multiprocessor.
constexpr int64_t kMostBytes = 16 << 10;

class LoadStager {
 public:
  LoadStager(PassContext& context, ir::Function& kernel, Op* elementwise)
      : kernel_(kernel), elementwise_(elementwise), b_(context.module) {}

  void StageLoads() {
    // A loop that makes a tile is left alone: tiles have layouts of their own, such as those of products' factors.
    bool only_stores = elementwise_->results().empty() && !elementwise_->HasAttr(AttrKey::Map);
    if (elementwise_->operands().size() != 2 || !only_stores) return;
    std::vector<Op*> loads;
    for (Op* op : *elementwise_->region()) {
      if (op->kind() == OpKind::Load && IsTransposed(op) && Bytes(op) <= kMostBytes)
        loads.push_back(op);
    }
    for (Op* load : loads) Stage(load);
  }

 private:
  Value* row() const { return elementwise_->region()->param(1); }     // of the tensor
  Value* column() const { return elementwise_->region()->param(0); }  // of the tensor
  AxisId AxisOf(size_t operand) const { return elementwise_->operand(operand)->type()->axes[0]; }

  int64_t Bytes(const Op* load) const {
    int64_t bytes = kdl::Bytes(load->result()->type()->scalar);
    for (size_t i : {0, 1}) bytes *= kernel_.axis(AxisOf(i)).extent->value;
    return bytes;
  }

  /// Returns whether the loop's first index walks along rows of the tensor, and its last one from row to row.
  bool IsTransposed(const Op* load) const {
    bool is_plain = !MayTrap(load) && load->Segment(ir::LoadOp::at_otherwise).empty() &&
                    load->Segment(ir::LoadOp::at_mask).empty() &&
                    proofs::IsInput(load->operand(ir::LoadOp::at_tensor));
    const ir::Access access = load->attr<AttrKey::Access>();
    if (!is_plain || access.dims.size() < 2) return false;
    int rows = 0;
    int columns = 0;
    for (size_t d = 0; d < access.dims.size(); ++d) {
      bool is_last = d + 1 == access.dims.size();
      for (const ir::AccessTerm& term : access.dims[d].terms) {
        const Value* index = IndexOf(load)[term.operand];
        bool is_adjacent = is_last && IsConstant(term.coefficient, 1);
        if (index == column() && is_adjacent) {
          ++columns;
        } else if (index == row() && !is_last) {
          ++rows;
        } else if (IsInside(index, elementwise_)) {
          return false;
        }
      }
    }
    return rows == 1 && columns == 1;
  }

  void Stage(Op* load) {
    b_.StandAt(elementwise_);
    b_.set_loc(load->loc());
    std::vector<Value*> blocks = {elementwise_->operand(1), elementwise_->operand(0)};
    ir::Type type = b_.types().Tile(load->result()->type()->scalar, {AxisOf(1), AxisOf(0)});
    Op* loop = b_.Create(OpKind::Elementwise, {blocks}, {type});
    ir::ValueMap map;
    for (Value* index : {row(), column()})
      map[index] = b_.AddParam(loop->region(), index->type(), index->name());
    FillRegion(b_, loop->region(), [&] {
      ir::Clone(load, b_, map);
      return Values{Mapped(map, load->result())};
    });
    loop->result()->set_name(load->result()->name());
    b_.StandAt(load);
    // The axes of a tile's type have an order of their own, so the first one may be that of columns.
    bool is_row_first = loop->result()->type()->axes[0] == AxisOf(1);
    std::vector<Value*> point = {is_row_first ? row() : column(), is_row_first ? column() : row()};
    Op* element = b_.Create(OpKind::Element, {{loop->result()}, point}, {load->result()->type()});
    load->result()->ReplaceAllUsesWith(element->result());
    ir::Erase(load);
  }

  ir::Function& kernel_;
  Op* elementwise_;
  ir::Builder b_;
};

}  // namespace

void RunStageTransposedLoads(PassContext& context, ir::Function& kernel) {
  for (Op* op : OpsOfKind(kernel, OpKind::Elementwise))
    LoadStager(context, kernel, op).StageLoads();
}

}  // namespace kdl::simt
