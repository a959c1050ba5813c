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

/// Where a value lives in an Activation: a place in the array of its kind.
struct Slot {
  SlotKind kind = SlotKind::Scalar;
  uint32_t index = 0;
};

/// What an op's operands and results are made of, which decides who runs it.
enum class OpForm : uint8_t { Scalars, Tiles, Vectors };

using Handler = void (*)(Core& core, Activation& here, const Instruction& instruction);
/// Ends a turn of a region of the frame's owner.
using YieldHandler = void (*)(Core& core, Frame& frame, const Instruction& yield);

/// The points that an op over tiles runs over: axes, and where their blocks are.
struct PointsPlan {
  std::vector<ir::AxisId> axes;
  std::vector<uint32_t> blocks;
  size_t reduced = 0;  ///< so many of them, at the end, are folded away
  /// For each operand and each axis of the points: the number of the axis in the operand's type, or
  /// -1.
  std::vector<std::vector<int>> axis_in_operand;
};

/// coefficient * operand.
struct TermPlan {
  int64_t coefficient = 0;
  size_t operand = 0;           ///< of the op
  Scalar scalar = Scalar::I64;  ///< of that operand
  uint32_t slot = 0;            ///< where it is
  int point_axis = -1;          ///< of a block: its axis among the points
};

struct DimPlan {
  int64_t offset = 0;
  std::vector<TermPlan> terms;
};

struct AccessPlan {
  std::vector<DimPlan> dims;
  ir::BoundsMode bounds_mode = ir::BoundsMode::Guard;
  int value = -1;      ///< of a store: the operand's number
  int otherwise = -1;  ///< of a load
  int mask = -1;
};

struct FoldPlan {
  ir::OrderKind order = ir::OrderKind::Sequential;
  uint64_t identity = 0;      ///< what lanes start from
  ir::EvalFn fold = nullptr;  ///< reduce: (acc, term); contraction: how lanes add up
  ir::EvalFn term = nullptr;  ///< contraction: (a, b, acc)
  const ir::MatrixInstruction* mma =
      nullptr;               ///< contraction, vector_mma: whose steps it takes; null: terms
  ir::EvalFn widen[2] = {};  ///< contraction: an element of a, of b, as acc; null where it is
  int plus = -1;             ///< contraction: the operand that is added; -1: there is none
};

/// Where a tile stands in a tile buffer.
struct TileBufferPlan {
  struct Axis {
    uint32_t whole;  ///< the block of the tile buffer's axis
    int64_t extent;
    int64_t stride;
  };
  std::vector<Axis> axes;  ///< by axis of the tile
  int64_t panel = 0;       ///< of its own
  size_t last = 0;         ///< the axis of the tile along which panels follow each other
  int panel_operand = -1;
};

/// A tensor that groups of blocks update, and how.
struct GroupTarget {
  Slot tensor;
  ir::UpdateKind how;
};

/// An op made ready to run: slots instead of values, numbers instead of sizes.
struct Instruction {
  const ir::Op* op = nullptr;
  Handler run = nullptr;
  YieldHandler yield = nullptr;
  std::vector<Slot> operands;
  std::vector<Slot> results;
  std::vector<uint32_t> regions;  ///< of Code::blocks
  ir::EvalFn eval = nullptr;      ///< elementwise
  ir::BoundFn bound = nullptr;    ///< bound
  int64_t number = 0;             ///< const: bits; size: value; pipe: bytes of a slot
  std::vector<int64_t> numbers;   ///< extents: of a for's axis, an spmd's (0: a scalar binder), a
                                  ///< buffer, a pipe, a table; a launch_tensor's sizes
  Size faulty = nullptr;          ///< a size of a tensor that divides by zero or leaves 64 bits
  std::vector<GroupTarget> group_targets;  ///< of an spmd: what its groups update
  std::unique_ptr<PointsPlan> points;
  std::unique_ptr<AccessPlan> access;
  std::unique_ptr<FoldPlan> fold;
  std::unique_ptr<TileBufferPlan> tile_buffer;
  std::vector<uint32_t> taken;         ///< take: the blocks of the axes that it indexes
  std::unique_ptr<std::byte[]> table;  ///< table: its elements in memory
  const Code* callee = nullptr;
  bool dynamic_counters = false;  ///< loop, for: it has the attribute
  bool breaks = false;
};

struct RegionCode {
  std::vector<Slot> params;
  std::vector<Instruction> instructions;
};

/// The value of a size name or an int generic; nothing where it has none.
using Symbols = std::function<std::optional<int64_t>(Name)>;

/// A function made ready to run with given sizes.
struct Code {
  const ir::Function* function = nullptr;
  std::vector<RegionCode> blocks;         ///< number 0 is the body
  uint32_t slot_counts[kSlotKinds] = {};  ///< by SlotKind
  Symbols symbols;  ///< of a program: for the sizes that it computes as it goes
};

/// The code of a function and of all that it calls. The module must outlive it, unchanged.
struct Image {
  const Code* entry = nullptr;
  std::unordered_map<const ir::Function*, std::unique_ptr<Code>> codes;
};

/// The module has been verified. Fails where a size that the function needs has no value.
Result<Image> Prepare(const ir::Module& module, const ir::Function& function,
                      const Symbols& symbols);

}  // namespace kdl::interp
