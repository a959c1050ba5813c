#include "ir/contract.h"

#include <string_view>

namespace kdl::ir {

std::optional<ContractMap> FindContractMap(std::string_view spelling) {
  static constexpr std::string_view kSpellings[] = {
#define KDL_CONTRACT_MAP(name, spelling) spelling,
#include "ir/contract_maps.def"
  };
  uint8_t number = 0;
  for (std::string_view known : kSpellings) {
    if (known == spelling) return static_cast<ContractMap>(number);
    ++number;
  }
  return std::nullopt;
}

}  // namespace kdl::ir
