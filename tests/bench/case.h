// The parts of the benchmark. Cases make tasks, and the sides of a task take turns.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kdl/runtime.hpp"
#include "tools/measure/trials.h"

namespace bench {

// The least work that a kernel must do, in any implementation.
struct Work {
  double read_bytes = 0;
  double written_bytes = 0;
  // Counted in f32 lanes of the instructions that compete with fused multiply-adds: M * N * K for an f32
  // matmul, twice that for f64. Matrix instructions are not counted.
  double slots = 0;
  double divisions = 0;  // additional f32 divisions
};

// One of several implementations of the same work.
using kdl::measure::Side;

// What is wrong with our result, and with a peer's result; "" means nothing. An inexact peer is still timed.
struct Verdict {
  std::string wrong;
  std::string inexact;
};

struct Task {
  std::function<void()> ours;  // keeps alive the operands that the peers share
  std::vector<Side> peers;
  // Called after our side and one peer have run.
  std::function<Verdict()> judge;
};

// The device and context for our kernels.
struct Host {
  kdl::Context context;
  kdl::Device device;
  kdl::Queue queue;
  int threads;
};

struct Case {
  std::string name;
  std::string dtype;
  std::string size;
  Work work;
  std::function<Task(const Host&)> make;  // allocates and fills; the tasks own their memory
};

std::vector<Case> MatmulCases();
std::vector<Case> TypeCases();
std::vector<Case> FusedCases();
std::vector<Case> PipeCases();
std::vector<Case> RowCases();
std::vector<Case> ElementCases();
std::vector<Case> ReducedCases();
std::vector<Case> TileCases();
std::vector<Case> LaunchCases();

}  // namespace bench
