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

// Emits the processor's matrix instructions that take vectors.

namespace kdl::codegen {

const StepInstruction& InstructionOf(const Emitter& emitter, const ir::Op* op) {
  std::string_view instruction = op->attr<ir::AttrKey::Instruction>().text();
  auto found = std::ranges::find_if(emitter.code.steps, [&](const StepInstruction& row) {
    return row.instruction == instruction;
  });
  KDL_CHECK(found != emitter.code.steps.end(), "the processor has no instruction '{}'",
            instruction);
  return *found;
}

namespace {

constexpr int64_t kLeastBits = 128;  // the smallest size in bits of an instruction's accumulators

/// Extends a vector to `lanes` lanes; the added lanes are undefined.
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

/// The terms of a reduction step that one instruction multiplies. Each step's terms are split into `parts`
/// parts of `terms` terms each; `number` is the part to use.
struct Part {
  int64_t terms;
  int64_t parts = 1;
  int64_t number = 0;
};

/// Returns a factor as integers that each contain the terms of one step. Each lane contains a different step,
/// or all lanes contain the same one.
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

/// Returns the instruction's intrinsic for accumulators with a total size of `bits` bits.
llvm::Intrinsic::ID IntrinsicOf(const StepInstruction& instruction, int64_t bits) {
  std::string name = fmt::format("{}.{}", instruction.intrinsic, bits);
  if (instruction.intrinsic.empty())
    name =
        instruction
            .sums[static_cast<size_t>(std::countr_zero(static_cast<uint64_t>(bits / kLeastBits)))];
  llvm::Intrinsic::ID id = llvm::Function::lookupIntrinsicID(name);
  KDL_CHECK(id != llvm::Intrinsic::not_intrinsic, "LLVM has no intrinsic '{}'", name);
  return id;
}

/// Multiplies bytes whose signedness differs from that of the intrinsic. These bytes are offset by 128, and
/// 128 times the sum of the other factor is subtracted from the result.
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

/// Adds one term of a pair, although the instruction multiplies both terms. The op's attribute `part` selects
/// the term. The other term is replaced by -0 times +0, which does not change a sum.
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

/// Emits a step with an overloaded intrinsic, once for each part of the step's terms. If the intrinsic takes
/// scalable vectors, fixed vectors are inserted into scalable vectors of the same length.
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

void RejectWithoutWorkgroup(Emitter&, ir::Op* op) {
  KDL_UNREACHABLE("'{}' needs a workgroup", op->info().spelling);
}

}  // namespace

KDL_EMIT(VectorMma, EmitVectorMma)
KDL_EMIT(Mma, RejectWithoutWorkgroup)
KDL_EMIT(AsyncCopy, RejectWithoutWorkgroup)
KDL_EMIT(AsyncCopyCommit, RejectWithoutWorkgroup)
KDL_EMIT(AsyncCopyWait, RejectWithoutWorkgroup)
KDL_EMIT(MbarrierInit, RejectWithoutWorkgroup)
KDL_EMIT(MbarrierInvalidate, RejectWithoutWorkgroup)
KDL_EMIT(MbarrierArrive, RejectWithoutWorkgroup)
KDL_EMIT(MbarrierWait, RejectWithoutWorkgroup)
KDL_EMIT(TileCopyFits, RejectWithoutWorkgroup)
KDL_EMIT(ProxyFence, RejectWithoutWorkgroup)
KDL_EMIT(MmaCommit, RejectWithoutWorkgroup)
KDL_EMIT(MmaWait, RejectWithoutWorkgroup)

}  // namespace kdl::codegen
