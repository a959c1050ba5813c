#include "irgen/contracts/parts.h"

#include "ir/op_kind.h"
#include "irgen/walk/generate.h"

namespace kdl::irgen {

using ir::OpKind;
using ir::Value;

std::vector<Value*> GenChoice(FunctionGen& gen, Value* condition, const std::vector<Scalar>& types,
                              const GenValues& then, const GenValues& otherwise) {
  std::vector<ir::Type> results;
  for (Scalar type : types) results.push_back(gen.builder.types().ScalarOf(type));
  ir::Op* op = gen.builder.Create(OpKind::If, {{condition}}, std::move(results));
  for (size_t r = 0; r < 2; ++r) {
    gen.builder.SetInsertionPoint(op->region(r));
    std::vector<Value*> values = CastParts(gen, r == 0 ? then() : otherwise(), types);
    gen.builder.Create(OpKind::Yield, {values}, {});
  }
  gen.builder.SetInsertionPoint(op->parent_region());
  return op->results();
}

std::vector<Scalar> MadeParts(const FunctionGen& gen, const sema::Type& type) {
  std::vector<Scalar> made;
  for (const sema::Type& part : PartTypes(type)) made.push_back(gen.Made(part.scalar));
  return made;
}

std::vector<Value*> CastParts(FunctionGen& gen, std::vector<Value*> parts,
                              const std::vector<Scalar>& types) {
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = gen.builder.Cast(parts[i], types[i]);
  return parts;
}

Value* GenExactSize(FunctionGen& gen, Size size, Scalar scalar) {
  if (!IsFloat(scalar)) return gen.builder.Cast(GenSize(gen, size), scalar);
  return gen.builder.Make(OpKind::SizeOf, {}, gen.builder.types().ScalarOf(scalar),
                          {ir::MakeAttr<ir::AttrKey::Size>(gen.Bound(size))});
}

Value* AddContractParam(FunctionGen& gen, ir::Type type, Name name, ir::ContractParam param) {
  Value* value = gen.builder.AddParam(gen.function.body, type, name);
  bool kept = param.input >= ir::ContractInput::Kept;
  gen.function.params.push_back({value, kept ? ir::Direction::InOut : ir::Direction::In});
  gen.contract->clause.params.push_back(param);
  return value;
}

}  // namespace kdl::irgen
