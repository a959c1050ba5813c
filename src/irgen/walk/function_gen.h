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

/// What a loop walks.
struct LoopBounds {
  ir::Value* lo;
  ir::Value* hi;
  ir::Value* step;  ///< null: 1, or blocks
};

struct ContractScope;
struct FnTiles;

/// What one function's generation shares: where ops go, and what each source name stands for at this point.
/// Narrow floats: a value under a name, in a tensor or passed to a fn has its own type; the value of an expression is
/// the f32 that it computes in (see Widen and Round).
struct FunctionGen {
  const sema::CheckedFunction& checked;
  const SourceManager& sources;
  ir::Module& module;
  ir::Function& function;
  ir::Builder builder;

  /// Lets, vars, parameters, scalar binders, tensors: the present value.
  std::unordered_map<const sema::Entity*, ir::Value*> values;
  /// Lets, vars and parameters that are tuples: the values of their parts.
  std::unordered_map<const sema::Entity*, std::vector<ir::Value*>> tuples;
  std::unordered_map<const sema::Entity*, ir::Value*> blocks;  ///< of the ranges in scope
  std::unordered_map<const sema::Entity*, ir::AxisId> axes;
  /// Of a domain, by dimension: made where it is declared.
  std::unordered_map<const sema::Entity*, std::vector<LoopBounds>> domains;

  /// The conditions of the `if` expressions around: elements for which one does not hold must not trap. In a loop of a fn
  /// that is mapped the first one is the loop's own, which stands for all around it.
  struct Guard {
    ir::Value* condition;
    bool negated;
    bool of_loop = false;
    ir::Value* mask = nullptr;    ///< this and all outer guards; made at first need
    ir::Value* inside = nullptr;  ///< the same without the loop's own
  };
  std::vector<Guard> guards;
  ir::Contracts* contracts = nullptr;  ///< of a test: what its ops expect
  ContractScope* contract =
      nullptr;               ///< of a clause, and of the fns in it; null: this is no contract
  FnTiles* tiles = nullptr;  ///< of a fn with ranges whose body is a part of a clause; else null
  std::vector<ir::Value*> returned = {};  ///< by another fn whose body is

  /// Of a loop that `break` or `continue` may leave: bools that statements after these are under. They are carried like
  /// the source's own vars.
  struct LoopFlow {
    const sema::Entity* stays = nullptr;  ///< no `break` yet; null: there is none in the loop
    const sema::Entity* live = nullptr;   ///< neither, in this turn; null: there is no `continue`
    const sema::Entity* AfterJump() const { return live ? live : stays; }
  };
  std::vector<LoopFlow> loops = {};  ///< around, innermost last
  /// Of a program: what size names of the source stand for where this is another size: those of a called program, and
  /// numbers that it makes sizes of.
  std::unordered_map<Name, Size> sizes = {};
  std::deque<sema::Entity> flow_entities = {};

  const sema::ExprInfo& Info(const syntax::Expr* expr) const { return checked.Info(expr); }
  ir::Loc LocOf(Span span) const;
  Name TextOf(Span span) const;
  Size Bound(Size size) const;  ///< with what its names stand for
  ir::AxisId AxisOf(const sema::Entity* range);
  std::vector<ir::AxisId> AxesOf(const std::vector<const sema::Entity*>& ranges);
  ir::Value* Mask();  ///< null: no guard
  ir::Value*
  AssignMask();  ///< where an assignment takes effect: a loop keeps what has ended by itself
  /// A fn that may be mapped: what depends on an element is selected, not branched on.
  bool Maps() const { return function.kind == ir::FunctionKind::Fn && !checked.HasPipes(); }
  /// What a value of the type is made in: in a contract every float is an f64.
  Scalar Made(Scalar scalar) const { return contract && IsFloat(scalar) ? Scalar::F64 : scalar; }
};

/// Puts a location on the builder for the life of the object.
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

// What every part needs: narrow floats and names.
ir::Value* Widen(FunctionGen& gen, ir::Value* value);
ir::Value* Round(FunctionGen& gen, ir::Value* value, Scalar scalar);
void SetName(ir::Value* value, Name name);
/// Of a value its scalar type, of a tuple that of each part.
std::vector<sema::Type> PartTypes(const sema::Type& type);
/// Removes pure ops that nothing uses.
void DropUnused(const ir::Region* region);

}  // namespace kdl::irgen
