#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/result.h"
#include "tools/timing/placed_kernel.h"

namespace kdl::tools {

/// The number of samples in each line of a file, and in code that belongs to no line of it.
struct LineSamples {
  std::map<uint32_t, size_t> lines;
  size_t elsewhere = 0;

  size_t all() const;
};

/// A remark about a line.
struct LineRemark {
  uint32_t line = 0;
  std::string text;
};

/// Launches the kernel repeatedly, for at least `seconds` of processor time, and returns where this time goes. The kernel must
/// have been compiled with debug information.
Result<LineSamples> SampleLines(PlacedKernel& kernel, double seconds);

/// Returns the source with the percentage of samples next to each line, and the remarks below their lines. Shows the lines
/// from the first to the last one with samples or remarks, but at least those from `first` to `last`.
std::string AnnotatedText(std::string_view source, uint32_t first, uint32_t last,
                          const LineSamples& samples, const std::vector<LineRemark>& remarks);

/// Samples the kernel and returns its annotated source.
Result<std::string> Annotate(PlacedKernel& kernel);

}  // namespace kdl::tools
