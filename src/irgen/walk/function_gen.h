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

/// What a loop iterates over.
struct LoopBounds {
  ir::Value* lo;
  ir::Value* hi;
  ir::Value* step;  ///< null for a step of 1, or for blocks
};

struct ContractScope;
struct FnTiles;

/// The state while one function is generated: where ops are inserted, and the current value of each source
/// name. Narrow floats: a value that is named, in a tensor or passed to a fn has its own type; the value of
/// an expression is the f32 in which it is computed (see Widen and Round).
struct FunctionGen {
  const sema::CheckedFunction& checked;
  const SourceManager& sources;
  ir::Module& module;
  ir::Function& function;
  ir::Builder builder;

  /// The current values of lets, vars, parameters, scalar binders and tensors.
  std::unordered_map<const sema::Entity*, ir::Value*> values;
  /// The values of the parts of lets, vars and parameters that are tuples.
  std::unordered_map<const sema::Entity*, std::vector<ir::Value*>> tuples;
  std::unordered_map<const sema::Entity*, ir::Value*> blocks;  ///< of the ranges in scope
  std::unordered_map<const sema::Entity*, ir::AxisId> axes;
  /// The bounds of each dimension of a domain, computed where it is declared.
  std::unordered_map<const sema::Entity*, std::vector<LoopBounds>> domains;

  /// A condition of an enclosing `if` expression: elements for which it is false must not trap. In a loop of
  /// a fn that is mapped, the first guard is the loop's own, which includes all outer ones.
  struct Guard {
    ir::Value* condition;
    bool negated;
    bool of_loop = false;
    ir::Value* mask = nullptr;    ///< this and all outer guards; created when first needed
    ir::Value* inside = nullptr;  ///< the same without the loop's own
  };
  std::vector<Guard> guards;
  ir::Contracts* contracts = nullptr;  ///< in a test: where its `expect` ops put their contracts
  /// The clause being generated, also in the fns that it calls; null outside of contracts.
  ContractScope* contract = nullptr;
  FnTiles* tiles = nullptr;               ///< of an inlined fn with ranges; otherwise null
  std::vector<ir::Value*> returned = {};  ///< the results of an inlined fn without ranges

  /// For a loop that `break` or `continue` may leave: bools that guard the statements after a jump. They are
  /// carried like the vars of the source.
  struct LoopFlow {
    const sema::Entity* stays = nullptr;  ///< true until a `break`; null if the loop has none
    /// True until a jump in this iteration; null if the loop has no `continue`.
    const sema::Entity* live = nullptr;
    const sema::Entity* AfterJump() const { return live ? live : stays; }
  };
  std::vector<LoopFlow> loops = {};  ///< the enclosing loops, innermost last
  /// In a program: size names of the source that stand for another size, because they belong to an inlined
  /// program or are made from a number.
  std::unordered_map<Name, Size> sizes = {};
  std::deque<sema::Entity> flow_entities = {};

  const sema::ExprInfo& Info(const syntax::Expr* expr) const { return checked.Info(expr); }
  ir::Loc LocOf(Span span) const;
  Name QuotedSource(Span span) const;
  Size Bound(Size size) const;  ///< with its names replaced by what they stand for
  ir::AxisId RangeAxis(const sema::Entity* range);
  std::vector<ir::AxisId> RangeAxes(const std::vector<const sema::Entity*>& ranges);
  ir::Value* Mask();  ///< null if there is no guard
  /// Returns where assignments take effect. A while op itself keeps the values of elements that have left it.
  ir::Value* AssignMask();
  /// Whether the fn may be mapped: results that differ between elements are selected, without branches.
  bool Maps() const { return function.kind == ir::FunctionKind::Fn && !checked.HasPipes(); }
  /// Returns the type in which a value is computed: in a contract, every float is an f64.
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

// Helpers for narrow floats and names.
ir::Value* Widen(FunctionGen& gen, ir::Value* value);
ir::Value* Round(FunctionGen& gen, ir::Value* value, Scalar scalar);
void SetName(ir::Value* value, Name name);
/// Returns the scalar type of a value, or those of the parts of a tuple.
std::vector<sema::Type> PartTypes(const sema::Type& type);
/// Removes pure ops whose results are unused.
void DropUnused(const ir::Region* region);

}  // namespace kdl::irgen
