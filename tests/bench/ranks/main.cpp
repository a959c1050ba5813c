// Times a program over ranks and its twins, in the processes of MPI, and counts what they send:
//
//   bench PROGRAM M N STEPS TRIALS DEVICE [TWIN …]
//
// The program and the twins take turns. A time is that of the slowest rank. Rank 0 prints the seconds of each trial as JSON, and the
// messages and bytes that all ranks send in one. The results of a twin must have the bits of the program, unless its name says
// that it is in C. If `network` is among the twins, a measurement of the network (network.h) also takes turns.
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kdl/runtime.hpp"
#include "kdl/use_mpi.h"
#include "network.h"
#include "programs.h"
#include "traffic.h"
#include "twins.h"

namespace {

struct Run {
  std::string program;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t steps = 0;
  int trials = 0;
  const char* device = nullptr;
  std::vector<std::string> twins;
};

using Matrix = std::vector<float>;
using Call = std::function<void(const Matrix& x, Matrix& y)>;

Matrix Input(const Run& run) {
  Matrix x(static_cast<std::size_t>(run.m * run.n));
  std::uint32_t bits = 1;
  for (float& element : x) {
    bits = bits * 1664525U + 1013904223U;
    element = static_cast<float>(bits >> 8U) / 16777216.0F;
  }
  return x;
}

Call CallOfProgram(const kdl::Context& context, const Run& run) {
  static const std::map<std::string,
                        void (*)(const kdl::Context&, const kdl::Tensor&, const kdl::Tensor&,
                                 std::int64_t, const programs::Devices&)>
      kPrograms = {{"jacobi", programs::jacobi},
                   {"matmul", programs::matmul},
                   {"transposition", programs::transposition},
                   {"histogram", programs::histogram},
                   {"red_black", programs::red_black},
                   {"bodies", programs::bodies},
                   {"sparse", programs::sparse},
                   {"kmeans", programs::kmeans},
                   {"cosines", programs::cosines},
                   {"waves", programs::waves},
                   {"attention", programs::attention},
                   {"blurred", programs::blurred},
                   {"column_norms", programs::column_norms},
                   {"advected", programs::advected},
                   {"powers", programs::powers}};
  const auto program = kPrograms.at(run.program);
  return [&, program](const Matrix& x, Matrix& y) {
    const kdl::Device device = context.Select(run.device);
    const kdl::Tensor in = context.Wrap(device, const_cast<float*>(x.data()), {run.m, run.n});
    const kdl::Tensor out =
        run.program == "histogram"
            ? context.Wrap(device, reinterpret_cast<std::int64_t*>(y.data()), {TWIN_BINS})
            : context.Wrap(device, y.data(), {run.m, run.n});
    programs::Devices devices;
    devices.grid = run.device;
    program(context, in, out, run.steps, devices);
  };
}

struct Measured {
  std::vector<double> seconds;  // of each trial
  mpi_traffic sent;             // by all ranks, in the last trial
};

double Seconds(const Call& call, const Matrix& x, Matrix& y, mpi_traffic* sent) {
  MPI_Barrier(MPI_COMM_WORLD);
  const mpi_traffic before = mpi_traffic_sent();
  const double begin = MPI_Wtime();
  call(x, y);
  double seconds = MPI_Wtime() - begin;
  const mpi_traffic after = mpi_traffic_sent();
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  std::int64_t counts[] = {after.messages - before.messages, after.bytes - before.bytes};
  MPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  *sent = {counts[0], counts[1]};
  return seconds;
}

void PrintNumbers(const char* name, const std::vector<double>& values) {
  std::printf("\"%s\": [", name);
  for (std::size_t i = 0; i < values.size(); ++i)
    std::printf("%s%.9g", i == 0 ? "" : ", ", values[i]);
  std::printf("]");
}

void Print(const std::map<std::string, Measured>& all, const std::vector<network_sample>& network) {
  const char* before = "{";
  for (const auto& [name, measured] : all) {
    std::printf("%s\"%s\": {\"messages\": %lld, \"bytes\": %lld, ", before, name.c_str(),
                static_cast<long long>(measured.sent.messages),
                static_cast<long long>(measured.sent.bytes));
    PrintNumbers("seconds", measured.seconds);
    std::printf("}");
    before = ", ";
  }
  std::printf(", \"network\": [");
  before = "{";
  for (const network_sample& sample : network) {
    std::printf("%s", before);
    PrintNumbers("one_way", {sample.one_way, sample.one_way + kNetworkLengths});
    std::printf(", \"overhead\": %.9g, \"gap\": %.9g}", sample.overhead, sample.gap);
    before = ", {";
  }
  std::printf("]}\n");
}

int Measure(const Run& run) {
  kdl::Context context;
  kdl::Check(kdl_use_mpi(context.get(), MPI_COMM_WORLD));
  context.Register(kdl_images_programs);
  std::vector<std::pair<std::string, Call>> calls = {{"program", CallOfProgram(context, run)}};
  bool measures_network = false;
  for (const std::string& name : run.twins) {
    if (name == "network") {
      measures_network = true;
      continue;
    }
    twin_function* twin = find_twin(name.c_str(), run.device);
    if (twin == nullptr) return 2;
    calls.emplace_back(name, [&run, twin](const Matrix& x, Matrix& y) {
      twin(x.data(), y.data(), run.m, run.n, run.steps);
    });
  }
  const Matrix x = Input(run);
  Matrix wanted(x.size());
  std::map<std::string, Measured> all;
  std::vector<network_sample> network;
  for (int trial = -1; trial < run.trials; ++trial) {  // the first one only warms up
    for (const auto& [name, call] : calls) {
      Matrix y(x.size());
      Measured& measured = all[name];
      const double seconds = Seconds(call, x, y, &measured.sent);
      if (trial >= 0) measured.seconds.push_back(seconds);
      if (name == "program") wanted = y;
      if (y != wanted && name.find(" in C") == std::string::npos) {
        std::fprintf(stderr, "%s has other results than the program\n", name.c_str());
        return 1;
      }
    }
    network_sample sample{};
    if (measures_network) measure_network(&sample);
    if (measures_network && trial >= 0) network.push_back(sample);
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) Print(all, network);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = 2;
  if (argc >= 7) {
    const Run run{argv[1],
                  std::atoll(argv[2]),
                  std::atoll(argv[3]),
                  std::atoll(argv[4]),
                  std::atoi(argv[5]),
                  argv[6],
                  {argv + 7, argv + argc}};
    try {
      code = Measure(run);
    } catch (const kdl::Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      code = 1;
    }
  }
  if (code != 0) MPI_Abort(MPI_COMM_WORLD, code);
  MPI_Finalize();
  return 0;
}
