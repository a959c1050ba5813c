#include "sema/model/checked.h"

#include <fmt/format.h>

#include <algorithm>

#include "sema/model/written_name.h"
#include "support/check.h"
#include "support/names.h"

namespace kdl::sema {

const ExprInfo& CheckedFunction::Info(const syntax::Expr* expr) const {
  auto found = exprs.find(expr);
  KDL_CHECK(found != exprs.end(), "'{}' has no information about expression {}", InstanceName(),
            expr->id);
  return found->second;
}

const StmtInfo& CheckedFunction::Info(const syntax::Stmt* stmt) const {
  auto found = stmts.find(stmt);
  KDL_CHECK(found != stmts.end(), "'{}' has no information about statement {}", InstanceName(),
            stmt->id);
  return found->second;
}

const std::vector<int64_t>& IntGenericInfo::Candidates() const {
  return values.size() > 1 || choices.empty() ? values : choices;
}

bool CheckedFunction::HasPipes() const {
  return std::any_of(params.begin(), params.end(),
                     [](const ParamInfo& param) { return param.entity->kind == EntityKind::Pipe; });
}

bool CheckedFunction::IsAbsent(Name param) const {
  return std::ranges::find(optionals, OptionalInfo{param, false}) != optionals.end();
}

std::string CheckedFunction::InstanceName() const {
  std::string name = fmt::format("{}{}", prefix, item->name.name.text());
  if (!is_for_header)
    for (const FunctionBinding& binding : functions) name += fmt::format(":{}", binding.Text());
  for (const TypeBinding& binding : types) name += fmt::format(".{}", Spelling(binding.scalar));
  for (const OptionalInfo& optional : optionals)
    if (!optional.is_present) name += fmt::format(".no_{}", optional.name.text());
  return name;
}

const FunctionBinding& CheckedFunction::Bound(const Entity* generic) const {
  auto found = std::ranges::find(functions, generic, &FunctionBinding::generic);
  KDL_CHECK(found != functions.end(), "'{}' is not bound", generic->name.text());
  return *found;
}

std::string FunctionBinding::Text() const {
  return fmt::format("{}{}", function->prefix, WrittenName(*function));
}

}  // namespace kdl::sema
