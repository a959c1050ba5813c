#include <vector>

#include "codegen/cluster/emitter.h"
#include "ir/lookup.h"
#include "ir/views.h"
#include "support/check.h"

// Emits asynchronous copies of blocks of one or two dimensions, which the cluster's runtime carries out in the
// background. A row is a run of elements that are contiguous in both memories. If the tensor's elements are
// not contiguous, each element is its own row.

namespace kdl::codegen::cluster {

namespace {

/// Returns the distance in bytes between neighboring elements along the dimension.
llvm::Value* StrideBytes(Emitter& emitter, const ir::Value* memory, size_t dimension) {
  auto bytes = static_cast<uint64_t>(Bytes(memory->type()->scalar));
  llvm::Value* stride = emitter.memories.at(memory).strides[dimension];
  return emitter.builder.CreateMul(stride, emitter.builder.getInt64(bytes));
}

BlockCopy MakeCopy(Emitter& emitter, const ir::Op* op, const ir::CopyEnds& ends,
                   llvm::Value* global, llvm::Value* workgroup) {
  auto& builder = emitter.builder;
  const ir::NumberList along = op->attr<ir::AttrKey::Along>();
  std::span<ir::Value* const> sizes = op->Segment(ir::AsyncCopyOp::at_sizes);
  size_t rank = ends.tensor->type()->dims.size();
  size_t places = ends.buffer->type()->dims.size();
  llvm::Value* element =
      builder.getInt64(static_cast<uint64_t>(Bytes(ends.buffer->type()->scalar)));
  bool side_by_side = along.back() + 1 == static_cast<int64_t>(rank);
  KDL_CHECK(side_by_side || along.size() == 1,
            "a copy of several rows whose elements are not contiguous");
  bool one_row = side_by_side && along.size() == 1;
  llvm::Value* workgroup_stride =
      one_row ? builder.getInt64(0) : StrideBytes(emitter, ends.buffer, places - along.size());
  llvm::Value* global_stride =
      one_row ? builder.getInt64(0)
              : StrideBytes(emitter, ends.tensor, static_cast<size_t>(along.front()));
  return {
      .to = ends.in ? workgroup : global,
      .from = ends.in ? global : workgroup,
      .row_bytes = side_by_side ? builder.CreateMul(emitter.Get(sizes.back()), element) : element,
      .rows = one_row ? builder.getInt64(1) : emitter.Get(sizes.front()),
      .to_stride = ends.in ? workgroup_stride : global_stride,
      .from_stride = ends.in ? global_stride : workgroup_stride};
}

}  // namespace

void ClusterEmitter::EmitAsyncCopy(ir::Op* op) {
  ir::AsyncCopyOp copy(op);
  const ir::CopyEnds ends = ir::CopyEndsOf(op);
  llvm::Value* global = AccessAddress(*this, op, ends.tensor, copy.index());
  llvm::Value* workgroup = PlaceAddress(*this, ends.buffer, copy.place());
  BeginCopy(MakeCopy(*this, op, ends, global, workgroup));
}

/// Waits for all copies into or out of each buffer's memory, or that of its slot.
void ClusterEmitter::EmitAsyncCopyWait(ir::Op* op) {
  ir::AsyncCopyWaitOp wait(op);
  std::vector<ir::Value*> buffers(wait.buffers().begin(), wait.buffers().end());
  buffers.insert(buffers.end(), wait.sources().begin(), wait.sources().end());
  for (const ir::Value* buffer : buffers) {
    llvm::Value* workgroup = memories.at(buffer).base;
    int64_t size = SizeInBytes(buffer->type());
    if (wait.slot()) size /= buffer->type()->dims[0]->value;
    llvm::Value* bytes = builder.getInt64(static_cast<uint64_t>(size));
    if (wait.slot()) {
      llvm::Value* offset = builder.CreateMul(Get(wait.slot()), bytes);
      workgroup = builder.CreateGEP(builder.getInt8Ty(), workgroup, offset);
    }
    AwaitCopies(workgroup, bytes);
  }
}

}  // namespace kdl::codegen::cluster
