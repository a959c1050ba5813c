#pragma once

#include <map>
#include <set>

#include "proofs/terms.h"

namespace kdl::proofs {

/// Describes what the value of a variable depends on.
struct Scope {
  /// The innermost loop whose iterations may have different values; null if there is none.
  const ir::Op* loop = nullptr;
  bool points = false;  ///< whether the value may differ between the points of a tile
  bool cores = false;   ///< whether it may differ between cores running the same code

  bool is_launch() const { return !loop && !points && !cores; }
};

/// Returns the scope of a value that depends on a value with scope `a` and one with scope `b`.
Scope Join(Scope a, const Scope& b);

/// Determines what each value of a function depends on.
class Scopes {
 public:
  explicit Scopes(const Terms& terms) : terms_(terms) {}

  Scope ScopeOf(const ir::Value* value);
  Scope ScopeOf(AtomId atom);
  Scope ScopeOf(const Poly& poly);

 private:
  Scope ScopeOfResult(const ir::Value* value);
  Scope ScopeOfFacts(const AtomFacts& facts);
  bool DiffersByCore(const ir::Op* op);

  const Terms& terms_;
  std::map<const ir::Value*, Scope> known_;
  std::map<AtomId, Scope> atoms_;
  std::set<const ir::Value*> differ_;  ///< carried values that may differ between cores
};

}  // namespace kdl::proofs
