#include "tools/explain/rank_times.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace kdl::tools {

namespace {

constexpr std::pair<const char*, double RankTimes::*> kNumbers[] = {
    {"latency", &RankTimes::latency},
    {"overhead", &RankTimes::overhead},
    {"gap", &RankTimes::gap},
    {"gap_per_byte", &RankTimes::gap_per_byte},
    {"copy_per_byte", &RankTimes::copy_per_byte},
    {"launch", &RankTimes::launch},
};

bool IsTime(const nlohmann::json& value) { return value.is_number() && value.get<double>() >= 0; }

}  // namespace

Result<RankTimes> ParseRankTimes(std::string_view text) {
  auto object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object()) return Failure{"it is not a JSON object"};
  RankTimes times;
  for (const auto& [name, member] : kNumbers) {
    if (!object.contains(name) || !IsTime(object[name]))
      return Failure{fmt::format("'{}' must be a number of seconds", name)};
    times.*member = object[name].get<double>();
  }
  const auto kernels = object.find("kernels");
  if (kernels == object.end() || !kernels->is_object())
    return Failure{"'kernels' must be an object with the seconds of each kernel"};
  for (const auto& [name, seconds] : kernels->items()) {
    if (!IsTime(seconds))
      return Failure{fmt::format("the kernel '{}' must have a number of seconds", name)};
    times.kernels[name] = seconds.get<double>();
  }
  return times;
}

}  // namespace kdl::tools
