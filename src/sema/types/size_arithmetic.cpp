#include "sema/types/size_arithmetic.h"

#include <map>

namespace kdl::sema {

namespace {

using syntax::BinaryOp;

/// The coefficient of each term in a sum of sizes. A size that is not a sum is a single term.
using Linear = std::map<Size, uint64_t>;

void AddTerms(SizeTable& sizes, Linear& sum, Size size, uint64_t factor) {
  switch (size->kind) {
    case SizeKind::Constant:
      sum[sizes.Constant(1)] += factor * static_cast<uint64_t>(size->value);
      return;
    case SizeKind::Add:
      AddTerms(sizes, sum, size->lhs, factor);
      return AddTerms(sizes, sum, size->rhs, factor);
    case SizeKind::Sub:
      AddTerms(sizes, sum, size->lhs, factor);
      return AddTerms(sizes, sum, size->rhs, 0 - factor);
    case SizeKind::Mul: {
      Size constant = IsConstant(size->lhs) ? size->lhs : size->rhs;
      if (!IsConstant(constant)) break;
      Size other = constant == size->lhs ? size->rhs : size->lhs;
      return AddTerms(sizes, sum, other, factor * static_cast<uint64_t>(constant->value));
    }
    default:
      break;
  }
  sum[size] += factor;
}

}  // namespace

std::optional<SizeKind> SizeKindOf(BinaryOp op) {
  switch (op) {
    case BinaryOp::Add:
      return SizeKind::Add;
    case BinaryOp::Sub:
      return SizeKind::Sub;
    case BinaryOp::Mul:
      return SizeKind::Mul;
    case BinaryOp::Div:
      return SizeKind::FloorDiv;
    case BinaryOp::Rem:
      return SizeKind::Mod;
    default:
      return std::nullopt;
  }
}

bool IsStatic(const FunctionState& state, Size size) {
  if (size->kind == SizeKind::Constant) return true;
  if (size->kind == SizeKind::Symbol) {
    const Entity* entity = state.scopes.Find(size->symbol);
    if (entity == nullptr) return false;
    // In a fn, a size name is the extent of a pipe, because a fn has no tensors.
    bool extent = entity->kind == EntityKind::SizeName && state.kind() == syntax::FunctionKind::Fn;
    return extent || entity->kind == EntityKind::IntGeneric;
  }
  return IsStatic(state, size->lhs) && IsStatic(state, size->rhs);
}

std::optional<int64_t> ConstantDifference(SizeTable& sizes, Size a, Size b) {
  if (a == b) return 0;
  Linear sum;
  AddTerms(sizes, sum, a, 1);
  AddTerms(sizes, sum, b, ~uint64_t{0});
  uint64_t difference = 0;
  for (const auto& [size, coefficient] : sum) {
    if (IsConstant(size)) {
      difference = coefficient;
    } else if (coefficient != 0) {
      return std::nullopt;
    }
  }
  return static_cast<int64_t>(difference);
}

}  // namespace kdl::sema
