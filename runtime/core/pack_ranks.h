// The dimensions of parameters as in the source, and the numbers of dimensions of packs that callers state.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "kdl/kernel_abi.h"

namespace kdl::runtime {

// The number of dimensions of a pack, if a caller states it because the tensors do not determine it.
struct PackRank {
  std::string_view pack;  // such as "A"
  std::int64_t rank;

  bool operator==(const PackRank&) const = default;
};

// The dimensions of a parameter as in the source, such as "A.." and "C".
std::vector<std::string_view> SourceDims(const kdl_param_desc& param);

// Whether a dimension is a pack.
inline bool IsPack(std::string_view dim) { return dim.ends_with(".."); }

// Whether a constant such as "rank_A=1" is the number of dimensions of one of the variant's packs.
bool IsRankOfPack(const kdl_variant& variant, std::string_view constant);

// Returns the ranks of the variant's packs that a kernel's name states, such as "m.sum_axis<rank_A=1>". Fails if one of them is
// not a number, or stated twice. The packs are parts of `name`.
Error FindRanks(const kdl_variant& variant, std::string_view name, std::vector<PackRank>* ranks);

}  // namespace kdl::runtime
