// Calls programs whose tensors are distributed over ranks (ranks.py) in the processes of an MPI application. All processes read
// the inputs, which are in files, and the first one writes the results. A second context without MPI must compute the same bits.
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "kdl/runtime.hpp"
#include "kdl/use_mpi.h"
#include "ranks.h"
#include "ranks_reduce.h"

namespace {

std::vector<float> Read(const char* name) {
  std::ifstream file(name, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

template <class T>
void Add(std::string& all, const std::vector<T>& values) {
  all.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// Returns the bytes of all results.
std::string Results(const kdl::Context& context) {
  const kdl::Device host = context.Select("host");
  std::vector<float> x = Read("x.bin");
  std::vector<float> y(x.size());
  std::vector<std::int64_t> steps(1);
  ranks::settle(context, context.Wrap(host, x.data(), {17, 9}), 0.01f,
                context.Wrap(host, y.data(), {17, 9}), context.Wrap(host, steps.data(), {1}));
  std::vector<float> numbers = Read("numbers.bin");
  std::vector<std::int64_t> h(7);
  std::vector<std::int64_t> g(7);
  ranks_reduce::histogram(context, context.Wrap(host, numbers.data(), {300}),
                          context.Wrap(host, h.data(), {7}), context.Wrap(host, g.data(), {7}));
  std::string all;
  Add(all, y);
  Add(all, steps);
  Add(all, h);
  Add(all, g);
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int code = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    kdl::Context shared;
    kdl::Check(kdl_use_mpi(shared.get(), MPI_COMM_WORLD));
    kdl::Context alone;
    for (kdl::Context* context : {&shared, &alone}) {
      context->Register(kdl_images_ranks);
      context->Register(kdl_images_ranks_reduce);
    }
    const std::string results = Results(shared);
    if (rank == 0) std::ofstream("results.bin", std::ios::binary) << results;
    if (results != Results(alone)) code = 2;
  } catch (const kdl::Error& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    code = 1;
  }
  if (code != 0) MPI_Abort(MPI_COMM_WORLD, code);
  MPI_Finalize();
  return 0;
}
