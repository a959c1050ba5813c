#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/result.h"

namespace kdl::targets {

/// A device spec: `kind[ordinal]?key=value&key=value`, or `plugin:PATH[ordinal]?…` for one that is loaded.
struct Spec {
  std::string text;  ///< as given
  std::string kind;
  int64_t ordinal = 0;
  std::vector<std::pair<std::string, std::string>> options;  ///< in the order given, each key once
  std::string path;                                          ///< of a plugin
};

Result<Spec> ParseSpec(std::string_view text);

/// The shortest text that reads back as the same spec: no `[0]`.
std::string ToString(const Spec& spec);

}  // namespace kdl::targets
