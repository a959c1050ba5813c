#include <llvm/IR/IntrinsicsNVPTX.h>

#include "codegen/ptx/emitter.h"
#include "ir/lookup.h"
#include "ir/views.h"
#include "support/check.h"
#include "support/scalar.h"

// Emits asynchronous copies from global to shared memory. Those of a thread bypass the registers (`cp.async`); those
// that arrive at an mbarrier are in tensor_tiles.cpp. If shared memory is full,
// the buffer is in global memory, and a load and a store replace the copy.

namespace kdl::codegen::ptx {

namespace {

constexpr int64_t kCopyBytes = 16;

}  // namespace

void PtxEmitter::EmitAsyncCopy(ir::Op* op) {
  ir::AsyncCopyOp copy(op);
  if (copy.mbarriers()) return EmitSlotCopy(op);
  int64_t element_bytes = Bytes(copy.from()->type()->scalar);
  bool is_one_copy = copy.sizes().size() == 1 && ir::ConstantOf(copy.sizes()[0]) &&
                     *ir::ConstantOf(copy.sizes()[0]) * element_bytes == kCopyBytes;
  KDL_CHECK(is_one_copy, "an asynchronous copy of a thread must be 16 bytes long");
  llvm::Value* from = AccessAddress(*this, op, copy.from(), copy.index());
  const Memory& buffer = memories.at(copy.to());
  llvm::Value* offset = builder.getInt64(0);
  for (size_t d = 0; d < copy.place().size(); ++d)
    offset = builder.CreateAdd(offset, builder.CreateMul(Get(copy.place()[d]), buffer.strides[d]));
  llvm::Type* element = MemoryType(context(), copy.to()->type()->scalar);
  llvm::Value* to = builder.CreateInBoundsGEP(element, buffer.base, offset);
  if (to->getType()->getPointerAddressSpace() == kWorkgroup) {
    // LLVM's intrinsic supports only 64-bit addresses of shared memory, so inline PTX is used instead.
    EmitAsm(*this, "cp.async.cg.shared.global [$0], [$1], 16;", "r,l,~{memory}",
            {WorkgroupAddress(*this, to), builder.CreatePtrToInt(from, builder.getInt64Ty())});
    return;
  }
  llvm::Type* all = builder.getIntNTy(8 * kCopyBytes);
  llvm::Align align(kCopyBytes);
  builder.CreateAlignedStore(builder.CreateAlignedLoad(all, from, align), to, align);
}

void PtxEmitter::EmitAsyncCopyCommit() {
  builder.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_commit_group, {}, {});
}

void PtxEmitter::EmitAsyncCopyWait(ir::Op* op) {
  if (!op->HasAttr(ir::AttrKey::Ahead)) {
    builder.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_all, {}, {});
    return;
  }
  llvm::Value* groups = builder.getInt32(static_cast<uint32_t>(op->attr<ir::AttrKey::Ahead>()));
  builder.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_group, {}, {groups});
}

}  // namespace kdl::codegen::ptx
