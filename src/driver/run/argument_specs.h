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

/// What `--arg NAME=VALUE` says.
struct ArgumentSpec {
  enum class Kind : uint8_t { File, Random, Special, Iota, Number };
  std::string name;
  std::string text;  ///< the value as written
  Kind kind = Kind::Number;
  std::string number;                 ///< of Number: `zeros` is 0, `ones` is 1
  std::optional<uint64_t> seed = {};  ///< of Random and Special, where one is given
  std::string path;                   ///< of File
  HostTensor file;                    ///< of File: what it holds
};

/// Reads every --arg, its file with it.
std::optional<std::vector<ArgumentSpec>> ReadArguments(const Options& options,
                                                       DiagnosticEngine& diagnostics);

const ArgumentSpec* FindArgument(const std::vector<ArgumentSpec>& arguments, std::string_view name);

}  // namespace kdl::driver
