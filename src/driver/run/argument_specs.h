#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/options.h"
#include "driver/run/host_tensor.h"
#include "support/diagnostics.h"

namespace kdl::driver {

/// A parsed `--arg NAME=VALUE`.
struct ArgumentSpec {
  enum class Kind : uint8_t { File, Random, Special, Iota, Number, None };
  std::string name;
  std::string text;  ///< the value as written
  Kind kind = Kind::Number;
  std::string number;                 ///< for Number: its text; 0 for `zeros`, 1 for `ones`
  std::optional<uint64_t> seed = {};  ///< for Random and Special, if given
  std::string path;                   ///< for File
  HostTensor file;                    ///< for File: the file's contents
  /// For File: if the elements have not been read yet, the number of the byte at which they begin.
  std::optional<int64_t> unread = {};
};

/// What to read of the files that --arg names.
enum class FileContents : uint8_t { All, Headers };

/// Parses all --arg options and reads the files that they name.
std::optional<std::vector<ArgumentSpec>> ReadArguments(const Options& options,
                                                       DiagnosticEngine& diagnostics,
                                                       FileContents contents = FileContents::All);

const ArgumentSpec* FindArgument(const std::vector<ArgumentSpec>& arguments, std::string_view name);

}  // namespace kdl::driver
