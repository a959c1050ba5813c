#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/eval/bound.h"
#include "ir/eval/eval.h"
#include "ir/groups.h"
#include "ir/module.h"
#include "support/result.h"

namespace kdl::interp {

class Core;
struct Activation;
struct Code;
struct Frame;
struct Instruction;

enum class SlotKind : uint8_t {
  Scalar,
  Tile,
  Block,
  Tensor,
  Buffer,
  Vector,
  Event,
  Pipe,
  Workspace
};
inline constexpr size_t kSlotKinds = 9;

/// The location of a value in an Activation: an index into the array for its kind.
struct Slot {
  SlotKind kind = SlotKind::Scalar;
  uint32_t index = 0;
};

/// The kinds of operands and results that an op has. They select the op's handler.
enum class OpForm : uint8_t { Scalars, Tiles, Vectors };

using Handler = void (*)(Core& core, Activation& here, const Instruction& instruction);
/// Handles the yield at the end of a frame's region.
using YieldHandler = void (*)(Core& core, Frame& frame, const Instruction& yield);

/// The points for which an op on tiles computes elements: their axes and, for each axis, the slot of its
/// block.
struct PointsPlan {
  std::vector<ir::AxisId> axes;
  std::vector<uint32_t> blocks;
  size_t reduced = 0;  ///< the number of axes, at the end of `axes`, that are reduced
  /// For each operand and each axis of the points: the position of that axis in the operand's type, or -1
  /// if the operand does not have it.
  std::vector<std::vector<int>> axis_in_operand;
};

/// A term of an index: coefficient * operand.
struct TermPlan {
  int64_t coefficient = 0;
  size_t operand = 0;           ///< the index of the operand in the op
  Scalar scalar = Scalar::I64;  ///< the type of that operand
  uint32_t slot = 0;            ///< the slot of that operand
  int point_axis = -1;  ///< if the operand is a block: the position of its axis in PointsPlan::axes
};

struct DimPlan {
  int64_t offset = 0;
  std::vector<TermPlan> terms;
};

struct AccessPlan {
  std::vector<DimPlan> dims;
  ir::BoundsMode bounds_mode = ir::BoundsMode::Guard;
  int value = -1;      ///< for a store: the index of the value operand
  int otherwise = -1;  ///< for a load: the index of the `otherwise` operand
  int mask = -1;
};

struct FoldPlan {
  ir::OrderKind order = ir::OrderKind::Sequential;
  uint64_t identity = 0;      ///< the initial value of the lanes
  ir::EvalFn fold = nullptr;  ///< reduce: combines acc and a term; contraction: combines lanes
  ir::EvalFn term = nullptr;  ///< contraction: combines acc with a product, from (a, b, acc)
  /// The matrix instruction of a contraction or vector_mma; null if terms are added one after another.
  const ir::MatrixInstruction* mma = nullptr;
  /// For a contraction: functions that convert elements of a and of b to the type of acc; null if they
  /// already have that type.
  ir::EvalFn widen[2] = {};
  int plus = -1;  ///< contraction: the index of operand `plus`, which is added at the end, or -1
};

/// The position of a tile in a tile buffer.
struct TileBufferPlan {
  struct Axis {
    uint32_t whole;  ///< the slot of the block for the tile buffer's axis
    int64_t extent;
    int64_t stride;
  };
  std::vector<Axis> axes;  ///< one entry for each axis of the tile
  /// The number of elements of the last axis in each panel of the tile buffer; 0 without panels.
  int64_t panel = 0;
  size_t last = 0;  ///< the index of the tile's axis that is divided into panels
  int panel_operand = -1;
};

/// A tensor that groups of blocks update, and the kind of the update.
struct GroupTarget {
  Slot tensor;
  ir::UpdateKind how;
};

/// An op that is prepared for execution: it has slots instead of values, and numbers instead of sizes.
struct Instruction {
  const ir::Op* op = nullptr;
  Handler run = nullptr;
  YieldHandler yield = nullptr;
  std::vector<Slot> operands;
  std::vector<Slot> results;
  std::vector<uint32_t> regions;  ///< indices into Code::blocks
  ir::EvalFn eval = nullptr;      ///< for elementwise ops
  ir::BoundFn bound = nullptr;    ///< for `bound` ops
  int64_t number = 0;  ///< const: its bits; size: its value; pipe: the number of bytes of a slot
  /// For a `for`: the extent of its axis. For an `spmd`: the extents of its axes, where a scalar binder has
  /// 0. For a buffer, a pipe or a table: its extents. For a launch_tensor: its sizes.
  std::vector<int64_t> numbers;
  Size faulty = nullptr;  ///< a tensor size that divides by zero or overflows 64 bits
  std::vector<GroupTarget> group_targets;  ///< for an spmd: the tensors that its groups update
  /// For an spmd: its loop variables, the slowest one first. Without groups, this is the order of the source.
  std::vector<size_t> order;
  std::unique_ptr<ir::GroupVariables>
      group_variables;  ///< for an spmd that is distributed in groups
  std::unique_ptr<PointsPlan> points;
  std::unique_ptr<AccessPlan> access;
  std::unique_ptr<FoldPlan> fold;
  std::unique_ptr<TileBufferPlan> tile_buffer;
  /// For `gather`: for each indexed axis, the slot of its block.
  std::vector<uint32_t> taken;
  std::unique_ptr<std::byte[]> table;  ///< for `table`: its elements in memory
  const Code* callee = nullptr;
  bool dynamic_counters = false;  ///< loop: whether the op has the attribute `dynamic_counter`
  bool breaks = false;
};

struct RegionCode {
  std::vector<Slot> params;
  std::vector<Instruction> instructions;
};

/// Returns the value of a size name or int generic, or nothing if it has no value.
using Symbols = std::function<std::optional<int64_t>(Name)>;

/// A function prepared for execution with given sizes.
struct Code {
  const ir::Function* function = nullptr;
  std::vector<RegionCode> blocks;         ///< the first one is the body
  uint32_t slot_counts[kSlotKinds] = {};  ///< indexed by SlotKind
  Symbols symbols;                        ///< for a program: returns the values of size names
};

/// The code of a function and of all functions that it calls. The module must outlive the image and must
/// not change.
struct Image {
  const Code* entry = nullptr;
  std::unordered_map<const ir::Function*, std::unique_ptr<Code>> codes;
};

/// Prepares a function of a verified module. Fails if a size that the function needs has no value.
Result<Image> Prepare(const ir::Module& module, const ir::Function& function,
                      const Symbols& symbols);

}  // namespace kdl::interp
