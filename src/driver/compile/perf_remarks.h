#pragma once

#include <string>
#include <vector>

#include "driver/compile/session.h"
#include "driver/compile/target_code.h"
#include "passes/remarks.h"

namespace kdl::driver {

/// A remark about the same source on one or several processor levels.
struct LevelRemark {
  passes::Remark remark;  ///< that of the first level
  /// The levels with exactly this text; empty if it applies to all levels for which the kernel is compiled.
  std::vector<std::string> levels;
};

/// Returns the remarks about the sources of the user, in the order of the kernels. Of each kernel, the
/// costliest remark comes first.
std::vector<LevelRemark> MergeRemarks(const Session& session, const Code& code);

/// Returns the text of a remark, with the levels to which it applies.
std::string RemarkText(const LevelRemark& remark);

/// Reports the remarks as diagnostics.
void ReportRemarks(Session& session, const Code& code);

}  // namespace kdl::driver
