#include "sema/functions/library.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "sema/functions/groups.h"
#include "support/check.h"

namespace kdl::sema {

namespace {

/// Returns the types that can represent an operand of this type, best first: its own type, the unsigned
/// type of the same width, and f32 for floats.
std::array<Scalar, 3> TakenAs(Scalar scalar) {
  Scalar same_bits = scalar;
  if (scalar == Scalar::I8) same_bits = Scalar::U8;
  if (scalar == Scalar::I16) same_bits = Scalar::U16;
  if (scalar == Scalar::I32) same_bits = Scalar::U32;
  if (scalar == Scalar::I64) same_bits = Scalar::U64;
  return {scalar, same_bits, IsFloat(scalar) ? Scalar::F32 : scalar};
}

/// Returns the instance for this type. For a fn without type parameters, returns its only instance. Returns
/// null if the library has errors.
CheckedFunction* InstanceFor(const FunctionGroup& group, Scalar scalar) {
  for (Scalar taken : TakenAs(scalar)) {
    for (CheckedFunction* instance : group.instances)
      if (instance->types.empty() || instance->types[0].scalar == taken) return instance;
  }
  return nullptr;
}

bool BindNamed(FunctionState& state, std::string_view name, Scalar scalar, Span at,
               ExprInfo& info) {
  const Entity* entity = LibraryFunction(state.module, name);
  KDL_CHECK(entity, "the library has no '{}'", name);
  FunctionGroup& group = Require(state.module, entity);
  state.group.calls.emplace_back(&group, at);
  info.callee = InstanceFor(group, scalar);
  return info.callee != nullptr;
}

std::string NameFor(std::string_view target, Scalar scalar) {
  return fmt::format("{}_{}", target, scalar == Scalar::F64 ? "f64" : "f32");
}

}  // namespace

bool BindLibrary(FunctionState& state, const Builtin& builtin, Scalar scalar, Span at,
                 ExprInfo& info) {
  if (builtin.lowering != Lowering::Math) return BindNamed(state, builtin.target, scalar, at, info);
  return state.contract != nullptr ||
         BindNamed(state, NameFor(builtin.target, scalar), scalar, at, info);
}

bool BindFloatRemainder(FunctionState& state, Scalar scalar, Span at, ExprInfo& info) {
  return state.contract != nullptr || BindNamed(state, NameFor("fmod", scalar), scalar, at, info);
}

}  // namespace kdl::sema
