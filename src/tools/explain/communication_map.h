#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "driver/ranks/boxes.h"
#include "driver/ranks/rank_traffic.h"
#include "driver/run/arguments.h"
#include "ir/module.h"
#include "support/result.h"
#include "tools/explain/remedies.h"
#include "tools/explain/scaling.h"

namespace kdl::tools {

/// What a group of adjacent ranks sends to another one.
struct PairTraffic {
  int64_t from = 0;  ///< the number of the group
  int64_t to = 0;
  driver::RankTraffic sent;
};

/// What is sent for one tensor and cause.
struct TensorTraffic {
  std::string tensor;
  std::string cause;  ///< such as `relax reads it`
  driver::RankTraffic sent;
  std::vector<PairTraffic>
      pairs;               ///< in ascending order; only pairs between which something is sent
  int64_t most_bytes = 0;  ///< the most bytes that one rank receives
  /// The elements that a rank receives for one launch, at most, and the elements that it owns.
  int64_t most_received = 0;
  int64_t owned = 0;
};

/// A number with which the program is called.
struct ProgramNumber {
  std::string name;
  std::string value;
};

/// What the ranks of a program send to each other.
struct CommunicationReport {
  std::string file;
  std::string program;
  int64_t ranks = 1;
  int64_t ranks_of_group =
      1;  ///< more than 1 if there are so many ranks that not all pairs are counted apart
  std::vector<ProgramNumber> numbers;
  /// The lines of the loops whose end depends on elements of tensors, and how many iterations of each are assumed.
  std::vector<uint32_t> assumed_lines;
  int64_t iterations = 1;
  std::vector<TensorTraffic> tensors;  ///< sorted by name and cause
  int64_t owned_bytes =
      0;                   ///< the most that a rank owns of the tensors that exist at the same time
  int64_t held_bytes = 0;  ///< the most that a rank has of others at the same time
  std::vector<Remedy> remedies;  ///< declarations with which the ranks send less
  bool has_tried = true;  ///< whether other declarations have been tried, which may take too long
  std::vector<ScalingPoint> scaling;  ///< the predicted times, if --times is given
};

/// Counts what the program sends if it is called with the sizes and numbers of `bound`. Executes the program without its
/// launches, so a Failure is returned if it reads elements of tensors.
Result<CommunicationReport> MapCommunication(const ir::Module& module, const ir::Function& program,
                                             const driver::BoundProgram& bound,
                                             const driver::RankGrid& grid);

/// Returns the sum over all tensors and causes.
driver::RankTraffic TotalTraffic(const CommunicationReport& report);

/// Returns what each group of ranks sends to each group, over all tensors and causes.
std::vector<PairTraffic> TotalPairs(const CommunicationReport& report);

std::string ReportText(const CommunicationReport& report);

/// Returns a JSON object with the tensors, causes and pairs.
std::string CommunicationJson(const CommunicationReport& report);

/// Returns an HTML page with a picture of the bytes between each two ranks, followed by the text of the report.
std::string HtmlPage(const CommunicationReport& report);

}  // namespace kdl::tools
