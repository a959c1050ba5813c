#include "tools/suite/suite_row.h"
#include "support/json_text.h"
#include "support/parse_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace kdl::tools {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kVerdicts[] = {"right", "WRONG", "WEAK", "FAILED", "CRASHED", "LATE"};

Json OrNothing(const std::optional<double>& number) { return number ? Json(*number) : Json(); }

std::optional<double> NumberIn(const Json& object, const char* key) {
  auto found = object.find(key);
  bool has = found != object.end() && found->is_number();
  return has ? std::optional(found->get<double>()) : std::nullopt;
}

Json JsonOf(const SuiteRow& row) {
  Json one;
  one["problem"] = row.problem;
  one["sizes"] = row.sizes;
  one["target"] = row.target;
  one["threads"] = row.threads;
  one["options"] = row.options;
  one["verdict"] = VerdictText(row.verdict);
  one["error"] = row.error && std::isfinite(*row.error) ? Json(*row.error) : Json();
  one["note"] = row.note;
  one["times"] = row.times ? Json::parse(BenchJson({*row.times}))[0] : Json();
  one["baselines"] = Json::array();
  for (const BaselineTime& time : row.baselines) {
    one["baselines"].push_back({{"name", time.name},
                                {"version", time.version},
                                {"seconds", OrNothing(time.seconds)},
                                {"note", time.note}});
  }
  return one;
}

/// The ratio of a baseline's time to ours; above 1, ours is faster.
std::optional<double> RatioOf(const SuiteRow& row, const BaselineTime& baseline) {
  bool has =
      row.times && row.verdict == Verdict::Right && baseline.seconds && row.times->median > 0;
  return has ? std::optional(*baseline.seconds / row.times->median) : std::nullopt;
}

}  // namespace

std::string_view VerdictText(Verdict verdict) { return kVerdicts[static_cast<size_t>(verdict)]; }

std::string RowJson(const SuiteRow& row) { return JsonText(JsonOf(row)) + "\n"; }

std::optional<SuiteRow> ParseRow(std::string_view line) {
  auto one = ParseJson<Json>(line);
  if (!one.is_object()) return std::nullopt;
  try {
    SuiteRow row;
    row.problem = one.at("problem");
    row.sizes = one.at("sizes");
    row.target = one.at("target");
    row.threads = one.at("threads");
    row.options = one.at("options");
    auto verdict = std::ranges::find(kVerdicts, one.at("verdict").get<std::string>());
    if (verdict == std::end(kVerdicts)) return std::nullopt;
    row.verdict = static_cast<Verdict>(verdict - std::begin(kVerdicts));
    row.error = NumberIn(one, "error");
    row.note = one.at("note");
    if (!one.at("times").is_null()) row.times = ParseBenchRow(one["times"].dump());
    for (const Json& time : one.at("baselines"))
      row.baselines.push_back(
          {time.at("name"), time.at("version"), NumberIn(time, "seconds"), time.at("note")});
    return row;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::string SuiteHead(const SuiteTable& table) {
  std::string more = table.times ? " " + BenchTimesHead() + "  against" : "";
  return fmt::format("{:<{}} {:<8} {:>6}{}  note\n", "problem", table.name_width, "verdict",
                     "error", more);
}

std::string SuiteLine(const SuiteRow& row, const SuiteTable& table) {
  std::string error =
      row.error && std::isfinite(*row.error) ? fmt::format("{:.2f}", *row.error) : "-";
  std::string more;
  if (table.times) {
    more = " " + (row.times ? BenchTimes(*row.times)
                            : fmt::format("{:<{}}", "-", BenchTimesHead().size()));
    std::string against;
    for (const BaselineTime& baseline : row.baselines) {
      if (auto ratio = RatioOf(row, baseline))
        against += fmt::format("{}{} {:.2f}", against.empty() ? "" : ", ", baseline.name, *ratio);
    }
    more += fmt::format("  {}", against.empty() ? "-" : against);
  }
  std::string note = row.note.substr(0, row.note.find('\n'));
  return fmt::format("{:<{}} {:<8} {:>6}{}  {}\n", row.problem, table.name_width,
                     VerdictText(row.verdict), error, more, note);
}

std::string SuiteSummary(const std::vector<SuiteRow>& rows) {
  auto right = std::ranges::count(rows, Verdict::Right, &SuiteRow::verdict);
  std::string text = fmt::format("{} of {} are right\n", right, rows.size());
  struct Ratios {
    double logarithms = 0;
    int count = 0;
    int faster = 0;
    std::string version;
  };
  std::map<std::string, Ratios> ratios;
  std::map<std::string, int> missing;
  for (const SuiteRow& row : rows) {
    for (const BaselineTime& baseline : row.baselines) {
      if (auto ratio = RatioOf(row, baseline)) {
        Ratios& all = ratios[baseline.name];
        all.logarithms += std::log(*ratio);
        all.faster += *ratio >= 1 ? 1 : 0;
        all.version = baseline.version;
        ++all.count;
      } else if (!baseline.note.empty()) {
        ++missing[fmt::format("{}: {}", baseline.name,
                              baseline.note.substr(0, baseline.note.find('\n')))];
      }
    }
  }
  for (const auto& [name, all] : ratios) {
    text +=
        fmt::format("{} {}: {:.2f} times as fast (geometric mean of {} problems), faster in {}\n",
                    name, all.version, std::exp(all.logarithms / all.count), all.count, all.faster);
  }
  for (const auto& [note, count] : missing) text += fmt::format("{} ({} problems)\n", note, count);
  return text;
}

std::string SuiteJson(const std::vector<SuiteRow>& rows) {
  Json all = Json::array();
  for (const SuiteRow& row : rows) all.push_back(JsonOf(row));
  return JsonText(all);
}

std::vector<BenchRow> TimesOf(const std::vector<SuiteRow>& rows) {
  std::vector<BenchRow> times;
  for (const SuiteRow& row : rows) {
    if (!row.times || row.verdict != Verdict::Right) continue;
    times.push_back(*row.times);
    times.back().kernel = row.problem;
  }
  return times;
}

}  // namespace kdl::tools
