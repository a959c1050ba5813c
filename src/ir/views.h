#pragma once

#include "ir/op.h"
#include "support/check.h"

namespace kdl::ir {

// A typed view for each op of the table: `LoadOp load(op); load.tensor(); load.index(); load.mask();`
// ONE gives the operand, OPT the operand or null, MANY a span; `LoadOp::at_tensor` is the operand's number for Op::Segment.

#define KDL_UNPAREN(...) __VA_ARGS__

#define KDL_OP(kind_name, word, operand_list, result_count, attributes, places, traits, \
               region_count, format, meaning, ...)                                      \
  struct kind_name##Op;
#include "ir/ops.def"

struct OpView {
  Op* op;
  Op* operator->() const { return op; }
  Value* result(size_t i = 0) const { return op->result(i); }
};

#define ONE(name, effect) at_##name,
#define OPT(name, effect) at_##name,
#define MANY(name, effect) at_##name,
#define KDL_OP(kind_name, word, operand_list, result_count, attributes, places, traits, \
               region_count, format, meaning, ...)                                      \
  struct kind_name##Operands {                                                          \
    enum : size_t { KDL_UNPAREN operand_list at_end };                                  \
  };
#include "ir/ops.def"
#undef ONE
#undef OPT
#undef MANY

#define ONE(name, effect) \
  Value* name() const { return op->Segment(at_##name)[0]; }
#define OPT(name, effect)                                                        \
  Value* name() const {                                                          \
    return op->Segment(at_##name).empty() ? nullptr : op->Segment(at_##name)[0]; \
  }
#define MANY(name, effect) \
  std::span<Value* const> name() const { return op->Segment(at_##name); }
#define KDL_OP(kind_name, word, operand_list, result_count, attributes, places, traits,  \
               region_count, format, meaning, ...)                                       \
  struct kind_name##Op : OpView, kind_name##Operands {                                   \
    static constexpr OpKind kKind = OpKind::kind_name;                                   \
    explicit kind_name##Op(Op* viewed) : OpView{viewed} {                                \
      KDL_CHECK(viewed->kind() == kKind, "'{}' seen as " word, viewed->info().spelling); \
    }                                                                                    \
    KDL_UNPAREN operand_list                                                             \
  };
#include "ir/ops.def"
#undef ONE
#undef OPT
#undef MANY

/// The view, or nothing where the op is of another kind (or null).
template <class View>
std::optional<View> DynAs(Op* op) {
  return op && op->kind() == View::kKind ? std::optional<View>(View(op)) : std::nullopt;
}

}  // namespace kdl::ir
