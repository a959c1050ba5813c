#include "tools/lsp/describe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "sema/model/builtins.h"
#include "sema/model/reduction_kinds.h"
#include "support/size.h"

namespace kdl::tools::lsp {

namespace {

using sema::Entity;
using sema::EntityKind;

/// Returns the distinct texts in their order.
std::vector<std::string> Distinct(std::vector<std::string> texts) {
  std::vector<std::string> kept;
  for (std::string& text : texts) {
    if (!text.empty() && std::ranges::find(kept, text) == kept.end())
      kept.push_back(std::move(text));
  }
  return kept;
}

std::string Trimmed(std::string_view text) {
  auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return std::string(text);
}

/// Returns the place of the text that introduces a declaration: for a size, the first parameter that has it.
Span HeadOf(const Analysis& analysis, const syntax::NameDeclaration& declaration) {
  for (const syntax::NameDeclaration& one : analysis.names.declarations) {
    bool contains = one.kind == syntax::NameKind::Param &&
                    one.whole.begin <= declaration.span.begin &&
                    declaration.span.end <= one.whole.end;
    if (declaration.kind == syntax::NameKind::Size && contains) return one.head;
  }
  return declaration.head;
}

/// Returns what a range stands for: `blocks of BM elements of M`.
std::string RangeText(const Entity& range) {
  const sema::RangeFacts& facts = range.range;
  std::string whole = facts.domain != nullptr ? ToString(facts.domain) : "";
  if (facts.whole && facts.extent != nullptr)
    return fmt::format("all of {}, at most {} elements", whole, ToString(facts.extent));
  if (facts.extent == nullptr) return whole.empty() ? "" : fmt::format("all of {}", whole);
  std::string of = whole;
  if (facts.parent != nullptr) of = fmt::format("'{}'", facts.parent->name.text());
  return fmt::format("a block of at most {} elements{}", ToString(facts.extent),
                     of.empty() ? "" : " of " + of);
}

std::string SizesOf(const Entity& entity) {
  if (entity.kind == EntityKind::Range) {
    std::string text = RangeText(entity);
    return text.empty() ? "" : fmt::format("`{}` binds {}.", entity.name.text(), text);
  }
  std::vector<std::string> parts;
  for (const Entity* range : entity.type.ranges) {
    std::string text = RangeText(*range);
    if (!text.empty()) parts.push_back(fmt::format("`{}` is {}", range->name.text(), text));
  }
  return parts.empty() ? "" : fmt::format("Its dimensions: {}.", fmt::join(parts, "; "));
}

}  // namespace

std::string HeadText(const Analysis& analysis, const syntax::NameDeclaration& declaration) {
  std::string line;
  for (char c : Trimmed(analysis.text(HeadOf(analysis, declaration)))) {
    bool is_space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (is_space && (line.ends_with(' ') || line.ends_with('('))) continue;
    line += is_space ? ' ' : c;
  }
  return line;
}

std::string DocText(const Analysis& analysis, const syntax::NameDeclaration& declaration) {
  std::vector<std::string> lines;
  if (declaration.kind > syntax::NameKind::Test) return {};
  for (size_t line = analysis.positions.LineOf(declaration.whole.begin); line-- > 0;) {
    std::string_view text = analysis.positions.Line(line);
    if (!text.starts_with("///")) break;
    text.remove_prefix(text.starts_with("/// ") ? 4 : 3);
    lines.emplace_back(text);
  }
  std::ranges::reverse(lines);
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string TypeText(const Analysis& analysis, const syntax::NameDeclaration& declaration) {
  std::vector<std::string> types;
  for (const Entity* entity : analysis.Entities(declaration)) {
    bool has_type = entity->type.is_value() || entity->type.is_tensor() ||
                    entity->type.is_tuple() || entity->type.kind == sema::TypeKind::Pipe;
    if (has_type) types.push_back(ToString(entity->type));
  }
  return fmt::format("{}", fmt::join(Distinct(std::move(types)), " or "));
}

std::string SizesText(const Analysis& analysis, const syntax::NameDeclaration& declaration) {
  std::vector<std::string> texts;
  for (const Entity* entity : analysis.Entities(declaration)) texts.push_back(SizesOf(*entity));
  return fmt::format("{}", fmt::join(Distinct(std::move(texts)), "\n"));
}

std::string BuiltinText(std::string_view name) {
  if (const sema::Builtin* builtin = sema::FindBuiltin(name)) return std::string(builtin->meaning);
  auto reduction = sema::FindReduction(name);
  if (!reduction) return {};
  const sema::ReductionRow& row = sema::ReductionRowOf(*reduction);
  std::string_view kind = sema::IsScan(*reduction) ? "a scan" : "a reduction";
  return fmt::format("{}: {}({} over k)", kind, name, row.operands > 1 ? "a, b" : "a");
}

std::string_view KindText(syntax::NameKind kind) {
  using enum syntax::NameKind;
  switch (kind) {
    case Import:
      return "import";
    case Const:
      return "constant";
    case Types:
      return "list of types";
    case Device:
      return "device";
    case Fn:
      return "function";
    case Kernel:
      return "kernel";
    case Program:
      return "program";
    case Test:
      return "test";
    case TypeParam:
      return "type parameter";
    case IntParam:
      return "integer parameter";
    case FnParam:
      return "function parameter";
    case Param:
      return "parameter";
    case Size:
      return "size";
    case Let:
      return "value";
    case Var:
      return "variable";
    case Loop:
      return "loop variable";
    case Range:
      return "range";
    case Domain:
      return "domain";
    case Pipe:
      return "pipe";
    case Stage:
      return "stage";
    case View:
      return "view";
    case Auxiliary:
      return "name that the contract defines";
    case Index:
      return "index of the contract";
  }
  return "name";
}

}  // namespace kdl::tools::lsp
