// Writes rows of results as a table that grows while the benchmark runs, and as JSON.
#pragma once

#include <string>
#include <vector>

namespace bench {

struct Row {
  std::string name;
  std::string dtype;
  std::string size;
  int threads = 1;
  double ours = 0;  // median time in seconds
  double peer = 0;
  std::string peer_name;
  double ratio = 0;    // the peer's time divided by ours; median over the trials
  double ceiling = 0;  // the ceiling's time divided by ours, also a median; 0: no ceiling
  double spread = 0;   // interquartile range of the trials' ratios, divided by their median
  int trials = 0;
  std::string wrong;    // where our result is wrong; if set, nothing was timed
  std::string inexact;  // where the peer's result is wrong
};

void PrintHeading();
void PrintRow(const Row& row);
// Returns false if the file cannot be written.
bool WriteJson(const std::string& path, const std::vector<Row>& rows);

}  // namespace bench
