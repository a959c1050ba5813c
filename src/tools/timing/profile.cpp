#include "tools/timing/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "support/sort_by.h"

namespace kdl::tools {

namespace {

constexpr size_t kColumns = 60;

enum class SpanKind : uint8_t { Kernel, Copy, Wait };
constexpr char kMarks[] = {'#', '=', '~'};

SpanKind KindOf(const ProfileSpan& span) {
  bool waits = span.name.starts_with("waits ") || span.row.find(" stage ") != std::string::npos;
  if (waits) return SpanKind::Wait;
  return span.bytes > 0 ? SpanKind::Copy : SpanKind::Kernel;
}

std::string DurationText(double microseconds) {
  if (microseconds < 1000) return fmt::format("{:.1f} us", microseconds);
  return microseconds < 1e6 ? fmt::format("{:.2f} ms", microseconds / 1e3)
                            : fmt::format("{:.2f} s", microseconds / 1e6);
}

/// The first and the last time of a run.
struct Extent {
  double begin = 0;
  double end = 0;
  double length() const { return std::max(end - begin, 1e-3); }
};

std::string LineOf(const std::vector<const ProfileSpan*>& spans, Extent extent) {
  std::string line(kColumns, ' ');
  for (const ProfileSpan* span : spans) {
    auto column = [&](double time) {
      return static_cast<size_t>((time - extent.begin) / extent.length() * kColumns);
    };
    size_t first = std::min(column(span->begin), kColumns - 1);
    size_t last = std::clamp(column(span->end), first + 1, kColumns);
    // What runs at the same time as a wait is more important.
    for (size_t at = first; at < last; ++at) {
      char mark = kMarks[static_cast<size_t>(KindOf(*span))];
      if (line[at] == ' ' || line[at] == '~') line[at] = mark;
    }
  }
  return line;
}

std::string TableOf(const std::vector<ProfileSpan>& spans) {
  struct Total {
    size_t count = 0;
    double time = 0;
    int64_t bytes = 0;
  };
  std::map<std::pair<SpanKind, std::string>, Total> totals;
  for (const ProfileSpan& span : spans) {
    Total& total = totals[{KindOf(span), span.name}];
    ++total.count;
    total.time += span.end - span.begin;
    total.bytes += span.bytes;
  }
  std::vector<std::pair<std::pair<SpanKind, std::string>, Total>> rows(totals.begin(),
                                                                       totals.end());
  SortBy(rows, [](const auto& row) { return -row.second.time; });
  std::string text = fmt::format("\n{:>7}  {:>10}\n", "count", "time");
  for (const auto& [key, total] : rows) {
    text += fmt::format("{:>7}  {:>10}  {} {}", total.count, DurationText(total.time),
                        kMarks[static_cast<size_t>(key.first)], key.second);
    text += total.bytes > 0 ? fmt::format(", {} bytes\n", total.bytes) : "\n";
  }
  return text;
}

}  // namespace

Result<std::vector<ProfileSpan>> ParseTrace(std::string_view text) {
  nlohmann::json events = nlohmann::json::parse(text, nullptr, false);
  if (!events.is_array()) return Failure{"the runtime has not written a trace"};
  std::map<int64_t, std::string> rows;
  std::vector<ProfileSpan> spans;
  for (const nlohmann::json& event : events) {
    auto row = event.at("tid").get<int64_t>();
    if (event.at("ph") == "M") {
      rows[row] = event.at("args").at("name").get<std::string>();
      continue;
    }
    auto begin = event.at("ts").get<double>();
    ProfileSpan span{rows[row], event.at("name").get<std::string>(), begin,
                     begin + event.at("dur").get<double>()};
    if (event.contains("args")) span.bytes = event.at("args").value("bytes", int64_t{0});
    spans.push_back(std::move(span));
  }
  return spans;
}

std::string ProfileText(const std::vector<ProfileSpan>& spans) {
  if (spans.empty()) return "profile: nothing has run on a device\n";
  Extent extent{spans.front().begin, spans.front().end};
  std::map<std::string, std::vector<const ProfileSpan*>> rows;
  size_t width = 0;
  for (const ProfileSpan& span : spans) {
    extent.begin = std::min(extent.begin, span.begin);
    extent.end = std::max(extent.end, span.end);
    rows[span.row].push_back(&span);
    width = std::max(width, span.row.size());
  }
  std::string text =
      fmt::format("profile: {} in all; # runs, = copies, ~ waits\n", DurationText(extent.length()));
  for (const auto& [row, own] : rows) {
    double busy = 0;
    for (const ProfileSpan* span : own) {
      if (KindOf(*span) != SpanKind::Wait) busy += span->end - span->begin;
    }
    text += fmt::format("{:<{}}  {:>3.0f} %  |{}|\n", row, width, 100 * busy / extent.length(),
                        LineOf(own, extent));
  }
  return text + TableOf(spans);
}

Result<TraceFile> TraceFile::Make() {
  constexpr const char* kVariable = "KDL_TRACE";
  const char* known = std::getenv(kVariable);
  if (known && *known != '\0') return TraceFile(std::nullopt, known);
  Result<TemporaryFolder> folder = TemporaryFolder::Make();
  if (!folder.ok()) return folder.failure();
  std::string path = folder->path() + "/trace.json";
  setenv(kVariable, path.c_str(), 1);
  return TraceFile(std::move(*folder), path);
}

Result<std::vector<ProfileSpan>> TraceFile::Read() const {
  Result<std::string> text = ReadFile(path_, kMostOfTool);
  if (!text.ok()) return text.failure();
  return ParseTrace(*text);
}

}  // namespace kdl::tools
