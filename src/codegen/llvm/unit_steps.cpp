#include <fmt/format.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <string>

#include "codegen/llvm/unit_steps.h"
#include "ir/views.h"
#include "support/check.h"
#include "support/scalar.h"

// The steps of units that are an instruction of the processor.

namespace kdl::codegen {

const StepInstruction& InstructionOf(const Emitter& emitter, const ir::Op* op) {
  std::string_view unit = op->attr<ir::AttrKey::Unit>().text();
  auto found = std::ranges::find_if(emitter.code.steps,
                                    [&](const StepInstruction& row) { return row.unit == unit; });
  KDL_CHECK(found != emitter.code.steps.end(), "'{}' is no instruction here", unit);
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

/// Factors step by step, one an element: as many as there are lanes, or the same one in each.
llvm::Value* Steps(Emitter& emitter, const ir::Value* factors, int64_t depth, int64_t lanes) {
  auto& builder = emitter.builder;
  int64_t bits = 8 * Bytes(factors->type()->scalar) * depth;
  llvm::Type* type = builder.getIntNTy(static_cast<unsigned>(bits));
  int64_t steps = ir::Lanes(factors->type()) / depth;
  if (steps > 1) type = llvm::FixedVectorType::get(type, static_cast<unsigned>(steps));
  llvm::Value* value = builder.CreateBitCast(emitter.Get(factors), type);
  return steps == 1 ? Splat(emitter, value, lanes) : value;
}

/// The one for so many bits of accumulators.
llvm::Intrinsic::ID IntrinsicOf(const StepInstruction& instruction, int64_t bits) {
  if (instruction.of_types) return llvm::Function::lookupIntrinsicID(instruction.intrinsic);
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
void EmitChainStep(Emitter& emitter, ir::Op* op) {
  auto& builder = emitter.builder;
  ir::UnitStepOp step(op);
  int64_t lanes = ir::Lanes(step.acc()->type());
  int64_t padded = std::max(lanes, kLeastBits / 32);
  llvm::Intrinsic::ID id = IntrinsicOf(InstructionOf(emitter, op), padded * 32);
  llvm::FunctionType* type = llvm::Intrinsic::getType(emitter.context(), id);
  bool is_first = op->attr<ir::AttrKey::Part>() == 0;
  auto factors = [&](const ir::Value* value, unsigned parameter, uint32_t other) {
    llvm::Value* pairs = Lengthened(emitter, Steps(emitter, value, 2, padded), padded);
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

void EmitUnitStep(Emitter& emitter, ir::Op* op) {
  if (op->HasAttr(ir::AttrKey::Part)) return EmitChainStep(emitter, op);
  auto& builder = emitter.builder;
  ir::UnitStepOp step(op);
  ir::Type acc = step.acc()->type();
  int64_t acc_bits = 8 * Bytes(acc->scalar);
  int64_t lanes = ir::Lanes(acc);
  int64_t padded = std::max(lanes, kLeastBits / acc_bits);
  const StepInstruction& instruction = InstructionOf(emitter, op);
  bool adds = instruction.sums[0].empty();
  llvm::Intrinsic::ID id = IntrinsicOf(instruction, padded * acc_bits);
  llvm::SmallVector<llvm::Type*, 2> types;
  if (instruction.of_types) {
    auto count = static_cast<unsigned>(padded * instruction.depth);
    bool is_float = IsFloat(step.a()->type()->scalar);
    llvm::Type* factor = is_float ? builder.getBFloatTy() : builder.getInt8Ty();
    types = {llvm::FixedVectorType::get(RegisterType(emitter.context(), acc->scalar),
                                        static_cast<unsigned>(padded)),
             llvm::FixedVectorType::get(factor, count)};
  }
  llvm::FunctionType* type = llvm::Intrinsic::getType(emitter.context(), id, types);
  auto factors = [&](const ir::Value* value, unsigned parameter) {
    int64_t depth = instruction.depth;
    llvm::Value* steps = Steps(emitter, value, depth, padded);
    return builder.CreateBitCast(Lengthened(emitter, steps, padded), type->getParamType(parameter));
  };
  llvm::Value* a = factors(step.a(), adds ? 1 : 0);
  llvm::Value* b = factors(step.b(), adds ? 2 : 1);
  llvm::Value* start = Lengthened(emitter, emitter.Get(step.acc()), padded);
  std::array<bool, 2> moves = {step.a()->type()->scalar != instruction.takes[0],
                               step.b()->type()->scalar != instruction.takes[1]};
  llvm::Value* sums = moves[0] || moves[1] ? SumsOfMoved(emitter, id, start, {a, b}, moves)
                      : adds               ? builder.CreateIntrinsic(id, types, {start, a, b})
                             : builder.CreateAdd(start, builder.CreateIntrinsic(id, {}, {a, b}));
  emitter.Set(step.result(), Shortened(emitter, sums, lanes));
}

void TakesTeam(Emitter&, ir::Op* op) { KDL_UNREACHABLE("'{}' takes a team", op->info().spelling); }

}  // namespace

KDL_EMIT(UnitStep, EmitUnitStep)
KDL_EMIT(MatrixStep, TakesTeam)
KDL_EMIT(CopyAhead, TakesTeam)
KDL_EMIT(CloseAhead, TakesTeam)
KDL_EMIT(AwaitAhead, TakesTeam)
KDL_EMIT(GatesOpen, TakesTeam)
KDL_EMIT(GatesClose, TakesTeam)
KDL_EMIT(GateArrive, TakesTeam)
KDL_EMIT(GateAwait, TakesTeam)
KDL_EMIT(CopyBox, TakesTeam)
KDL_EMIT(BoxFits, TakesTeam)
KDL_EMIT(ShowStores, TakesTeam)
KDL_EMIT(CloseSteps, TakesTeam)
KDL_EMIT(AwaitSteps, TakesTeam)

}  // namespace kdl::codegen
