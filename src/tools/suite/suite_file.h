#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/module.h"
#include "support/diagnostics.h"
#include "support/scalar.h"
#include "support/source.h"

namespace kdl::tools {

// A suite is a YAML file with a list of problems:
//
//   suite: NPBench
//   peers: npbench.py                  # NumPy functions: the results to compare with, and baselines
//   baselines: [numpy, numba]
//   problems:
//     - name: gemm
//       file: kernels/gemm.kdl
//       program: gemm                  # or `kernel: NAME`
//       published: {NI: 2000, NJ: 2300, NK: 2600}
//       scaled: {NI: 500, NJ: 550, NK: 600}      # what `bench` runs
//       check: {NI: 20, NJ: 23, NK: 26}          # what `test` runs
//       arguments:
//         alpha: in f64 1.5
//         A: in f64[NI, NK] uniform(0, 1)
//         B: in f64[NK, NJ] uniform(0, 1)
//         C: inout f64[NI, NJ] uniform(0, 1)

/// An argument of a problem. The sizes in `shape` and the numbers in `fill` are expressions in Python.
struct SuiteArgument {
  std::string name;
  ir::Direction direction = ir::Direction::In;
  Scalar scalar = Scalar::F32;
  bool is_tensor = false;
  std::vector<std::string> shape;
  std::string fill;  ///< a distribution such as `uniform(0, 1)`, or the value of a scalar
};

using SuiteSizes = std::vector<std::pair<std::string, int64_t>>;

struct SuiteProblem {
  std::string name;
  std::string file;      ///< path of the KDL file
  std::string function;  ///< name of the kernel or program
  bool is_program = false;
  std::vector<std::pair<std::string, std::string>> published;
  SuiteSizes scaled;
  SuiteSizes check;  ///< `scaled` if the file has no other
  std::vector<SuiteArgument> arguments;
  std::vector<std::pair<std::string, std::string>> defines;  ///< values may be names of sizes
  std::string peer;                                          ///< function of the file with peers
  std::string draw;  ///< function of the file with peers that draws arguments; may be empty
  std::vector<std::string> baselines;
  int64_t limit = 0;  ///< seconds for each process
  std::string note;
  std::map<std::string, size_t>
      lines;  ///< of the keys of the problem, and of each `arguments.NAME`
};

struct Suite {
  std::string path;
  std::string name;
  std::string peers;  ///< path of the Python file
  std::vector<SuiteProblem> problems;
};

/// Reads a suite. Paths are relative to the folder of the file. On error, reports it with its place in the
/// file and returns nothing.
std::optional<Suite> ReadSuite(const std::string& path, SourceManager& sources,
                               DiagnosticEngine& diagnostics);

}  // namespace kdl::tools
