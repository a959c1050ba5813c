#include <llvm/IR/IntrinsicsX86.h>

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/llvm/emitter.h"
#include "ir/op.h"
#include "ir/op_kind.h"
#include "kdl/kernel_abi.h"
#include "support/check.h"

// Ops that count the lanes that a mask selects, and move them to the front of a vector. AVX-512 has an instruction for
// this. AVX2 can only permute lanes: the mask is the number of a row of a table, which lists the selected lanes.
//
//   mask 0 1 0 1  ->  row 10: 1, 3, 0, 0

namespace kdl::codegen {

namespace {

constexpr unsigned kPieces = 8;  ///< the lanes of 32 bits that AVX2 permutes

/// Returns the mask as an integer with one bit for each lane.
llvm::Value* MaskBits(Emitter& emitter, llvm::Value* mask) {
  auto lanes = llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements();
  return emitter.builder.CreateBitCast(mask, emitter.builder.getIntNTy(lanes));
}

void EmitCountLanes(Emitter& emitter, ir::Op* op) {
  auto& builder = emitter.builder;
  llvm::Value* bits = MaskBits(emitter, emitter.Get(op->operand(0)));
  if (bits->getType()->getIntegerBitWidth() < 64)
    bits = builder.CreateZExt(bits, builder.getInt64Ty());
  llvm::Value* count = builder.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits);
  emitter.Set(op->result(), builder.CreateZExtOrTrunc(count, builder.getInt64Ty()));
}

/// Returns the row of the table for a mask: the numbers of the selected lanes, one in each byte. A lane consists of
/// `pieces` lanes of 32 bits.
uint64_t SelectedPieces(uint64_t mask, unsigned pieces) {
  uint64_t row = 0;
  unsigned place = 0;
  for (unsigned piece = 0; piece < kPieces; ++piece) {
    if ((mask >> (piece / pieces) & 1) != 0) row |= uint64_t{piece} << (8 * place++);
  }
  return row;
}

llvm::GlobalVariable* TableOfMasks(Emitter& emitter, unsigned pieces) {
  std::vector<uint64_t> rows;
  for (uint64_t mask = 0; mask < uint64_t{1} << (kPieces / pieces); ++mask)
    rows.push_back(SelectedPieces(mask, pieces));
  llvm::Constant* value = llvm::ConstantDataArray::get(emitter.context(), rows);
  auto* global = llvm::cast<llvm::GlobalVariable>(emitter.module.getOrInsertGlobal(
      "selected_lanes." + std::to_string(pieces), value->getType()));
  global->setConstant(true);
  global->setLinkage(llvm::GlobalValue::PrivateLinkage);
  global->setInitializer(value);
  global->setAlignment(llvm::Align(sizeof(uint64_t)));
  return global;
}

/// Returns a vector of i32 of another length that begins with the same elements.
llvm::Value* Resized(Emitter& emitter, llvm::Value* vector, unsigned length) {
  auto present = llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
  llvm::SmallVector<int, kPieces> taken;
  for (unsigned i = 0; i < length; ++i) taken.push_back(i < present ? static_cast<int>(i) : -1);
  return emitter.builder.CreateShuffleVector(vector, taken);
}

/// Compresses lanes of 32 or 64 bits with AVX2.
llvm::Value* CompressByTable(Emitter& emitter, llvm::Value* value, llvm::Value* mask) {
  auto& builder = emitter.builder;
  auto* type = llvm::cast<llvm::FixedVectorType>(value->getType());
  unsigned pieces = type->getScalarSizeInBits() / 32;
  unsigned length = type->getNumElements() * pieces;
  auto* words = llvm::FixedVectorType::get(builder.getInt32Ty(), length);
  llvm::Value* whole = Resized(emitter, builder.CreateBitCast(value, words), kPieces);
  llvm::Value* number = builder.CreateZExt(MaskBits(emitter, mask), builder.getInt64Ty());
  llvm::Value* address =
      builder.CreateInBoundsGEP(builder.getInt64Ty(), TableOfMasks(emitter, pieces), number);
  auto* bytes = llvm::FixedVectorType::get(builder.getInt8Ty(), kPieces);
  llvm::Value* row = builder.CreateAlignedLoad(bytes, address, llvm::Align(sizeof(uint64_t)));
  row = builder.CreateZExt(row, llvm::FixedVectorType::get(builder.getInt32Ty(), kPieces));
  llvm::Value* moved = builder.CreateIntrinsic(llvm::Intrinsic::x86_avx2_permd, {}, {whole, row});
  return builder.CreateBitCast(Resized(emitter, moved, length), type);
}

void EmitCompress(Emitter& emitter, ir::Op* op) {
  llvm::Value* value = emitter.Get(op->operand(ir::CompressOp::at_value));
  llvm::Value* mask = emitter.Get(op->operand(ir::CompressOp::at_mask));
  auto* type = llvm::cast<llvm::FixedVectorType>(value->getType());
  auto has = [&](int bit) { return (emitter.code.required_features >> bit & 1) != 0; };
  KDL_CHECK(has(KDL_FEATURE_BIT_X86_AVX2) && type->getScalarSizeInBits() >= 32,
            "the processor cannot compress lanes of {} bits", type->getScalarSizeInBits());
  llvm::Value* compressed =
      has(KDL_FEATURE_BIT_X86_AVX512VL)
          ? emitter.builder.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_compress, {type},
                                            {value, llvm::Constant::getNullValue(type), mask})
          : CompressByTable(emitter, value, mask);
  emitter.Set(op->result(), compressed);
}

}  // namespace

KDL_EMIT(CountLanes, EmitCountLanes)
KDL_EMIT(Compress, EmitCompress)

}  // namespace kdl::codegen
