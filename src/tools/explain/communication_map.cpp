#include "tools/explain/communication_map.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "tools/explain/counting_host.h"

namespace kdl::tools {

namespace {

using driver::RankTraffic;

std::vector<ProgramNumber> NumbersOf(const ir::Function& program,
                                     const driver::BoundProgram& bound) {
  std::vector<ProgramNumber> numbers;
  for (size_t d = 0; d < bound.dims.size(); ++d)
    numbers.push_back({program.dims[d].str(), fmt::to_string(bound.dims[d])});
  for (const driver::BoundArgument& argument : bound.arguments) {
    if (argument.is_tensor) continue;
    std::string value =
        driver::ElementText(argument.tensor.scalar, ElementBits(argument.tensor, 0));
    numbers.push_back({argument.name, argument.is_drawn ? value + " (random)" : value});
  }
  return numbers;
}

}  // namespace

Result<CommunicationReport> MapCommunication(const ir::Module& module, const ir::Function& program,
                                             const driver::BoundProgram& bound,
                                             const driver::RankGrid& grid) {
  CountingHost host(grid);
  if (Status ran = Count(module, program, bound, host); !ran.ok()) return ran.failure();
  CommunicationReport report;
  report.program = program.base_name();
  report.ranks = grid.count();
  RankGroups groups(report.ranks);
  report.ranks_of_group = groups.size;
  report.numbers = NumbersOf(program, bound);
  report.owned_bytes = host.memory().most_owned();
  report.held_bytes = host.memory().most_held();
  for (const auto& [key, traffic] : host.traffic()) {
    TensorTraffic& row = report.tensors.emplace_back();
    std::tie(row.tensor, row.cause) = key;
    row.most_received = traffic.most_received;
    row.owned = traffic.owned;
    row.most_bytes = std::ranges::max(traffic.received);
    for (size_t n = 0; n < traffic.pairs.size(); ++n) {
      auto pair = static_cast<int64_t>(n);
      const RankTraffic& sent = traffic.pairs[n];
      if (sent.messages > 0) row.pairs.push_back({pair / groups.count, pair % groups.count, sent});
      row.sent += sent;
    }
  }
  return report;
}

RankTraffic TotalTraffic(const CommunicationReport& report) {
  RankTraffic sum;
  for (const TensorTraffic& row : report.tensors) sum += row.sent;
  return sum;
}

std::vector<PairTraffic> TotalPairs(const CommunicationReport& report) {
  std::map<std::pair<int64_t, int64_t>, RankTraffic> sums;
  for (const TensorTraffic& row : report.tensors) {
    for (const PairTraffic& pair : row.pairs) sums[{pair.from, pair.to}] += pair.sent;
  }
  std::vector<PairTraffic> pairs;
  for (const auto& [pair, sent] : sums) pairs.push_back({pair.first, pair.second, sent});
  return pairs;
}

}  // namespace kdl::tools
