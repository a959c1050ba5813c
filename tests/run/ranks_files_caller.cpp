// Calls a program with distributed parameters (ranks_files.py) in the processes of an MPI application. Each process only knows the
// elements that its rank owns, and the program must not write others. The first one collects them.
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
#include "ranks_files.h"

namespace {

constexpr std::int64_t kRows = 17;
constexpr std::int64_t kColumns = 10;
constexpr float kUnknown = 12345.0F;

// Half of the rows, and of the columns, of a grid of 2 by 2 ranks.
bool Owns(int axis_rank, std::int64_t index, std::int64_t size) {
  const std::int64_t length = (size + 1) / 2;
  return index / length == axis_rank;
}

std::vector<float> Read(const char* name) {
  std::ifstream file(name, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

// Which elements a rank owns of x and of the two outputs.
struct Owned {
  int rank;
  bool Box(std::int64_t i, std::int64_t j) const {
    return Owns(rank / 2, i, kRows) && Owns(rank % 2, j, kColumns);
  }
  bool Columns(std::int64_t, std::int64_t j) const { return Owns(rank % 2, j, kColumns); }
  bool Rows(std::int64_t i, std::int64_t) const { return Owns(rank / 2, i, kRows); }
};

template <class Own>
std::vector<float> Only(const std::vector<float>& whole, Own owns) {
  std::vector<float> part(whole.size(), kUnknown);
  for (std::int64_t i = 0; i < kRows; ++i)
    for (std::int64_t j = 0; j < kColumns; ++j)
      if (owns(i, j))
        part[static_cast<std::size_t>(i * kColumns + j)] =
            whole[static_cast<std::size_t>(i * kColumns + j)];
  return part;
}

// Returns whether the elements of others are still unknown. Then makes them 0, so that bits can be added.
template <class Own>
bool TakeOwned(std::vector<float>& values, Own owns) {
  bool untouched = true;
  for (std::int64_t i = 0; i < kRows; ++i)
    for (std::int64_t j = 0; j < kColumns; ++j) {
      float& value = values[static_cast<std::size_t>(i * kColumns + j)];
      if (owns(i, j)) continue;
      untouched = untouched && value == kUnknown;
      value = 0.0F;
    }
  return untouched;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int code = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    kdl::Context context;
    kdl::Check(kdl_use_mpi(context.get(), MPI_COMM_WORLD));
    context.Register(kdl_images_ranks_files);
    const kdl::Device host = context.Select("host");
    const Owned owned{rank};
    const auto box = [&](auto i, auto j) { return owned.Box(i, j); };
    const auto columns = [&](auto i, auto j) { return owned.Columns(i, j); };
    const auto rows = [&](auto i, auto j) { return owned.Rows(i, j); };
    std::vector<float> x = Only(Read("x.bin"), box);
    std::vector<float> total = Only(Read("total.bin"), columns);
    std::vector<float> y(x.size(), kUnknown);
    const std::vector<float> before = x;
    ranks_files::relaxed(context, context.Wrap(host, x.data(), {kRows, kColumns}),
                         context.Wrap(host, total.data(), {kRows, kColumns}),
                         context.Wrap(host, y.data(), {kRows, kColumns}), 2);
    if (x != before) code = 3;
    if (!TakeOwned(total, columns) || !TakeOwned(y, rows)) code = 2;
    std::ofstream file("part" + std::to_string(rank) + ".bin", std::ios::binary);
    for (const std::vector<float>* values : {&total, &y})
      file.write(reinterpret_cast<const char*>(values->data()),
                 static_cast<std::streamsize>(values->size() * sizeof(float)));
  } catch (const kdl::Error& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    code = 1;
  }
  if (code != 0) MPI_Abort(MPI_COMM_WORLD, code);
  MPI_Finalize();
  return 0;
}
