#include "driver/compile/phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "driver/diagnostics.h"
#include "support/near_names.h"

namespace kdl::driver {

namespace {

constexpr std::string_view kAll = "all";
constexpr std::string_view kPhases[] = {kParse, kSema, kIrgen};

bool CheckPassName(Session& session, std::string_view name) {
  std::vector<std::string_view> names(std::begin(kPhases), std::end(kPhases));
  for (const passes::Pass* pass : session.families.passes()) names.push_back(pass->name);
  if (std::find(names.begin(), names.end(), name) != names.end()) return true;
  std::string_view near = NearestName(name, names);
  session.diagnostics.Report(diag::UnknownPass, {}, name)
      .Help(near.empty()
                ? "`kernelc explain passes` lists the passes; parse, sema and irgen run before them"
                : fmt::format("did you mean '{}'?", near));
  return false;
}

}  // namespace

bool CheckPassNames(Session& session) {
  bool known = true;
  for (const std::string& name : session.options.print_after) {
    if (name != kAll) known = CheckPassName(session, name) && known;
  }
  const std::string& stop = session.options.stop_after;
  return (stop.empty() || CheckPassName(session, stop)) && known;
}

bool PrintsAfter(const Options& options, std::string_view phase) {
  const auto& asked = options.print_after;
  return std::find(asked.begin(), asked.end(), phase) != asked.end() ||
         std::find(asked.begin(), asked.end(), kAll) != asked.end();
}

passes::PassOptions PassOptionsOf(Session& session) {
  passes::PassOptions pass_options;
  pass_options.prints_after = [&session](const passes::Pass& pass) {
    return PrintsAfter(session.options, pass.name);
  };
  pass_options.stop_after = session.options.stop_after;
  pass_options.locs = session.options.locs;
  pass_options.print = [&session](std::string_view text) { session.printed += text; };
  pass_options.times = &session.times;
  return pass_options;
}

}  // namespace kdl::driver
