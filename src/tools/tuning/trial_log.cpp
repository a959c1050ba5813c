#include "tools/tuning/trial_log.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/json_text.h"
#include "support/parse_json.h"

namespace kdl::tools {

namespace {

nlohmann::ordered_json JsonOf(const TrialKey& key, const Trial& trial) {
  nlohmann::ordered_json line = {{"kernel", key.kernel},   {"source", key.source},
                                 {"target", key.target},   {"threads", key.threads},
                                 {"sizes", key.sizes},     {"start", key.start},
                                 {"choice", trial.choice}, {"gain", trial.gain}};
  if (!trial.failure.empty()) line["failure"] = trial.failure;
  if (trial.same_code) line["same_code"] = true;
  return line;
}

}  // namespace

void TrialLog::Read(const std::string& text) {
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    try {
      auto line = ParseJson<nlohmann::json>(std::string_view(text).substr(begin, end - begin));
      Line read;
      line.at("kernel").get_to(read.key.kernel);
      line.at("source").get_to(read.key.source);
      line.at("target").get_to(read.key.target);
      line.at("threads").get_to(read.key.threads);
      line.at("sizes").get_to(read.key.sizes);
      line.at("start").get_to(read.key.start);
      line.at("choice").get_to(read.trial.choice);
      line.at("gain").get_to(read.trial.gain);
      read.trial.failure = line.value("failure", "");
      read.trial.same_code = line.value("same_code", false);
      lines_.push_back(std::move(read));
    } catch (const nlohmann::json::exception&) {
      // The line was only partly written, or is none of a log.
    }
    begin = end + 1;
  }
}

std::vector<Trial> TrialLog::Find(const TrialKey& key) const {
  std::vector<Trial> found;
  for (const Line& line : lines_) {
    if (line.key == key) found.push_back(line.trial);
  }
  return found;
}

void TrialLog::Add(const TrialKey& key, const Trial& trial) { lines_.push_back({key, trial}); }

std::string TrialLog::text() const {
  std::string text;
  for (const Line& line : lines_) text += JsonText(JsonOf(line.key, line.trial)) + "\n";
  return text;
}

}  // namespace kdl::tools
