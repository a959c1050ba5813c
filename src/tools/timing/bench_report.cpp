#include "tools/timing/bench_report.h"
#include "support/json_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace kdl::tools {

namespace {

std::string TimeText(double seconds) {
  if (seconds < 1e-6) return fmt::format("{:.1f} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.2f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

/// Returns the text of a rate in billions per second.
std::string RateText(std::optional<double> count, double seconds) {
  return count && *count > 0 ? fmt::format("{:.2f}", *count / seconds * 1e-9) : "-";
}

std::string PercentText(std::optional<double> share) {
  return share ? fmt::format("{:.0f} %", *share * 100) : "-";
}

nlohmann::json OrNull(std::optional<double> number) {
  return number ? nlohmann::json(*number) : nlohmann::json();
}

}  // namespace

std::string BenchHead(const BenchColumns& columns) {
  std::string device = columns.by_device ? fmt::format(" {:>10}", "by device") : "";
  std::string against = columns.against ? fmt::format(" {:>7} {:>6}", "against", "spread") : "";
  return fmt::format("{:<20} {:<28} {:<12} {:>7} {:>10} {:>6}{} {:>9} {:>9} {:>7}{} {:>6}\n",
                     "kernel", "sizes", "device", "threads", "time", "spread", device, "Gop/s",
                     "GB/s", "ceiling", against, "trials");
}

std::string BenchLine(const BenchRow& row, const BenchColumns& columns) {
  std::string device =
      columns.by_device
          ? fmt::format(" {:>10}", row.by_device ? TimeText(*row.by_device) : std::string("-"))
          : "";
  std::string against = columns.against ? fmt::format(" {:>7.2f} {:>6}", row.against.value_or(0),
                                                      PercentText(row.against_spread))
                                        : "";
  return fmt::format(
      "{:<20} {:<28} {:<12} {:>7} {:>10} {:>6}{} {:>9} {:>9} {:>7}{} {:>6}\n", row.kernel,
      row.sizes, row.device, row.threads == 0 ? "-" : fmt::format("{}", row.threads),
      TimeText(row.median), PercentText(row.spread), device, RateText(row.operations, row.median),
      RateText(row.bytes, row.median), PercentText(row.ceiling), against, row.trials);
}

std::string BenchTimesHead() {
  return fmt::format("{:>10} {:>6} {:>9} {:>9} {:>7}", "time", "spread", "Gop/s", "GB/s",
                     "ceiling");
}

std::string BenchTimes(const BenchRow& row) {
  return fmt::format("{:>10} {:>6} {:>9} {:>9} {:>7}", TimeText(row.median),
                     PercentText(row.spread), RateText(row.operations, row.median),
                     RateText(row.bytes, row.median), PercentText(row.ceiling));
}

std::string BenchRemarkLine(const BenchRow& row) {
  constexpr double kSlowShare = 0.4;
  bool is_slow = row.ceiling && *row.ceiling < kSlowShare;
  return is_slow && !row.remark.empty() ? fmt::format("  {}\n", row.remark) : "";
}

std::string BenchJson(const std::vector<BenchRow>& rows) {
  nlohmann::json out = nlohmann::json::array();
  for (const BenchRow& row : rows) {
    nlohmann::json one;
    one["kernel"] = row.kernel;
    one["sizes"] = row.sizes;
    one["device"] = row.device;
    one["threads"] = row.threads;
    one["median"] = row.median;
    one["spread"] = row.spread;
    one["by_device"] = OrNull(row.by_device);
    one["trials"] = row.trials;
    one["bytes"] = row.bytes;
    one["operations"] = OrNull(row.operations);
    one["ceiling"] = OrNull(row.ceiling);
    one["peak"] = row.peak;
    one["bandwidth"] = row.bandwidth;
    one["against"] = OrNull(row.against);
    one["against_spread"] = OrNull(row.against_spread);
    one["remark"] = row.remark;
    out.push_back(std::move(one));
  }
  return JsonText(out, 2) + "\n";
}

std::optional<BenchRow> ParseBenchRow(std::string_view text) {
  nlohmann::json one = nlohmann::json::parse(text, nullptr, false);
  if (one.is_object() && one.contains("rows")) one = nlohmann::json(one["rows"]);
  if (one.is_array() && !one.empty()) one = nlohmann::json(one[0]);
  if (!one.is_object()) return std::nullopt;
  auto number = [&](const char* key) -> std::optional<double> {
    bool has = one.contains(key) && one[key].is_number();
    return has ? std::optional(one[key].get<double>()) : std::nullopt;
  };
  BenchRow row;
  row.kernel = one.value("kernel", std::string());
  row.sizes = one.value("sizes", std::string());
  row.device = one.value("device", std::string());
  row.threads = one.value("threads", 0);
  row.median = number("median").value_or(0);
  row.spread = number("spread").value_or(0);
  row.by_device = number("by_device");
  row.trials = one.value("trials", 0);
  row.bytes = number("bytes").value_or(0);
  row.operations = number("operations");
  row.ceiling = number("ceiling");
  row.peak = number("peak").value_or(0);
  row.bandwidth = number("bandwidth").value_or(0);
  row.against = number("against");
  row.against_spread = number("against_spread");
  row.remark = one.value("remark", std::string());
  return row;
}

}  // namespace kdl::tools
