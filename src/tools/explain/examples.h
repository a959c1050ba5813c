#pragma once

#include <string_view>

namespace kdl::tools {

/// A program with a mistake, and the same program without it.
struct Example {
  std::string_view id;  ///< of the diagnostic that the mistake causes
  std::string_view text;

  std::string_view wrong() const;
  std::string_view right() const;
};

/// Returns the example for a diagnostic, which is the file examples/ID.kdl, or null.
const Example* FindExample(std::string_view id);

}  // namespace kdl::tools
