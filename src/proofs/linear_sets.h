#pragma once

#include <functional>

#include "proofs/linear.h"

namespace kdl::proofs {

/// Returns false if the piece has no integer point. May return true if that is unknown.
using MayHavePoint = std::function<bool(const LinearPiece&)>;

/// Returns the intersection of two unions of pieces. Leaves out empty pieces if a union has more than one piece.
LinearPieces Intersect(const LinearPieces& a, const LinearPieces& b, const MayHavePoint& may_have);
/// Returns the pieces of a and those of b that are not in a.
LinearPieces Unite(const LinearPieces& a, const LinearPieces& b);
/// Returns the points of a that are not in b, in pieces that do not overlap where those of a do not.
LinearPieces Subtract(const LinearPieces& a, const LinearPieces& b, const LinearTable& table,
                      const MayHavePoint& may_have);

/// Returns the points that are in the set for some value of the variable. Returns nothing if quotients would be needed to
/// say which these are, or many constraints.
std::optional<LinearPieces> Project(const LinearPieces& pieces, VariableId variable,
                                    LinearTable& table);

}  // namespace kdl::proofs
