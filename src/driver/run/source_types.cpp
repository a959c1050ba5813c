#include "driver/run/source_types.h"

#include <fmt/format.h>

#include <string_view>

namespace kdl::driver {

std::string SourceText(Size size) {
  std::string text = ToString(size);
  return text.starts_with('(') ? text.substr(1, text.size() - 2) : text;
}

std::string ParameterType(const ir::Param& param) {
  std::string dims;
  for (Size size : param.value->type()->dims)
    dims += fmt::format("{}{}", dims.empty() ? "" : ", ", SourceText(size));
  std::string_view scalar = Spelling(param.value->type()->scalar);
  return param.value->type()->kind == ir::TypeKind::Tensor ? fmt::format("{}[{}]", scalar, dims)
                                                           : std::string(scalar);
}

bool IsTensor(const ir::Param& param) { return param.value->type()->kind == ir::TypeKind::Tensor; }

}  // namespace kdl::driver
