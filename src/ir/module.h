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

/// A tile dimension of a function: the range that a source binder, or a pass, made.
struct Axis {
  Name name;
  Size extent = nullptr;  ///< most elements of a block; a constant once tiles are selected
  Size domain =
      nullptr;  ///< set where the axis walks 0..domain whole; null where the bounds are run-time values
  AxisId parent;           ///< set where the axis walks a block of another axis
  bool innermost = false;  ///< walked inside all others, whatever memory wants
};

/// What stands for the number of cores in the sizes of a launch_tensor; no size name of a source is spelled so.
inline constexpr std::string_view kCoreNum = "core_num";

/// An `int` generic. `instantiate` leaves at most one value, `select-tiles` exactly one; it then stands in place of the
/// symbol wherever a size has it.
struct Generic {
  Name name;
  std::vector<int64_t> values;   ///< several: one variant for each; none: not known yet
  bool is_auto = false;          ///< the target's selector chooses where nothing else does
  std::vector<int64_t> choices;  ///< what may be chosen; empty: anything
};

/// A type generic, bound when the function was generated.
struct TypeBinding {
  Name name;
  Scalar scalar;
};

/// Contract: a condition or an equation of `requires`, `ensures` or `expect`; no pass sees one (ir/contract.h).
enum class FunctionKind : uint8_t { Fn, Kernel, Program, Contract };
enum class Direction : uint8_t { In, Out, InOut };

struct Param {
  Value* value = nullptr;
  Direction direction = Direction::In;
};

/// A fn, kernel or program. The body's parameters are the values of `dims` (i64, in order), then those of `params`.
struct Function {
  FunctionKind kind = FunctionKind::Fn;
  Name name;  ///< `matmul.f32`: the source name, a dot, the type bindings
  Loc loc;
  bool exported = false;
  std::string doc;  ///< lines that end in \n
  std::vector<TypeBinding> bindings;
  std::vector<Generic> generics;
  std::vector<Name> dims;  ///< size names, in the order of their first use
  std::vector<Param> params;
  std::vector<Type> results;  ///< of a fn or a contract
  std::vector<Axis> axes;
  int64_t workgroup = 1;  ///< of a kernel: the workers of a core
  Region* body = nullptr;

  /// The source name: `matmul` of `matmul.f32`.
  std::string_view base_name() const { return name.text().substr(0, name.text().find('.')); }
  Value* dim_value(size_t i) const { return body->param(i); }
  /// The value of a size name, also of one that a program binds while it runs, or null.
  Value* FindDim(Name dim) const;
  /// The first size name that no call gives: it is a dimension of no parameter and no constant. The empty name where there is none.
  Name UngivenDim() const;
  const Axis& axis(AxisId id) const { return axes[id.value]; }
  AxisId AddAxis(Axis axis);
};

/// A device that the source declares, or the default one.
struct Device {
  Name name;
  std::string spec;       ///< `host`, `cuda?arch=sm_90,host`; empty: a promise
  bool is_given = false;  ///< by who compiles: the source declares none
};

/// What everything made from one compile shares: names and types.
struct Context {
  Names& names;
  TypeTable types;
  std::span<const MatrixInstruction* const> instructions;  ///< that contractions may name
  explicit Context(Names& n, std::span<const MatrixInstruction* const> u = {})
      : names(n), instructions(u) {}
};

/// The functions of a compile, in source order. Owns all that is reachable from them.
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

  Name name;  ///< of the file, without folder and ending
  std::vector<Device> devices;
  std::string after;   ///< the last pass that has run; empty: none has
  std::string target;  ///< the spec of the one target that it is lowered for; empty: for all

 private:
  Context* context_;
  Arena arena_;
  std::vector<Function*> functions_;
};

const MatrixInstruction* FindInstruction(const Context& context, Name name);
/// The unit that a contraction or a step names. Null: it names none.
const MatrixInstruction* InstructionOf(const Op& op, const Context& context);

/// For each axis of a tile buffer, in its order, the one of the tile that is it or walks blocks of it; where the tile buffer has both a range
/// and a part of that range, the nearest. Nothing: the tile is no part of the tile buffer.
std::optional<AxisList> SubtileAxes(const Function& function, Type tile_buffer, Type tile);

/// The block value of `axis` that is in scope at `op`: a parameter of an enclosing region or a make_block before it. Null: none.
Value* FindBlock(const Op* op, AxisId axis);

}  // namespace kdl::ir
