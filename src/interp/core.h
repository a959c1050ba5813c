#pragma once

#include <fmt/format.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "interp/code.h"
#include "interp/core_facts.h"
#include "interp/program_host.h"
#include "interp/tile.h"
#include "interp/trap.h"

namespace kdl::interp {

/// Scratch memory of one core. An element must be written before it is read.
struct Buffer {
  std::vector<uint64_t> elements;
  std::vector<bool> defined;

  void Define(int64_t offset, uint64_t bits) {
    elements[static_cast<size_t>(offset)] = bits;
    defined[static_cast<size_t>(offset)] = true;
  }
};

class PipeState;

/// A workspace of a kernel. Kernels access its memory; programs refer to it by its id.
struct WorkspaceValue {
  std::byte* data = nullptr;
  WorkspaceId id;
};

/// The values during one call of a function.
struct Activation {
  explicit Activation(const Code& code_to_run);

  const Code* code;
  std::vector<uint64_t> scalars;
  std::vector<TileRef> tiles;
  std::vector<BlockFacts> blocks;
  std::vector<TensorValue> tensors;
  std::vector<Buffer> buffers;
  std::vector<std::vector<uint64_t>> vectors;  ///< each vector has one element for each lane
  std::vector<EventId> events;
  std::vector<std::shared_ptr<PipeState>> pipes;
  std::vector<WorkspaceValue> workspaces;
  std::unordered_map<Name, int64_t> sizes;  ///< for a program: the sizes that it has bound so far

  uint64_t& scalar(Slot slot) { return scalars[slot.index]; }
  TileRef& tile(Slot slot) { return tiles[slot.index]; }
  BlockFacts& block(Slot slot) { return blocks[slot.index]; }
  TensorValue& tensor(Slot slot) { return tensors[slot.index]; }
  std::vector<uint64_t>& vector(Slot slot) { return vectors[slot.index]; }
};

/// The state of a `for` or `loop`: where the next iteration starts.
struct LoopState {
  int64_t next = 0;
  int64_t hi = 0;
  int64_t step = 1;
  int64_t number = 0;
};

/// The state of an `spmd`: the block that this core is executing, and the end of its share of blocks.
struct SpmdState {
  std::vector<int64_t> counts;  ///< the number of blocks of each binder
  int64_t block = 0;
  int64_t end = 0;
  int64_t total = 0;  ///< if the spmd is distributed in groups: the number of blocks of all cores
  /// If the spmd is distributed in groups: the number of blocks that are combined, and of those of the inner kept
  /// variables (ir/groups.h). A block number consists of those of outer, combined and inner variables.
  int64_t combined = 0;
  int64_t inner = 0;
  /// If the spmd is distributed in groups: the number of such spmds that the core has executed before.
  int64_t run = 0;
  // The following members are only used if a watch checks the launch (watch.h).
  int64_t iteration = 0;  ///< the number of times that the core has executed this `spmd` before
  /// The block's AgentId (watch.h); 0 until the block has accessed something.
  uint32_t agent = 0;
};

/// The state of an elementwise loop or mapped call: the current point, and the tiles that the points fill.
/// `walk` computes one offset for each output: stream s is the offset in output s.
struct PointState {
  PointWalk walk;
  std::vector<std::shared_ptr<Tile>> outputs;
  std::unique_ptr<Activation> callee;
  /// The lanes of the reductions in an elementwise loop. With order `sequential`, only lane 0 is used.
  std::vector<std::array<uint64_t, 64>> folds = {};
  /// An axis whose points are visited in descending order, because a scan requires it.
  std::optional<size_t> down = std::nullopt;
  int64_t down_last = 0;                 ///< the last position along that axis
  std::vector<int64_t> down_start = {};  ///< for each output, the offset of that position
  /// The accumulators of the scans in an elementwise loop, for each scan and each row of points along its axis.
  /// The position of the row along that axis is 0.
  std::map<std::pair<const Instruction*, std::vector<int64_t>>, std::vector<uint64_t>> scans = {};
};

/// The state of a `multi_reduce` or `scan`: the current element of the result, the next term of that
/// element, and the accumulators.
struct CombineState {
  PointWalk points;       ///< the points of the result, without the axis of a scan
  PointWalk terms;        ///< the points of the reduced axes
  int64_t last_term = 0;  ///< for a scan: the offset of the last element
  std::vector<uint64_t> accumulators;
  size_t number = 0;  ///< the index of the result's element
  std::vector<std::shared_ptr<Tile>> outputs;
};

/// What a core knows about a loop with dynamic scheduling. All executions of the loop draw from one
/// sequence of numbers. So when a core leaves one execution, it has already drawn a number that belongs to
/// a later execution.
struct DynamicState {
  int64_t before = 0;  ///< how many numbers belonged to finished executions
  /// A number that was drawn from the whole sequence but is not used yet.
  std::optional<int64_t> taken;
};

/// A region that is being executed. The frames of a machine make up its whole control state.
struct Frame {
  Activation* here = nullptr;
  const RegionCode* block = nullptr;
  size_t next = 0;  ///< index into `block->instructions`
  /// The op whose region is executed, or the call whose callee is executed. Null for the function with which
  /// the machine started.
  const Instruction* owner = nullptr;
  std::variant<std::monostate, LoopState, SpmdState, PointState, CombineState> control;
};

/// A trap in a fn that is mapped over a tile, while the core looks for an earlier one (ops/earliest_trap.h).
struct EarliestTrap {
  Trap trap;
  std::vector<int64_t> path;  ///< the position of its op in the fn
};

/// The state of a machine. The handlers of ops work on it.
class Core {
 public:
  Core(const Code& code, const CoreFacts& core_facts) : facts(core_facts), body(code) {}

  /// Stops with a trap, and adds a note for each call of a fn around its op.
  void Stop(Trap why);
  void Fail(Failure why) {
    failure = std::move(why);
    state = MachineState::Failed;
  }
  /// Executes the next op, or ends the function if there is none. The core must be running.
  void ExecuteNextOp();
  /// Continues a core that waits at a barrier.
  void Resume();
  /// Suspends the stage, because the current op must wait for another stage. The op runs again when its
  /// stage is resumed.
  void Block();
  /// Switches to the next stage, because this stage waits or has ended.
  void SwitchStage();
  /// Reports an internal compiler error. The report names the op and its location; `what` says what is
  /// wrong.
  void Break(const Instruction& instruction, const std::string& what);

  CoreFacts facts;
  MachineState state = MachineState::Running;
  Activation body;
  /// The frames of the current stage, or of the function itself.
  std::vector<Frame> frames;
  /// The frames of the waiting stages, in the order in which they are resumed.
  std::vector<std::vector<Frame>> others;
  bool blocked = false;
  size_t rounds_without_step = 0;
  std::vector<std::byte> workspace;
  std::unordered_map<const ir::Op*, DynamicState> dynamic_counters;
  /// For each stage: the number of spmds that are distributed in groups and have started. The key is null for
  /// spmds outside of stages.
  std::unordered_map<const Instruction*, int64_t> grouped_runs;
  /// How often each `spmd` has been executed. Only used if a watch checks the launch.
  std::unordered_map<const Instruction*, int64_t> iterations;
  std::optional<Trap> trap;
  std::optional<EarliestTrap> earliest;
  std::optional<Failure> failure;
  std::string fault;
  std::vector<uint64_t> results;  ///< the results, if the machine runs a fn or contract
  /// Receives each element that a scalar load reads; may be null.
  std::vector<ElementRead>* reads = nullptr;

 private:
  void StopStuck();
};

/// A value of any kind while it is copied from one slot to another.
struct AnyValue {
  uint64_t bits = 0;
  TileRef tile;
  BlockFacts block;
  TensorValue tensor;
  std::vector<uint64_t> lanes;
  EventId event;
  std::shared_ptr<PipeState> pipe;
  WorkspaceValue workspace;
};

/// Copies values as if all of them were copied at once, because a target may also be a source.
void MoveValues(Activation& from, const std::vector<Slot>& sources, size_t first_source,
                Activation& to, const std::vector<Slot>& targets, size_t first_target);

/// Returns the range of the points along each axis, which is the range of the axis's block in scope.
std::vector<AxisRange> RangesOf(const PointsPlan& points, const Activation& here);
/// Returns the strides of an operand along the axes of the points; for a scalar, all strides are 0. The
/// operand must already have been checked against the ranges.
std::vector<int64_t> OperandStrides(const PointsPlan& points, size_t operand,
                                    const std::vector<AxisRange>& ranges, const TileRef& tile);
/// Returns the elements of an operand: the single element of a scalar, the elements of a tile, or the lanes
/// of a vector.
const uint64_t* SlotElements(const Activation& here, Slot slot);
/// Checks that all tile operands have the ranges of the points. Otherwise, reports an internal error and
/// returns false.
bool OperandsFit(Core& core, Activation& here, const Instruction& instruction,
                 const std::vector<AxisRange>& ranges);

std::vector<int64_t> RangeSizes(const std::vector<AxisRange>& ranges);

/// Stores the results of the op, which are the tiles that were filled point by point.
void KeepOutputs(Activation& here, const Instruction& owner, PointState& state);
/// Returns the index of the call's operand that masks points, or the number of operands if there is none.
size_t MaskOperand(const Instruction& call);

/// Returns the bits for an element that the language leaves unspecified. They are chosen to be easily
/// recognized as wrong.
uint64_t UnspecifiedBits(Scalar scalar);

}  // namespace kdl::interp
