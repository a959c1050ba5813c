#include "ir/matrix_instruction.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "ir/eval/eval.h"
#include "ir/eval/round_odd.h"
#include "ir/views.h"

namespace kdl::ir {

namespace {

/// Returns whether the factor has all axes over which the contraction reduces, so that its elements can be
/// summed along these axes.
bool SumsUp(const Op& contraction, const Value* factor) {
  return std::ranges::all_of(contraction.attr<AttrKey::Axes>(), [&](AxisId axis) {
    return std::ranges::find(factor->type()->axes, axis) != factor->type()->axes.end();
  });
}

/// Returns whether type `to` can represent every value of type `from`.
bool GoesInto(Scalar from, Scalar to) {
  return from == to || (Bytes(from) < Bytes(to) && (IsSigned(to) || !IsSigned(from)));
}

}  // namespace

std::optional<FittedFactors> FitFactors(const MatrixInstruction& instruction,
                                        const Op& contraction) {
  Value* a = NarrowFactor(contraction.operand(ContractionOp::at_a));
  Value* b = NarrowFactor(contraction.operand(ContractionOp::at_b));
  auto moves = [](const Value* factor, Scalar to) { return !GoesInto(factor->type()->scalar, to); };
  for (const Value* factor : {a, b}) {
    Scalar scalar = factor->type()->scalar;
    if (!IsInteger(scalar) || Bytes(scalar) > Bytes(instruction.a)) return std::nullopt;
  }
  std::optional<FittedFactors> best;
  for (FittedFactors fitted : {FittedFactors{a, b}, FittedFactors{b, a}}) {
    fitted.moves_a = moves(fitted.a, instruction.a);
    fitted.moves_b = moves(fitted.b, instruction.b);
    if (!fitted.moves_a && !fitted.moves_b) return fitted;
    const Value* moved = fitted.moves_a ? fitted.a : fitted.b;
    const Value* summed = fitted.moves_a ? fitted.b : fitted.a;
    bool can = fitted.moves_a != fitted.moves_b && SumsUp(contraction, summed);
    if (can && (!best || moved == b)) best = fitted;
  }
  return best;
}

Value* NarrowFactor(Value* factor) {
  const Op* cast = factor->def();
  bool widens = cast && cast->kind() == OpKind::Cast && IsInteger(factor->type()->scalar) &&
                IsInteger(cast->operand(0)->type()->scalar) &&
                Bytes(cast->operand(0)->type()->scalar) < Bytes(factor->type()->scalar);
  return widens ? cast->operand(0) : factor;
}

bool IsTf32(const Value* factor) { return factor->def() && factor->def()->kind() == OpKind::Tf32; }

bool Suits(const MatrixInstruction& instruction, const Op& contraction) {
  if (contraction.attr<AttrKey::Order>() != OrderKind::Sequential ||
      contraction.attr<AttrKey::Acc>() != instruction.acc)
    return false;
  if (instruction.order == StepOrder::Any) return FitFactors(instruction, contraction).has_value();
  if (instruction.of_tf32 && !(IsTf32(contraction.operand(0)) && IsTf32(contraction.operand(1))))
    return false;
  return contraction.operand(0)->type()->scalar == instruction.a &&
         contraction.operand(1)->type()->scalar == instruction.b;
}

bool AcceptsAsTheyAre(const MatrixInstruction& instruction, const Op& contraction) {
  if (!Suits(instruction, contraction)) return false;
  if (instruction.order != StepOrder::Any) return true;
  std::optional<FittedFactors> fitted = FitFactors(instruction, contraction);
  return !fitted->moves_a && !fitted->moves_b;
}

const MatrixInstruction* BestInstruction(std::span<const MatrixInstruction* const> instructions,
                                         const Op& contraction) {
  const MatrixInstruction* best = nullptr;
  std::pair<int64_t, bool> least;
  for (const MatrixInstruction* instruction : instructions) {
    if (!Suits(*instruction, contraction)) continue;
    std::pair<int64_t, bool> cost = {Bytes(instruction->a),
                                     !AcceptsAsTheyAre(*instruction, contraction)};
    if (best && cost >= least) continue;
    best = instruction;
    least = cost;
  }
  return best;
}

bool IsSound(const MatrixInstruction& instruction) {
  bool pairs = instruction.order != StepOrder::Pairs ||
               (std::has_single_bit(static_cast<unsigned>(instruction.depth)) &&
                instruction.term == OpKind::Mul);
  pairs = pairs && (instruction.order != StepOrder::PairsInSequence ||
                    (instruction.depth % 2 == 0 && instruction.term == OpKind::Mul));
  bool any = instruction.order != StepOrder::Any ||
             (IsInteger(instruction.acc) && instruction.term == OpKind::Mul);
  bool chains = instruction.order != StepOrder::TwoSequences ||
                (instruction.flushes && TermsPerGroup(instruction) == 2 &&
                 instruction.term == OpKind::FmaFlush);
  bool groups = instruction.group >= 0 && instruction.depth % TermsPerGroup(instruction) == 0;
  bool of_pairs =
      instruction.order == StepOrder::Pairs || instruction.order == StepOrder::PairsInSequence;
  bool odd = !instruction.to_odd || (of_pairs && instruction.acc == Scalar::F32);
  bool apart =
      instruction.apart == 0 || (instruction.goes_on && instruction.apart % instruction.depth == 0);
  bool tf32 =
      !instruction.of_tf32 || (instruction.a == Scalar::F32 && instruction.b == Scalar::F32);
  return instruction.depth >= 1 && instruction.depth <= kMaxInstructionDepth && pairs && any &&
         chains && groups && odd && apart && tf32;
}

namespace {

struct StepEval {
  EvalFn flush;
  EvalFn term;
  EvalFn add;
  bool flushes;

  uint64_t Taken(uint64_t bits) const { return flushes ? flush(&bits, nullptr) : bits; }
  uint64_t Sum(uint64_t a, uint64_t b) const {
    uint64_t operands[] = {a, b};
    return add(operands, nullptr);
  }
};

StepEval EvalOf(const MatrixInstruction& instruction) {
  return {
      FindEval(OpKind::Flush, instruction.acc, instruction.acc),
      instruction.to_odd ? MulToOdd : FindEval(instruction.term, instruction.acc, instruction.acc),
      instruction.to_odd ? AddToOdd : FindEval(OpKind::Add, instruction.acc, instruction.acc),
      instruction.flushes};
}

uint64_t AfterSequences(const MatrixInstruction& instruction, uint64_t acc, const uint64_t* a,
                        const uint64_t* b) {
  StepEval eval = EvalOf(instruction);
  uint64_t chains[2] = {};
  for (int iteration = 0; iteration < instruction.depth; iteration += 2) {
    for (int chain : {0, 1})
      chains[chain] = RunSequence(instruction, chain, chains[chain], a + iteration, b + iteration);
  }
  uint64_t both = eval.Taken(eval.Sum(chains[0], chains[1]));
  return eval.Taken(eval.Sum(eval.Taken(acc), both));
}

}  // namespace

uint64_t TakeSum(const MatrixInstruction& instruction, uint64_t acc, uint64_t sum) {
  return EvalOf(instruction).Sum(acc, sum);
}

uint64_t RunSequence(const MatrixInstruction& instruction, int chain, uint64_t acc,
                     const uint64_t* a, const uint64_t* b) {
  StepEval eval = EvalOf(instruction);
  uint64_t operands[] = {eval.Taken(a[chain]), eval.Taken(b[chain]), eval.Taken(acc)};
  return eval.term(operands, nullptr);
}

uint64_t RunStep(const MatrixInstruction& instruction, uint64_t acc, const uint64_t* a,
                 const uint64_t* b) {
  if (instruction.order == StepOrder::TwoSequences) return AfterSequences(instruction, acc, a, b);
  StepEval eval = EvalOf(instruction);
  acc = eval.Taken(acc);
  std::vector<uint64_t> products;
  for (int iteration = 0; iteration < instruction.depth; ++iteration) {
    int i = TermAt(instruction, iteration);
    uint64_t operands[] = {eval.Taken(a[i]), eval.Taken(b[i]), acc};
    uint64_t term = eval.term(operands, nullptr);
    switch (instruction.order) {
      case StepOrder::Pairs:
      case StepOrder::PairsInSequence:
        products.push_back(term);
        break;
      case StepOrder::Any:
        acc = eval.Sum(acc, term);
        break;
      default:
        acc = term;
    }
  }
  if (products.empty()) return acc;
  auto sum = [&](uint64_t x, uint64_t y) { return eval.Sum(x, y); };
  if (instruction.order == StepOrder::PairsInSequence) {
    for (size_t i = 0; i < products.size(); i += 2)
      acc = eval.Sum(acc, eval.Sum(products[i], products[i + 1]));
    return acc;
  }
  return eval.Sum(acc, InPairs(std::move(products), sum));
}

}  // namespace kdl::ir
