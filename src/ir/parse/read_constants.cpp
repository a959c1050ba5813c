#include <fmt/format.h>

#include "ir/builder.h"
#include "ir/op_kind.h"
#include "ir/parse/parser.h"
#include "ir/parse/text_reader.h"
#include "ir/print/literals.h"

namespace kdl::ir {

namespace {

/// Returns whether the op's region is executed for each element of a tile.
bool IsPointwise(OpKind kind) {
  return kind == OpKind::Elementwise || kind == OpKind::MultiReduce || kind == OpKind::Scan ||
         kind == OpKind::ScanInLoop;
}

}  // namespace

bool NextIsConstant(TextCursor& cursor) {
  if (cursor.NextIsDigit() || cursor.NextIs("-")) return true;
  std::string_view word = cursor.PeekWord();
  return word == "true" || word == "false" || word.starts_with("inf_") || word.starts_with("nan_");
}

Value* ReadInlineConstant(TextReader& reader, Region* region) {
  TextCursor& cursor = reader.cursor;
  size_t begin = cursor.Here();
  std::string_view text = cursor.Constant();
  std::string_view digits = text.substr(0, text.rfind('_'));
  bool is_bool = text == "true" || text == "false";
  std::optional<Scalar> scalar = digits.size() == text.size()
                                     ? (is_bool ? Scalar::Bool : Scalar::I64)
                                     : ScalarFromSpelling(text.substr(digits.size() + 1));
  if (!scalar) {
    cursor.Fail(diag::IrExpected, cursor.From(begin), "a constant, such as 3 or 0.5_f32",
                fmt::format("'{}'", text));
    return nullptr;
  }
  std::optional<uint64_t> bits = ConstantBits(*scalar, digits);
  if (!bits) {
    cursor.Fail(diag::IrBadConstant, cursor.From(begin), digits, Spelling(*scalar));
    return nullptr;
  }
  Op* before = nullptr;
  while (region->parent() && IsPointwise(region->parent()->kind())) {
    before = region->parent();
    region = before->parent_region();
  }
  Value*& made = reader.constants[{region, *scalar, *bits}];
  if (!made) {
    Attr attr{AttrKey::Bits, static_cast<int64_t>(*bits)};
    made = Builder(reader.module, region, before)
               .Make(OpKind::Const, {}, reader.types().ScalarOf(*scalar), {std::move(attr)});
    reader.spans[made->def()] = cursor.From(begin);
  }
  return made;
}

}  // namespace kdl::ir
