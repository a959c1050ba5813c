#include "codegen/llvm/ops/block_numbers.h"

#include <algorithm>
#include <cstddef>

#include "ir/op_kind.h"
#include "ir/views.h"

namespace kdl::codegen {

namespace {

const ir::Op* Made(const ir::Value* value, ir::OpKind kind) {
  const ir::Op* op = value->def();
  return op != nullptr && op->kind() == kind ? op : nullptr;
}

/// Returns the op of a kind that computes the other operand of `op`, of kind `of`, one of whose operands is the core's number.
const ir::Op* WithCore(const ir::Value* value, ir::OpKind of, ir::OpKind kind) {
  const ir::Op* op = Made(value, of);
  if (op == nullptr) return nullptr;
  for (size_t i : {size_t{0}, size_t{1}})
    if (Made(op->operand(i), ir::OpKind::CoreId) != nullptr) return Made(op->operand(1 - i), kind);
  return nullptr;
}

/// Returns the number of all blocks if the loop runs over the blocks of a core, else null:
///
///   %share = div %total, %core_num ; %more = rem %total, %core_num
///   %begin = add (mul %core, %share), (min %core, %more)
///   loop %n in %begin .. add %begin, (select (lt %core, %more), (add %share, 1), %share) { … }
const ir::Value* TotalOf(const ir::Op* loop) {
  const ir::Op* begin = Made(loop->operand(0), ir::OpKind::Add);
  const ir::Op* end = Made(loop->operand(1), ir::OpKind::Add);
  if (begin == nullptr || end == nullptr || end->operand(0) != begin->result()) return nullptr;
  const ir::Op* share = WithCore(begin->operand(0), ir::OpKind::Mul, ir::OpKind::Div);
  const ir::Op* more = WithCore(begin->operand(1), ir::OpKind::Min, ir::OpKind::Rem);
  const ir::Op* own = Made(end->operand(1), ir::OpKind::Select);
  if (share == nullptr || more == nullptr || own == nullptr) return nullptr;
  bool is_share = std::ranges::equal(share->operands(), more->operands()) &&
                  Made(share->operand(1), ir::OpKind::CoreNum) != nullptr &&
                  WithCore(own->operand(0), ir::OpKind::Lt, ir::OpKind::Rem) == more &&
                  own->operand(2) == share->result();
  return is_share ? share->operand(0) : nullptr;
}

bool IsFactor(const ir::Value* factor, const ir::Value* product) {
  if (factor == product) return true;
  const ir::Op* op = product->def();
  return op != nullptr && op->kind() == ir::OpKind::Mul &&
         (IsFactor(factor, op->operand(0)) || IsFactor(factor, op->operand(1)));
}

/// Returns the loop whose variable is the number, or of whose variable the number is a quotient; null if there is none.
const ir::Op* LoopOfNumber(const ir::Value* number) {
  while (const ir::Op* quotient = Made(number, ir::OpKind::Div)) number = quotient->operand(0);
  const ir::Region* region = number->parent_region();
  const ir::Op* loop = number->def() == nullptr ? region->parent() : nullptr;
  bool is_variable =
      loop != nullptr && loop->kind() == ir::OpKind::Loop && region->param(0) == number;
  return is_variable ? loop : nullptr;
}

}  // namespace

bool DividesBlockNumber(const ir::Op* op) {
  if (op->kind() != ir::OpKind::Div && op->kind() != ir::OpKind::Rem) return false;
  const ir::Op* loop = LoopOfNumber(op->operand(0));
  const ir::Value* total = loop != nullptr ? TotalOf(loop) : nullptr;
  if (total == nullptr || !IsFactor(op->operand(1), total)) return false;
  const ir::Op* before = op->operand(0)->def();
  return before == nullptr || DividesBlockNumber(before);
}

}  // namespace kdl::codegen
