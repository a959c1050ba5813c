#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace kdl::passes {

// A pipeline file is YAML. It lists the passes of a family of targets, with values of their options:
//
//   family: cpu
//   parameters: {window: 64}             # may be changed on the command line
//   loops:                               # also: tiles, pipes. A missing list is that of the family
//     - lower-pipes
//     - unroll-windows: {points: $window / 2}
//     - block-products: {needs: contraction}   # only runs on kernels with such an op
//     - include: rest.yaml               # the passes of the same list in another file

/// A place in one of the files that were read. Lines and columns are counted from 1.
struct TextPlace {
  size_t file = 0;  ///< index into PipelineText::files
  uint32_t line = 1;
  uint32_t column = 1;
};

/// A name with a value, such as an option of a pass.
struct SettingText {
  std::string name;
  std::string value;
  TextPlace name_at;
  TextPlace value_at;
};

/// A pass in a list.
struct StageText {
  std::string pass;
  TextPlace at;
  std::vector<SettingText> settings;
};

/// The lists of a pipeline file, in the order in which they run.
inline constexpr std::array<std::string_view, 3> kStageLists = {"tiles", "pipes", "loops"};

struct PipelineText {
  std::vector<std::string> files;  ///< the file itself, then those that it includes
  std::string family;
  TextPlace family_at;
  std::vector<SettingText> parameters;
  /// For each of kStageLists, its passes, or nothing if the file does not have the list.
  std::array<std::optional<std::vector<StageText>>, kStageLists.size()> lists;
};

/// Why a file is not a pipeline file.
struct PipelineFault {
  std::vector<std::string> files;  ///< the files that were read
  TextPlace at;
  std::string message;
};

/// Returns the text of a file, or the reason why it cannot be read.
using FileReader = std::function<Result<std::string>(const std::string& path)>;

/// Reads a pipeline file and the files that it includes, whose paths are relative to the file that names
/// them. Only checks the structure: passes, options and the family may be unknown. On failure, returns
/// nothing and sets `fault`.
std::optional<PipelineText> ReadPipelineText(const std::string& path, const FileReader& read,
                                             PipelineFault& fault);

}  // namespace kdl::passes
