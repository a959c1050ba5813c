#include "irgen/statements/watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/op_kind.h"
#include "irgen/contracts/tiles.h"
#include "irgen/walk/generate.h"

// Generates `assert`, `static_assert` and `print`.

namespace kdl::irgen {

namespace {

using ir::AttrKey;
using ir::OpKind;
using ir::Value;

ir::Attr TextAttr(FunctionGen& gen, std::string_view text) {
  return ir::MakeAttr<AttrKey::Text>(gen.module.context().names.Intern(text));
}

/// Escapes braces in the text for a `print` op, which uses braces as placeholders for values.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    escaped += c;
    if (c == '{' || c == '}') escaped += c;
  }
  return escaped;
}

/// Returns `[i = {}.., j = {}..] `, which is printed before the elements of a tile. The values are the starts
/// of the tile's blocks, in the order of the tile's axes.
std::string Starts(FunctionGen& gen, const sema::Type& type, std::vector<Value*>& values) {
  std::string text;
  std::vector<const sema::Entity*> ranges = type.ranges;
  std::sort(ranges.begin(), ranges.end(),
            [&](auto* a, auto* b) { return gen.RangeAxis(a) < gen.RangeAxis(b); });
  for (const sema::Entity* range : ranges) {
    text += fmt::format("{}{} = {{}}..", text.empty() ? "[" : ", ", range->name.text());
    values.push_back(gen.builder.BlockStart(gen.blocks.at(range)));
  }
  return text.empty() ? text : text + "] ";
}

}  // namespace

void GenAssert(FunctionGen& gen, const syntax::AssertStmt& assertion) {
  ir::Attr text = assertion.message
                      ? TextAttr(gen, assertion.message->value)
                      : ir::MakeAttr<AttrKey::Text>(gen.QuotedSource(assertion.condition->span));
  if (gen.contract && assertion.is_static) return;  // the kernel checks static assertions itself
  if (gen.tiles) {
    return GenForElements(gen, assertion.condition, [&] {
      Value* condition = GenExpr(gen, assertion.condition);
      gen.builder.Create(OpKind::Assert, {{condition}, {}}, {}, {text});
    });
  }
  Value* condition = GenExpr(gen, assertion.condition);
  if (assertion.is_static) {
    gen.builder.Create(OpKind::StaticAssert, {{condition}}, {}, {text});
    return;
  }
  std::vector<Value*> mask;
  if (Value* guard = gen.Mask()) mask.push_back(guard);
  gen.builder.Create(OpKind::Assert, {{condition}, mask}, {}, {text});
}

void GenPrint(FunctionGen& gen, const syntax::PrintStmt& print) {
  std::string text;
  std::vector<Value*> values;
  for (const syntax::Expr* value : print.values) {
    if (!text.empty()) text += " ";
    if (const auto* literal = syntax::DynAs<syntax::StringLit>(value)) {
      text += Escaped(literal->value);
      continue;
    }
    Value* printed = GenRounded(gen, value);
    text += Starts(gen, gen.Info(value).type, values) + "{}";
    values.push_back(gen.builder.Broadcast(printed, gen.RangeAxes(gen.Info(value).type.ranges)));
  }
  gen.builder.Create(OpKind::Print, {values, {}}, {}, {TextAttr(gen, text)});
}

}  // namespace kdl::irgen
