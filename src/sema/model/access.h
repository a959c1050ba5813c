#pragma once

#include <optional>
#include <vector>

#include "sema/model/entity.h"
#include "support/size.h"
#include "support/source.h"
#include "syntax/ast.h"

// Which elements of a tensor or tile an index means, and which part of a tensor.
namespace kdl::sema {

/// coefficient * range (absolute indices), or coefficient * value: exactly one of the two is there.
/// The value is an integer expression of any width; it is a gather where its type has ranges.
struct IndexTerm {
  Size coefficient = nullptr;
  const Entity* range = nullptr;
  const syntax::Expr* value = nullptr;
};
/// The sum of the terms plus the offset. A range stands in one term at most; a coefficient is never the constant 0.
struct IndexDim {
  std::vector<IndexTerm> terms;
  Size offset = nullptr;
  Span span;
};
/// `base[…]`, read or assigned.
struct IndexInfo {
  const Entity* base = nullptr;             ///< a tensor; in contracts also an Auxiliary
  bool old = false;                         ///< `old(base)[…]`
  std::vector<IndexDim> dims;               ///< one for each dimension of the base
  const syntax::Expr* otherwise = nullptr;  ///< the value of `else`; may be null
};

/// An index of a part of a tensor: `lo`, which drops the dimension, or `lo..hi`. Numbers and sizes only.
struct SliceDim {
  IndexDim lo;
  std::optional<IndexDim> hi;
  Size size = nullptr;    ///< of `lo..hi`
  bool is_fresh = false;  ///< `size` is a symbol of its own: only the run knows it
};
/// `of[l, lo..hi]` as a tensor of a program: the first dimensions; the others are whole.
struct SliceInfo {
  const syntax::Expr* of = nullptr;  ///< a tensor's name, or a part itself
  std::vector<SliceDim> dims;
};

/// `tile[k = e, …]`, read or assigned. An assigned index is one element, or one range of the factor 1 or -1 plus scalars.
struct PartInfo {
  std::vector<const Entity*> ranges;        ///< of the tile: those that are indexed, each once
  std::vector<IndexDim> dims;               ///< one for each of them
  const syntax::Expr* otherwise = nullptr;  ///< the value of `else`; may be null
};

}  // namespace kdl::sema
