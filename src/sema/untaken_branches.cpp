#include "sema/untaken_branches.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "sema/contracts/contract.h"
#include "sema/functions/generics.h"
#include "sema/functions/merge.h"
#include "sema/functions/signature.h"
#include "sema/functions/type_tests.h"
#include "sema/walk/stmt.h"

namespace kdl::sema {

namespace {

/// The diagnostics that do not depend on types.
constexpr std::string_view kAboutNames[] = {
    diag::UnknownName.id,
    diag::UnknownType.id,
    diag::NoSuchMember.id,
    diag::NotExported.id,
};

bool IsReported(const FunctionGroup& group, const Diagnostic& report) {
  return std::ranges::any_of(group.reports, [&](const DiagnosticEngine* reports) {
    return std::ranges::any_of(reports->all(), [&](const auto& known) {
      return known->id == report.id && known->span.begin == report.span.begin &&
             known->span.end == report.span.end;
    });
  });
}

}  // namespace

void CheckUntakenBranches(ModuleState& module, FunctionGroup& group) {
  if (!group.item->has_type_tests || group.instances.empty()) return;
  // The check works on copies, so that it changes nothing but the reports.
  const CheckedFunction& first = *group.instances[0];
  FunctionGroup scratch = group;
  CheckedFunction fn;
  fn.item = WithAllBranches(module.arena, *group.item);
  fn.entity = first.entity;
  fn.imported = first.imported;
  fn.prefix = first.prefix;
  fn.device = first.device;
  DiagnosticEngine reports;
  FunctionState state(module, scratch, fn, reports, group.file->items);
  KindCombination combination;
  for (const TypeBinding& binding : first.types) combination.kinds.push_back(binding.scalar);
  for (const FunctionBinding& binding : first.functions)
    combination.functions.push_back(binding.function);
  combination.optionals = first.optionals;
  DeclareGenerics(state, combination);
  CheckSignature(state);
  CheckBody(state);
  CheckContracts(state);
  for (const auto& report : reports.all()) {
    bool is_about_names = std::ranges::find(kAboutNames, report->id) != std::end(kAboutNames);
    if (is_about_names && !IsReported(group, *report)) CopyReport(*report, module.diagnostics);
  }
}

}  // namespace kdl::sema
