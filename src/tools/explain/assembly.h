#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/compile/session.h"

namespace kdl::tools {

/// Adjacent instructions of a kernel that come from the same line of its file.
struct AssemblyPart {
  uint32_t line = 0;  ///< 0 if the instructions before the first line come from none
  std::vector<std::string> instructions;  ///< and labels, which end in a colon
};

/// The code of a kernel for one processor level.
struct KernelAssembly {
  std::string kernel;
  std::string level;
  std::vector<AssemblyPart> parts;  ///< in the order of their addresses
};

struct AssemblyReport {
  std::string file;
  std::vector<std::string> lines;  ///< of the file
  std::vector<KernelAssembly> kernels;
};

/// Compiles the kernels for processors, with source lines. On errors, reports them and returns nothing.
std::optional<AssemblyReport> ExplainedAssembly(driver::Session& session);

/// Returns the instructions of a function in the text of an assembler file. Instructions of other source files, such as
/// inlined fns of the library, belong to the line of the function's own file before them.
std::vector<AssemblyPart> PartsOf(std::string_view assembly, std::string_view symbol);

/// Returns the instructions of each kernel, and before them the lines of the source that they come from.
std::string ReportText(const AssemblyReport& report);

/// Returns an HTML page with the source on the left side and the instructions on the right side. If the pointer is on a line,
/// the page marks what belongs to it on the other side.
std::string HtmlPage(const AssemblyReport& report);

}  // namespace kdl::tools
