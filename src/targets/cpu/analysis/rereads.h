#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "ir/builder.h"
#include "ir/module.h"
#include "passes/names.h"

namespace kdl::cpu {

/// Finds rows of tensors that a block reads several times, in several passes over the rows.
///
///   for c in C by BC { s += sum(x[r, c] over c); }       the first pass over the rows r
///   for c in C by BC { y[r, c] = x[r, c] / s; }          a later pass
class Rereads {
 public:
  explicit Rereads(const ir::Function& kernel);

  /// A load in a later pass. If a pass loads the same elements several times, only the first of these loads
  /// counts.
  struct Again {
    size_t operand;  ///< the position of the load's index that selects the rows
    size_t dim;      ///< the dimension of the tensor that this index belongs to
    bool first;      ///< whether the load is in the first of the later passes
    bool last;       ///< whether the load is in the last pass
  };
  /// Returns the facts about a load in a later pass; null for other loads.
  const Again* FindAgain(const ir::Op* load) const;

  /// The rows of `tensor` that are selected if `block` is the index of dimension `dim`.
  struct Rows {
    const ir::Value* block;
    ir::Value* tensor;
    size_t dim;
  };
  /// Returns all rows that blocks read several times.
  const std::vector<Rows>& rows() const { return rows_; }
  bool HasRows(const ir::Value* block) const;
  /// Whether a later pass reads rows of the tensor again.
  bool HasRowsOf(const ir::Value* tensor) const;

 private:
  std::unordered_map<const ir::Op*, Again> again_;
  std::vector<Rows> rows_;
};

/// Emits code that computes how many bytes of `tensor` belong to one index of dimension `dim`.
ir::Value* BytesPerIndex(ir::Builder& b, const ir::Value* tensor, size_t dim);

}  // namespace kdl::cpu
