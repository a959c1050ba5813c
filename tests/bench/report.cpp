#include "report.h"

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

namespace bench {

void PrintHeading() {
  std::printf("%-14s %-6s %-16s %7s %11s  %-12s %11s %6s %7s %7s %6s\n", "name", "dtype", "size",
              "threads", "ours ms", "peer", "peer ms", "ratio", "spread", "ceiling", "trials");
}

void PrintRow(const Row& row) {
  std::printf("%-14s %-6s %-16s %7d ", row.name.c_str(), row.dtype.c_str(), row.size.c_str(),
              row.threads);
  if (!row.wrong.empty()) {
    std::printf("WRONG: %s\n", row.wrong.c_str());
  } else {
    const std::string peer = row.peer_name + (row.inexact.empty() ? "" : "*");
    std::printf("%11.5f  %-12s %11.5f %6.2f %6.1f%% %6.1f%% %6d\n", row.ours * 1e3, peer.c_str(),
                row.peer * 1e3, row.ratio, row.spread * 100, row.ceiling * 100, row.trials);
    if (!row.inexact.empty()) std::printf("  * not exact: %s\n", row.inexact.c_str());
  }
  std::fflush(stdout);
}

bool WriteJson(const std::string& path, const std::vector<Row>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json entry = {
        {"name", row.name}, {"dtype", row.dtype}, {"size", row.size}, {"threads", row.threads}};
    if (row.wrong.empty()) {
      entry.update({{"ours", row.ours},
                    {"peer", row.peer},
                    {"peer_name", row.peer_name},
                    {"ratio", row.ratio},
                    {"ceiling", row.ceiling},
                    {"spread", row.spread},
                    {"trials", row.trials}});
      if (!row.inexact.empty()) entry["inexact"] = row.inexact;
    } else {
      entry["wrong"] = row.wrong;
    }
    list.push_back(std::move(entry));
  }
  std::ofstream file(path);
  file << list.dump(2) << '\n';
  file.flush();
  return file.good();
}

}  // namespace bench
