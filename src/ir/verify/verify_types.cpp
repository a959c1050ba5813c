#include "ir/verify/verify_types.h"

#include "ir/op_table.h"
#include "ir/verify/verify_rules.h"

namespace kdl::ir {

KDL_TYPE_RULE(SizeOf, I64Fault)
KDL_TYPE_RULE(CoreNum, I64Fault)

namespace {

using Rule = std::string (*)(const Op&, const Module&);

template <OpKind kind>
consteval Rule RuleOf() {
  if constexpr (kOpTable[static_cast<size_t>(kind)].is_computed()) {
    return &ElementwiseFault;
  } else {
    return &TypeRule<kind>;
  }
}

constexpr Rule kRules[] = {
#define KDL_OP_SHAPE(kind, ...) RuleOf<OpKind::kind>(),
#include "ir/op_shapes.def"
#undef KDL_OP_SHAPE
};

}  // namespace

std::string TypeFault(const Op& op, const Module& module) {
  return kRules[static_cast<size_t>(op.kind())](op, module);
}

}  // namespace kdl::ir
