#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/json_text.h"
#include "tools/explain/communication_map.h"

namespace kdl::tools {

namespace {

/// The table of bytes by pair is printed for at most this number of ranks, so that it fits a terminal.
constexpr int64_t kMostRanksInText = 16;

std::string NumbersText(const CommunicationReport& report) {
  std::string text;
  for (const ProgramNumber& number : report.numbers)
    text += fmt::format("{}{} = {}", text.empty() ? ", with " : ", ", number.name, number.value);
  return text;
}

/// Says what is assumed about loops whose end is not known.
std::string AssumedText(const CommunicationReport& report) {
  if (report.assumed_lines.empty()) return "";
  bool is_one = report.assumed_lines.size() == 1;
  return fmt::format(
      "assumed: {} iteration{} of {} in line{} {}, whose end depends on elements of tensors; for "
      "another number: --iterations N\n",
      report.iterations, report.iterations == 1 ? "" : "s",
      is_one ? "the loop" : "each of the loops", is_one ? "" : "s",
      fmt::join(report.assumed_lines, ", "));
}

std::string TensorsText(const CommunicationReport& report) {
  size_t name = std::string_view("tensor").size();
  size_t cause = std::string_view("cause").size();
  for (const TensorTraffic& row : report.tensors) {
    name = std::max(name, row.tensor.size());
    cause = std::max(cause, row.cause.size());
  }
  std::string text = fmt::format("{:<{}}  {:<{}}  {:>10}  {:>14}  {:>14}\n", "tensor", name,
                                 "cause", cause, "messages", "bytes", "most to a rank");
  for (const TensorTraffic& row : report.tensors)
    text += fmt::format("{:<{}}  {:<{}}  {:>10}  {:>14}  {:>14}\n", row.tensor, name, row.cause,
                        cause, row.sent.messages, row.sent.bytes, row.most_bytes);
  driver::RankTraffic total = TotalTraffic(report);
  return text + fmt::format("{:<{}}  {:<{}}  {:>10}  {:>14}\n", "all", name, "", cause,
                            total.messages, total.bytes);
}

std::string MemoryText(const CommunicationReport& report) {
  return fmt::format(
      "memory: a rank owns at most {} bytes, and has at most {} bytes of others at the same time\n",
      report.owned_bytes, report.held_bytes);
}

/// Reports launches for which a rank needs more elements of others than it owns. Their bytes grow with the number of ranks,
/// while those of neighbouring rows only grow with the surface of what a rank owns.
std::string RemarksText(const CommunicationReport& report) {
  std::string text;
  for (const TensorTraffic& row : report.tensors) {
    if (row.owned == 0 || row.most_received <= row.owned) continue;
    text += fmt::format(
        "remark: {}: {}: a rank receives {:.3g} times as many elements as it owns, so more ranks "
        "send more bytes in total\n",
        row.tensor, row.cause,
        static_cast<double>(row.most_received) / static_cast<double>(row.owned));
  }
  return text;
}

std::string RemediesText(const CommunicationReport& report) {
  if (!report.has_tried)
    return "remark: other declarations were not compared, because that would take too long: use "
           "smaller sizes or fewer steps\n";
  std::string text;
  for (const Remedy& remedy : report.remedies) {
    bool is_first = text.empty();
    text += fmt::format("remark: {}declare '{}' with `{}`: the ranks then send {} bytes in total\n",
                        is_first ? "" : "also ", fmt::join(remedy.tensors, "' and '"),
                        remedy.placement, remedy.sent.bytes);
  }
  return text;
}

/// Returns a table with the bytes that the rank of a row sends to the rank of a column.
std::string PairsText(const CommunicationReport& report) {
  std::vector<PairTraffic> pairs = TotalPairs(report);
  if (pairs.empty() || report.ranks > kMostRanksInText) return "";
  auto most = std::ranges::max(pairs, {}, [](const PairTraffic& one) { return one.sent.bytes; });
  size_t width = std::max<size_t>(fmt::formatted_size("{}", most.sent.bytes), 2);
  std::string text = "\nbytes from the rank on the left to the rank above\n    ";
  for (int64_t to = 0; to < report.ranks; ++to) text += fmt::format("  {:>{}}", to, width);
  text += "\n";
  auto next = pairs.begin();
  for (int64_t from = 0; from < report.ranks; ++from) {
    text += fmt::format("{:>4}", from);
    for (int64_t to = 0; to < report.ranks; ++to) {
      bool sends = next != pairs.end() && next->from == from && next->to == to;
      text += fmt::format("  {:>{}}", sends ? fmt::to_string((next++)->sent.bytes) : "-", width);
    }
    text += "\n";
  }
  return text;
}

nlohmann::ordered_json SentJson(const driver::RankTraffic& sent) {
  return {{"messages", sent.messages}, {"bytes", sent.bytes}};
}

}  // namespace

std::string ReportText(const CommunicationReport& report) {
  std::string text = fmt::format(
      "communication in {}: program {} on {} rank{}{}\n{}\n", report.file, report.program,
      report.ranks, report.ranks == 1 ? "" : "s", NumbersText(report), AssumedText(report));
  text += TotalTraffic(report).messages == 0
              ? "nothing is sent\n"
              : TensorsText(report) + MemoryText(report) + RemarksText(report) +
                    RemediesText(report) + PairsText(report);
  return report.scaling.empty() ? text : text + "\n" + ScalingText(report.scaling);
}

std::string CommunicationJson(const CommunicationReport& report) {
  nlohmann::ordered_json json = {{"program", report.program},
                                 {"ranks", report.ranks},
                                 {"ranks_of_group", report.ranks_of_group}};
  for (const ProgramNumber& number : report.numbers) json["numbers"][number.name] = number.value;
  if (!report.assumed_lines.empty()) json["assumed_iterations"] = report.iterations;
  json["bytes_owned_by_one_rank"] = report.owned_bytes;
  json["bytes_of_others_in_one_rank"] = report.held_bytes;
  json["tensors"] = nlohmann::ordered_json::array();
  for (const TensorTraffic& row : report.tensors) {
    nlohmann::ordered_json entry = {{"tensor", row.tensor}, {"cause", row.cause}};
    entry.update(SentJson(row.sent));
    entry["bytes_to_one_rank"] = row.most_bytes;
    for (const PairTraffic& pair : row.pairs) {
      nlohmann::ordered_json one = {{"from", pair.from}, {"to", pair.to}};
      one.update(SentJson(pair.sent));
      entry["pairs"].push_back(std::move(one));
    }
    json["tensors"].push_back(std::move(entry));
  }
  for (const Remedy& remedy : report.remedies)
    json["remedies"].push_back({{"tensors", remedy.tensors},
                                {"placement", remedy.placement},
                                {"bytes", remedy.sent.bytes}});
  if (!report.has_tried) json["has_tried_remedies"] = false;
  for (const ScalingPoint& point : report.scaling)
    json["predicted_times"].push_back({{"ranks", point.ranks},
                                       {"seconds", point.seconds},
                                       {"least_seconds", point.least},
                                       {"most_seconds", point.most},
                                       {"computing_seconds", point.computing}});
  return JsonText(json);
}

}  // namespace kdl::tools
