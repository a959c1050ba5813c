// What the benchmark is made of: cases, which make tasks, whose sides take turns.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kdl/runtime.hpp"
#include "tools/measure/trials.h"

namespace bench {

// What a kernel has to do at least, whoever writes it.
struct Work {
  double read_bytes = 0;
  double written_bytes = 0;
  // Lanes of f32 instructions that go where fused multiply-adds go: M * N * K of an f32 matmul, twice that
  // in f64. Matrix units are left out.
  double slots = 0;
  double divisions = 0;  // of f32, beside them
};

// One of those that do the same work.
using kdl::measure::Side;

// What is wrong with our result, and with a peer's; "": nothing. A peer that is not exact is timed.
struct Verdict {
  std::string wrong;
  std::string inexact;
};

struct Task {
  std::function<void()> ours;  // keeps the operands that the peers share
  std::vector<Side> peers;
  // After ours and a peer have run.
  std::function<Verdict()> judge;
};

// Where our kernels run.
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
