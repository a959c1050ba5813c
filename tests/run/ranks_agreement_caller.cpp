// Calls programs over ranks (ranks.py) with arguments that differ in the processes of an MPI application. Each such call must fail in
// all of them, and calls between them, with the same arguments, must have the results of one process.
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "kdl/runtime.hpp"
#include "kdl/use_mpi.h"
#include "ranks.h"

namespace {

constexpr std::int64_t kRows = 97;

std::vector<float> Input(std::int64_t columns) {
  std::vector<float> x(static_cast<std::size_t>(kRows * columns));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i % 101) / 7.0F;
  return x;
}

std::vector<float> Relaxed(const kdl::Context& context, std::int64_t columns, std::int64_t count) {
  const kdl::Device host = context.Select("host");
  std::vector<float> x = Input(columns);
  std::vector<float> y(x.size());
  ranks::relaxed(context, context.Wrap(host, x.data(), {kRows, columns}),
                 context.Wrap(host, y.data(), {kRows, columns}), count);
  return y;
}

void Settle(const kdl::Context& context, float limit) {
  const kdl::Device host = context.Select("host");
  std::vector<float> x = Input(9);
  std::vector<float> y(x.size());
  std::vector<std::int64_t> steps(1);
  ranks::settle(context, context.Wrap(host, x.data(), {kRows, 9}), limit,
                context.Wrap(host, y.data(), {kRows, 9}), context.Wrap(host, steps.data(), {1}));
}

// Whether the call fails with an error that contains the text.
bool Fails(const char* text, const std::function<void()>& call) {
  std::string message = "no error";
  try {
    call();
  } catch (const kdl::Error& error) {
    message = error.what();
  }
  if (message.find(text) != std::string::npos) return true;
  std::printf("'%s' is not in: %s\n", text, message.c_str());
  return false;
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
    for (kdl::Context* context : {&shared, &alone}) context->Register(kdl_images_ranks);
    const bool is_last = rank == 2;
    const auto check_same = [&] {
      if (Relaxed(shared, 700, 4) == Relaxed(alone, 700, 4)) return;
      std::printf("rank %d has other results\n", rank);
      is_right = false;
    };
    const auto check_fails = [&](const char* text, const std::function<void()>& call) {
      is_right = Fails(text, call) && is_right;
      check_same();
    };
    check_same();
    check_fails("ranks.kdl:", [&] { Relaxed(shared, 9, is_last ? 20 : 10); });
    check_fails("'count' is 10 in process 0 and 20 in process 2",
                [&] { Relaxed(shared, 9, is_last ? 20 : 10); });
    check_fails("'count' is 4 in process 0 and -1 in process 2",
                [&] { Relaxed(shared, 9, is_last ? -1 : 4); });
    check_fails("size 1 of 'x' is 9 in process 0 and 2000 in process 2",
                [&] { Relaxed(shared, is_last ? 2000 : 9, 4); });
    check_fails("'limit' is 0.5 in process 0 and 8.0 in process 2",
                [&] { Settle(shared, is_last ? 8.0F : 0.5F); });
    check_fails("the processes call different programs", [&] {
      if (is_last) return Settle(shared, 0.5F);
      Relaxed(shared, 9, 4);
    });
  }
  if (is_right) std::printf("all calls are right\n");
  MPI_Finalize();
  return is_right ? 0 : 1;
}
