#pragma once

#include <map>
#include <set>

#include "proofs/terms.h"

namespace kdl::proofs {

/// With what a variable changes.
struct Scope {
  const ir::Op* loop = nullptr;  ///< the innermost loop whose turns differ in it; null: none
  bool points = false;           ///< the points of a tile differ in it
  bool cores = false;            ///< cores that run the same code may differ in it

  bool is_launch() const { return !loop && !points && !cores; }
};

/// That of what changes with either.
Scope Join(Scope a, const Scope& b);

/// Finds with what the values of a function change.
class Scopes {
 public:
  explicit Scopes(const Terms& terms) : terms_(terms) {}

  Scope Of(const ir::Value* value);
  Scope Of(AtomId atom);
  Scope Of(const Poly& poly);

 private:
  Scope OfResult(const ir::Value* value);
  Scope OfFacts(const AtomFacts& facts);
  bool DiffersByCore(const ir::Op* op);

  const Terms& terms_;
  std::map<const ir::Value*, Scope> known_;
  std::map<AtomId, Scope> atoms_;
  std::set<const ir::Value*> differ_;  ///< carried values that cores may have different ones of
};

}  // namespace kdl::proofs
