#include "tools/tuning/schedule_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "driver/compile/schedule_use.h"
#include "tools/explain/decide_targets.h"
#include "tools/timing/selected_tiles.h"

namespace kdl::tools {

namespace {

/// A value and where it comes from.
struct Decision {
  std::string name;
  std::string value;
  std::string from;
};

std::string Lines(const std::vector<Decision>& decisions) {
  size_t name_width = 0;
  size_t value_width = 0;
  for (const Decision& one : decisions) {
    name_width = std::max(name_width, one.name.size());
    value_width = std::max(value_width, one.value.size());
  }
  std::string text;
  for (const Decision& one : decisions)
    fmt::format_to(std::back_inserter(text), "  {:<{}}  {:>{}}  {}\n", one.name, name_width,
                   one.value, value_width, one.from);
  return text;
}

/// Returns the tiles that the selectors choose or a schedule sets.
std::vector<Decision> TilesIn(const driver::Session& s, const SelectedTiles& tiles) {
  const driver::Schedule* schedule = driver::FindSchedule(s, tiles.kernel, tiles.level);
  std::vector<Decision> decisions;
  for (const auto& [name, value] : tiles.chosen) {
    std::string from = "selector";
    if (schedule && schedule->tile_places.contains(name))
      from = s.schedules->LineOf(schedule->tile_places.at(name));
    decisions.push_back({name, fmt::format("{}", value), from});
  }
  return decisions;
}

std::vector<Decision> OptionsIn(const driver::TargetCode& code, Name kernel) {
  std::vector<Decision> decisions;
  for (passes::Pipeline list : code.lists) {
    for (const passes::Pass* pass : list) {
      for (const passes::PassOption* option : pass->options) {
        passes::Setting setting = code.settings.ValueFor(kernel, *option);
        decisions.push_back({fmt::format("{}.{}", pass->name, option->name),
                             fmt::format("{}", setting.value),
                             setting.from.empty() ? "default" : setting.from});
      }
    }
  }
  return decisions;
}

}  // namespace

std::optional<std::string> ScheduleText(driver::Session& s) {
  std::vector<SelectedTiles> selected;
  auto note = [&](const targets::Target& target) { return NotingSelectorFor(s, target, selected); };
  driver::Compilation made = DecideTargets(s, note);
  if (!made.ok()) return std::nullopt;
  std::string text;
  for (const driver::TargetCode& code : made.code.targets) {
    const std::string& level = code.target.facts->level;
    for (Name kernel : code.kernels) {
      std::vector<Decision> decisions;
      for (const SelectedTiles& one : selected) {
        if (one.kernel == kernel.text() && one.level == level) decisions = TilesIn(s, one);
      }
      std::ranges::move(OptionsIn(code, kernel), std::back_inserter(decisions));
      text += fmt::format("kernel {} on {}\n{}", kernel.text(), level, Lines(decisions));
    }
  }
  return text;
}

}  // namespace kdl::tools
