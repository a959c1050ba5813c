// The benchmark: runs every case on one thread, then on two, and prints each row when it is done.
#include <malloc.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <thread>

#include "case.h"
#include "ceiling.h"
#include "elements.h"
#include "fused.h"
#include "fused_residual.h"
#include "matmul.h"
#include "matmul_operands.h"
#include "matmul_types.h"
#include "piped_residual.h"
#include "processors.h"
#include "reduced.h"
#include "report.h"
#include "rows.h"
#include "serve.h"
#include "tiles.h"
#include "tools/measure/trials.h"

namespace bench {

using namespace kdl::measure;  // NOLINT: uses most of its names

namespace {

constexpr const char* kUsage =
    "usage: bench [--json FILE] [--filter TEXT] [--trials N] [--threads N] [--seconds N] [--list]\n"
    "       bench --serve CASE [--threads N]\n"
    "  --json FILE    also writes the rows to FILE\n"
    "  --filter TEXT  only cases whose `name dtype size` contains TEXT\n"
    "  --trials N     trials a row (default: 20)\n"
    "  --threads N    only with N threads (default: 1, then 2)\n"
    "  --seconds N    fewer trials, 3 at least, where a row would take longer (default: 30)\n"
    "  --list         prints the cases and runs nothing\n"
    "  --serve CASE   runs its kernel as often as each line of stdin says, for against.py\n";

struct Options {
  std::string json;
  std::string filter;
  std::string serve;
  int trials = 20;
  int threads = 0;
  int seconds = 30;
  bool list = false;
};

bool ReadNumber(std::string_view text, int* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && *number > 0;
}

bool ReadOptions(int count, char** arguments, Options* options) {
  for (int i = 1; i < count; ++i) {
    const std::string_view name = arguments[i];
    if (name == "--list") {
      options->list = true;
      continue;
    }
    if (i + 1 == count) return false;
    const char* value = arguments[++i];
    if (name == "--json") {
      options->json = value;
    } else if (name == "--filter") {
      options->filter = value;
    } else if (name == "--serve") {
      options->serve = value;
    } else if (name == "--trials") {
      if (!ReadNumber(value, &options->trials)) return false;
    } else if (name == "--threads") {
      if (!ReadNumber(value, &options->threads)) return false;
    } else if (name == "--seconds") {
      if (!ReadNumber(value, &options->seconds)) return false;
    } else {
      return false;
    }
  }
  return true;
}

std::string NameOf(const Case& c) { return c.name + " " + c.dtype + " " + c.size; }

std::vector<Case> ChosenCases(const std::string& filter) {
  std::vector<Case> chosen;
  for (const auto& cases : {MatmulCases(), TypeCases(), FusedCases(), PipeCases(), RowCases(),
                            ElementCases(), ReducedCases(), TileCases(), LaunchCases()}) {
    for (const Case& c : cases) {
      if (NameOf(c).find(filter) != std::string::npos) chosen.push_back(c);
    }
  }
  return chosen;
}

Host MakeHost(int threads) {
  kdl::Context context;
  for (const kdl_image* const* images :
       {kdl_images_matmul, kdl_images_matmul_operands, kdl_images_matmul_types, kdl_images_fused,
        kdl_images_rows, kdl_images_elements, kdl_images_piped_residual, kdl_images_fused_residual,
        kdl_images_reduced, kdl_images_tiles}) {
    context.Register(images);
  }
  const kdl::Device device = context.Select(("host?threads=" + std::to_string(threads)).c_str());
  Host host = {std::move(context), device, device.queue(), threads};
  // The first launch on all processors starts the threads of the device.
  const Array<float> x({std::int64_t{8192} * threads});
  elements::nothing(host.queue, KDL_CORES_AUTO, x.On(host));
  return host;
}

// Returns, for each trial, the ceiling of `work`: the time that the machine's limits allow at best. In
// `series`, the ceilings' own timings start at `first`: two for arithmetic, then those for memory streams.
Series Bound(const std::vector<Series>& series, std::size_t first, const Work& work, int threads) {
  Series bound;
  for (std::size_t trial = 0; trial < series[first].size(); ++trial) {
    const double fmas = series[first][trial];
    const double divisions = std::max(series[first + 1][trial] - fmas, 0.0);
    double stream = series[first + 2][trial];
    for (std::size_t s = first + 3; s < series.size(); ++s) {
      stream = std::min(stream, series[s][trial]);
    }
    bound.push_back(
        std::max(stream, fmas * work.slots / ArithmeticSlots(threads) +
                             divisions * work.divisions / ArithmeticDivisions(threads)));
  }
  return bound;
}

// Returns a row for each peer, or one row that says where our result is wrong.
std::vector<Row> Measure(const Case& c, const Host& host, const TrialLimits& limits) {
  Row row;
  row.name = c.name;
  row.dtype = c.dtype;
  row.size = c.size;
  row.threads = host.threads;
  const Task task = c.make(host);
  task.ours();
  std::vector<std::string> inexact;
  for (const Side& peer : task.peers) {
    peer.run();
    Verdict verdict = task.judge();
    row.wrong = std::move(verdict.wrong);
    if (!row.wrong.empty()) return {row};
    inexact.push_back(std::move(verdict.inexact));
  }

  std::vector<Side> sides = {{"ours", task.ours}};
  sides.insert(sides.end(), task.peers.begin(), task.peers.end());
  const std::size_t ceilings = sides.size();
  const bool has_ceiling = c.work.read_bytes + c.work.written_bytes > 0;
  if (has_ceiling) {
    for (Side& side : ArithmeticSides(host.threads, SharedBy(host.threads)))
      sides.push_back(std::move(side));
    for (Side& side :
         StreamSides({c.work.read_bytes, c.work.written_bytes}, SharedBy(host.threads)))
      sides.push_back(std::move(side));
  }
  const std::vector<Series> series = MeasureInTurns(sides, limits);
  const Series& ours = series[0];
  row.ours = Median(ours);
  row.trials = static_cast<int>(ours.size());
  if (has_ceiling) {
    row.ceiling = Median(Quotients(Bound(series, ceilings, c.work, host.threads), ours));
  }
  std::vector<Row> rows;
  for (std::size_t p = 0; p < task.peers.size(); ++p) {
    const Series ratios = Quotients(series[p + 1], ours);
    row.peer = Median(series[p + 1]);
    row.peer_name = task.peers[p].name;
    row.inexact = inexact[p];
    row.ratio = Median(ratios);
    row.spread = Spread(ratios);
    rows.push_back(row);
  }
  return rows;
}

void Prepare(int threads) {
  if (threads == 1) return;
  PinThreads(threads);
  // Waits until the threads of the previous implementation have stopped spinning.
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

int RunBenchmark(const Options& options) {
  const std::vector<Case> cases = ChosenCases(options.filter);
  if (options.list) {
    for (const Case& c : cases) std::printf("%s\n", NameOf(c).c_str());
    return 0;
  }
  std::vector<int> thread_counts = {1, 2};
  if (options.threads != 0) thread_counts = {options.threads};
  std::vector<Row> rows;
  bool right = true;
  for (int threads : thread_counts) {
    if (threads > ProcessorCount()) {
      std::printf("%d threads: this process has %d processors\n", threads, ProcessorCount());
      continue;
    }
    UseThreads(threads);
    const Host host = MakeHost(threads);
    const TrialLimits limits = {.trials = options.trials,
                                .seconds = static_cast<double>(options.seconds),
                                .prepare = [threads] { Prepare(threads); },
                                .processor_time = threads == 1};
    PrintCeilings(threads, limits);
    PrintHeading();
    for (const Case& c : cases) {
      for (const Row& row : Measure(c, host, limits)) {
        PrintRow(row);
        right = right && row.wrong.empty();
        rows.push_back(row);
      }
    }
  }
  if (!options.json.empty() && !WriteJson(options.json, rows)) {
    std::fprintf(stderr, "bench: cannot write %s\n", options.json.c_str());
    return 1;
  }
  return right ? 0 : 1;
}

int RunServe(const Options& options) {
  const int threads = options.threads == 0 ? 1 : options.threads;
  for (const Case& c : ChosenCases(options.serve)) {
    if (NameOf(c) != options.serve) continue;
    UseThreads(threads);
    return Serve(c, MakeHost(threads)) ? 0 : 1;
  }
  std::fprintf(stderr, "bench: no case is called '%s': see --list\n", options.serve.c_str());
  return 1;
}

}  // namespace

}  // namespace bench

int main(int count, char** arguments) {
  bench::SetEnvironment(arguments);
  // Keeps freed memory in the process. Getting fresh pages from the system is slow, and the pages may be
  // in a different order each time.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  bench::Options options;
  if (!bench::ReadOptions(count, arguments, &options)) {
    std::fputs(bench::kUsage, stderr);
    return 2;
  }
  try {
    return options.serve.empty() ? bench::RunBenchmark(options) : bench::RunServe(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench: %s\n", error.what());
    return 1;
  }
}
