#pragma once

#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/source.h"

namespace kdl::driver {

// Reading files in YAML whose faults are reported with their places. The functions below throw a YamlFault at the
// first fault, which ReadYaml catches.

struct YamlFault {
  YAML::Mark at;
  size_t length = 1;
  std::string message;
};

[[noreturn]] void FailAt(const YAML::Node& node, std::string message);

/// Returns the text of a scalar, which must not be empty. `wanted` says what is expected.
std::string TextOf(const YAML::Node& node, std::string_view wanted);

/// Returns a whole number from `low` to `high`.
int64_t NumberOf(const YAML::Node& node, int64_t low, int64_t high = INT64_MAX);

using YamlEntry = std::pair<YAML::Node, YAML::Node>;
/// Returns the entries of a mapping, in the order of the text. Keys must be different names.
std::vector<YamlEntry> EntriesOf(const YAML::Node& node, std::string_view wanted);

/// Returns the key if it is one of `names`.
std::string_view KnownKey(const YAML::Node& key, const std::vector<std::string_view>& names);

/// Parses a text and calls `use` with its only document. Adds the text to the sources, and calls `report` for the first
/// fault. Returns whether there is none.
bool ReadYaml(const std::string& path, const std::string& text, SourceManager& sources,
              const std::function<void(const YAML::Node& root)>& use,
              const std::function<void(Span at, const std::string& fault)>& report);

}  // namespace kdl::driver
