#include "core/pack_ranks.h"

#include <algorithm>
#include <charconv>

#include "core/text.h"

namespace kdl::runtime {

namespace {

constexpr std::string_view kPrefix = "rank_";

}  // namespace

std::vector<std::string_view> SourceDims(const kdl_param_desc& param) {
  std::vector<std::string_view> dims;
  const std::string_view shape = param.shape;
  int depth = 0;
  std::size_t begin = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    depth += shape[i] == '(' || shape[i] == '[' ? 1 : 0;
    depth -= shape[i] == ')' || shape[i] == ']' ? 1 : 0;
    if (depth > 1 || (shape[i] != ',' && shape[i] != ']')) continue;
    if (i > begin) dims.push_back(shape.substr(begin, i - begin));
    begin = i + 2;
  }
  return dims;
}

bool IsRankOfPack(const kdl_variant& variant, std::string_view constant) {
  if (!constant.starts_with(kPrefix)) return false;
  constant.remove_prefix(kPrefix.size());
  const std::string_view pack = constant.substr(0, constant.find('='));
  return std::any_of(variant.params, variant.params + variant.param_count,
                     [&](const kdl_param_desc& param) {
                       const auto dims = SourceDims(param);
                       return std::any_of(dims.begin(), dims.end(), [&](std::string_view dim) {
                         return IsPack(dim) && dim.substr(0, dim.size() - 2) == pack;
                       });
                     });
}

Error FindRanks(const kdl_variant& variant, std::string_view name, std::vector<PackRank>* ranks) {
  const std::size_t open = name.rfind('<');
  // Most names state no rank. This must not allocate memory, because each launch does it.
  if (open == std::string_view::npos || name.find(kPrefix, open) == name.npos) return nullptr;
  for (const std::string_view constant :
       Split(name.substr(open + 1, name.size() - open - 2), ',')) {
    if (!IsRankOfPack(variant, constant)) continue;
    const std::size_t equals = constant.find('=');
    const std::string_view value = constant.substr(std::min(equals + 1, constant.size()));
    std::int64_t rank = 0;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), rank);
    if (read.ec != std::errc() || read.ptr != value.data() + value.size())
      return Invalid("'", constant, "' is not the number of dimensions of a pack");
    const std::string_view pack = constant.substr(kPrefix.size(), equals - kPrefix.size());
    if (std::ranges::find(*ranks, pack, &PackRank::pack) != ranks->end())
      return Invalid(kPrefix, pack, " is stated twice");
    ranks->push_back({pack, rank});
  }
  return nullptr;
}

}  // namespace kdl::runtime
