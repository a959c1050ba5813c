#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "ir/op.h"
#include "ir/op_kind.h"

// Declarations for the files that define type rules.
namespace kdl::ir {

/// Returns what is wrong with the types of an op; empty if nothing is wrong. Each kind of op has its own
/// rule, except that most elementwise ops share one. If a rule is missing, linking fails.
template <OpKind kind>
std::string TypeRule(const Op& op, const Module& module);
#define KDL_OP_SHAPE(kind, ...) \
  template <>                   \
  std::string TypeRule<OpKind::kind>(const Op& op, const Module& module);
#include "ir/op_shapes.def"
#undef KDL_OP_SHAPE
#define KDL_TYPE_RULE(kind, function)                                      \
  template <>                                                              \
  std::string TypeRule<OpKind::kind>(const Op& op, const Module& module) { \
    return function(op, module);                                           \
  }

/// The type rule of all elementwise ops except `call`.
std::string ElementwiseFault(const Op& op, const Module& module);
/// The type rule of ops without operands that return an i64.
std::string I64Fault(const Op& op, const Module& module);
std::string NoTypes(const Op& op, const Module& module);

using Values = std::span<Value* const>;

bool FitInto(Scalar scalar, uint64_t bits);
bool IsI64(const Value* value);
bool IsBlock(const Value* value);
bool IsTensor(const Value* value);
std::vector<AxisId> OperandAxes(Values values, std::vector<AxisId> axes = {});
bool Includes(const std::vector<AxisId>& all, const std::vector<AxisId>& some);
std::vector<AxisId> Without(const std::vector<AxisId>& axes, const AxisList& removed);
AxisList Sorted(AxisList axes);
std::string AllI64(Values values);
std::string SameTypes(Values values, const std::vector<Value*>& expected, std::string_view what);
/// Returns the values that a region yields.
Values Yielded(const Region* region);
/// Checks the mask of a vector op, which must be a vector of bool with the same number of lanes.
std::string LaneMaskFault(Values mask, Type vector);
/// Checks the mask of a tile op.
std::string MaskFault(Values mask);
/// Checks the operands and the number of dimensions of the access map, but nothing else.
std::string AccessFault(const Op& op, const Value* tensor);
/// Checks that the value is a buffer of mbarriers.
std::string MbarriersFault(const Value* mbarriers);
/// Checks that an `async_copy` along two dimensions of the tensor, those of `along`, can fill a slot of the
/// buffer. The buffer must consist of two-dimensional slots.
std::string SlotCopyFault(const Op& op, const Value* tensor, const Value* buffer);
/// Checks that an op with a side effect is not in code that is executed separately for each element of a
/// tile.
std::string ElementwisePlaceFault(const Op& op);

}  // namespace kdl::ir
