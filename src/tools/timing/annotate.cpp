#include "tools/timing/annotate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <string_view>

#include "codegen/llvm/line_table.h"
#include "support/sampler.h"
#include "support/text_lines.h"

namespace kdl::tools {

namespace {

// Prime, so that samples do not follow the period of a loop.
constexpr int64_t kSamplesPerSecond = 997;
constexpr double kSeconds = 1;

}  // namespace

size_t LineSamples::all() const {
  return std::accumulate(lines.begin(), lines.end(), elsewhere,
                         [](size_t sum, const auto& line) { return sum + line.second; });
}

Result<LineSamples> SampleLines(PlacedKernel& kernel, double seconds) {
  Result<codegen::LineTable> table = codegen::LineTable::Read(kernel.image());
  if (!table.ok()) return table.failure();
  Sampler sampler(kSamplesPerSecond);
  auto begin = std::chrono::steady_clock::now();
  auto is_over = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() >=
           seconds;
  };
  do {
    Status ran = kernel.Restore();
    if (ran.ok()) ran = kernel.Launch();
    if (!ran.ok()) return ran.failure();
  } while (!is_over());
  LineSamples samples;
  for (uintptr_t address : sampler.Stop()) {
    std::optional<LoadedFile> file = LoadedFileAt(address);
    bool is_kernel = file && file->path == kernel.image_path();
    std::optional<uint32_t> line;
    if (is_kernel) {
      // Code of inlined fns of the library counts for the line that calls them.
      for (const codegen::SourceLine& one : table->LinesAt(address - file->base)) {
        if (!line && kernel.IsSource(one.file)) line = one.line;
      }
    }
    line ? ++samples.lines[*line] : ++samples.elsewhere;
  }
  return samples;
}

std::string AnnotatedText(std::string_view source, uint32_t first, uint32_t last,
                          const LineSamples& samples, const std::vector<LineRemark>& remarks) {
  for (const auto& [line, count] : samples.lines) {
    first = std::min(first, line);
    last = std::max(last, line);
  }
  for (const LineRemark& remark : remarks) {
    first = std::min(first, remark.line);
    last = std::max(last, remark.line);
  }
  auto percent = [&](size_t count) {
    return 100 * static_cast<double>(count) /
           static_cast<double>(std::max<size_t>(samples.all(), 1));
  };
  std::string text = fmt::format("{:>7}  {:>4}  source\n", "percent", "line");
  std::vector<std::string_view> lines = TextLines(source);
  for (uint32_t line = first; line <= last && line <= lines.size(); ++line) {
    auto count = samples.lines.find(line);
    std::string share =
        count == samples.lines.end() ? "" : fmt::format("{:.1f}", percent(count->second));
    text += fmt::format("{:>7}  {:>4}  {}\n", share, line, lines[line - 1]);
    for (const LineRemark& remark : remarks) {
      if (remark.line == line) text += fmt::format("{:>15}{}\n", "", remark.text);
    }
  }
  return text + fmt::format("{:>7.1f}  outside of these lines; {} samples\n",
                            percent(samples.elsewhere), samples.all());
}

Result<std::string> Annotate(PlacedKernel& kernel) {
  if (kernel.source().empty() || kernel.line() == 0)
    return Failure{"--annotate needs the lines of a .kdl file, which this KIR does not contain"};
  Result<LineSamples> samples = SampleLines(kernel, kSeconds);
  if (!samples.ok()) return samples.failure();
  std::vector<LineRemark> remarks;
  for (const passes::Remark& remark : kernel.Remarks())
    remarks.push_back(
        {remark.loc.line, fmt::format("{}: {} [{}]", remark.loc.column, remark.text, remark.id)});
  return AnnotatedText(kernel.source(), kernel.line(), kernel.line(), *samples, remarks);
}

}  // namespace kdl::tools
