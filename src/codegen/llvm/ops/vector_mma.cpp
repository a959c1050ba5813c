#include <fmt/format.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <string>

#include "codegen/llvm/ops/vector_mma.h"
#include "ir/op_info.h"
#include "ir/views.h"
#include "support/check.h"
#include "support/scalar.h"

// The steps of units that are an instruction of the processor.

namespace kdl::codegen {

const StepInstruction& InstructionOf(const Emitter& emitter, const ir::Op* op) {
  std::string_view instruction = op->attr<ir::AttrKey::Instruction>().text();
  auto found = std::ranges::find_if(emitter.code.steps, [&](const StepInstruction& row) {
    return row.instruction == instruction;
  });
  KDL_CHECK(found != emitter.code.steps.end(), "'{}' is no instruction here", instruction);
  return *found;
}

namespace {

constexpr int64_t kLeastBits = 128;  // of the instruction's accumulators

/// With as many lanes; what is added is anything.
llvm::Value* Lengthened(Emitter& emitter, llvm::Value* value, int64_t lanes) {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  auto& builder = emitter.builder;
  if (!type) {
    auto* longer = llvm::FixedVectorType::get(value->getType(), static_cast<unsigned>(lanes));
    return builder.CreateInsertElement(llvm::PoisonValue::get(longer), value, uint64_t{0});
  }
  if (type->getNumElements() == lanes) return value;
  llvm::SmallVector<int, 16> taken(static_cast<size_t>(lanes), -1);
  std::iota(taken.begin(), taken.begin() + type->getNumElements(), 0);
  return builder.CreateShuffleVector(value, taken);
}

llvm::Value* Shortened(Emitter& emitter, llvm::Value* value, int64_t lanes) {
  auto* type = llvm::cast<llvm::FixedVectorType>(value->getType());
  auto& builder = emitter.builder;
  if (lanes == 1) return builder.CreateExtractElement(value, uint64_t{0});
  if (type->getNumElements() == lanes) return value;
  llvm::SmallVector<int, 16> taken(static_cast<size_t>(lanes));
  std::iota(taken.begin(), taken.end(), 0);
  return builder.CreateShuffleVector(value, taken);
}

/// What an instruction takes of a step's factors: so many terms, of parts of the step the one with the number.
struct Part {
  int64_t terms;
  int64_t parts = 1;
  int64_t number = 0;
};

/// Factors step by step, one an element: as many as there are lanes, or the same one in each.
llvm::Value* Steps(Emitter& emitter, const ir::Value* factors, Part part, int64_t lanes) {
  auto& builder = emitter.builder;
  int64_t bits = 8 * Bytes(factors->type()->scalar) * part.terms;
  llvm::Type* type = builder.getIntNTy(static_cast<unsigned>(bits));
  int64_t all = ir::Lanes(factors->type()) / part.terms;
  if (all > 1) type = llvm::FixedVectorType::get(type, static_cast<unsigned>(all));
  llvm::Value* value = builder.CreateBitCast(emitter.Get(factors), type);
  int64_t steps = all / part.parts;
  if (part.parts > 1 && steps == 1)
    value = builder.CreateExtractElement(value, static_cast<uint64_t>(part.number));
  if (part.parts > 1 && steps > 1) {
    llvm::SmallVector<int, 16> taken;
    for (int64_t step = 0; step < steps; ++step)
      taken.push_back(static_cast<int>(step * part.parts + part.number));
    value = builder.CreateShuffleVector(value, taken);
  }
  return steps == 1 ? Splat(emitter, value, lanes) : value;
}

/// The one for so many bits of accumulators.
llvm::Intrinsic::ID IntrinsicOf(const StepInstruction& instruction, int64_t bits) {
  std::string name = fmt::format("{}.{}", instruction.intrinsic, bits);
  if (instruction.intrinsic.empty())
    name =
        instruction
            .sums[static_cast<size_t>(std::countr_zero(static_cast<uint64_t>(bits / kLeastBits)))];
  llvm::Intrinsic::ID id = llvm::Function::lookupIntrinsicID(name);
  KDL_CHECK(id != llvm::Intrinsic::not_intrinsic, "LLVM has no '{}'", name);
  return id;
}

/// Bytes whose signs are not the intrinsic's: moved by 128, which is too much by as many times the other factor's sum.
llvm::Value* SumsOfMoved(Emitter& emitter, llvm::Intrinsic::ID id, llvm::Value* start,
                         std::array<llvm::Value*, 2> factors, std::array<bool, 2> moves) {
  auto& builder = emitter.builder;
  std::array<llvm::Value*, 2> too_much{};
  for (size_t i : {0, 1}) {
    llvm::Type* words = factors[i]->getType();
    auto* bytes = llvm::VectorType::get(
        builder.getInt8Ty(), 4 * llvm::cast<llvm::FixedVectorType>(words)->getNumElements(), false);
    llvm::Value* half = builder.CreateBitCast(llvm::ConstantInt::get(bytes, 0x80), words);
    too_much[i] = moves[i] ? half : factors[i];
    if (moves[i]) factors[i] = builder.CreateXor(factors[i], half);
  }
  llvm::Value* sums = builder.CreateIntrinsic(id, {}, {start, factors[0], factors[1]});
  llvm::Value* none = llvm::Constant::getNullValue(start->getType());
  return builder.CreateSub(sums, builder.CreateIntrinsic(id, {}, {none, too_much[0], too_much[1]}));
}

/// One term of each pair, by the instruction that takes both: the other one is -0 times +0, which leaves sums as they are.
void EmitSequentialStep(Emitter& emitter, ir::Op* op) {
  auto& builder = emitter.builder;
  ir::VectorMmaOp step(op);
  int64_t lanes = ir::Lanes(step.acc()->type());
  int64_t padded = std::max(lanes, kLeastBits / 32);
  llvm::Intrinsic::ID id = IntrinsicOf(InstructionOf(emitter, op), padded * 32);
  llvm::FunctionType* type = llvm::Intrinsic::getType(emitter.context(), id);
  bool is_first = op->attr<ir::AttrKey::Part>() == 0;
  auto factors = [&](const ir::Value* value, unsigned parameter, uint32_t other) {
    llvm::Value* pairs = Lengthened(emitter, Steps(emitter, value, {2}, padded), padded);
    auto all = [&](uint32_t bits) { return llvm::ConstantInt::get(pairs->getType(), bits); };
    pairs = builder.CreateAnd(pairs, all(is_first ? 0xFFFF : 0xFFFF0000));
    if (other != 0) pairs = builder.CreateOr(pairs, all(is_first ? other << 16 : other));
    return builder.CreateBitCast(pairs, type->getParamType(parameter));
  };
  constexpr uint32_t kMinusZero = 0x8000;
  llvm::Value* start = Lengthened(emitter, emitter.Get(step.acc()), padded);
  llvm::Value* sums = builder.CreateIntrinsic(
      id, {}, {start, factors(step.a(), 1, kMinusZero), factors(step.b(), 2, 0)});
  emitter.Set(step.result(), Shortened(emitter, sums, lanes));
}

/// Of an intrinsic for all numbers of bits: one after the other takes its part of the step's terms. A vector whose length
/// instructions leave open stands around one that is as long here.
void EmitStepOfTypes(Emitter& emitter, ir::Op* op, const StepInstruction& instruction,
                     int64_t padded) {
  auto& builder = emitter.builder;
  ir::VectorMmaOp step(op);
  ir::Type acc = step.acc()->type();
  int64_t parts = instruction.depth / instruction.taken;
  int64_t granules = padded * 8 * Bytes(acc->scalar) / kLeastBits;
  bool scalable = granules > 1 && !instruction.scalable.empty();
  llvm::Intrinsic::ID id =
      llvm::Function::lookupIntrinsicID(scalable ? instruction.scalable : instruction.intrinsic);
  bool is_float = IsFloat(step.a()->type()->scalar);
  auto vector = [&](llvm::Type* element, int64_t lanes) -> llvm::Type* {
    auto count = static_cast<unsigned>(scalable ? lanes / granules : lanes);
    return llvm::VectorType::get(element, count, scalable);
  };
  llvm::Type* sum = vector(RegisterType(emitter.context(), acc->scalar), padded);
  llvm::Type* factor =
      vector(is_float ? builder.getBFloatTy() : builder.getInt8Ty(), padded * instruction.taken);
  llvm::SmallVector<llvm::Type*, 2> types;
  if (llvm::Intrinsic::isOverloaded(id)) types.push_back(sum);
  if (!types.empty() && !scalable) types.push_back(factor);
  auto as = [&](llvm::Value* value, llvm::Type* type) -> llvm::Value* {
    if (!scalable) return builder.CreateBitCast(value, type);
    auto* fixed = llvm::FixedVectorType::get(
        type->getScalarType(),
        llvm::cast<llvm::VectorType>(type)->getElementCount().getKnownMinValue() *
            static_cast<unsigned>(granules));
    return builder.CreateInsertVector(type, llvm::PoisonValue::get(type),
                                      builder.CreateBitCast(value, fixed), builder.getInt64(0));
  };
  auto factors = [&](const ir::Value* value, int64_t number) {
    llvm::Value* steps = Steps(emitter, value, {instruction.taken, parts, number}, padded);
    return as(Lengthened(emitter, steps, padded), factor);
  };
  llvm::Value* start = Lengthened(emitter, emitter.Get(step.acc()), padded);
  llvm::Value* sums = as(start, sum);
  for (int64_t number = 0; number < parts; ++number)
    sums = builder.CreateIntrinsic(id, types,
                                   {sums, factors(step.a(), number), factors(step.b(), number)});
  if (scalable) sums = builder.CreateExtractVector(start->getType(), sums, builder.getInt64(0));
  emitter.Set(step.result(), Shortened(emitter, sums, ir::Lanes(acc)));
}

void EmitVectorMma(Emitter& emitter, ir::Op* op) {
  if (op->HasAttr(ir::AttrKey::Part)) return EmitSequentialStep(emitter, op);
  auto& builder = emitter.builder;
  ir::VectorMmaOp step(op);
  ir::Type acc = step.acc()->type();
  int64_t acc_bits = 8 * Bytes(acc->scalar);
  int64_t lanes = ir::Lanes(acc);
  int64_t padded = std::max(lanes, kLeastBits / acc_bits);
  const StepInstruction& instruction = InstructionOf(emitter, op);
  bool adds = instruction.sums[0].empty();
  if (instruction.of_types) return EmitStepOfTypes(emitter, op, instruction, padded);
  llvm::Intrinsic::ID id = IntrinsicOf(instruction, padded * acc_bits);
  llvm::FunctionType* type = llvm::Intrinsic::getType(emitter.context(), id);
  auto factors = [&](const ir::Value* value, unsigned parameter) {
    llvm::Value* steps = Steps(emitter, value, {instruction.depth}, padded);
    return builder.CreateBitCast(Lengthened(emitter, steps, padded), type->getParamType(parameter));
  };
  llvm::Value* a = factors(step.a(), adds ? 1 : 0);
  llvm::Value* b = factors(step.b(), adds ? 2 : 1);
  llvm::Value* start = Lengthened(emitter, emitter.Get(step.acc()), padded);
  std::array<bool, 2> moves = {step.a()->type()->scalar != instruction.takes[0],
                               step.b()->type()->scalar != instruction.takes[1]};
  llvm::Value* sums = moves[0] || moves[1] ? SumsOfMoved(emitter, id, start, {a, b}, moves)
                      : adds               ? builder.CreateIntrinsic(id, {}, {start, a, b})
                             : builder.CreateAdd(start, builder.CreateIntrinsic(id, {}, {a, b}));
  emitter.Set(step.result(), Shortened(emitter, sums, lanes));
}

void NeedsWorkgroup(Emitter&, ir::Op* op) {
  KDL_UNREACHABLE("'{}' takes a team", op->info().spelling);
}

}  // namespace

KDL_EMIT(VectorMma, EmitVectorMma)
KDL_EMIT(Mma, NeedsWorkgroup)
KDL_EMIT(AsyncCopy, NeedsWorkgroup)
KDL_EMIT(AsyncCopyCommit, NeedsWorkgroup)
KDL_EMIT(AsyncCopyWait, NeedsWorkgroup)
KDL_EMIT(MbarrierInit, NeedsWorkgroup)
KDL_EMIT(MbarrierInvalidate, NeedsWorkgroup)
KDL_EMIT(MbarrierArrive, NeedsWorkgroup)
KDL_EMIT(MbarrierWait, NeedsWorkgroup)
KDL_EMIT(TileCopy, NeedsWorkgroup)
KDL_EMIT(TileCopyFits, NeedsWorkgroup)
KDL_EMIT(ProxyFence, NeedsWorkgroup)
KDL_EMIT(MmaCommit, NeedsWorkgroup)
KDL_EMIT(MmaWait, NeedsWorkgroup)

}  // namespace kdl::codegen
