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

/// Per-core scratch. What has not been written may not be read.
struct Buffer {
  std::vector<uint64_t> elements;
  std::vector<bool> defined;

  void Define(int64_t offset, uint64_t bits) {
    elements[static_cast<size_t>(offset)] = bits;
    defined[static_cast<size_t>(offset)] = true;
  }
};

class PipeState;

/// Memory of an instance of a kernel, or what a program knows of such memory.
struct WorkspaceValue {
  std::byte* data = nullptr;
  WorkspaceId id;
};

/// The values of one run of a function.
struct Activation {
  explicit Activation(const Code& code_to_run);

  const Code* code;
  std::vector<uint64_t> scalars;
  std::vector<TileRef> tiles;
  std::vector<BlockFacts> blocks;
  std::vector<TensorValue> tensors;
  std::vector<Buffer> buffers;
  std::vector<std::vector<uint64_t>> vectors;  ///< a lane each
  std::vector<EventId> events;
  std::vector<std::shared_ptr<PipeState>> pipes;
  std::vector<WorkspaceValue> workspaces;
  std::unordered_map<Name, int64_t> sizes;  ///< of a program: those that it has bound

  uint64_t& scalar(Slot slot) { return scalars[slot.index]; }
  TileRef& tile(Slot slot) { return tiles[slot.index]; }
  BlockFacts& block(Slot slot) { return blocks[slot.index]; }
  TensorValue& tensor(Slot slot) { return tensors[slot.index]; }
  std::vector<uint64_t>& vector(Slot slot) { return vectors[slot.index]; }
};

/// `for` and `loop`: what the next run of the body starts from.
struct LoopState {
  int64_t next = 0;
  int64_t hi = 0;
  int64_t step = 1;
  int64_t number = 0;
};

/// `spmd`: the block that this core runs, and where its blocks end.
struct SpmdState {
  std::vector<int64_t> counts;  ///< blocks of each binder
  int64_t block = 0;
  int64_t end = 0;
  int64_t total = 0;  ///< where it is dealt in groups: all blocks
  int64_t run = 0;    ///< and which of the core's runs of such it is
  // With a watch:
  int64_t iteration = 0;  ///< which of the core's runs of this `spmd` it is
  uint32_t agent = 0;     ///< of the block, once it has touched something
};

/// `elementwise` and mapped calls: the point, and the tiles that the points fill. Stream s is the place in
/// output s.
struct PointState {
  PointWalk walk;
  std::vector<std::shared_ptr<Tile>> outputs;
  std::unique_ptr<Activation> callee;
  std::vector<std::array<uint64_t, 64>> folds =
      {};  ///< the lanes of a elementwise loop's; a chain has one
};

/// `multi_reduce` and `scan` by a region: the element of the result, its next term, and the accumulators.
struct CombineState {
  PointWalk points;       ///< of the result, but for the axis of a scan
  PointWalk terms;        ///< of the folded axes
  int64_t last_term = 0;  ///< of a scan: the offset of the last element
  std::vector<uint64_t> accumulators;
  size_t number = 0;  ///< of the result's element
  std::vector<std::shared_ptr<Tile>> outputs;
};

/// What a core knows of a loop that claims its numbers. The loop's runs share one row of them: a core that leaves a run holds a
/// number of a later one.
struct DynamicState {
  int64_t before = 0;            ///< numbers of the runs that it has left
  std::optional<int64_t> taken;  ///< of the whole row
};

/// A copy that the worker has begun: what will stand in the team's buffer from the offset on.
struct AsyncCopy {
  const ir::Value* buffer = nullptr;
  int64_t offset = 0;
  std::vector<uint64_t> elements;
  int64_t group = 0;
};

/// A block that runs. The frames of a machine are its whole control state.
struct Frame {
  Activation* here = nullptr;
  const RegionCode* block = nullptr;
  size_t next = 0;  ///< of block->instructions
  const Instruction* owner =
      nullptr;  ///< whose region it is, or the call; null: the function's body
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
  /// The op that runs cannot go on until another stage has: it runs again when its stage's turn comes.
  void Block();
  /// The next stage's turn: this one waits, or has ended.
  void SwitchStage();
  /// The compiler's mistake: names the op, its place and `what` is wrong.
  void Break(const Instruction& instruction, const std::string& what);

  CoreFacts facts;
  MachineState state = MachineState::Running;
  Activation body;
  std::vector<Frame> frames;               ///< of the stage that runs, or of the function itself
  std::vector<std::vector<Frame>> others;  ///< of the stages that wait for their turn, in its order
  bool blocked = false;
  size_t rounds_without_step = 0;
  std::vector<std::byte> workspace;
  std::unordered_map<const ir::Op*, DynamicState> dynamic_counters;
  /// Of spmds that are dealt in groups: so many have begun, in each stage and (null) outside of stages.
  std::unordered_map<const Instruction*, int64_t> grouped_runs;
  std::unordered_map<const Instruction*, int64_t>
      iterations;                 ///< with a watch: the runs of each `spmd`
  std::vector<AsyncCopy> copies;  ///< that have begun
  int64_t copy_groups = 0;        ///< that are closed
  std::optional<Trap> trap;
  std::optional<Failure> failure;
  std::string fault;
  std::vector<uint64_t> results;  ///< of a fn or contract that ran as the whole function
  std::vector<ElementRead>* reads = nullptr;  ///< takes each element that a scalar load reads

 private:
  void StopStuck();
};

/// A value of any kind, on its way from one slot to another.
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

/// Copies values all at once: a target may be a source.
void MoveValues(Activation& from, const std::vector<Slot>& sources, size_t first_source,
                Activation& to, const std::vector<Slot>& targets, size_t first_target);

/// The ranges of the points, from the blocks in scope.
std::vector<AxisRange> RangesOf(const PointsPlan& points, const Activation& here);
/// The strides over the points of operand number `operand`, which has been checked against the
/// ranges; all 0 for a scalar.
std::vector<int64_t> OperandStrides(const PointsPlan& points, size_t operand,
                                    const std::vector<AxisRange>& ranges, const TileRef& tile);
/// The elements of an operand: a scalar's one, a tile's, or a vector's lanes.
const uint64_t* ElementsOf(const Activation& here, Slot slot);
/// False, with the core broken, where a tile operand does not have the ranges of the points.
bool OperandsFit(Core& core, Activation& here, const Instruction& instruction,
                 const std::vector<AxisRange>& ranges);

std::vector<int64_t> SizesOf(const std::vector<AxisRange>& ranges);

/// Hands what the points have made to the results of the op that walks them.
void KeepOutputs(Activation& here, const Instruction& owner, PointState& state);
/// The number of a call's operand that masks points out; where it has none, after its last one.
size_t MaskOperand(const Instruction& call);

/// What an element holds that the language leaves open: visibly not a sensible value.
uint64_t UnspecifiedBits(Scalar scalar);

}  // namespace kdl::interp
