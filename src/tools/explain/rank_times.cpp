#include "tools/explain/rank_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "support/parse_json.h"

namespace kdl::tools {

namespace {

struct TimeMember {
  const char* name;
  double RankTimes::* member;
  bool may_be_absent = false;
};
constexpr TimeMember kNumbers[] = {
    {"latency", &RankTimes::latency},
    {"overhead", &RankTimes::overhead},
    {"gap", &RankTimes::gap},
    {"gap_per_byte", &RankTimes::gap_per_byte},
    {"copy_per_byte", &RankTimes::copy_per_byte},
    {"launch", &RankTimes::launch},
    {"call", &RankTimes::call, true},
    {"exchange", &RankTimes::exchange, true},
};

bool IsTime(const nlohmann::json& value) { return value.is_number() && value.get<double>() >= 0; }

/// Returns the measured values of a time in ascending order, or nothing if the JSON value is neither a time nor a list of times.
std::optional<std::vector<double>> ValuesOf(const nlohmann::json& value) {
  nlohmann::json list = value.is_array() ? value : nlohmann::json::array({value});
  if (list.empty() || !std::ranges::all_of(list, IsTime)) return std::nullopt;
  auto values = list.get<std::vector<double>>();
  std::ranges::sort(values);
  return values;
}

/// Calls `set(times, value)` for the median, the least and the most of the values.
template <class Set>
void SetEach(MeasuredTimes& times, const std::vector<double>& values, Set set) {
  size_t upper = values.size() / 2;
  size_t lower = (values.size() - 1) / 2;
  set(times.median, (values[lower] + values[upper]) / 2);
  set(times.least, values.front());
  set(times.most, values.back());
}

}  // namespace

Result<MeasuredTimes> ParseRankTimes(std::string_view text) {
  auto object = ParseJson<nlohmann::json>(text);
  if (!object.is_object()) return Failure{"it is not a JSON object"};
  MeasuredTimes times;
  for (const TimeMember& time : kNumbers) {
    bool exists = object.contains(time.name);
    if (time.may_be_absent && !exists) continue;
    auto values = exists ? ValuesOf(object[time.name]) : std::nullopt;
    if (!values)
      return Failure{fmt::format("'{}' must be a number of seconds, or a list of them", time.name)};
    SetEach(times, *values,
            [&time](RankTimes& one, double seconds) { one.*time.member = seconds; });
  }
  const auto kernels = object.find("kernels");
  if (kernels == object.end() || !kernels->is_object())
    return Failure{"'kernels' must be an object with the seconds of each kernel"};
  for (const auto& [name, seconds] : kernels->items()) {
    auto values = ValuesOf(seconds);
    if (!values)
      return Failure{
          fmt::format("the kernel '{}' must have a number of seconds, or a list of them", name)};
    SetEach(times, *values, [&name](RankTimes& one, double value) { one.kernels[name] = value; });
  }
  return times;
}

}  // namespace kdl::tools
