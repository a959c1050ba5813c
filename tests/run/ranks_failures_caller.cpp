// Calls a program over ranks (ranks_failures.kdl) that fails in one process of an MPI application in C++. It must fail in all of them with
// the same error, and the next call must have the results of one process.
#include <mpi.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "kdl/runtime.hpp"
#include "kdl/use_mpi.h"
#include "ranks_failures.h"

namespace {

constexpr int kCount = 3;
constexpr std::int64_t kRows = 64;
constexpr std::int64_t kOwned = (kRows + kCount - 1) / kCount;
constexpr std::int64_t kSteps = 8;

// What one process does otherwise.
enum class Fault { None, Device, Type };

std::vector<std::int32_t> Follow(const kdl::Context& context, const std::array<int, kCount>& start,
                                 Fault fault) {
  const kdl::Device host = context.Select("host");
  std::vector<std::int32_t> x;
  std::vector<std::int32_t> table;
  std::vector<std::int32_t> y(kRows);
  for (std::int64_t i = 0; i < kRows; ++i) x.push_back(start[static_cast<std::size_t>(i / kOwned)]);
  for (int i = 1; i <= 10; ++i) table.push_back(i);
  std::vector<float> other(10);
  const kdl::Tensor t = fault == Fault::Type ? context.Wrap(host, other.data(), {10})
                                             : context.Wrap(host, table.data(), {10});
  ranks_failures::follow(context, context.Wrap(host, x.data(), {kRows}), t, kSteps,
                         context.Wrap(host, y.data(), {kRows}),
                         {.grid = fault == Fault::Device ? "hots" : "host"});
  return y;
}

std::string MessageOf(const kdl::Context& context, const std::array<int, kCount>& start,
                      Fault fault) {
  try {
    Follow(context, start, fault);
  } catch (const kdl::Error& error) {
    return error.what();
  }
  return "no error";
}

bool IsSame(std::string message) {
  message.resize(1000);
  std::string first = message;
  MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  return first == message;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  bool is_right = true;
  {
    kdl::Context shared;
    kdl::Check(kdl_use_mpi(shared.get(), MPI_COMM_WORLD));
    kdl::Context alone;
    for (kdl::Context* context : {&shared, &alone}) context->Register(kdl_images_ranks_failures);
    const auto check_fails = [&](const char* text, const std::array<int, kCount>& start,
                                 Fault fault) {
      const std::string message = MessageOf(shared, start, fault);
      const bool fails = message.find(text) != std::string::npos && IsSame(message);
      if (!fails) std::printf("'%s' is not in all of: %s\n", text, message.c_str());
      const bool same =
          Follow(shared, {1, 2, 0}, Fault::None) == Follow(alone, {1, 2, 0}, Fault::None);
      if (!same) std::printf("rank %d has other results\n", rank);
      is_right = is_right && fails && same;
    };
    check_fails("index 10 is outside", {9, 8, 7}, Fault::None);
    check_fails("index 10 is outside", {9, 9, 9}, Fault::None);
    for (int process = 0; process < kCount; ++process) {
      const std::string place = "(in process " + std::to_string(process) + ")";
      std::array<int, kCount> start = {};
      start[static_cast<std::size_t>(process)] = 8;
      check_fails(place.c_str(), start, Fault::None);
      check_fails(place.c_str(), {}, rank == process ? Fault::Device : Fault::None);
      check_fails("the processes call different programs", {},
                  rank == process ? Fault::Type : Fault::None);
    }
    check_fails("here it must be", {}, Fault::Type);
  }
  if (is_right) std::printf("all calls are right\n");
  MPI_Finalize();
  return is_right ? 0 : 1;
}
