#include <optional>

#include "passes/rewriting/rewrite.h"
#include "targets/cpu/expand/expander.h"

// Expands a `split` to one loop for each size of blocks, with a copy of the body in each loop. If no block of
// a loop can be shorter than that size, the size is a constant. A loop that certainly has no iterations is
// omitted.

namespace kdl::cpu {

namespace {

class Cutting {
 public:
  Cutting(Expander& e, const Op* cut)
      : e_(e),
        split_(cut),
        whole_(e.blocks.at(cut->operand(0))),
        left_(ConstantOf(whole_.size)),
        first_(e.b.I64(0)),
        number_(e.b.I64(0)) {}

  void ExpandBlocks() {
    const ir::NumberList sizes = split_->attr<ir::AttrKey::Sizes>();
    for (size_t i = 0; i < sizes.size(); ++i) {
      is_last_ = i + 1 == sizes.size();
      int64_t least = is_last_ ? 1 : i == 0 ? sizes[0] : sizes[i + 1] + 1;
      bool fits = least <= left_.value_or(least) && (whole_.most == 0 || least <= whole_.most);
      if (fits) RunBlocks(sizes[i], sizes[i] - least);
      if (left_ == 0) return;
    }
  }

 private:
  /// Emits code for the blocks of `most` elements. The last block may have up to `lacking` fewer elements.
  void RunBlocks(int64_t most, int64_t lacking) {
    may_lack_ = lacking > 0;
    if (left_ == most || (may_lack_ && left_.value_or(most) < most)) {
      RunBlock(most, first_, e_.b.I64(*left_));
      left_ = 0;
      return;
    }
    Value* rest = e_.b.Sub(whole_.size, first_);
    bool goes_on = may_lack_ && !is_last_;
    if (goes_on) rest = e_.b.Add(rest, e_.b.I64(lacking));
    Value* count = e_.b.Div(rest, e_.b.I64(most));
    Value* covered = e_.b.Mul(count, e_.b.I64(most));
    Value* end = e_.b.Add(first_, covered);
    if (goes_on) end = e_.b.Min(end, whole_.size);
    LoopBounds bounds{first_, is_last_ ? whole_.size : end, most};
    MakeLoop(e_.b, bounds, [&](Value* index) {
      Value* size = e_.b.I64(most);
      if (may_lack_ && left_.value_or(1) % most != 0)
        size = e_.b.Min(e_.b.Sub(whole_.size, index), size);
      RunBlock(most, index, size);
    });
    first_ = end;
    number_ = e_.b.Add(number_, count);
    if (left_) *left_ %= most;
    if (left_.value_or(0) >= most - lacking) left_ = 0;
  }

  /// Emits code for the block at `offset`, counted from the start of the original block.
  void RunBlock(int64_t most, Value* offset, Value* size) {
    Value* before = e_.b.Sub(offset, first_);
    Value* before_it = e_.b.Div(before, e_.b.I64(most));
    BlockFacts facts;
    facts.start = e_.b.Add(whole_.start, offset);
    facts.size = size;
    facts.index = e_.b.Add(number_, before_it);
    facts.whole = split_->operand(0);
    facts.offset = offset;
    facts.most = most;
    e_.blocks[split_->region()->param(0)] = facts;
    ExpandRegion(e_, split_->region());
  }

  Expander& e_;
  const Op* split_;
  BlockFacts whole_;
  /// The number of elements after the blocks emitted so far, if known.
  std::optional<int64_t> left_;
  Value* first_;   ///< the position at which the remaining elements begin
  Value* number_;  ///< the number of the next block
  bool is_last_ = false;
  bool may_lack_ = false;  ///< whether the last block may have fewer elements
};

}  // namespace

void ExpandSplit(Expander& e, const Op* op) { Cutting(e, op).ExpandBlocks(); }

}  // namespace kdl::cpu
