#include "ir/optional_params.h"

#include <algorithm>

namespace kdl::ir {

std::optional<bool> Presence(const Function& function, const Param& param) {
  auto found = std::ranges::find(function.generics, param.value->name(), &Generic::name);
  if (found == function.generics.end()) return std::nullopt;
  return found->values != std::vector<int64_t>{0};
}

bool IsAbsent(const Function& function, const Param& param) {
  return Presence(function, param) == false;
}

}  // namespace kdl::ir
