#include "driver/yaml_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/depthguard.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <system_error>

#include "support/near_names.h"

namespace kdl::driver {

namespace {

/// Fails if brackets are nested so deeply that the parser, which recurses, could run out of stack.
void CheckNesting(std::string_view text) {
  constexpr int kMostBrackets = 64;
  int open = 0;
  YAML::Mark at;
  for (char c : text) {
    open += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    if (open > kMostBrackets) {
      throw YamlFault{at, 1,
                      fmt::format("brackets may be nested at most {} levels deep", kMostBrackets)};
    }
    ++at.column;
    if (c != '\n') continue;
    ++at.line;
    at.column = 0;
  }
}

}  // namespace

void FailAt(const YAML::Node& node, std::string message) {
  throw YamlFault{node.Mark(), node.IsScalar() ? node.Scalar().size() : 1, std::move(message)};
}

std::string TextOf(const YAML::Node& node, std::string_view wanted) {
  if (!node.IsScalar() || node.Scalar().empty()) FailAt(node, fmt::format("expected {}", wanted));
  return node.Scalar();
}

int64_t NumberOf(const YAML::Node& node, int64_t low, int64_t high) {
  std::string text = TextOf(node, "a whole number");
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool is_outside = error == std::errc::result_out_of_range && end == text.data() + text.size();
  if (is_outside) value = text[0] == '-' ? INT64_MIN : INT64_MAX;
  bool is_number = is_outside || (error == std::errc() && end == text.data() + text.size());
  if (!is_number || value < low)
    FailAt(node, fmt::format("expected a whole number of at least {}, not '{}'", low, text));
  if (value > high || is_outside)
    FailAt(node, fmt::format("expected a whole number of at most {}, not '{}'", high, text));
  return value;
}

std::vector<YamlEntry> EntriesOf(const YAML::Node& node, std::string_view wanted) {
  if (!node.IsMap()) FailAt(node, fmt::format("expected {}", wanted));
  std::vector<YamlEntry> entries;
  std::set<std::string> names;
  for (const auto& entry : node) {
    if (!names.insert(TextOf(entry.first, "a name")).second)
      FailAt(entry.first, fmt::format("'{}' is already set", entry.first.Scalar()));
    entries.emplace_back(entry.first, entry.second);
  }
  return entries;
}

std::string_view KnownKey(const YAML::Node& key, const std::vector<std::string_view>& names) {
  auto found = std::ranges::find(names, key.Scalar());
  if (found != names.end()) return *found;
  std::string_view near = NearestName(key.Scalar(), names);
  FailAt(key, near.empty()
                  ? fmt::format("unknown key '{}'; the keys are {}", key.Scalar(),
                                fmt::join(names, ", "))
                  : fmt::format("unknown key '{}'; did you mean '{}'?", key.Scalar(), near));
}

bool ReadYaml(const std::string& path, const std::string& text, SourceManager& sources,
              const std::function<void(const YAML::Node& root)>& use,
              const std::function<void(Span at, const std::string& fault)>& report) {
  sources.Add(path, text);
  auto report_at = [&](const YAML::Mark& mark, size_t length, const std::string& fault) {
    // The node of an empty file has no place.
    const YAML::Mark at = mark.is_null() ? YAML::Mark() : mark;
    report(sources.FindSpan(path, static_cast<uint32_t>(at.line) + 1,
                            static_cast<uint32_t>(at.column) + 1, static_cast<uint32_t>(length)),
           fault);
  };
  try {
    CheckNesting(text);
    std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1)
      throw YamlFault{YAML::Mark(), 1, "the file must have one YAML document"};
    use(documents.empty() ? YAML::Node() : documents[0]);
    return true;
  } catch (const YamlFault& fault) {
    report_at(fault.at, fault.length, fault.message);
  } catch (const YAML::DeepRecursion& fault) {
    report_at(fault.mark, 1, "the file is nested too deeply");
  } catch (const YAML::Exception& fault) {
    report_at(fault.mark, 1, fmt::format("this is not YAML: {}", fault.msg));
  }
  return false;
}

}  // namespace kdl::driver
