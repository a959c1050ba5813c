#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/matrix_instruction.h"
#include "ir/op.h"
#include "ir/type.h"
#include "support/arena.h"

namespace kdl::ir {

/// A dimension of tiles in a function: a range in the source, or an axis that a pass has created.
struct Axis {
  Name name;
  /// The largest size of the axis's blocks. It is a constant after the pass select-tiles.
  Size extent = nullptr;
  /// Set if the axis covers 0 .. domain; null if its bounds are run-time values.
  Size domain = nullptr;
  AxisId parent;  ///< set if the axis divides a block of another axis
  /// Whether the loop over the axis must be the innermost one, even if another order of loops would access
  /// memory better.
  bool innermost = false;
};

/// Represents the number of cores in the sizes of a launch_tensor. No size name in source code has this
/// spelling.
inline constexpr std::string_view kCoreNum = "core_num";

/// An `int` generic. After the pass instantiate, it has at most one value. After the pass select-tiles, it
/// has exactly one value, which has replaced the name of the generic in all sizes.
struct Generic {
  Name name;
  /// If there are several, the function is compiled once for each of them. If there is none, the value is not
  /// known yet.
  std::vector<int64_t> values;
  bool is_auto = false;          ///< whether the compiler chooses the value if none is given
  std::vector<int64_t> choices;  ///< the values that it may have; empty: any
};

/// A type generic with the type to which it was bound when the function was generated.
struct TypeBinding {
  Name name;
  Scalar scalar;
};

/// Contract: a condition or an equation of `requires`, `ensures` or `expect` (ir/contract.h). Passes do not
/// process such functions.
enum class FunctionKind : uint8_t { Fn, Kernel, Program, Contract };
enum class Direction : uint8_t { In, Out, InOut };

struct Param {
  Value* value = nullptr;
  Direction direction = Direction::In;
};

/// A fn, kernel or program. The parameters of its body are an i64 for each name in `dims`, and then the
/// values of `params`.
struct Function {
  FunctionKind kind = FunctionKind::Fn;
  Name name;  ///< such as `matmul.f32`: the source name, a dot, the type bindings
  Loc loc;
  bool exported = false;
  std::string doc;  ///< the doc comment; each line ends in \n
  std::vector<TypeBinding> bindings;
  std::vector<Generic> generics;
  std::vector<Name> dims;  ///< size names, in the order of their first use
  std::vector<Param> params;
  std::vector<Type> results;  ///< only for a fn or a contract
  std::vector<Axis> axes;
  int64_t workgroup = 1;  ///< only for a kernel: the number of GPU threads in a workgroup
  Region* body = nullptr;

  /// The name in the source: `matmul` for `matmul.f32`.
  std::string_view base_name() const { return name.text().substr(0, name.text().find('.')); }
  Value* dim_value(size_t i) const { return body->param(i); }
  /// Returns the value of a size name; null if the function has no such value, because the size name is one
  /// that a program binds while it runs.
  Value* FindDim(Name dim) const;
  /// Returns the first size name whose value a call does not determine, because it is neither a constant nor
  /// a dimension of a parameter. Returns the empty name if there is none.
  Name UngivenDim() const;
  const Axis& axis(AxisId id) const { return axes[id.value]; }
  AxisId AddAxis(Axis axis);
};

/// A device that the source declares, or the default device.
struct Device {
  Name name;
  /// The device's spec, such as `host` or `cuda?arch=sm_90,host`; empty if the device is only declared.
  std::string spec;
  /// Whether it comes from the command line instead of a declaration in the source.
  bool is_given = false;
  /// Whether several processes may share the work on the device. Each of them has a rank, and runs on a device with this
  /// spec.
  bool has_ranks = false;
  /// The number of ranks along each axis of their grid. Empty if there is one axis with all ranks.
  std::vector<int64_t> rank_shape = {};
  /// The number of ranks that this process has, if the command line states it; otherwise 0.
  int64_t rank_count = 0;
};

/// The names, types and instructions that all modules of one compilation share.
struct Context {
  Names& names;
  TypeTable types;
  /// The matrix instructions that contractions may name.
  std::span<const MatrixInstruction* const> instructions;
  explicit Context(Names& n, std::span<const MatrixInstruction* const> u = {})
      : names(n), instructions(u) {}

  /// Returns the location of code at `loc` after the fn that contains it has been inlined: `loc` with the call added
  /// around the calls that it already has.
  Loc Inlined(const Loc& loc, Name function, const Loc& call);

 private:
  std::deque<CallSite> calls_;
};

/// The functions of a compilation, in source order. Owns everything that is reachable from them.
class Module {
 public:
  explicit Module(Context& context) : context_(&context) {}
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  Context& context() const { return *context_; }
  TypeTable& types() const { return context_->types; }
  Arena& arena() { return arena_; }

  std::vector<Function*>& functions() { return functions_; }
  const std::vector<Function*>& functions() const { return functions_; }
  Function* AddFunction(FunctionKind kind, Name name);
  Function* FindFunction(Name name) const;

  Name name;  ///< the file name, without directory or extension
  std::vector<Device> devices;
  std::string after;  ///< the name of the last pass that has run; empty if no pass has run
  /// The spec of the target, if the module is lowered for only one target; otherwise empty.
  std::string target;

 private:
  Context* context_;
  Arena arena_;
  std::vector<Function*> functions_;
};

const MatrixInstruction* FindInstruction(const Context& context, Name name);
/// Returns the matrix instruction that a contraction or an mma step names; null if there is none.
const MatrixInstruction* InstructionOf(const Op& op, const Context& context);

/// Returns for each axis of a tile buffer the axis of `tile` that is equal to it or lies within it. If the
/// tile buffer has both a range and a subrange of that range, an axis of the tile belongs to the innermost of
/// these ranges. Returns nothing if the tile is not a subtile of the tile buffer.
std::optional<AxisList> SubtileAxes(const Function& function, Type tile_buffer, Type tile);

/// Returns the block of `axis` that is in scope at `op`: a parameter of an enclosing region or the result of
/// an earlier make_block. Returns null if there is none.
Value* FindBlock(const Op* op, AxisId axis);

}  // namespace kdl::ir
