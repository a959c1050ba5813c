#include "tools/timing/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "support/parse_json.h"
#include "support/sort_by.h"

namespace kdl::tools {

namespace {

constexpr size_t kColumns = 60;

constexpr char kMarks[] = {'#', '=', '~'};

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

/// The largest number of lines in the time line of blocks.
constexpr size_t kMostLines = 300;

enum class BlockLines : uint8_t { Blocks, Cores, Threads };

/// Returns what a line of the time line of blocks is about, as numbers in the order of the lines.
std::tuple<std::string, std::string, int64_t, int64_t> LineKey(const ProfileSpan& block,
                                                               BlockLines lines) {
  bool has_core = lines != BlockLines::Threads;
  return {block.name, has_core && block.row.find(" stage ") == std::string::npos ? "" : block.row,
          has_core ? block.core : -1, lines == BlockLines::Blocks ? block.block : -1};
}

/// Returns a time line of the blocks.
std::string BlocksText(const std::vector<const ProfileSpan*>& blocks, Extent extent) {
  std::map<decltype(LineKey({}, {})), std::vector<const ProfileSpan*>> rows;
  std::string text;
  for (BlockLines lines : {BlockLines::Blocks, BlockLines::Cores, BlockLines::Threads}) {
    rows.clear();
    for (const ProfileSpan* block : blocks) rows[LineKey(*block, lines)].push_back(block);
    if (lines == BlockLines::Blocks) text = fmt::format("\n{} blocks\n", blocks.size());
    if (lines != BlockLines::Blocks)
      text = fmt::format("\n{} blocks, more than {}: those of a {} are in one line\n",
                         blocks.size(), kMostLines, lines == BlockLines::Cores ? "core" : "thread");
    if (rows.size() <= kMostLines) break;
  }
  std::vector<std::string> labels;
  size_t width = 0;
  for (const auto& [key, own] : rows) {
    const auto& [name, row, core, number] = key;
    std::string& label = labels.emplace_back(name.substr(name.find('\'')));
    if (!row.empty()) label += " " + row;
    if (core >= 0) label += fmt::format(" core {}", core);
    if (number >= 0) label += fmt::format(" block {}", number);
    width = std::max(width, label.size());
  }
  size_t line = 0;
  for (const auto& [key, own] : rows) {
    double time = 0;
    double longest = 0;
    for (const ProfileSpan* span : own) {
      time += span->end - span->begin;
      longest = std::max(longest, span->end - span->begin);
    }
    text += fmt::format("{:<{}}  {:>10}  |{}|", labels[line++], width, DurationText(time),
                        LineOf(own, extent));
    if (own.size() > 1)
      text += fmt::format("  {} blocks, the longest {}", own.size(), DurationText(longest));
    text += "\n";
  }
  return text;
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

/// Throws an exception if a member is missing or has another type.
std::vector<ProfileSpan> SpansOf(const nlohmann::json& events) {
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
    if (event.contains("args")) {
      const nlohmann::json& args = event.at("args");
      span.bytes = args.value("bytes", int64_t{0});
      span.core = args.value("core", int64_t{0});
      span.block = args.value("block", int64_t{-1});
    }
    spans.push_back(std::move(span));
  }
  return spans;
}

}  // namespace

SpanKind KindOf(const ProfileSpan& span) {
  if (span.block >= 0) return SpanKind::Kernel;
  bool waits = span.name.starts_with("waits ") || span.row.find(" stage ") != std::string::npos;
  if (waits) return SpanKind::Wait;
  return span.bytes > 0 ? SpanKind::Copy : SpanKind::Kernel;
}

std::string DurationText(double microseconds) {
  if (microseconds < 1000) return fmt::format("{:.1f} us", microseconds);
  return microseconds < 1e6 ? fmt::format("{:.2f} ms", microseconds / 1e3)
                            : fmt::format("{:.2f} s", microseconds / 1e6);
}

Result<std::vector<ProfileSpan>> ParseTrace(std::string_view text) {
  auto events = ParseJson<nlohmann::json>(text);
  if (!events.is_array()) return Failure{"it is not a trace that the runtime has written"};
  try {
    return SpansOf(events);
  } catch (const nlohmann::json::exception&) {
    return Failure{
        "it is not a trace that the runtime has written: an event lacks 'tid', 'ph', 'ts', 'dur' "
        "or "
        "'name', or one of them has another type"};
  }
}

std::string ProfileText(const std::vector<ProfileSpan>& spans) {
  if (spans.empty()) return "profile: nothing has run on a device\n";
  Extent extent{spans.front().begin, spans.front().end};
  std::map<std::string, std::vector<const ProfileSpan*>> rows;
  std::vector<const ProfileSpan*> blocks;
  size_t width = 0;
  for (const ProfileSpan& span : spans) {
    extent.begin = std::min(extent.begin, span.begin);
    extent.end = std::max(extent.end, span.end);
    if (span.block >= 0) {
      blocks.push_back(&span);
      continue;
    }
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
  if (!blocks.empty()) text += BlocksText(blocks, extent);
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
