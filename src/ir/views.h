#pragma once

#include <optional>
#include <span>

#include "ir/op.h"
#include "ir/op_kind.h"

namespace kdl::ir {

// Defines a typed view for each op in the op table: `LoadOp load(op); load.tensor(); load.index();
// load.mask();`. An operand declared as ONE is a value, OPT is a value that may be null, and MANY is a span.
// `LoadOp::at_tensor` is the number of the operand for Op::Segment.

#define KDL_UNPAREN(...) __VA_ARGS__

/// Stops with an internal error that says that the op is not of the kind that the view needs.
[[noreturn]] void FailView(const Op& op, OpKind wanted);

struct OpView {
  Op* op;
  Op* operator->() const { return op; }
  Value* result(size_t i = 0) const { return op->result(i); }
};

#define ONE(name) at_##name,
#define OPT(name) at_##name,
#define MANY(name) at_##name,
#define KDL_OP_SHAPE(kind_name, operand_list)          \
  struct kind_name##Operands {                         \
    enum : size_t { KDL_UNPAREN operand_list at_end }; \
  };
#include "ir/op_shapes.def"
#undef KDL_OP_SHAPE
#undef ONE
#undef OPT
#undef MANY

#define ONE(name) \
  Value* name() const { return op->Segment(at_##name)[0]; }
#define OPT(name)                                                                \
  Value* name() const {                                                          \
    return op->Segment(at_##name).empty() ? nullptr : op->Segment(at_##name)[0]; \
  }
#define MANY(name) \
  std::span<Value* const> name() const { return op->Segment(at_##name); }
#define KDL_OP_SHAPE(kind_name, operand_list)                \
  struct kind_name##Op : OpView, kind_name##Operands {       \
    static constexpr OpKind kKind = OpKind::kind_name;       \
    explicit kind_name##Op(Op* viewed) : OpView{viewed} {    \
      if (viewed->kind() != kKind) FailView(*viewed, kKind); \
    }                                                        \
    KDL_UNPAREN operand_list                                 \
  };
#include "ir/op_shapes.def"
#undef KDL_OP_SHAPE
#undef ONE
#undef OPT
#undef MANY

/// Returns the view, or nothing if the op is null or of another kind.
template <class View>
std::optional<View> DynAs(Op* op) {
  return op && op->kind() == View::kKind ? std::optional<View>(View(op)) : std::nullopt;
}

}  // namespace kdl::ir
