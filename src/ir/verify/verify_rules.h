#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "ir/op.h"
#include "ir/op_kind.h"

// What the files of type rules share.
namespace kdl::ir {

/// What is wrong with the types of an op; empty: nothing. Each op has one, but for those that are computed elementwise, which
/// share one: an op without does not link.
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

/// The rule of all elementwise ops that are computed.
std::string ElementwiseFault(const Op& op, const Module& module);
/// Of ops that take nothing but give an i64.
std::string I64Fault(const Op& op, const Module& module);
std::string NoTypes(const Op& op, const Module& module);

using Values = std::span<Value* const>;

bool FitInto(Scalar scalar, uint64_t bits);
bool IsI64(const Value* value);
bool IsBlock(const Value* value);
bool IsTensor(const Value* value);
std::vector<AxisId> AxesOf(Values values, std::vector<AxisId> axes = {});
bool Includes(const std::vector<AxisId>& all, const std::vector<AxisId>& some);
std::vector<AxisId> Without(const std::vector<AxisId>& axes, const AxisList& removed);
AxisList Sorted(AxisList axes);
std::string AllI64(Values values);
std::string SameTypes(Values values, const std::vector<Value*>& expected, std::string_view what);
/// What a region yields.
Values Yielded(const Region* region);
/// Of a mask that goes with a vector.
std::string LaneMaskFault(Values mask, Type vector);
/// Of a mask that goes with tiles.
std::string MaskFault(Values mask);
/// Of the access alone: its operands and its number of dimensions.
std::string AccessFault(const Op& op, const Value* tensor);
/// Of what acts: it does not stand in what runs for each element of a tile by itself.
std::string ElementwisePlaceFault(const Op& op);

}  // namespace kdl::ir
