#include "sema/dump_checked.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

namespace kdl::sema {

namespace {

using syntax::Expr;

std::string Term(const IndexTerm& term, const SourceManager& sources) {
  std::string what = term.range != nullptr ? term.range->name.str()
                                           : fmt::format("({})", sources.text(term.value->span));
  return IsConstant(term.coefficient, 1) ? what
                                         : fmt::format("{}*{}", ToString(term.coefficient), what);
}

std::string Sum(const IndexDim& dim, const SourceManager& sources) {
  std::string sum;
  for (const IndexTerm& term : dim.terms) {
    sum += fmt::format("{}{}", sum.empty() ? "" : " + ", Term(term, sources));
  }
  if (dim.terms.empty() || !IsConstant(dim.offset, 0)) {
    sum += fmt::format("{}{}", sum.empty() ? "" : " + ", ToString(dim.offset));
  }
  return sum;
}

std::string Access(const IndexInfo& index, const SourceManager& sources) {
  std::string text = index.old ? "old " : "";
  text += fmt::format("{}[", index.base->name.text());
  for (size_t i = 0; i < index.dims.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", Sum(index.dims[i], sources));
  return text + "]";
}

std::string Details(const ExprInfo& info, const SourceManager& sources) {
  std::string text;
  if (info.constant) text += fmt::format(" = 0x{:x}", info.constant->bits);
  if (!info.constant && info.size != nullptr) text += fmt::format(" = {}", ToString(info.size));
  if (info.index != nullptr) text += fmt::format(" at {}", Access(*info.index, sources));
  if (info.callee != nullptr) text += fmt::format(" calls {}", info.callee->InstanceName());
  if (info.reduce != nullptr) {
    text += fmt::format(" {} over", Spelling(info.reduce->kind));
    for (const Entity* range : info.reduce->ranges) text += fmt::format(" {}", range->name.text());
    text += fmt::format(" in {}{}", Spelling(info.reduce->accumulator),
                        info.reduce->in_place ? ", in place" : "");
  }
  return text;
}

std::string RangeText(const Entity& entity, const SourceManager& sources) {
  const RangeFacts& facts = entity.range;
  std::string text;
  if (facts.window != nullptr) {
    std::string end =
        facts.hi != nullptr ? fmt::format(" in {}", sources.text(facts.hi->span)) : "";
    return fmt::format("over {}{} by {}", Sum(*facts.window, sources), end, ToString(facts.extent));
  }
  if (facts.domain == nullptr && facts.hi == nullptr && facts.parent == nullptr) {
    return facts.extent != nullptr ? fmt::format("by {}", ToString(facts.extent)) : "of a call";
  }
  if (facts.parent != nullptr) {
    text = facts.parent->name.str();
  } else if (facts.domain != nullptr) {
    text = ToString(facts.domain);
  } else {
    text = fmt::format("{}..{}", facts.lo != nullptr ? sources.text(facts.lo->span) : "0",
                       sources.text(facts.hi->span));
  }
  return fmt::format("{} by {}", text, ToString(facts.extent));
}

std::string EntityLine(const Entity& entity, const SourceManager& sources) {
  std::string text = fmt::format("  {} is {}", entity.name.text(), Describe(entity.kind));
  if (entity.kind == EntityKind::Domain || entity.kind == EntityKind::Stage) return text + "\n";
  if (entity.kind == EntityKind::Range) {
    if (!entity.type.is_error()) text += fmt::format(": {}", RangeText(entity, sources));
  } else if (entity.kind != EntityKind::TypeGeneric && entity.kind != EntityKind::FnGeneric &&
             entity.kind != EntityKind::IntGeneric) {
    text += fmt::format(": {}", ToString(entity.type));
  }
  return text + "\n";
}

std::string Launch(const LaunchInfo& launch) {
  std::string text = fmt::format("  launches {}", launch.kernel->InstanceName());
  for (size_t i = 0; i < launch.dims.size(); ++i) {
    text +=
        fmt::format("{}{} = {}", i == 0 ? ": " : ", ", launch.kernel->dims[i].entity->name.text(),
                    launch.dims[i] != nullptr ? ToString(launch.dims[i]) : "?");
  }
  for (const GenericBinding& binding : launch.generics) {
    text += fmt::format("; {} = {}", binding.generic->name.text(),
                        binding.value != nullptr ? ToString(binding.value) : "auto");
  }
  for (const DimCheck& check : launch.checks) {
    text += fmt::format("; checks {} == {}", ToString(check.actual), ToString(check.formal));
  }
  return text + "\n";
}

void DumpFunction(const CheckedFunction& fn, const SourceManager& sources, std::string& text) {
  text += fmt::format("{}\n", fn.InstanceName());
  for (const Entity* entity : fn.entities) text += EntityLine(*entity, sources);
  std::vector<const Expr*> exprs;
  exprs.reserve(fn.exprs.size());
  for (const auto& [expr, info] : fn.exprs) exprs.push_back(expr);
  std::sort(exprs.begin(), exprs.end(), [](const Expr* a, const Expr* b) {
    return std::tuple(a->span.begin, a->span.end, a->id) <
           std::tuple(b->span.begin, b->span.end, b->id);
  });
  for (const Expr* expr : exprs) {
    const ExprInfo& info = fn.Info(expr);
    if (info.type.is_literal()) continue;  // an operand of a folded constant expression
    LineColumn at = sources.Locate(expr->span);
    text += fmt::format("  {}:{} {}: {}{}\n", at.line, at.column, sources.text(expr->span),
                        ToString(info.type), Details(info, sources));
  }
  std::vector<std::pair<uint32_t, const LaunchInfo*>> launches;
  for (const auto& [stmt, info] : fn.stmts) {
    if (info.launch != nullptr) launches.emplace_back(stmt->span.begin, info.launch);
  }
  std::sort(launches.begin(), launches.end());
  for (const auto& [at, launch] : launches) text += Launch(*launch);
}

}  // namespace

std::string DumpChecked(const CheckedModule& module, const SourceManager& sources) {
  std::string text;
  for (const CheckedFunction* fn : module.functions) DumpFunction(*fn, sources, text);
  return text;
}

}  // namespace kdl::sema
