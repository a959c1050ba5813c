#include "driver/schedules/schedules.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <iterator>

#include "driver/diagnostics.h"
#include "driver/yaml_text.h"

namespace kdl::driver {

namespace {

constexpr std::string_view kHead =
    "# Measured by `kernelc tune`. With `--tuned FILE`, kernels are compiled in this way; results "
    "stay the same.\n"
    "# `gain` is the speedup over what the compiler chooses itself.\n";

SchedulePlace PlaceOf(const YAML::Node& node) {
  YAML::Mark mark = node.Mark();
  return {static_cast<uint32_t>(mark.line) + 1, static_cast<uint32_t>(mark.column) + 1,
          node.IsScalar() ? static_cast<uint32_t>(node.Scalar().size()) : 1};
}

double GainOf(const YAML::Node& node) {
  std::string text = TextOf(node, "a number");
  double gain = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), gain);
  bool reads = error == std::errc() && end == text.data() + text.size();
  if (!reads || !std::isfinite(gain) || gain <= 0)
    FailAt(node, fmt::format("expected a number above 0, not '{}'", text));
  return gain;
}

Tiles ValuesOf(const YAML::Node& node, std::string_view wanted) {
  Tiles values;
  for (const auto& [key, value] : EntriesOf(node, wanted))
    values[key.Scalar()] = NumberOf(value, 0);
  return values;
}

void ReadTiles(Schedule& schedule, const YAML::Node& node) {
  for (const auto& [key, value] : EntriesOf(node, "constants such as {BM: 64}")) {
    schedule.tiles[key.Scalar()] = NumberOf(value, 0);
    schedule.tile_places[key.Scalar()] = PlaceOf(value);
  }
}

void ReadPasses(Schedule& schedule, const YAML::Node& node) {
  constexpr std::string_view kForm = "passes with options, such as `- pack-late: {blocks: 8}`";
  if (!node.IsSequence()) FailAt(node, fmt::format("expected a list of {}", kForm));
  for (const YAML::Node& item : node) {
    for (const auto& [pass, options] : EntriesOf(item, kForm)) {
      schedule.pass_places.emplace(pass.Scalar(), PlaceOf(pass));
      for (const auto& [option, value] : EntriesOf(options, "options such as {blocks: 8}")) {
        auto [at, is_new] =
            schedule.passes[pass.Scalar()].emplace(option.Scalar(), NumberOf(value, 0));
        if (!is_new) FailAt(option, fmt::format("'{}' is already set", option.Scalar()));
        schedule.pass_places[pass.Scalar() + "." + option.Scalar()] = PlaceOf(value);
      }
    }
  }
}

Schedule ScheduleOf(const YAML::Node& node) {
  constexpr int64_t kMostThreads = 1 << 20;
  Schedule schedule;
  for (const auto& [key, value] : EntriesOf(node, "a schedule with the key 'kernel'")) {
    std::string_view name = KnownKey(
        key, {"kernel", "source", "target", "threads", "sizes", "gain", "tiles", "passes"});
    if (name == "kernel") schedule.kernel = TextOf(value, "the name of a kernel");
    if (name == "source") schedule.source = TextOf(value, "the hash of a kernel");
    if (name == "source") schedule.source_place = PlaceOf(value);
    if (name == "target") schedule.target = TextOf(value, "the level of a target");
    if (name == "threads") schedule.threads = static_cast<int>(NumberOf(value, 0, kMostThreads));
    if (name == "sizes") schedule.sizes = ValuesOf(value, "sizes such as {N: 100}");
    if (name == "gain") schedule.gain = GainOf(value);
    if (name == "tiles") ReadTiles(schedule, value);
    if (name == "passes") ReadPasses(schedule, value);
  }
  for (std::string_view name : {"kernel", "source", "target"}) {
    if (!node[std::string(name)]) FailAt(node, fmt::format("the key '{}' is missing", name));
  }
  return schedule;
}

std::string FlowText(const Tiles& values) {
  std::string text;
  for (const auto& [name, value] : values)
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name, value);
  return "{" + text + "}";
}

std::string ScheduleText(const Schedule& one) {
  std::string text = fmt::format(
      "  - kernel: {}\n    source: {}\n    target: {}\n    threads: {}\n    sizes: {}\n    gain: "
      "{:.3f}\n",
      one.kernel, one.source, one.target, one.threads, FlowText(one.sizes), one.gain);
  auto to = std::back_inserter(text);
  if (!one.tiles.empty()) fmt::format_to(to, "    tiles: {}\n", FlowText(one.tiles));
  if (!one.passes.empty()) text += "    passes:\n";
  for (const auto& [pass, options] : one.passes)
    fmt::format_to(to, "      - {}: {}\n", pass, FlowText(options));
  return text;
}

}  // namespace

std::string TilesText(const Tiles& tiles) {
  std::string text;
  for (const auto& [name, value] : tiles)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

bool SameClass(int64_t a, int64_t b) {
  return std::bit_width(static_cast<uint64_t>(a)) == std::bit_width(static_cast<uint64_t>(b));
}

bool Schedule::SameKey(const Schedule& other) const {
  if (kernel != other.kernel || target != other.target || threads != other.threads) return false;
  return std::ranges::equal(sizes, other.sizes, [](const auto& a, const auto& b) {
    return a.first == b.first && SameClass(a.second, b.second);
  });
}

std::string SchedulesText(const std::vector<Schedule>& schedules) {
  std::string text = fmt::format("{}schedules:\n", kHead);
  for (const Schedule& one : schedules) text += ScheduleText(one);
  return text;
}

std::optional<std::vector<Schedule>> ReadSchedules(const std::string& path, const std::string& text,
                                                   SourceManager& sources,
                                                   DiagnosticEngine& diagnostics) {
  std::vector<Schedule> schedules;
  bool reads = ReadYaml(
      path, text, sources,
      [&](const YAML::Node& root) {
        if (root.IsNull()) return;  // an empty file
        for (const auto& [key, value] : EntriesOf(root, "a mapping with the key 'schedules'")) {
          KnownKey(key, {"schedules"});
          if (!value.IsSequence() && !value.IsNull()) FailAt(value, "'schedules' must be a list");
          for (const YAML::Node& one : value) schedules.push_back(ScheduleOf(one));
        }
      },
      [&](Span at, const std::string& fault) { diagnostics.Report(diag::NotTuned, at, fault); });
  return reads ? std::optional(std::move(schedules)) : std::nullopt;
}

}  // namespace kdl::driver
