#include <vector>

#include "codegen/llvm/workgroup/emitter.h"
#include "ir/views.h"
#include "kdl/workgroup_abi.h"
#include "support/scalar.h"

// Kernels print into a buffer that the host reads after the launch, as described in `include/kdl/workgroup_abi.h`.

namespace kdl::codegen {

namespace {

/// A printed value, and the sizes of the part of it that exists.
struct Printed {
  const ir::Value* value;
  std::vector<llvm::Value*> sizes;
};

std::vector<Printed> PrintedBy(WorkgroupEmitter& emitter, const ir::Op* op) {
  std::vector<Printed> all;
  auto sizes = op->Segment(ir::PrintOp::at_sizes);
  size_t next = 0;
  for (const ir::Value* value : op->Segment(ir::PrintOp::at_values)) {
    Printed& printed = all.emplace_back(Printed{value, {}});
    for (size_t d = 0; d < value->type()->dims.size(); ++d)
      printed.sizes.push_back(emitter.Get(sizes[next++]));
  }
  return all;
}

/// Writes 64-bit numbers to the print buffer, one after another.
class Writer {
 public:
  Writer(WorkgroupEmitter& emitter, const std::vector<Printed>& all)
      : emitter_(emitter), b_(emitter.builder) {
    for (const Printed& printed : all) Count(printed);
  }

  /// Reserves space in the print buffer, and returns whether there was enough.
  llvm::Value* Take() {
    constexpr auto kOrder = llvm::AtomicOrdering::Monotonic;
    llvm::Value* at = b_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, emitter_.prints, count_,
                                         llvm::Align(8), kOrder);
    llvm::Value* all = b_.CreateLoad(
        b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), emitter_.prints, 1));
    next_ = at;
    return b_.CreateICmpSLE(b_.CreateAdd(at, count_), all);
  }

  void Write(llvm::Value* number) {
    b_.CreateStore(number, b_.CreateGEP(b_.getInt64Ty(), emitter_.prints, next_));
    next_ = b_.CreateAdd(next_, b_.getInt64(1));
  }
  void Write(int64_t number) { Write(b_.getInt64(static_cast<uint64_t>(number))); }

  void WriteValue(const Printed& printed) {
    ir::Type type = printed.value->type();
    Write(ElementCode(type->scalar));
    Write(static_cast<int64_t>(printed.sizes.size()));
    for (llvm::Value* size : printed.sizes) Write(size);
    if (type->kind == ir::TypeKind::Buffer) {
      WriteElements(printed, emitter_.memories.at(printed.value).base, 0);
    } else {
      Write(Bits(emitter_.Get(printed.value)));
    }
  }

  llvm::Value* count() const { return count_; }

 private:
  void Count(const Printed& printed) {
    llvm::Value* elements = b_.getInt64(1);
    for (llvm::Value* size : printed.sizes) elements = b_.CreateMul(elements, size);
    count_ = b_.CreateAdd(count_, b_.CreateAdd(elements, b_.getInt64(2 + printed.sizes.size())));
  }

  /// Returns the value's bits, zero-extended to 8 bytes.
  llvm::Value* Bits(llvm::Value* value) {
    llvm::Type* bits = b_.getIntNTy(value->getType()->getScalarSizeInBits());
    return b_.CreateZExt(b_.CreateBitCast(value, bits), b_.getInt64Ty());
  }

  /// Writes the elements along dimension `d` and all inner dimensions, starting at `base`.
  void WriteElements(const Printed& printed, llvm::Value* base, size_t d) {
    llvm::Type* element = MemoryType(emitter_.context(), printed.value->type()->scalar);
    if (d == printed.sizes.size()) return Write(Bits(b_.CreateLoad(element, base)));
    llvm::BasicBlock* head = NewBlock(emitter_, "elements");
    llvm::BasicBlock* body = NewBlock(emitter_, "element");
    llvm::BasicBlock* done = NewBlock(emitter_, "printed");
    llvm::BasicBlock* before = b_.GetInsertBlock();
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    llvm::PHINode* index = b_.CreatePHI(b_.getInt64Ty(), 2);
    llvm::PHINode* at = b_.CreatePHI(b_.getInt64Ty(), 2);
    index->addIncoming(b_.getInt64(0), before);
    at->addIncoming(next_, before);
    next_ = at;
    b_.CreateCondBr(b_.CreateICmpSLT(index, printed.sizes[d]), body, done);
    b_.SetInsertPoint(body);
    llvm::Value* stride = emitter_.memories.at(printed.value).strides[d];
    WriteElements(printed, b_.CreateGEP(element, base, b_.CreateMul(index, stride)), d + 1);
    index->addIncoming(b_.CreateAdd(index, b_.getInt64(1)), b_.GetInsertBlock());
    at->addIncoming(next_, b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(done);
    next_ = at;
  }

  WorkgroupEmitter& emitter_;
  llvm::IRBuilder<>& b_;
  llvm::Value* count_ = b_.getInt64(kdl_workgroup_print);
  llvm::Value* next_ = nullptr;
};

}  // namespace

void EmitWorkgroupPrint(WorkgroupEmitter& emitter, ir::Op* op) {
  auto& builder = emitter.builder;
  std::vector<Printed> all = PrintedBy(emitter, op);
  Writer writer(emitter, all);
  llvm::BasicBlock* print = NewBlock(emitter, "print");
  llvm::BasicBlock* done = NewBlock(emitter, "printed");
  builder.CreateCondBr(writer.Take(), print, done);
  builder.SetInsertPoint(print);
  writer.Write(writer.count());
  writer.Write(LocationIndex(emitter.code, LocationOf(op, 0)));
  writer.Write(emitter.core_id);
  writer.Write(static_cast<int64_t>(all.size()));
  for (const Printed& printed : all) writer.WriteValue(printed);
  builder.CreateBr(done);
  builder.SetInsertPoint(done);
}

}  // namespace kdl::codegen
