#pragma once

namespace kdl {

/// While one exists, a crash in a thread with an open DoingScope is reported like a failed check: with what the thread was
/// doing. In another thread, such as one that runs a kernel, it does what it did before. May exist in several threads.
/// Does nothing in builds with sanitizers, which have their own reports.
class ReportSignals {
 public:
  ReportSignals();
  ReportSignals(const ReportSignals&) = delete;
  ReportSignals& operator=(const ReportSignals&) = delete;
  ~ReportSignals();
};

}  // namespace kdl
