#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "ir/op.h"

// What the files of type rules share. A rule says what is wrong with the types of one op; empty: nothing.
namespace kdl::ir {

struct TypeRule {
  OpKind kind;
  std::string (*fault)(const Op&, const Module&);
};

std::span<const TypeRule> ControlRules();  ///< verify_control.cpp
std::span<const TypeRule> FoldRules();     ///< verify_folds.cpp: reductions, scans, take
std::span<const TypeRule> HomeRules();     ///< verify_homes.cpp
std::span<const TypeRule> LoopRules();     ///< verify_loops.cpp: scratch and vectors
std::span<const TypeRule> PipeRules();     ///< verify_pipes.cpp

using Values = std::span<Value* const>;

bool IsI64(const Value* value);
bool IsBlk(const Value* value);
bool IsTensor(const Value* value);
std::vector<AxisId> AxesOf(Values values, std::vector<AxisId> axes = {});
bool Includes(const std::vector<AxisId>& all, const std::vector<AxisId>& some);
std::vector<AxisId> Without(const std::vector<AxisId>& axes, const AxisList& removed);
AxisList Sorted(AxisList axes);
std::string AllI64(Values values);
std::string SameTypes(Values values, const std::vector<Value*>& expected, std::string_view what);
/// What a region yields.
Values Yielded(const Block* region);
/// Of a mask that goes with a vector.
std::string LaneMaskFault(Values mask, Type vector);
/// Of a mask that goes with tiles.
std::string MaskFault(Values mask);
/// Of the access alone: its operands and its number of dimensions.
std::string AccessFault(const Op& op, const Value* tensor);

}  // namespace kdl::ir
