#pragma once

#include <map>
#include <string>
#include <string_view>

#include "support/result.h"

namespace kdl::tools {

/// The speed of a network, as the parameters of the LogGP model, and of a rank. All times are in seconds.
struct RankTimes {
  double latency = 0;       ///< L: until the first byte of a message has arrived
  double overhead = 0;      ///< o: of the processor, for sending or receiving a message
  double gap = 0;           ///< g: between two messages of a rank
  double gap_per_byte = 0;  ///< G: between two bytes of a message
  double copy_per_byte = 0;
  double launch = 0;  ///< of a launch or copy without blocks
  double call = 0;    ///< of a call on several ranks, without what it does
  double exchange =
      0;  ///< of preparing and finishing what ranks exchange at a time, without its messages
  std::map<std::string, double> kernels;  ///< of all launches of a kernel if there is one rank
};

/// Times that may have been measured several times: the median, the least and the most of each.
struct MeasuredTimes {
  RankTimes median;
  RankTimes least;
  RankTimes most;
};

/// Reads a JSON object whose members have the names of those in RankTimes. Each time is a number or a list of numbers.
Result<MeasuredTimes> ParseRankTimes(std::string_view text);

}  // namespace kdl::tools
