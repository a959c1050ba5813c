#include "passes/pipeline_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace kdl::passes {

namespace {

/// Thrown inside this file only, at the first fault.
struct FaultFound {
  TextPlace at;
  std::string message;
};

class PipelineReader {
 public:
  PipelineReader(const FileReader& read, std::vector<std::string>& files)
      : read_(read), files_(files) {}

  PipelineText Read(const std::string& path) {
    size_t file = Open(path, {});
    YAML::Node root = Load(file, {});
    PipelineText text;
    for (const auto& [key, value] : Entries(root, file, "a mapping with the key 'family'")) {
      std::string name = key.Scalar();
      TextPlace at = PlaceOf(key, file);
      auto list = std::ranges::find(kStageLists, name);
      if (name == "family") {
        text.family = ScalarOf(value, file, "the name of a family of targets");
        text.family_at = PlaceOf(value, file);
      } else if (name == "parameters") {
        text.parameters = Settings(value, file);
      } else if (list != kStageLists.end()) {
        text.lists[static_cast<size_t>(list - kStageLists.begin())] = Stages(name, value, file);
      } else {
        throw FaultFound{at, fmt::format("unknown key '{}'; the keys are family, parameters, {}",
                                         name, fmt::join(kStageLists, ", "))};
      }
    }
    if (text.family.empty()) throw FaultFound{{file}, "the key 'family' is missing"};
    text.files = files_;
    return text;
  }

 private:
  static TextPlace PlaceOf(const YAML::Node& node, size_t file) {
    YAML::Mark mark = node.Mark();
    if (mark.is_null()) return {file};
    return {file, static_cast<uint32_t>(mark.line) + 1, static_cast<uint32_t>(mark.column) + 1};
  }

  /// Reads the file into texts_, and returns its index.
  size_t Open(const std::string& path, TextPlace from) {
    Result<std::string> text = read_(path);
    files_.push_back(path);
    size_t file = files_.size() - 1;
    if (!text) throw FaultFound{file == 0 ? TextPlace{file} : from, text.failure().message};
    text_ = *text;
    return file;
  }

  /// Parses the text that was opened last. The parser recurses, so nesting is limited before.
  YAML::Node Load(size_t file, TextPlace from) {
    try {
      CheckNesting(file);
      std::vector<YAML::Node> documents = YAML::LoadAll(text_);
      if (documents.size() != 1)
        throw FaultFound{
            {file}, fmt::format("the file must have one YAML document, not {}", documents.size())};
      return documents[0];
    } catch (const YAML::ParserException& e) {
      TextPlace at = from;
      at.file = file;
      at.line = static_cast<uint32_t>(e.mark.line) + 1;
      at.column = static_cast<uint32_t>(e.mark.column) + 1;
      throw FaultFound{at, fmt::format("this is not YAML: {}", e.msg)};
    }
  }

  void CheckNesting(size_t file) const {
    constexpr int kMostBrackets = 16;
    int open = 0;
    TextPlace at{file};
    for (char c : text_) {
      if (c == '[' || c == '{') ++open;
      if (c == ']' || c == '}') --open;
      if (open > kMostBrackets) throw FaultFound{at, "brackets are nested too deeply"};
      ++at.column;
      if (c == '\n') at = {file, at.line + 1, 1};
    }
  }

  static std::string ScalarOf(const YAML::Node& node, size_t file, std::string_view wanted) {
    if (!node.IsScalar()) throw FaultFound{PlaceOf(node, file), fmt::format("expected {}", wanted)};
    return node.Scalar();
  }

  /// Returns the entries of a mapping, in the order of the text. Keys must be different names.
  static std::vector<std::pair<YAML::Node, YAML::Node>> Entries(const YAML::Node& node, size_t file,
                                                                std::string_view wanted) {
    if (!node.IsMap()) throw FaultFound{PlaceOf(node, file), fmt::format("expected {}", wanted)};
    std::vector<std::pair<YAML::Node, YAML::Node>> entries;
    for (const auto& entry : node) {
      ScalarOf(entry.first, file, "a name");
      for (const auto& [key, value] : entries) {
        if (key.Scalar() == entry.first.Scalar())
          throw FaultFound{PlaceOf(entry.first, file),
                           fmt::format("'{}' is already set", key.Scalar())};
      }
      entries.emplace_back(entry.first, entry.second);
    }
    return entries;
  }

  static std::vector<SettingText> Settings(const YAML::Node& node, size_t file) {
    std::vector<SettingText> settings;
    for (const auto& [key, value] : Entries(node, file, "a mapping such as {name: 8}"))
      settings.push_back({key.Scalar(), ScalarOf(value, file, "a value"), PlaceOf(key, file),
                          PlaceOf(value, file)});
    return settings;
  }

  std::vector<StageText> Stages(const std::string& list, const YAML::Node& node, size_t file) {
    if (!node.IsSequence())
      throw FaultFound{PlaceOf(node, file), fmt::format("'{}' must be a list of passes", list)};
    std::vector<StageText> stages;
    for (const YAML::Node& item : node) {
      if (item.IsScalar()) {
        stages.push_back({item.Scalar(), PlaceOf(item, file), {}});
        continue;
      }
      auto entries = Entries(item, file, "a pass, or a pass with options: `- PASS: {OPTION: 8}`");
      if (entries.size() != 1)
        throw FaultFound{PlaceOf(item, file),
                         "each item of a list is one pass; write `- ` before each"};
      const auto& [key, value] = entries[0];
      if (key.Scalar() == "include") {
        std::vector<StageText> included = Included(list, value, file);
        stages.insert(stages.end(), included.begin(), included.end());
      } else {
        bool has_options = !value.IsNull();
        stages.push_back({key.Scalar(), PlaceOf(key, file),
                          has_options ? Settings(value, file) : std::vector<SettingText>()});
      }
    }
    return stages;
  }

  /// Returns the list of this name in the file that `node` names.
  std::vector<StageText> Included(const std::string& list, const YAML::Node& node, size_t file) {
    constexpr size_t kMostFiles = 64;
    TextPlace at = PlaceOf(node, file);
    std::filesystem::path folder = std::filesystem::path(files_[file]).parent_path();
    std::string path =
        (folder / ScalarOf(node, file, "the path of a file")).lexically_normal().string();
    if (files_.size() == kMostFiles) throw FaultFound{at, "too many files are included"};
    if (std::ranges::find(open_, path) != open_.end() || path == files_[0])
      throw FaultFound{at, fmt::format("'{}' includes itself", path)};
    open_.push_back(path);
    size_t other = Open(path, at);
    YAML::Node root = Load(other, at);
    Entries(root, other, fmt::format("a mapping with the key '{}'", list));
    YAML::Node stages = root[list];
    if (!stages) throw FaultFound{at, fmt::format("'{}' has no list '{}'", path, list)};
    std::vector<StageText> result = Stages(list, stages, other);
    open_.pop_back();
    return result;
  }

  const FileReader& read_;
  std::vector<std::string>& files_;
  std::string text_;
  std::vector<std::string> open_;  ///< the included files that are being read
};

}  // namespace

std::optional<PipelineText> ReadPipelineText(const std::string& path, const FileReader& read,
                                             PipelineFault& fault) {
  fault.files.clear();
  try {
    return PipelineReader(read, fault.files).Read(path);
  } catch (const FaultFound& found) {
    fault.at = found.at;
    fault.message = found.message;
  } catch (const YAML::Exception& e) {  // an invalid tag or anchor
    fault.at = {0, static_cast<uint32_t>(e.mark.line) + 1,
                static_cast<uint32_t>(e.mark.column) + 1};
    fault.message = e.msg;
  }
  return std::nullopt;
}

}  // namespace kdl::passes
