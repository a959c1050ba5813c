#pragma once

#include <optional>
#include <vector>

#include "sema/model/entity.h"
#include "support/size.h"
#include "support/source.h"
#include "syntax/ast.h"

// Accesses to elements of tensors and tiles, and slices of tensors.
namespace kdl::sema {

/// A summand of an index: coefficient * range (its absolute indices) or coefficient * value.
/// Exactly one of the two is set. The value is an integer expression of any width. If its type has
/// ranges, the summand is a gather.
struct IndexTerm {
  Size coefficient = nullptr;
  const Entity* range = nullptr;
  const syntax::Expr* value = nullptr;
};
/// An index: the sum of the terms and the offset. Each range occurs in at most one term. No
/// coefficient is the constant 0.
struct IndexDim {
  std::vector<IndexTerm> terms;
  Size offset = nullptr;
  Span span;
};
/// An access `base[…]`, read or assigned.
struct IndexInfo {
  const Entity* base = nullptr;             ///< a tensor; in contracts, also an Auxiliary
  bool old = false;                         ///< `old(base)[…]`
  std::vector<IndexDim> dims;               ///< one for each dimension of the base
  const syntax::Expr* otherwise = nullptr;  ///< the value of `else`; may be null
};

/// One index of a slice: `lo`, which drops the dimension, or `lo..hi`. It consists of numbers and
/// sizes only.
struct SliceDim {
  IndexDim lo;
  std::optional<IndexDim> hi;
  Size size = nullptr;    ///< number of elements of `lo..hi`
  bool is_fresh = false;  ///< `size` is a new symbol, because it is known only at run time
};
/// A slice `of[l, lo..hi]` that a program uses as a tensor. `dims` covers the first dimensions; the
/// others are whole.
struct SliceInfo {
  const syntax::Expr* of = nullptr;  ///< the name of a tensor, or another slice
  std::vector<SliceDim> dims;
};

/// A subtile `tile[k = e, …]`, read or assigned. When it is assigned, each index is a single
/// element, or one range with the coefficient 1 or -1, plus scalars.
struct PartInfo {
  std::vector<const Entity*> ranges;        ///< ranges of the tile that are indexed, each once
  std::vector<IndexDim> dims;               ///< one for each of `ranges`
  const syntax::Expr* otherwise = nullptr;  ///< the value of `else`; may be null
};

}  // namespace kdl::sema
