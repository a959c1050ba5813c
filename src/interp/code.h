#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/eval/bound.h"
#include "ir/eval/eval.h"
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

/// Where a value is stored in an Activation: an index into the array for its kind.
struct Slot {
  SlotKind kind = SlotKind::Scalar;
  uint32_t index = 0;
};

/// What kinds of operands and results an op has, which selects its handler.
enum class OpForm : uint8_t { Scalars, Tiles, Vectors };

using Handler = void (*)(Core& core, Activation& here, const Instruction& instruction);
/// Ends one execution of a region of the frame's owner.
using YieldHandler = void (*)(Core& core, Frame& frame, const Instruction& yield);

/// The points over which an op on tiles runs: their axes, and the slots of the axes' blocks.
struct PointsPlan {
  std::vector<ir::AxisId> axes;
  std::vector<uint32_t> blocks;
  size_t reduced = 0;  ///< this many of the axes, at the end, are reduced
  /// For each operand and each axis of the points: the position of the axis in the operand's type, or -1.
  std::vector<std::vector<int>> axis_in_operand;
};

/// A term of an index: coefficient * operand.
struct TermPlan {
  int64_t coefficient = 0;
  size_t operand = 0;           ///< its number in the op
  Scalar scalar = Scalar::I64;  ///< the type of that operand
  uint32_t slot = 0;            ///< the slot of that operand
  int point_axis = -1;          ///< for a block: its axis among the points
};

struct DimPlan {
  int64_t offset = 0;
  std::vector<TermPlan> terms;
};

struct AccessPlan {
  std::vector<DimPlan> dims;
  ir::BoundsMode bounds_mode = ir::BoundsMode::Guard;
  int value = -1;      ///< for a store: the number of the value operand
  int otherwise = -1;  ///< for a load: the number of the `otherwise` operand
  int mask = -1;
};

struct FoldPlan {
  ir::OrderKind order = ir::OrderKind::Sequential;
  uint64_t identity = 0;      ///< the initial value of lanes
  ir::EvalFn fold = nullptr;  ///< reduce: (acc, term); contraction: how lanes are added
  ir::EvalFn term = nullptr;  ///< contraction: (a, b, acc)
  /// The matrix instruction of a contraction or vector_mma; null for one term after the other.
  const ir::MatrixInstruction* mma = nullptr;
  /// For a contraction: convert elements of a and of b to the type of acc; null if they have that type.
  ir::EvalFn widen[2] = {};
  int plus = -1;  ///< contraction: the number of the added operand; -1: none
};

/// The position of a tile in a tile buffer.
struct TileBufferPlan {
  struct Axis {
    uint32_t whole;  ///< the slot of the block of the tile buffer's axis
    int64_t extent;
    int64_t stride;
  };
  std::vector<Axis> axes;  ///< for each axis of the tile
  int64_t panel = 0;       ///< the elements of a panel of the tile buffer
  size_t last = 0;         ///< the tile's axis that is divided into panels
  int panel_operand = -1;
};

/// A tensor that groups of blocks update, and how.
struct GroupTarget {
  Slot tensor;
  ir::UpdateKind how;
};

/// An op prepared for execution: slots instead of values, numbers instead of sizes.
struct Instruction {
  const ir::Op* op = nullptr;
  Handler run = nullptr;
  YieldHandler yield = nullptr;
  std::vector<Slot> operands;
  std::vector<Slot> results;
  std::vector<uint32_t> regions;  ///< indices into Code::blocks
  ir::EvalFn eval = nullptr;      ///< for elementwise ops
  ir::BoundFn bound = nullptr;    ///< for `bound` ops
  int64_t number = 0;             ///< const: the bits; size: the value; pipe: the bytes of a slot
  /// The extents of a for's axis, an spmd's axes (0 for a scalar binder), a buffer, a pipe or a table, or the
  /// sizes of a launch_tensor.
  std::vector<int64_t> numbers;
  Size faulty = nullptr;  ///< a tensor size that divides by zero or overflows 64 bits
  std::vector<GroupTarget> group_targets;  ///< for an spmd: what its groups update
  std::unique_ptr<PointsPlan> points;
  std::unique_ptr<AccessPlan> access;
  std::unique_ptr<FoldPlan> fold;
  std::unique_ptr<TileBufferPlan> tile_buffer;
  /// For `gather`: the slots of the blocks of the axes that it indexes.
  std::vector<uint32_t> taken;
  std::unique_ptr<std::byte[]> table;  ///< table: its elements in memory
  const Code* callee = nullptr;
  bool dynamic_counters = false;  ///< loop, for: whether it has the attribute `claim`, and `breaks`
  bool breaks = false;
};

struct RegionCode {
  std::vector<Slot> params;
  std::vector<Instruction> instructions;
};

/// Returns the value of a size name or int generic; nothing if it has none.
using Symbols = std::function<std::optional<int64_t>(Name)>;

/// A function prepared for execution with given sizes.
struct Code {
  const ir::Function* function = nullptr;
  std::vector<RegionCode> blocks;         ///< the first one is the body
  uint32_t slot_counts[kSlotKinds] = {};  ///< indexed by SlotKind
  Symbols symbols;  ///< of a program: for sizes that are computed while it runs
};

/// The code of a function and of all functions that it calls. The module must outlive it and stay unchanged.
struct Image {
  const Code* entry = nullptr;
  std::unordered_map<const ir::Function*, std::unique_ptr<Code>> codes;
};

/// Prepares a function of a verified module. Fails if a size that the function needs has no value.
Result<Image> Prepare(const ir::Module& module, const ir::Function& function,
                      const Symbols& symbols);

}  // namespace kdl::interp
