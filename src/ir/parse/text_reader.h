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

/// What reading a function needs to know of the text before: names, and where each op stands.
struct TextReader {
  TextCursor& cursor;
  Module& module;
  Function* function = nullptr;
  std::unordered_map<std::string, kdl::ir::Value*> values;  ///< by what follows `%`
  std::unordered_map<std::string, AxisId> axes;
  std::unordered_map<const Op*, Span>& spans;
  /// Those that stand where they are used, by the region they are in.
  std::map<std::tuple<const Region*, Scalar, uint64_t>, kdl::ir::Value*> constants = {};

  TypeTable& types() const { return module.types(); }
  SizeTable& sizes() const { return module.types().sizes(); }
  Name Intern(std::string_view text) const { return module.context().names.Intern(text); }
};

// Each reports what is wrong and returns nothing, null or false then.

/// A constant, a symbol or an expression in parentheses.
Size ReadSize(TextReader& reader);
Type ReadType(TextReader& reader);
std::optional<AxisId> ReadAxis(TextReader& reader);
std::optional<Scalar> ReadScalar(TextReader& reader);
/// `loc("file":line:column+length)`, nowhere where none stands here.
std::optional<Loc> ReadLoc(TextReader& reader);
/// A use of a value.
Value* ReadValue(TextReader& reader);
/// Gives a new value its name.
bool Define(TextReader& reader, Value* value, const TextCursor::ValueText& name, Span span);

/// Ops and the closing brace into the block. `depth` counts the regions around it.
bool ReadOps(TextReader& reader, Region* region, size_t depth);

}  // namespace kdl::ir
