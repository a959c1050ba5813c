#include "ir/identity.h"

#include <algorithm>

namespace kdl::ir {

std::optional<uint64_t> FindIdentity(const Function& program) {
  auto is_identity = [](const Generic& generic) {
    return generic.name.text() == kIdentity && generic.values.size() == 1;
  };
  auto found = std::ranges::find_if(program.generics, is_identity);
  if (found == program.generics.end()) return std::nullopt;
  return static_cast<uint64_t>(found->values[0]);
}

}  // namespace kdl::ir
