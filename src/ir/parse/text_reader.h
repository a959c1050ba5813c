#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "ir/module.h"
#include "ir/parse/text_cursor.h"

namespace kdl::ir {

/// The state while a function is read: the names so far, and the location of each op.
struct TextReader {
  TextCursor& cursor;
  Module& module;
  Function* function = nullptr;
  std::unordered_map<std::string, kdl::ir::Value*> values;  ///< keyed by the text after `%`
  std::unordered_map<std::string, AxisId> axes;
  std::unordered_map<const Op*, Span>& spans;
  /// The constants that are written where they are used, keyed by the region that contains them.
  std::map<std::tuple<const Region*, Scalar, uint64_t>, kdl::ir::Value*> constants = {};

  TypeTable& types() const { return module.types(); }
  SizeTable& sizes() const { return module.types().sizes(); }
  Name Intern(std::string_view text) const { return module.context().names.Intern(text); }
};

// On failure, each of these functions reports an error and then returns nothing, null or false.

/// Reads a size: a number, a symbol or an expression in parentheses.
Size ReadSize(TextReader& reader);
Type ReadType(TextReader& reader);
std::optional<AxisId> ReadAxis(TextReader& reader);
std::optional<Scalar> ReadScalar(TextReader& reader);
/// Reads `loc("file":line:column+length)`; returns an empty location if no `loc` comes next.
std::optional<Loc> ReadLoc(TextReader& reader);
/// Returns whether a constant such as `3`, `-0.5_f32`, `true` or `inf_f64` comes next.
bool NextIsConstant(TextCursor& cursor);
/// Reads a constant that is an operand of the next op in `region`. The constant is created before that op,
/// but outside of loops over elements. Equal constants in one region are shared.
Value* ReadInlineConstant(TextReader& reader, Region* region);
/// Reads a use of a value.
Value* ReadValue(TextReader& reader);
/// Registers the name of a new value.
bool Define(TextReader& reader, Value* value, const TextCursor::ValueText& name, Span span);

/// Reads the ops of a region and its closing brace. `depth` is the number of enclosing regions.
bool ReadOps(TextReader& reader, Region* region, size_t depth);

}  // namespace kdl::ir
