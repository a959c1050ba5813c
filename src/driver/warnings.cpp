#include "driver/warnings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/diagnostics.h"
#include "passes/diagnostics.h"
#include "sema/diagnostics.h"
#include "support/near_names.h"

namespace kdl::driver {

namespace {

struct WarningInfo {
  std::string_view group;
  std::string_view id;
  bool is_on;
};

constexpr WarningInfo kWarnings[] = {
#define KDL_WARNING(group, kind, is_on) {group, kind.id, is_on},
#include "driver/warnings.def"
};

/// What becomes of the warnings of a group.
struct Treatment {
  bool is_reported;
  bool is_error = false;

  std::optional<Severity> severity() const {
    if (!is_reported) return std::nullopt;
    return is_error ? Severity::Error : Severity::Warning;
  }
};

using Treatments = std::map<std::string_view, Treatment>;

bool TakeOut(std::string_view& text, std::string_view prefix) {
  bool found = text.starts_with(prefix);
  if (found) text.remove_prefix(prefix.size());
  return found;
}

/// Changes the treatments as one -W option says. Returns false if the option has no meaning.
bool Apply(std::string_view choice, Treatments& groups) {
  if (choice == "all" || choice == "none" || choice == "error") {
    for (auto& [group, treatment] : groups) {
      if (choice == "error") treatment.is_error = true;
      if (choice != "error") treatment.is_reported = choice == "all";
    }
    return true;
  }
  bool is_off = TakeOut(choice, "no-");
  bool is_error = !is_off && TakeOut(choice, "error=");
  auto found = groups.find(choice);
  if (found == groups.end()) return false;
  found->second.is_reported = !is_off;
  if (is_error) found->second.is_error = true;
  return true;
}

/// Returns the names of the groups, in the order of the table: all of them, or those that are off without -W.
std::vector<std::string_view> WarningGroups(bool only_off = false) {
  std::vector<std::string_view> groups;
  for (const WarningInfo& warning : kWarnings) {
    bool is_listed = std::ranges::find(groups, warning.group) != groups.end();
    if (!is_listed && !(only_off && warning.is_on)) groups.push_back(warning.group);
  }
  return groups;
}

void Fill(std::string& text, std::string_view place, std::string_view value) {
  size_t at = text.find(place);
  if (at != std::string::npos) text.replace(at, place.size(), value);
}

}  // namespace

std::string WithWarningGroups(std::string_view help) {
  std::string text(help);
  Fill(text, "{groups}", fmt::format("{}", fmt::join(WarningGroups(), ", ")));
  Fill(text, "{off}", fmt::format("{}", fmt::join(WarningGroups(true), ", ")));
  return text;
}

void SetWarnings(std::span<const std::string> choices, DiagnosticEngine& diagnostics,
                 DiagnosticEngine& problems) {
  Treatments groups;
  for (const WarningInfo& warning : kWarnings)
    groups[warning.group] = {.is_reported = warning.is_on};
  std::vector<std::string_view> names = WarningGroups();
  for (const std::string& choice : choices) {
    if (Apply(choice, groups)) continue;
    problems
        .Report(diag::BadOptionValue, {}, "--warn", choice,
                "all, none, error, GROUP, no-GROUP or error=GROUP")
        .Help(fmt::format("the groups are {}", QuotedList(names)));
  }
  for (const WarningInfo& warning : kWarnings)
    diagnostics.SetSeverity(warning.id, groups.at(warning.group).severity());
}

}  // namespace kdl::driver
