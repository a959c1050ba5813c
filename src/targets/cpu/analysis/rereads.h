#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "ir/builder.h"
#include "ir/module.h"
#include "passes/names.h"

namespace kdl::cpu {

/// Rows of tensors over which a block goes several times, pass after pass.
///
///   for c in C by BC { s += sum(x[r, c] over c); }       the first pass over the rows r
///   for c in C by BC { y[r, c] = x[r, c] / s; }          one that comes back
class Rereads {
 public:
  explicit Rereads(const ir::Function& kernel);

  /// A load in a pass that comes back. Of a pass's loads of the same elements only the first counts.
  struct Again {
    size_t operand;  ///< of the load's indices: the rows' one
    size_t dim;      ///< of the tensor: the one that it indexes
    bool first;      ///< among the passes that come back
    bool last;
  };
  /// Null: nothing was there before.
  const Again* Of(const ir::Op* load) const;

  /// Rows of `tensor`, dimension `dim` of which `block` indexes.
  struct Rows {
    const ir::Value* block;
    ir::Value* tensor;
    size_t dim;
  };
  /// All over which blocks go several times.
  const std::vector<Rows>& rows() const { return rows_; }
  bool HasRows(const ir::Value* block) const;
  /// Whether some pass comes back to rows of the tensor.
  bool HasRowsOf(const ir::Value* tensor) const;

 private:
  std::unordered_map<const ir::Op*, Again> again_;
  std::vector<Rows> rows_;
};

/// The bytes of `tensor` for each index of dimension `dim`.
ir::Value* BytesPerIndex(ir::Builder& b, const ir::Value* tensor, size_t dim);

}  // namespace kdl::cpu
