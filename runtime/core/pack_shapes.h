// Which dimensions of a launch's tensors belong to which pack of dimensions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/pack_ranks.h"
#include "kdl/kernel_abi.h"

namespace kdl::runtime {

struct Pack {
  std::string_view name;  // such as "A.."
  std::int64_t rank = -1;
  // The parameter that determines its dimensions, and these dimensions.
  const kdl_param_desc* param = nullptr;
  std::vector<std::int64_t> sizes;
  // Dimensions that are adjacent in all tensors: their size, and the number of the innermost one.
  struct Group {
    std::int32_t inner;
    std::int64_t size;
  };
  std::vector<Group> groups;
};

// The packs of a kernel, and the views of its tensors. There is one view for each parameter, which is null for a scalar, for
// an absent tensor, and for an argument that is not a tensor.
class PackShapes {
 public:
  PackShapes(const kdl_variant& variant, std::span<kdl_tensor* const> views);

  // Finds the dimensions of all packs, and gives views of broadcast parameters the dimensions that they do not have. Fails if
  // the views have different dimensions for a pack. `ranks` are those that the caller states.
  Error Find(std::span<const PackRank> ranks);

  std::vector<Pack>& packs() { return packs_; }
  std::size_t count() const { return views_.size(); }
  const kdl_param_desc& Param(std::size_t p) const { return variant_.params[p]; }
  kdl_tensor& View(std::size_t p) const { return *views_[p]; }
  std::int32_t CountPacks(std::size_t p) const;
  // Whether it is known which dimensions of the view belong to packs. Other checks report views for which it is not.
  bool IsDetermined(std::size_t p);

  // Calls `visit(pack, first, count)` for each dimension of the parameter: with its pack or null, and the dimensions of
  // the view that belong to it.
  template <class Visit>
  Error ForEachDim(std::size_t p, Visit&& visit) {
    std::int32_t next = 0;
    for (const std::string_view dim : dims_[p]) {
      Pack* pack = FindPack(dim);
      const auto count = static_cast<std::int32_t>(pack == nullptr ? 1 : pack->rank);
      KDL_RETURN_IF_ERROR(visit(pack, next, count));
      next += count;
    }
    return nullptr;
  }

 private:
  // The number of packs of unknown ranks, and how many dimensions are left for them.
  struct Unknown {
    std::int64_t packs = 0;
    std::int64_t left = 0;
  };
  // The pack that a dimension such as "A.." is, or null.
  Pack* FindPack(std::string_view dim);
  Unknown UnknownOf(std::size_t p);
  Error Take(const PackRank& given);
  void FindRanks();
  bool FindRanksBy(std::size_t p, bool several);
  Error CheckStrides(std::size_t p);
  Error CheckRank(std::size_t p);
  Error Repeat(std::size_t p);
  Error CompareAll(std::size_t p);
  Error Compare(std::size_t p, const kdl_tensor& view, std::int32_t first, Pack& pack);

  const kdl_variant& variant_;
  std::span<kdl_tensor* const> views_;
  std::vector<std::vector<std::string_view>> dims_;  // of each parameter
  std::vector<Pack> packs_;
};

}  // namespace kdl::runtime
