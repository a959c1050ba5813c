#pragma once

#include <chrono>
#include <string_view>

#include "driver/compile/session.h"

namespace kdl::driver {

// The phases before the passes. --print-after and --stop-after accept their names as well as pass
// names.
inline constexpr std::string_view kParse = "parse";
inline constexpr std::string_view kSema = "sema";
inline constexpr std::string_view kIrgen = "irgen";

/// Checks the names given to --print-after and --stop-after. Reports unknown names.
bool CheckPassNames(Session& session);

bool PrintsAfter(const Options& options, std::string_view phase);

/// Returns the options for the pass manager.
passes::PassOptions PassOptionsOf(Session& session);

/// Measures the time from construction to destruction and adds it to session.times.
class PhaseTimer {
 public:
  PhaseTimer(Session& session, std::string_view name) : session_(session), name_(name) {}
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;
  ~PhaseTimer() {
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    session_.times.push_back({name_, elapsed.count()});
  }

 private:
  Session& session_;
  std::string_view name_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace kdl::driver
