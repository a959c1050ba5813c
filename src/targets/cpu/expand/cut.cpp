#include <optional>

#include "passes/rewrite.h"
#include "targets/cpu/expand/expander.h"

// A cut becomes a loop over the blocks of each size, with a copy of its body. In all but the last one the size is a constant.
// What is known of the blk that is cut leaves out sizes that it has no block of.

namespace kdl::cpu {

namespace {

class Cutting {
 public:
  Cutting(Expander& e, const Op* cut)
      : e_(e),
        cut_(cut),
        whole_(e.blks.at(cut->operand(0))),
        left_(ConstantOf(whole_.size)),
        first_(e.b.I64(0)),
        number_(e.b.I64(0)) {}

  void Run() {
    const ir::NumberList sizes = cut_->attr<ir::AttrKey::Sizes>();
    for (int64_t most : sizes) {
      is_last_ = most == sizes.back();
      bool fits = most <= left_.value_or(most) && (whole_.most == 0 || most <= whole_.most);
      if (fits || is_last_) RunBlocks(most);
      if (left_ == 0) return;
    }
  }

 private:
  void RunBlocks(int64_t most) {
    if (left_ == most) {
      RunBlock(most, first_);
      left_ = 0;
      return;
    }
    Value* rest = e_.b.Binary(OpKind::Sub, whole_.size, first_);
    Value* count = e_.b.Binary(OpKind::Div, rest, e_.b.I64(most));
    Value* covered = e_.b.Binary(OpKind::Mul, count, e_.b.I64(most));
    Value* end = e_.b.Binary(OpKind::Add, first_, covered);
    LoopBounds bounds{first_, is_last_ ? whole_.size : end, most};
    MakeLoop(e_.b, bounds, [&](Value* index) { RunBlock(most, index); });
    first_ = end;
    number_ = e_.b.Binary(OpKind::Add, number_, count);
    if (left_) *left_ %= most;
  }

  /// The block that starts so far from the start of the whole.
  void RunBlock(int64_t most, Value* offset) {
    Value* before = e_.b.Binary(OpKind::Sub, offset, first_);
    Value* before_it = e_.b.Binary(OpKind::Div, before, e_.b.I64(most));
    BlkFacts facts;
    facts.start = e_.b.Binary(OpKind::Add, whole_.start, offset);
    facts.size = e_.b.I64(most);
    if (is_last_ && left_.value_or(1) % most != 0)
      facts.size =
          e_.b.Binary(OpKind::Min, e_.b.Binary(OpKind::Sub, whole_.size, offset), e_.b.I64(most));
    facts.index = e_.b.Binary(OpKind::Add, number_, before_it);
    facts.whole = cut_->operand(0);
    facts.offset = offset;
    facts.most = most;
    e_.blks[cut_->region()->param(0)] = facts;
    ExpandBlock(e_, cut_->region());
  }

  Expander& e_;
  const Op* cut_;
  BlkFacts whole_;
  std::optional<int64_t> left_;  ///< elements behind the blocks so far, where that is known
  Value* first_;                 ///< where those begin
  Value* number_;                ///< of the block there
  bool is_last_ = false;
};

}  // namespace

void ExpandCut(Expander& e, const Op* op) { Cutting(e, op).Run(); }

}  // namespace kdl::cpu
