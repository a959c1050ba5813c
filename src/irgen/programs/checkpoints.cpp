#include "irgen/programs/checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/op_kind.h"
#include "ir/views.h"
#include "irgen/accesses/slices.h"
#include "irgen/walk/generate.h"

// A checkpoint becomes two ops, which have the same numbers and tensors:
//   %go_on, %t0, %c0 = restore "p" numbers(false, 0, %c) tensors(%x)
//   assert %c0 = %c
//   loop %t in %t0 .. %steps { checkpoint "p" every 100 numbers(true, %t, %c) tensors(%x) ; … }
// The first number of a file is always true, so %go_on says whether the program continues at a checkpoint. The last ones, here %c,
// are the sizes and numbers with which the program was called. They must be the same when it continues, except those that only
// limit the number of iterations, here %steps. The condition of a `while` must not have been false before the checkpoint with the
// new numbers, so `while e < %n` accepts a larger n, and the assertion is %n0 <= %n.

namespace kdl::irgen {

namespace {

using ir::AttrKey;
using ir::OpKind;
using ir::Value;

std::vector<Value*> GenTensors(FunctionGen& gen, const sema::Checkpoint& checkpoint) {
  std::vector<Value*> tensors;
  for (const syntax::Expr* tensor : checkpoint.tensors) tensors.push_back(GenTensor(gen, tensor));
  return tensors;
}

ir::Attr PathOf(FunctionGen& gen, const sema::Checkpoint& checkpoint) {
  return ir::MakeAttr<AttrKey::Text>(gen.module.context().names.Intern(checkpoint.path));
}

/// Returns whether all uses of a parameter are in the expression.
bool IsOnlyIn(const FunctionGen& gen, Name param, const syntax::Expr* limit) {
  bool is_used = false;
  for (const auto& [expr, info] : gen.checked.exprs) {
    bool is_use = expr->kind == syntax::ExprKind::Name && info.entity != nullptr &&
                  info.entity->kind == sema::EntityKind::ScalarParam && info.entity->name == param;
    if (!is_use) continue;
    is_used = true;
    if (expr->span.begin < limit->span.begin || limit->span.end < expr->span.end) return false;
  }
  return is_used;
}

/// How a number may change until the program continues, so that the iterations before the checkpoint are the same.
enum class Change : uint8_t { None, Larger, Smaller };

/// A size or number with which the program was called.
struct GivenNumber {
  Value* value;
  Change change = Change::None;
};

/// Returns how a parameter may change so that a condition that was true is still true: if all its uses are one side of a comparison
/// that must hold.
Change AllowedChange(const FunctionGen& gen, Name param, const syntax::Expr* condition) {
  const auto* binary = syntax::DynAs<syntax::BinaryExpr>(condition);
  if (!binary) return Change::None;
  bool is_left = IsOnlyIn(gen, param, binary->lhs);
  const syntax::Expr* side = is_left ? binary->lhs : binary->rhs;
  if (!IsOnlyIn(gen, param, side)) return Change::None;
  if (binary->op == syntax::BinaryOp::And) return AllowedChange(gen, param, side);
  if (side->kind != syntax::ExprKind::Name) return Change::None;
  switch (binary->op) {
    case syntax::BinaryOp::Lt:
    case syntax::BinaryOp::Le:
      return is_left ? Change::Smaller : Change::Larger;
    case syntax::BinaryOp::Gt:
    case syntax::BinaryOp::Ge:
      return is_left ? Change::Larger : Change::Smaller;
    default:
      return Change::None;
  }
}

/// Returns the sizes and numbers with which the program was called, without those that are only used in the upper bound of a `for`.
std::vector<GivenNumber> GivenNumbers(FunctionGen& gen, const syntax::Expr* limit, bool is_for) {
  std::vector<GivenNumber> given;
  for (Name dim : gen.function.dims) {
    if (!gen.function.FindDim(dim)) continue;
    given.push_back({GenSize(gen, gen.module.types().sizes().Symbol(dim))});
    SetName(given.back().value, dim);
  }
  for (const ir::Param& param : gen.function.params) {
    Name name = param.value->name();
    if (!ir::IsScalar(param.value->type()) || (is_for && IsOnlyIn(gen, name, limit))) continue;
    given.push_back({param.value, is_for ? Change::None : AllowedChange(gen, name, limit)});
  }
  return given;
}

/// Generates a check that a number in the file is the one with which the program was called, or differs only as it may.
void AssertAgrees(FunctionGen& gen, const GivenNumber& given, Value* restored,
                  std::string_view path) {
  ir::Builder& b = gen.builder;
  auto [value, change] = given;
  Value* agrees = change == Change::None     ? b.Eq(restored, value)
                  : change == Change::Larger ? b.Le(restored, value)
                                             : b.Le(value, restored);
  if (IsFloat(value->type()->scalar)) {
    Value* was_nan = b.Ne(restored, restored);
    Value* is_nan = b.Ne(value, value);
    agrees = b.Or(agrees, b.And(was_nan, is_nan));
  }
  std::string_view how = change == Change::None     ? "the same as"
                         : change == Change::Larger ? "at least what it was"
                                                    : "at most what it was";
  std::string text =
      fmt::format("'{}' is {} when '{}' was written", value->name().text(), how, path);
  b.Create(OpKind::Assert, {{agrees}, {}}, {},
           {ir::MakeAttr<AttrKey::Text>(gen.module.context().names.Intern(text))});
}

/// Generates a check that the loop, which ends at `limit`, has the iteration in which the file was written.
void AssertReached(FunctionGen& gen, Value* continues, Value* first, Value* limit,
                   std::string_view path) {
  ir::Builder& b = gen.builder;
  Value* begins = b.Eq(continues, b.Bool(false));
  std::string loop = limit->name().empty() ? "the loop has"
                                           : fmt::format("'{}' is at least", limit->name().text());
  std::string text = fmt::format("{} the iteration in which '{}' was written", loop, path);
  b.Create(OpKind::Assert, {{b.Or(begins, b.Le(first, limit))}, {}}, {},
           {ir::MakeAttr<AttrKey::Text>(gen.module.context().names.Intern(text))});
}

/// Returns the given numbers of the checkpoint, which the op before the loop has.
std::vector<Value*> GivenNumbersOf(FunctionGen& gen, const sema::Checkpoint& checkpoint) {
  std::vector<Value*> given;
  Name path = gen.module.context().names.Intern(checkpoint.path);
  ir::Walk(gen.function.body, [&](const ir::Op* op) {
    if (op->kind() != OpKind::Restore || op->attr<AttrKey::Text>() != path) return;
    std::span<Value* const> numbers = op->Segment(ir::RestoreOp::at_numbers);
    numbers = numbers.subspan(1 + checkpoint.numbers.size());
    given.assign(numbers.begin(), numbers.end());
  });
  return given;
}

}  // namespace

Value* GenRestore(FunctionGen& gen, const syntax::BlockStmt& body, const syntax::Expr* limit,
                  const sema::Entity* binder, LoopBounds* bounds) {
  std::optional<sema::Checkpoint> checkpoint;
  if (gen.function.kind == ir::FunctionKind::Program)
    checkpoint = sema::FindCheckpointOfLoop(gen.checked, body);
  if (!checkpoint) return nullptr;
  std::vector<Value*> numbers = {gen.builder.Bool(false)};
  for (const sema::Entity* number : checkpoint->numbers)
    numbers.push_back(number == binder ? bounds->lo : gen.values.at(number));
  std::vector<GivenNumber> given = GivenNumbers(gen, limit, binder != nullptr);
  for (const GivenNumber& one : given) numbers.push_back(one.value);
  std::vector<ir::Type> types;
  for (const Value* number : numbers) types.push_back(number->type());
  ir::Op* op = gen.builder.Create(OpKind::Restore, {numbers, GenTensors(gen, *checkpoint), {}},
                                  std::move(types), {PathOf(gen, *checkpoint)});
  SetName(op->result(0), gen.module.context().names.Intern("continues"));
  for (size_t i = 0; i < checkpoint->numbers.size(); ++i) {
    const sema::Entity* number = checkpoint->numbers[i];
    Value* value = op->result(i + 1);
    SetName(value, number->name);
    (number == binder ? bounds->lo : gen.values.at(number)) = value;
  }
  for (size_t i = 0; i < given.size(); ++i) {
    Value* restored = op->result(1 + checkpoint->numbers.size() + i);
    SetName(restored, given[i].value->name());
    AssertAgrees(gen, given[i], restored, checkpoint->path);
  }
  if (binder) AssertReached(gen, op->result(0), bounds->lo, bounds->hi, checkpoint->path);
  return op->result(0);
}

void GenCheckpoint(FunctionGen& gen, const sema::Checkpoint& checkpoint) {
  std::vector<Value*> numbers = {gen.builder.Bool(true)};
  for (const sema::Entity* number : checkpoint.numbers) numbers.push_back(gen.values.at(number));
  std::vector<Value*> given = GivenNumbersOf(gen, checkpoint);
  numbers.insert(numbers.end(), given.begin(), given.end());
  Value* every = GenIndex(gen, checkpoint.every);
  gen.builder.Create(OpKind::Checkpoint, {{every}, numbers, GenTensors(gen, checkpoint), {}}, {},
                     {PathOf(gen, checkpoint)});
}

}  // namespace kdl::irgen
