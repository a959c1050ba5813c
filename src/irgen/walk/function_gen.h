#pragma once

#include <deque>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/builder.h"
#include "ir/contract.h"
#include "ir/module.h"
#include "sema/model/checked.h"
#include "support/source.h"

namespace kdl::irgen {

/// The bounds and the step of a loop.
struct LoopBounds {
  ir::Value* lo;
  ir::Value* hi;
  ir::Value* step;  ///< null if the step is 1, or if the loop iterates over blocks
};

struct ContractScope;
struct FnTiles;

/// The state while one function is generated: the insertion point and the current value of each source name.
/// Values of narrow float types, that is, smaller than f32, keep these types in variables, in tensors and as
/// arguments of fns. Expressions of such types are computed as f32 (see Widen and Round).
struct FunctionGen {
  const sema::CheckedFunction& checked;
  const SourceManager& sources;
  ir::Module& module;
  ir::Function& function;
  ir::Builder builder;

  /// The current values of variables, parameters, scalar loop variables and tensors.
  std::unordered_map<const sema::Entity*, ir::Value*> values;
  /// The current values of the elements of variables and parameters that are tuples.
  std::unordered_map<const sema::Entity*, std::vector<ir::Value*>> tuples;
  std::unordered_map<const sema::Entity*, ir::Value*> blocks;  ///< blocks of the ranges in scope
  std::unordered_map<const sema::Entity*, ir::AxisId> axes;
  /// The bounds of each dimension of a domain (an index space). They are computed where the domain is
  /// declared.
  std::unordered_map<const sema::Entity*, std::vector<LoopBounds>> domains;

  /// A condition of an enclosing `if` expression: elements for which it is false must not trap. In a loop of
  /// a fn that is applied to each element of a tile, the first guard is that of the loop, and includes all
  /// outer guards.
  struct Guard {
    ir::Value* condition;
    bool negated;
    bool of_loop = false;
    /// Conjunction of this guard and all outer guards; created when first needed.
    ir::Value* mask = nullptr;
    ir::Value* inside = nullptr;  ///< like `mask`, but without the guard of the loop
  };
  std::vector<Guard> guards;
  ir::Contracts* contracts = nullptr;  ///< in a test: collects the contracts of `expect` ops
  /// The clause of a contract that is being generated, also while fns that it calls are inlined. Null outside
  /// of contracts.
  ContractScope* contract = nullptr;
  FnTiles* tiles = nullptr;  ///< the tiles of an inlined fn with ranges, otherwise null
  std::vector<ir::Value*> returned = {};  ///< the results of an inlined fn without ranges

  /// The bools of a loop that `break` or `continue` may leave. They guard the statements after a jump, and
  /// are carried like the vars of the source.
  struct LoopFlow {
    /// True until a `break` is executed; null if the loop has no `break`.
    const sema::Entity* stays = nullptr;
    /// True until a `break` or `continue` is executed in this iteration; null if the loop has no `continue`.
    const sema::Entity* live = nullptr;
    const sema::Entity* AfterJump() const { return live ? live : stays; }
  };
  std::vector<LoopFlow> loops = {};  ///< the enclosing loops, innermost last
  /// In a program: maps size names of the source to the sizes that they represent. Such a name belongs to an
  /// inlined program, or to a size that is computed from a number.
  std::unordered_map<Name, Size> sizes = {};
  std::deque<sema::Entity> flow_entities = {};

  const sema::ExprInfo& Info(const syntax::Expr* expr) const { return checked.Info(expr); }
  ir::Loc LocOf(Span span) const;
  Name QuotedSource(Span span) const;
  Size Bound(Size size) const;  ///< replaces each name in `size` with the size that it represents
  ir::AxisId RangeAxis(const sema::Entity* range);
  std::vector<ir::AxisId> RangeAxes(const std::vector<const sema::Entity*>& ranges);
  ir::Value* Mask();  ///< returns null if there is no guard
  /// Returns the mask under which assignments take effect. It omits the condition of an enclosing `while` op,
  /// because that op itself preserves the values of elements that have left the loop.
  ir::Value* AssignMask();
  /// Returns whether the fn may be applied to each element of a tile. If so, branches become selects, since
  /// elements may take different paths.
  bool Maps() const { return function.kind == ir::FunctionKind::Fn && !checked.HasPipes(); }
  /// Returns the scalar type in which a value is computed. A contract computes every float as f64.
  Scalar Made(Scalar scalar) const { return contract && IsFloat(scalar) ? Scalar::F64 : scalar; }
};

/// Sets the builder's source location during the lifetime of the object.
class LocScope {
 public:
  LocScope(FunctionGen& gen, Span span) : gen_(gen), outer_(gen.builder.loc()) {
    gen.builder.set_loc(gen.LocOf(span));
  }
  ~LocScope() { gen_.builder.set_loc(outer_); }
  LocScope(const LocScope&) = delete;
  LocScope& operator=(const LocScope&) = delete;

 private:
  FunctionGen& gen_;
  ir::Loc outer_;
};

// Convert narrow floats to f32 and back.
ir::Value* Widen(FunctionGen& gen, ir::Value* value);
ir::Value* Round(FunctionGen& gen, ir::Value* value, Scalar scalar);
void SetName(ir::Value* value, Name name);
/// Returns the type of a scalar value, or the types of all elements of a tuple.
std::vector<sema::Type> PartTypes(const sema::Type& type);
/// Removes pure ops with unused results.
void DropUnused(const ir::Region* region);

}  // namespace kdl::irgen
