// Cools a plate in the processes of an MPI application, and compares the result with that of a single process.
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "heat.h"
#include "kdl/runtime.hpp"
#include "kdl/use_mpi.h"

namespace {

constexpr std::int64_t kRows = 300;
constexpr std::int64_t kColumns = 200;

struct Plate {
  std::vector<float> temperatures = std::vector<float>(kRows * kColumns);
  std::int64_t steps = 0;
};

Plate Cool(kdl::Context& context) {
  context.Register(kdl_images_heat);
  const kdl::Device host = context.Select("host");
  std::vector<float> start(kRows * kColumns);
  for (std::size_t i = 0; i < start.size(); ++i) start[i] = static_cast<float>(i % 101) / 100.0f;
  Plate plate;
  heat::cool(context, context.Wrap(host, start.data(), {kRows, kColumns}), 0.5f,
             context.Wrap(host, plate.temperatures.data(), {kRows, kColumns}),
             context.Wrap(host, &plate.steps, {1}));
  return plate;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int count = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  try {
    kdl::Context shared;
    kdl::Check(kdl_use_mpi(shared.get(), MPI_COMM_WORLD));
    const Plate plate = Cool(shared);
    kdl::Context own;
    const Plate alone = Cool(own);
    if (rank == 0)
      std::printf("%d processes, %lld steps: %s\n", count, static_cast<long long>(plate.steps),
                  plate.temperatures == alone.temperatures ? "the same bits" : "DIFFERENT");
  } catch (const kdl::Error& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
