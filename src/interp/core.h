#pragma once

#include <fmt/format.h>

#include <array>
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

/// Per-core scratch. An element must be written before it is read.
struct Buffer {
  std::vector<uint64_t> elements;
  std::vector<bool> defined;

  void Define(int64_t offset, uint64_t bits) {
    elements[static_cast<size_t>(offset)] = bits;
    defined[static_cast<size_t>(offset)] = true;
  }
};

class PipeState;

/// The workspace of an instance of a kernel: its memory in kernels, its id in programs.
struct WorkspaceValue {
  std::byte* data = nullptr;
  WorkspaceId id;
};

/// The values of one call of a function.
struct Activation {
  explicit Activation(const Code& code_to_run);

  const Code* code;
  std::vector<uint64_t> scalars;
  std::vector<TileRef> tiles;
  std::vector<BlockFacts> blocks;
  std::vector<TensorValue> tensors;
  std::vector<Buffer> buffers;
  std::vector<std::vector<uint64_t>> vectors;  ///< one element for each lane
  std::vector<EventId> events;
  std::vector<std::shared_ptr<PipeState>> pipes;
  std::vector<WorkspaceValue> workspaces;
  std::unordered_map<Name, int64_t> sizes;  ///< of a program: the sizes that it has bound

  uint64_t& scalar(Slot slot) { return scalars[slot.index]; }
  TileRef& tile(Slot slot) { return tiles[slot.index]; }
  BlockFacts& block(Slot slot) { return blocks[slot.index]; }
  TensorValue& tensor(Slot slot) { return tensors[slot.index]; }
  std::vector<uint64_t>& vector(Slot slot) { return vectors[slot.index]; }
};

/// `for` and `loop`: the start of the next iteration.
struct LoopState {
  int64_t next = 0;
  int64_t hi = 0;
  int64_t step = 1;
  int64_t number = 0;
};

/// `spmd`: the block that this core is executing, and where its blocks end.
struct SpmdState {
  std::vector<int64_t> counts;  ///< the number of blocks of each binder
  int64_t block = 0;
  int64_t end = 0;
  int64_t total = 0;  ///< if distributed in groups: the number of all blocks
  /// If distributed in groups: how many such spmds the core has executed before.
  int64_t run = 0;
  // Only with a watch:
  int64_t iteration = 0;  ///< how often the core has executed this `spmd` before
  uint32_t agent = 0;     ///< the number of the block's agent; 0 until it has accessed something
};

/// Elementwise loops and mapped calls: the current point, and the tiles that the points fill. Stream s is the
/// offset in output s.
struct PointState {
  PointWalk walk;
  std::vector<std::shared_ptr<Tile>> outputs;
  std::unique_ptr<Activation> callee;
  /// The lanes of the reductions in an elementwise loop; only the first is used in sequential order.
  std::vector<std::array<uint64_t, 64>> folds = {};
};

/// `multi_reduce` and `scan` with a region: the element of the result, its next term, and the accumulators.
struct CombineState {
  PointWalk points;       ///< of the result, without the axis of a scan
  PointWalk terms;        ///< of the reduced axes
  int64_t last_term = 0;  ///< for a scan: the offset of the last element
  std::vector<uint64_t> accumulators;
  size_t number = 0;  ///< the index of the result's element
  std::vector<std::shared_ptr<Tile>> outputs;
};

/// What a core knows about a loop with dynamic scheduling. All executions of the loop share one sequence of
/// numbers, so a core that leaves one of them has already drawn a number of a later one.
struct DynamicState {
  int64_t before = 0;            ///< how many numbers the finished executions had
  std::optional<int64_t> taken;  ///< the drawn number, from the whole sequence
};

/// A copy that the GPU thread has started: the future contents of the workgroup's buffer from the offset on.
struct AsyncCopy {
  const ir::Value* buffer = nullptr;
  int64_t offset = 0;
  std::vector<uint64_t> elements;
  int64_t group = 0;
};

/// A region in execution. The frames of a machine are its whole control state.
struct Frame {
  Activation* here = nullptr;
  const RegionCode* block = nullptr;
  size_t next = 0;  ///< index into block->instructions
  /// The op with the region, or the call; null for the function's body.
  const Instruction* owner = nullptr;
  std::variant<std::monostate, LoopState, SpmdState, PointState, CombineState> control;
};

/// The state of a machine, for the handlers of ops.
class Core {
 public:
  Core(const Code& code, const CoreFacts& core_facts) : facts(core_facts), body(code) {}

  void Stop(const Trap& why) {
    trap = why;
    state = MachineState::Trapped;
  }
  void Fail(Failure why) {
    failure = std::move(why);
    state = MachineState::Failed;
  }
  /// Suspends the stage: the current op must wait for another stage, and runs again when its stage is
  /// resumed.
  void Block();
  /// Switches to the next stage because this one waits or has ended.
  void SwitchStage();
  /// Reports an error of the compiler with the op, its location and `what` is wrong.
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
  /// For spmds that are distributed in groups: how many have started, in each stage and (null) outside of
  /// stages.
  std::unordered_map<const Instruction*, int64_t> grouped_runs;
  /// How often each `spmd` was executed; only with a watch.
  std::unordered_map<const Instruction*, int64_t> iterations;
  std::vector<AsyncCopy> copies;  ///< the pending copies
  int64_t copy_groups = 0;        ///< the number of committed groups
  std::optional<Trap> trap;
  std::optional<Failure> failure;
  std::string fault;
  std::vector<uint64_t> results;              ///< of a fn or contract that was run directly
  std::vector<ElementRead>* reads = nullptr;  ///< receives each element that a scalar load reads

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

/// Copies values as if all at once: a target may also be a source.
void MoveValues(Activation& from, const std::vector<Slot>& sources, size_t first_source,
                Activation& to, const std::vector<Slot>& targets, size_t first_target);

/// Returns the ranges of the points, from the blocks in scope.
std::vector<AxisRange> RangesOf(const PointsPlan& points, const Activation& here);
/// Returns the strides of an operand along the axes of the points; all 0 for a scalar. The operand must have
/// been checked against the ranges.
std::vector<int64_t> OperandStrides(const PointsPlan& points, size_t operand,
                                    const std::vector<AxisRange>& ranges, const TileRef& tile);
/// Returns the elements of an operand: a scalar's only one, a tile's, or a vector's lanes.
const uint64_t* SlotElements(const Activation& here, Slot slot);
/// Returns false and breaks the core if a tile operand does not have the ranges of the points.
bool OperandsFit(Core& core, Activation& here, const Instruction& instruction,
                 const std::vector<AxisRange>& ranges);

std::vector<int64_t> RangeSizes(const std::vector<AxisRange>& ranges);

/// Stores the tiles that the points have filled in the results of the op.
void KeepOutputs(Activation& here, const Instruction& owner, PointState& state);
/// Returns the number of a call's operand that masks points; if there is none, the number of operands.
size_t MaskOperand(const Instruction& call);

/// Returns the bits of an element that the language leaves unspecified: obviously not a sensible value.
uint64_t UnspecifiedBits(Scalar scalar);

}  // namespace kdl::interp
