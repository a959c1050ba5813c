#include "api/ffi_param.h"

#include "core/element.h"

namespace kdl::runtime {

FfiParam::FfiParam(const kdl_param_desc& param) {
  const ElementFacts& facts = *FactsOfElement(param.element);
  unused_bits_ = 64 - facts.bits;
  if (param.is_tensor != 0) {
    kind_ = Kind::kTensor;
    type_ = {param.rank, dlpack::TypeOf(param.element)};
  } else if (param.element == KDL_F32 || param.element == KDL_F64) {
    kind_ = param.element == KDL_F32 ? Kind::kFloat32 : Kind::kFloat64;
  } else if (facts.group == ElementGroup::Signed) {
    kind_ = Kind::kSigned;
  } else if (facts.group == ElementGroup::Unsigned) {
    kind_ = Kind::kUnsigned;
  } else if (param.element == KDL_BOOL) {
    kind_ = Kind::kBool;
  }
}

}  // namespace kdl::runtime
