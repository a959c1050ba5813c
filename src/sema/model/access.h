#pragma once

#include <optional>
#include <vector>

#include "sema/model/entity.h"
#include "support/size.h"
#include "support/source.h"
#include "syntax/ast.h"

// Accesses to elements of tensors and tiles, and slices of tensors.
namespace kdl::sema {

/// A summand of an index: `coefficient` times the absolute indices of `range`, or `coefficient` times
/// `value`. Exactly one of `range` and `value` is set. The value is an integer expression of any width. If
/// the type of the value has ranges, the summand is a gather.
struct IndexTerm {
  Size coefficient = nullptr;
  const Entity* range = nullptr;
  const syntax::Expr* value = nullptr;
};
/// An index: the sum of the terms plus the offset. Each range occurs in at most one term. No coefficient is
/// the constant 0.
struct IndexDim {
  std::vector<IndexTerm> terms;
  Size offset = nullptr;
  Span span;
};
/// An access `base[…]`, which is read or assigned.
struct IndexInfo {
  const Entity* base = nullptr;             ///< a tensor; in contracts, also an Auxiliary (a name
                                            ///< that the contract defines)
  bool old = false;                         ///< the access is `old(base)[…]`
  std::vector<IndexDim> dims;               ///< one for each dimension of the base
  const syntax::Expr* otherwise = nullptr;  ///< the value after `else`; may be null
};

/// One index of a slice: `lo`, which removes the dimension, or `lo..hi`. Both bounds consist of numbers and
/// sizes only.
struct SliceDim {
  IndexDim lo;
  std::optional<IndexDim> hi;
  Size size = nullptr;    ///< the number of elements of `lo..hi`
  bool is_fresh = false;  ///< `size` is a new symbol, because the size is known only at run time
};
/// A slice `of[l, lo..hi]` that a program uses as a tensor. `dims` describes the first dimensions; the
/// other dimensions are not sliced.
struct SliceInfo {
  const syntax::Expr* of = nullptr;  ///< the name of a tensor, or another slice
  std::vector<SliceDim> dims;
};

/// A subtile `tile[k = e, …]`, which is read or assigned. If it is assigned, each index is a single
/// element, or one range with the coefficient 1 or -1, plus scalars.
struct PartInfo {
  /// The ranges of the tile that are indexed, without duplicates.
  std::vector<const Entity*> ranges;
  std::vector<IndexDim> dims;               ///< one for each of `ranges`
  const syntax::Expr* otherwise = nullptr;  ///< the value after `else`; may be null
  /// Whether every index is known to select an element that exists.
  bool is_inside = false;
};

}  // namespace kdl::sema
