#include "support/report_signals.h"

#include <signal.h>

#include <cstddef>
#include <iterator>
#include <mutex>

#include "support/check_end.h"

namespace kdl {

namespace {

constexpr int kCrashSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsReported = false;
#else
constexpr bool kIsReported = true;
#endif

std::mutex g_reports_mutex;
int g_reports = 0;
struct sigaction g_actions_before[std::size(kCrashSignals)];

/// Returns only if the crash is not ours. The same instruction then crashes again, without this handler.
extern "C" void ReportCrash(int signal) {
  FailBySignal(signal);
  ::signal(signal, SIG_DFL);
}

}  // namespace

ReportSignals::ReportSignals() {
  const std::lock_guard lock(g_reports_mutex);
  if (++g_reports > 1 || !kIsReported) return;
  struct sigaction action{};
  action.sa_handler = ReportCrash;
  for (std::size_t i = 0; i < std::size(kCrashSignals); ++i)
    ::sigaction(kCrashSignals[i], &action, &g_actions_before[i]);
}

ReportSignals::~ReportSignals() {
  const std::lock_guard lock(g_reports_mutex);
  if (--g_reports > 0 || !kIsReported) return;
  for (std::size_t i = 0; i < std::size(kCrashSignals); ++i)
    ::sigaction(kCrashSignals[i], &g_actions_before[i], nullptr);
}

}  // namespace kdl
