// The data types of the benchmark. A case creates tasks. The sides of a task, our kernel and its peers in
// other libraries, run alternately.
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
  // The number of f32 lanes of vector instructions that compete with fused multiply-adds: M * N * K for an
  // f32 matmul, and twice that for f64. Matrix instructions are not counted.
  double slots = 0;
  double divisions = 0;  // additional f32 divisions
};

// One of several implementations of the same work.
using kdl::measure::Side;

// Says what is wrong with our result and with a peer's result. An empty string means that the result is
// right. A peer with an inexact result is still timed.
struct Verdict {
  std::string wrong;
  std::string inexact;
};

struct Task {
  std::function<void()> ours;  // runs our kernel; owns the operands, which the peers share
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
  std::function<Task(const Host&)> make;  // allocates and fills the operands; the task owns them
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
