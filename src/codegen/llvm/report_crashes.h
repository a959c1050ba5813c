#pragma once

#include "support/report_signals.h"

namespace kdl::codegen {

/// While one exists, an error at which LLVM gives up, or a crash of a thread that compiles, is reported like a failed
/// check of our own. May exist in several threads.
class ReportCrashes {
 public:
  ReportCrashes();
  ReportCrashes(const ReportCrashes&) = delete;
  ReportCrashes& operator=(const ReportCrashes&) = delete;
  ~ReportCrashes();

 private:
  ReportSignals signals_;
};

}  // namespace kdl::codegen
