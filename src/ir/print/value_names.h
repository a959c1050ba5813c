#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/module.h"

namespace kdl::ir {

/// The name that a value without one gets in the text: that of the tensor it is loaded from, `%i.size` for the size of
/// block %i, otherwise its op's spelling. Empty: the value gets a number.
std::string DerivedName(const Value* value);

/// Whether the op is a constant that the text writes where it is used, and not on a line of its own. That is so unless the
/// constant has a name, or is an index that an access map multiplies.
bool IsInlineConstant(const Op* op);

/// A constant as an operand: `3` for an i64, `true`, otherwise with its type, as `0.5_f32`.
std::string InlineConstantText(Scalar scalar, uint64_t bits);

/// The texts of the values and axes of one function, each distinct.
class FunctionNames {
 public:
  /// `inline_constants`: whether constants are written where they are used.
  FunctionNames(const Function& function, bool inline_constants);

  /// With its `%`, or an inline constant; `%?` for a value of another function.
  std::string_view NameOf(const Value* value) const;
  std::string_view NameOf(AxisId axis) const;

 private:
  using Taken = std::unordered_map<std::string, int>;

  static std::string Distinct(Taken& taken, std::string_view name);
  void Add(const Value* value);
  void AddParams(const Region* region);
  void AddRegion(const Region* region);

  bool inline_constants_;
  std::unordered_map<const Value*, std::string> values_;
  std::vector<std::string> axes_;
  Taken value_taken_;
  Taken axis_taken_;
  int next_value_ = 0;
  int next_axis_ = 0;
};

/// A name as it reads: in quotes where it is not a plain one.
std::string NameText(std::string_view name);

}  // namespace kdl::ir
