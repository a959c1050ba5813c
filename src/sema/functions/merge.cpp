#include "sema/functions/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sema/model/written_name.h"

namespace kdl::sema {

namespace {

/// A mistake, and the instances in which it occurs.
struct Merged {
  const Diagnostic* first = nullptr;
  std::vector<const CheckedFunction*> instances;
  bool same_text = true;
};

std::string KindsText(const CheckedFunction& fn) {
  std::string text;
  for (const TypeBinding& binding : fn.types) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", binding.generic->name.text(),
                        Spelling(binding.scalar));
  }
  for (const FunctionBinding& binding : fn.functions) {
    if (binding.function == nullptr) continue;
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", binding.generic->name.text(),
                        WrittenName(*binding.function));
  }
  return text;
}

std::string KindsText(const Merged& merged, bool all) {
  if (all) return KindsText(*merged.instances[0]);
  std::string text;
  for (const CheckedFunction* fn : merged.instances) {
    text += fmt::format("{}{}", text.empty() ? "" : "; ", KindsText(*fn));
  }
  return text;
}

/// Notes the call for which an instance was made, the call for which its caller was made, and so on.
void NoteCalls(const InstanceOrigin& innermost, Diagnostic& report) {
  constexpr int kMostCalls = 8;
  int noted = 0;
  for (const InstanceOrigin* origin = &innermost; origin != nullptr && noted < kMostCalls;
       origin = origin->outer, ++noted)
    report.Note(origin->span, "used here");
}

}  // namespace

Diagnostic& CopyReport(const Diagnostic& from, DiagnosticEngine& into) {
  const DiagnosticKind<void(std::string)> kind{from.id, from.severity, "{}"};
  Diagnostic& copy = into.Report(kind, from.span, from.text);
  copy.notes = from.notes;
  copy.help = from.help;
  return copy;
}

void MergeInstances(const FunctionGroup& group, DiagnosticEngine& into) {
  using Key = std::tuple<std::string, uint32_t, uint32_t>;
  std::map<Key, size_t> index;
  std::vector<Merged> all;
  for (size_t i = 0; i < group.reports.size(); ++i) {
    for (const auto& report : group.reports[i]->all()) {
      Key key{report->id, report->span.begin, report->span.end};
      auto [found, is_new] = index.emplace(key, all.size());
      if (is_new) all.push_back({report.get(), {}, true});
      Merged& merged = all[found->second];
      merged.instances.push_back(group.instances[i]);
      merged.same_text = merged.same_text && merged.first->text == report->text;
    }
  }
  for (const Merged& merged : all) {
    Diagnostic& copy = CopyReport(*merged.first, into);
    bool in_all = merged.instances.size() == group.instances.size();
    const CheckedFunction& fn = *merged.instances[0];
    bool is_plain = fn.types.empty() && fn.functions.empty();
    if (is_plain || (in_all && merged.same_text && fn.functions.empty())) continue;
    const Entity* generic = fn.types.empty() ? fn.functions[0].generic : fn.types[0].generic;
    copy.Note(generic->span, fmt::format("with {}", KindsText(merged, in_all)));
    auto origin = group.origins.find(&fn);
    if (origin != group.origins.end()) NoteCalls(*origin->second, copy);
  }
}

void MergeSorted(const DiagnosticEngine& from, DiagnosticEngine& into) {
  // Reports with the same position keep their order. Reports without a position come first.
  std::vector<std::tuple<uint32_t, uint32_t, uint32_t, size_t>> order;
  for (const auto& report : from.all()) {
    const Span& span = report->span;
    order.emplace_back(span.valid() ? span.file.value + 1 : 0, span.begin, span.end, order.size());
  }
  std::sort(order.begin(), order.end());
  for (const auto& place : order) CopyReport(*from.all()[std::get<3>(place)], into);
}

}  // namespace kdl::sema
