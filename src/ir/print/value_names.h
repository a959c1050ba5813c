#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/module.h"

namespace kdl::ir {

/// Returns the name that the text gives to an unnamed value. A loaded value is named after its tensor, the
/// size of block %i is `%i.size`, and other values are named after their op's spelling. Returns an empty
/// string if the value is to be numbered.
std::string DerivedName(const Value* value);

/// Returns the name of a value, or the derived name if it has none.
std::string BaseName(const Value* value);

/// Returns whether the op is a constant that the text writes where it is used, instead of on a line of its
/// own. This is true unless the constant has a name, or is an index that an access multiplies.
bool IsInlineConstant(const Op* op);

/// Returns whether the op is a constant without a name. The text does not show the position of such a
/// constant.
bool IsUnnamedConstant(const Op* op);

/// Returns the text of a constant that is written where it is used: `3` for an i64, `true` for a bool,
/// otherwise with its type, as in `0.5_f32`.
std::string InlineConstantText(Scalar scalar, uint64_t bits);

/// What the text writes where it is used, instead of on a line of its own.
enum class Inlined {
  Nothing,
  Constants,
  Expressions,  ///< constants, and short expressions of numbers that are used at most once
};

/// The names that the text gives to the values and axes of one function. All of them are different.
class FunctionNames {
 public:
  FunctionNames(const Function& function, Inlined inlined);

  /// Returns whether the text writes the op only where its result is used, or at the start.
  bool HasNoLine(const Op* op) const;
  /// Returns the name of a value with its `%`, or an inline constant or expression. Returns `%?` for a value of
  /// another function.
  std::string_view NameOf(const Value* value) const;
  std::string_view NameOf(AxisId axis) const;

  /// An unnamed constant that an access multiplies. Equal constants share a line at the start of the
  /// function.
  struct SharedConstant {
    std::string name;
    Scalar scalar;
    uint64_t bits;
  };
  const std::vector<SharedConstant>& shared_constants() const { return shared_constants_; }

 private:
  using Taken = std::unordered_map<std::string, int>;

  static std::string Distinct(Taken& taken, std::string_view name);
  void Add(const Value* value);
  void AddParams(const Region* region);
  void AddRegion(const Region* region);
  std::string ExpressionText(const Op* op) const;
  void AddSharedConstants(const Region* body);

  Inlined inlined_;
  std::vector<SharedConstant> shared_constants_;
  std::unordered_map<const Value*, std::string> values_;
  std::unordered_set<const Value*> expressions_;
  std::vector<std::string> axes_;
  Taken value_taken_;
  Taken axis_taken_;
  int next_value_ = 0;
  int next_axis_ = 0;
};

/// Returns the name as it is written in the text form: in quotes unless it is plain.
std::string NameText(std::string_view name);

}  // namespace kdl::ir
