#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/io.h"
#include "support/result.h"

namespace kdl::tools {

/// A time in which a core or a queue was busy, or in which a stage waited. Times are in microseconds.
struct ProfileSpan {
  std::string row;   ///< such as `host queue 0` or `host core 3 stage 1`
  std::string name;  ///< the kernel, the copy, or what the stage waits for
  double begin = 0;
  double end = 0;
  int64_t bytes = 0;  ///< number of bytes that were copied
  int64_t core = 0;   ///< for a block: its core and its number
  int64_t block = -1;
};

/// What a queue or a core does in a span.
enum class SpanKind : uint8_t { Kernel, Copy, Wait };

SpanKind KindOf(const ProfileSpan& span);

/// Returns a duration with a unit, such as `1.25 ms`.
std::string DurationText(double microseconds);

/// Parses the file that the runtime writes for KDL_TRACE.
Result<std::vector<ProfileSpan>> ParseTrace(std::string_view text);

/// Returns a time line with a line for each row, another one with a line for each block, and a table of what took how long.
/// If there are many blocks, those of a core have one line.
std::string ProfileText(const std::vector<ProfileSpan>& spans);

/// Lets the runtime write a trace, unless the environment already does.
class TraceFile {
 public:
  static Result<TraceFile> Make();
  /// Returns the spans. All contexts must have been destroyed.
  Result<std::vector<ProfileSpan>> Read() const;

 private:
  TraceFile(std::optional<TemporaryFolder> folder, std::string path)
      : folder_(std::move(folder)), path_(std::move(path)) {}
  std::optional<TemporaryFolder> folder_;
  std::string path_;
};

}  // namespace kdl::tools
