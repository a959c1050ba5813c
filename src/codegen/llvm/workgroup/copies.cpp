#include "codegen/llvm/workgroup/emitter.h"
#include "support/check.h"

// Copies blocks of one or two dimensions. A row is a run of elements that are contiguous in both memories. If
// the tensor's elements are not contiguous, each element is its own row.

namespace kdl::codegen {

namespace {

/// Returns the distance in bytes between neighboring elements along the dimension.
llvm::Value* StrideBytes(WorkgroupEmitter& emitter, const ir::Value* memory, size_t dimension) {
  auto bytes = static_cast<uint64_t>(Bytes(memory->type()->scalar));
  llvm::Value* stride = emitter.memories.at(memory).strides[dimension];
  return emitter.builder.CreateMul(stride, emitter.builder.getInt64(bytes));
}

struct CopyEnds {
  const ir::Value* tensor;
  const ir::Value* buffer;
  llvm::Value* global;
  llvm::Value* workgroup;
};

BlockCopy MakeCopy(WorkgroupEmitter& emitter, const ir::Op* op, const CopyEnds& ends,
                   std::span<ir::Value* const> sizes, bool in) {
  auto& builder = emitter.builder;
  const ir::NumberList along = op->attr<ir::AttrKey::Along>();
  size_t rank = ends.tensor->type()->dims.size();
  size_t places = ends.buffer->type()->dims.size();
  llvm::Value* element =
      builder.getInt64(static_cast<uint64_t>(Bytes(ends.buffer->type()->scalar)));
  bool side_by_side = along.back() + 1 == static_cast<int64_t>(rank);
  KDL_CHECK(side_by_side || along.size() == 1,
            "a tile copy of several rows whose elements are not contiguous");
  bool one_row = side_by_side && along.size() == 1;
  llvm::Value* workgroup_stride =
      one_row ? builder.getInt64(0) : StrideBytes(emitter, ends.buffer, places - along.size());
  llvm::Value* global_stride =
      one_row ? builder.getInt64(0)
              : StrideBytes(emitter, ends.tensor, static_cast<size_t>(along.front()));
  return {
      .to = in ? ends.workgroup : ends.global,
      .from = in ? ends.global : ends.workgroup,
      .row_bytes = side_by_side ? builder.CreateMul(emitter.Get(sizes.back()), element) : element,
      .rows = one_row ? builder.getInt64(1) : emitter.Get(sizes.front()),
      .to_stride = in ? workgroup_stride : global_stride,
      .from_stride = in ? global_stride : workgroup_stride};
}

/// Returns the size in bytes of a whole buffer, or of the part that one value of its first index selects.
llvm::Value* PartBytes(WorkgroupEmitter& emitter, const ir::Value* buffer, bool whole) {
  int64_t bytes = SizeInBytes(buffer->type());
  if (!whole) bytes /= buffer->type()->dims[0]->value;
  return emitter.builder.getInt64(static_cast<uint64_t>(bytes));
}

}  // namespace

void WorkgroupEmitter::BeginCopy(const BlockCopy&) {
  KDL_UNREACHABLE("this machine has no tile copies");
}
void WorkgroupEmitter::AwaitCopies(llvm::Value*, llvm::Value*) {
  KDL_UNREACHABLE("this machine has no tile copies");
}

void EmitCopyIn(WorkgroupEmitter& emitter, ir::Op* op) {
  ir::CopyInOp copy(op);
  CopyEnds ends{copy.tensor(), copy.buffer(),
                AccessAddress(emitter, op, copy.tensor(), copy.index()),
                PlaceAddress(emitter, copy.buffer(), copy.place())};
  emitter.BeginCopy(MakeCopy(emitter, op, ends, copy.sizes(), /*in=*/true));
}

void EmitCopyOut(WorkgroupEmitter& emitter, ir::Op* op) {
  ir::CopyOutOp copy(op);
  CopyEnds ends{copy.tensor(), copy.buffer(),
                AccessAddress(emitter, op, copy.tensor(), copy.index()),
                PlaceAddress(emitter, copy.buffer(), copy.place())};
  emitter.BeginCopy(MakeCopy(emitter, op, ends, copy.sizes(), /*in=*/false));
  emitter.AwaitCopies(emitter.memories.at(copy.buffer()).base,
                      PartBytes(emitter, copy.buffer(), /*whole=*/true));
}

void EmitAwaitCopies(WorkgroupEmitter& emitter, ir::Op* op) {
  auto& builder = emitter.builder;
  ir::AwaitCopiesOp await(op);
  llvm::Value* workgroup = emitter.memories.at(await.buffer()).base;
  llvm::Value* bytes = PartBytes(emitter, await.buffer(), await.part().empty());
  if (!await.part().empty()) {
    llvm::Value* offset = builder.CreateMul(emitter.Get(await.part()[0]), bytes);
    workgroup = builder.CreateGEP(builder.getInt8Ty(), workgroup, offset);
  }
  emitter.AwaitCopies(workgroup, bytes);
}

// CPU cores have no block copies, since they have caches.
KDL_EMIT(CopyIn, [](Emitter&, ir::Op*) { KDL_UNREACHABLE("cores have no tile copies"); })
KDL_EMIT(CopyOut, [](Emitter&, ir::Op*) { KDL_UNREACHABLE("cores have no tile copies"); })
KDL_EMIT(AwaitCopies, [](Emitter&, ir::Op*) { KDL_UNREACHABLE("cores have no tile copies"); })

}  // namespace kdl::codegen
