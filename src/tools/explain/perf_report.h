#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "driver/compile/perf_remarks.h"
#include "driver/compile/session.h"
#include "driver/compile/target_code.h"

namespace kdl::tools {

/// What makes a kernel slow. The costliest remark comes first.
struct KernelPerf {
  std::string kernel;
  std::string file;
  uint32_t line = 0;
  std::vector<driver::LevelRemark> remarks;
};

struct PerfReport {
  std::string file;
  std::vector<KernelPerf> kernels;  ///< in source order
};

/// Returns what makes each compiled kernel slow.
PerfReport ReportPerf(const driver::Session& session, const driver::Code& code);

/// Returns the part of the kernel's time that a remark is about, such as `26 %`, or `-` if it is not about time.
std::string ShareText(const passes::Remark& remark);

/// Returns what the remarks of the kernel are.
std::string HeadText(const KernelPerf& kernel);

/// Returns a table for each kernel.
std::string ReportText(const PerfReport& report);

/// Returns a JSON array with an object for each remark.
std::string RemarksJson(const PerfReport& report);

/// Returns an HTML page with a table for each kernel, in which bars show the shares of its time.
std::string HtmlPage(const PerfReport& report);

}  // namespace kdl::tools
