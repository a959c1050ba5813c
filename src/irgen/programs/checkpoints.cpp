#include "irgen/programs/checkpoints.h"

#include <vector>

#include "ir/op_kind.h"
#include "irgen/accesses/slices.h"
#include "irgen/walk/generate.h"

// A checkpoint becomes two ops, which have the same numbers and tensors:
//   %go_on, %t0 = restore "p" numbers(false, 0) tensors(%x)
//   loop %t in %t0 .. %steps { checkpoint "p" every 100 numbers(true, %t) tensors(%x) ; … }
// The first number of a file is always true, so %go_on says whether the program continues at a checkpoint.

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

}  // namespace

Value* GenRestore(FunctionGen& gen, const syntax::BlockStmt& body, const sema::Entity* binder,
                  Value** first) {
  std::optional<sema::Checkpoint> checkpoint;
  if (gen.function.kind == ir::FunctionKind::Program)
    checkpoint = sema::FindCheckpointOfLoop(gen.checked, body);
  if (!checkpoint) return nullptr;
  std::vector<Value*> numbers = {gen.builder.Bool(false)};
  for (const sema::Entity* number : checkpoint->numbers)
    numbers.push_back(number == binder ? *first : gen.values.at(number));
  std::vector<ir::Type> types;
  for (const Value* number : numbers) types.push_back(number->type());
  ir::Op* op = gen.builder.Create(OpKind::Restore, {numbers, GenTensors(gen, *checkpoint), {}},
                                  std::move(types), {PathOf(gen, *checkpoint)});
  SetName(op->result(0), gen.module.context().names.Intern("continues"));
  for (size_t i = 0; i < checkpoint->numbers.size(); ++i) {
    const sema::Entity* number = checkpoint->numbers[i];
    Value* value = op->result(i + 1);
    SetName(value, number->name);
    (number == binder ? *first : gen.values.at(number)) = value;
  }
  return op->result(0);
}

void GenCheckpoint(FunctionGen& gen, const sema::Checkpoint& checkpoint) {
  std::vector<Value*> numbers = {gen.builder.Bool(true)};
  for (const sema::Entity* number : checkpoint.numbers) numbers.push_back(gen.values.at(number));
  Value* every = GenIndex(gen, checkpoint.every);
  gen.builder.Create(OpKind::Checkpoint, {{every}, numbers, GenTensors(gen, checkpoint), {}}, {},
                     {PathOf(gen, checkpoint)});
}

}  // namespace kdl::irgen
