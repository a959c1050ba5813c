// Like checkpoints_caller.c, in C++.
#include <mpi.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "checkpoints.h"
#include "kdl/checkpoints.h"
#include "kdl/runtime.hpp"
#include "kdl/use_mpi.h"

namespace {

std::vector<float> Load(const char* name, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::ifstream(name, std::ios::binary)
      .read(reinterpret_cast<char*>(values.data()), count * std::int64_t{sizeof(float)});
  return values;
}

template <class T>
void Add(std::string& all, const std::vector<T>& values) {
  all.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// Returns the bytes of all results.
std::string Results(const kdl::Context& context, const std::vector<std::string>& words) {
  const std::int64_t rows = std::stoll(words[3]);
  const std::int64_t columns = std::stoll(words[4]);
  const std::int64_t steps = std::stoll(words[6]);
  const kdl::Device host = context.Select("host");
  std::vector<float> x = Load("x.bin", rows * columns);
  std::vector<float> y = Load("y.bin", rows * columns);
  std::vector<float> total(static_cast<std::size_t>(columns));
  std::vector<double> weight(1);
  std::vector<std::int64_t> count(1);
  if (words.size() > 7) kdl::Check(kdl_context_resume(context.get(), words[7].c_str()));
  const kdl::Tensor given = context.Wrap(host, x.data(), {rows, columns});
  const kdl::Tensor last = context.Wrap(host, y.data(), {rows, columns});
  std::string all;
  if (words[2] == "relaxed") {
    checkpoints::relaxed(context, given, last, context.Wrap(host, total.data(), {columns}),
                         context.Wrap(host, weight.data(), {1}), std::stod(words[5]), steps);
    Add(all, y);
    Add(all, total);
    Add(all, weight);
  } else {
    checkpoints::settled(context, given, last, context.Wrap(host, count.data(), {1}), steps);
    Add(all, y);
    Add(all, count);
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (const char* most = std::getenv("MOST_FILE_BYTES")) {
    const rlimit limit = {std::stoul(most), std::stoul(most)};
    std::signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::vector<std::string> words(argv, argv + argc);
  try {
    kdl::Context context;
    if (words.at(1) == "mpi") kdl::Check(kdl_use_mpi(context.get(), MPI_COMM_WORLD));
    context.Register(kdl_images_checkpoints);
    const std::string results = Results(context, words);
    if (rank == 0) std::ofstream("results.bin", std::ios::binary) << results;
  } catch (const kdl::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
