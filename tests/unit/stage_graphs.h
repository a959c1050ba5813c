#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

// Random loop-level kernels of stages and pipes, and a model of what they compute, which is independent of
// KIR.

namespace kdl::test {

inline constexpr int64_t kLanes = 8;
inline constexpr int64_t kMostStages = 5;
inline constexpr size_t kMemory = 4;

/// A pipe that carries i64, or f32 in whole vectors.
struct GraphPipe {
  size_t from;
  size_t to;
  int64_t depth;
  bool vectors;
  std::vector<int64_t> extents;  ///< powers of two; for vectors one extent, a multiple of kLanes
  int64_t offset = 0;

  int64_t slot() const {
    int64_t bytes = vectors ? 4 : 8;
    for (int64_t extent : extents) bytes *= extent;
    return 64 + (bytes + 63) / 64 * 64;
  }
};

/// The transfer of one tile through a pipe, only in rounds b with b & mask == value. `number` counts the
/// tiles of the pipe in a round.
struct Transfer {
  size_t pipe;
  int64_t number;
  int64_t mask;
  int64_t value;

  bool operator==(const Transfer&) const = default;
};

/// How a stage's rounds are written: as a loop over the core's blocks, as a loop over the numbers of these
/// blocks, or with the first round peeled.
enum class RoundForm : uint8_t { Blocks, Counted, Peeled };

struct GraphStage {
  RoundForm form = RoundForm::Blocks;
  std::vector<Transfer> order;  ///< the stage's pushes and pops in a round
  bool loops = false;           ///< neighbouring transfers of one pipe are written as a loop
  bool stages_in_scratch = false;
  int64_t check_bound = -1;  ///< block numbers must be below this; negative: unchecked
  int64_t wrong_size = -1;   ///< index of a pop that expects a wrong size; negative: none
};

/// A graph of stages. Unless `ordered` is set, the order of transfers differs between stages, so they may
/// deadlock.
struct StageGraph {
  std::vector<GraphPipe> pipes;
  std::vector<GraphStage> stages;
  std::vector<Transfer> round;  ///< the transfers of a round, in an order that needs no buffering
  bool ordered = true;

  bool plain() const {
    return ordered && std::all_of(stages.begin(), stages.end(), [](const GraphStage& s) {
             return s.check_bound < 0 && s.wrong_size < 0;
           });
  }
};

class GraphDraw {
 public:
  explicit GraphDraw(uint64_t seed) : random_(seed) {}

  StageGraph Draw() {
    StageGraph graph;
    graph.stages.resize(2 + Below(kMostStages - 1));
    size_t pipes = graph.stages.size() - 1 + Below(3);
    for (size_t p = 0; p < pipes; ++p) graph.pipes.push_back(Pipe(graph.stages.size(), p));
    for (size_t p = 0, offset = 0; p < pipes; ++p) {
      graph.pipes[p].offset = static_cast<int64_t>(offset);
      offset += static_cast<size_t>(64 + graph.pipes[p].depth * graph.pipes[p].slot());
    }
    for (size_t p = 0; p < pipes; ++p) AddTransfers(graph, p);
    for (GraphStage& stage : graph.stages) {
      stage.form = static_cast<RoundForm>(Below(3));
      stage.loops = Below(2) == 0;
      stage.stages_in_scratch = Below(3) == 0;
      if (Below(12) == 0) stage.check_bound = static_cast<int64_t>(Below(9));
    }
    Order(graph);
    return graph;
  }

 private:
  uint64_t Below(uint64_t bound) { return random_() % bound; }

  GraphPipe Pipe(size_t stages, size_t number) {
    // The first pipes connect consecutive stages; the others connect any two stages, in either direction.
    size_t from = number + 1 < stages ? number : Below(stages);
    size_t to = number + 1 < stages ? number + 1 : (from + 1 + Below(stages - 1)) % stages;
    static constexpr int64_t kDepths[] = {1, 1, 2, 3, 4, 8};
    GraphPipe pipe{from, to, kDepths[Below(6)], Below(3) == 0, {}};
    if (pipe.vectors) {
      pipe.extents = {kLanes << Below(3)};
    } else {
      for (uint64_t d = Below(2); d < 2; ++d) pipe.extents.push_back(int64_t{1} << Below(4));
    }
    return pipe;
  }

  /// Adds the transfers of one pipe in ascending order, next to each other or with other transfers between
  /// them.
  void AddTransfers(StageGraph& graph, size_t pipe) {
    int64_t mask = Below(3) == 0 ? 1 : 0;
    int64_t value = mask == 0 ? 0 : static_cast<int64_t>(Below(2));
    size_t at = Below(graph.round.size() + 1);
    for (int64_t number = 0, rate = 1 + static_cast<int64_t>(Below(3)); number < rate; ++number) {
      graph.round.insert(graph.round.begin() + static_cast<int64_t>(at),
                         {pipe, number, mask, value});
      at += 1 + (Below(2) == 0 ? 0 : Below(graph.round.size() - at));  // any later position
    }
  }

  void Order(StageGraph& graph) {
    for (const Transfer& transfer : graph.round) {
      graph.stages[graph.pipes[transfer.pipe].from].order.push_back(transfer);
      graph.stages[graph.pipes[transfer.pipe].to].order.push_back(transfer);
    }
    for (size_t s = 0; s < graph.stages.size(); ++s) {
      auto& order = graph.stages[s].order;
      if (order.empty()) continue;
      if (Below(8) == 0) {
        size_t a = Below(order.size());
        size_t b = Below(order.size());
        if (order[a].pipe != order[b].pipe) {
          std::swap(order[a], order[b]);
          graph.ordered = false;
        }
      }
      size_t place = Below(order.size());
      bool pops = graph.pipes[order[place].pipe].to == s;
      if (Below(20) == 0 && pops) graph.stages[s].wrong_size = static_cast<int64_t>(place);
    }
  }

  std::mt19937_64 random_;
};

/// The final values of a core's stages.
struct StageEnd {
  uint64_t number;
  std::array<float, kLanes> vector{};
  std::array<uint64_t, kMemory> memory = {0, 1, 2, 3};
};

/// Computes the result of an ordered graph, one transfer after another.
class GraphModel {
 public:
  GraphModel(const StageGraph& graph, int64_t blocks, int64_t core_num)
      : graph_(graph), blocks_(blocks), core_num_(core_num) {}

  std::vector<StageEnd> RunCore(int64_t core) {
    std::vector<StageEnd> ends;
    for (size_t s = 0; s < graph_.stages.size(); ++s) ends.push_back({s + 1});
    for (int64_t block = core; block < blocks_; block += core_num_) {
      for (const Transfer& transfer : graph_.round) {
        if ((block & transfer.mask) != transfer.value) continue;
        const GraphPipe& pipe = graph_.pipes[transfer.pipe];
        Move(pipe, block, block * 5 + transfer.number, ends[pipe.from], ends[pipe.to]);
      }
    }
    return ends;
  }

 private:
  static void Move(const GraphPipe& pipe, int64_t block, int64_t drawn, StageEnd& from,
                   StageEnd& to) {
    std::vector<int64_t> sizes;
    for (int64_t extent : pipe.extents)
      sizes.push_back(pipe.vectors ? extent : (drawn & (extent - 1)) + 1);
    if (pipe.vectors) {
      for (int64_t i = 0; i < sizes[0]; i += kLanes) {
        for (size_t lane = 0; lane < kLanes; ++lane) {
          from.vector[lane] += static_cast<float>(i);
          to.vector[lane] = to.vector[lane] * 0.5F + from.vector[lane];
        }
      }
    } else {
      uint64_t start = from.number + static_cast<uint64_t>(block);
      for (int64_t i = 0; i < sizes[0]; ++i) {
        for (int64_t j = 0; j < (sizes.size() == 2 ? sizes[1] : 1); ++j)
          to.number = to.number * 31 + start + static_cast<uint64_t>(3 * i + 7 * j);
      }
    }
    from.number = from.number * 5 + 7 + static_cast<uint64_t>(sizes[0]);
    uint64_t& cell = to.memory[to.number & 3];
    uint64_t old = std::exchange(cell, to.number);
    to.number += old;
  }

  const StageGraph& graph_;
  int64_t blocks_;
  int64_t core_num_;
};

}  // namespace kdl::test
