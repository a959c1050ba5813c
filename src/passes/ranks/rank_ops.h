#pragma once

#include <string_view>

#include "ir/builder.h"
#include "passes/names.h"
#include "passes/ranks/rank_tensors.h"

namespace kdl::passes {

/// The results of `ranks`: the number of ranks, and the first and the end of those of this process.
struct RankValues {
  Value* count;
  Value* first;
  Value* end;
};
/// Indices first .. end - 1 of a dimension.
struct PartValues {
  Value* first = nullptr;
  Value* end = nullptr;
};

/// Creates ops of programs whose tensors are distributed over ranks.
class RankOps {
 public:
  /// `tensors` must outlive the object.
  RankOps(ir::Module& module, const RankTensors& tensors) : module_(module), tensors_(tensors) {}

  RankValues Ranks(ir::Builder& b) const;
  static Value* SizeValue(ir::Builder& b, Size size);
  /// The indices of a dimension of this size that a rank owns.
  PartValues Owned(ir::Builder& b, Size size, Value* rank) const;
  Value* Memory(ir::Builder& b, Value* tensor, Value* rank) const;
  Value* Slice(ir::Builder& b, Value* tensor, size_t dimension, const PartValues& part);
  void Fetch(ir::Builder& b, Value* tensor, Value* rank, const PartValues& part,
             std::string_view cause) const;
  void FinishFetches(ir::Builder& b) const;
  void Rewritten(ir::Builder& b, Value* tensor) const;

 private:
  ir::Attr OnDevice() const { return ir::MakeAttr<AttrKey::Device>(tensors_.device); }
  ir::Attr DimensionAttr(const Value* tensor) const;

  ir::Module& module_;
  const RankTensors& tensors_;
  int slices_ = 0;
};

}  // namespace kdl::passes
