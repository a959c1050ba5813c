#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string_view>
#include <vector>

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
/// A box of elements: the indices of each dimension.
using BoxValues = std::vector<PartValues>;

/// Creates ops of programs whose tensors are distributed over ranks.
class RankOps {
 public:
  /// `tensors` must outlive the object.
  RankOps(ir::Module& module, const RankTensors& tensors) : module_(module), tensors_(tensors) {}

  RankValues Ranks(ir::Builder& b) const;
  static Value* SizeValue(ir::Builder& b, Size size);
  /// The indices that a rank owns in a dimension of this size that is distributed along the axis.
  PartValues Owned(ir::Builder& b, Size size, Value* rank, int64_t axis) const;
  /// Creates what `body` creates for each box of elements of a distributed tensor that a rank owns: in loops over the blocks
  /// in which dimensions are distributed, and not for empty boxes.
  void ForEachOwned(ir::Builder& b, const Value* tensor, Value* rank,
                    const std::function<void(const BoxValues&)>& body) const;
  /// The same for a box whose dimensions have these sizes, and are distributed in this way.
  void ForEachOwned(ir::Builder& b, const std::vector<Size>& sizes,
                    const ir::RankDistribution& dims, Value* rank,
                    const std::function<void(const BoxValues&)>& body) const;
  static BoxValues WholeBox(ir::Builder& b, const Value* tensor);
  /// Whether none of the parts is empty.
  static Value* HasAny(ir::Builder& b, const std::vector<PartValues>& parts);
  Value* Memory(ir::Builder& b, Value* tensor, Value* rank) const;
  /// The elements of a tensor of the same sizes as `like`, which is distributed, that are in a box that a rank owns of it.
  Value* Slice(ir::Builder& b, Value* tensor, const BoxValues& box, const Value* like) {
    return Slices(b, {tensor}, box, like)[0];
  }
  /// The same for several tensors. The results have one type.
  std::vector<Value*> Slices(ir::Builder& b, std::vector<Value*> tensors, const BoxValues& box,
                             const Value* like);
  void Fetch(ir::Builder& b, Value* tensor, Value* rank, const BoxValues& box,
             std::string_view cause) const;
  void FinishFetches(ir::Builder& b) const;
  void Rewritten(ir::Builder& b, Value* tensor) const;

 private:
  void AddOwned(ir::Builder& b, const std::vector<Size>& sizes, const ir::RankDistribution& dims,
                Value* rank, BoxValues& box,
                const std::function<void(const BoxValues&)>& body) const;
  ir::Attr OnDevice() const { return ir::MakeAttr<AttrKey::Device>(tensors_.device); }
  Size PartSize(ir::Builder& b, const PartValues& part);
  static Value* SliceDimension(ir::Builder& b, Value* tensor, size_t dimension,
                               const PartValues& part, Size size, Name name);

  ir::Module& module_;
  const RankTensors& tensors_;
  int slices_ = 0;
  std::set<Name> size_names_;  ///< of the program, once a part has needed one
};

}  // namespace kdl::passes
