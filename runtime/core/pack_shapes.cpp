#include "core/pack_shapes.h"

#include <algorithm>
#include <string>

#include "core/binding_parts.h"
#include "core/text.h"

namespace kdl::runtime {

namespace {

// Whether merging the view makes sense. Other checks report a view that has no valid shape.
bool IsValid(const kdl_tensor* view) {
  if (view == nullptr || view->rank < 0 || view->rank > KDL_MAX_RANK) return false;
  for (std::int32_t d = 0; d < view->rank; ++d)
    if (view->size[d] < 0 || (view->size[d] > 1 && view->stride[d] < 0)) return false;
  return true;
}

bool IsBroadcast(const kdl_param_desc& param) { return (param.flags & KDL_PARAM_BROADCAST) != 0; }

std::string Text(const std::vector<std::int64_t>& sizes) {
  std::string text = "[";
  for (const std::int64_t size : sizes) text += Concat(text.size() > 1 ? ", " : "", size);
  return text + "]";
}

}  // namespace

PackShapes::PackShapes(const kdl_variant& variant, std::span<kdl_tensor* const> views)
    : variant_(variant), views_(views) {
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    dims_.push_back(SourceDims(variant.params[p]));
    for (const std::string_view dim : dims_.back())
      if (IsPack(dim) && FindPack(dim) == nullptr) packs_.push_back({dim, -1, nullptr, {}, {}});
  }
}

Error PackShapes::Find(std::span<const PackRank> ranks) {
  for (std::size_t p = 0; p < views_.size(); ++p)
    if (views_[p] != nullptr) KDL_RETURN_IF_ERROR(CheckStrides(p));
  for (const PackRank& rank : ranks) KDL_RETURN_IF_ERROR(Take(rank));
  FindRanks();
  for (const bool repeats : {false, true}) {
    for (std::size_t p = 0; p < views_.size(); ++p) {
      if (IsBroadcast(Param(p)) != repeats) continue;
      if (repeats) KDL_RETURN_IF_ERROR(Repeat(p));
      KDL_RETURN_IF_ERROR(CheckRank(p));
      if (IsDetermined(p)) KDL_RETURN_IF_ERROR(CompareAll(p));
    }
  }
  return nullptr;
}

Error PackShapes::CheckStrides(std::size_t p) {
  const kdl_tensor& view = *views_[p];
  for (std::int32_t d = 0; d < std::min<std::int32_t>(view.rank, KDL_MAX_RANK); ++d)
    if (view.size[d] > 1 && view.stride[d] < 0)
      return Invalid("the tensor for ", Spelling(Param(p)), " has the negative stride ",
                     view.stride[d], " in dimension ", d, "; pass a copy");
  return nullptr;
}

std::int32_t PackShapes::CountPacks(std::size_t p) const {
  return static_cast<std::int32_t>(std::count_if(dims_[p].begin(), dims_[p].end(), IsPack));
}

Pack* PackShapes::FindPack(std::string_view dim) {
  const auto found = std::find_if(packs_.begin(), packs_.end(),
                                  [&](const Pack& pack) { return pack.name == dim; });
  return found == packs_.end() ? nullptr : &*found;
}

// Stores the rank of a pack that the caller states.
Error PackShapes::Take(const PackRank& given) {
  if (given.rank < 0 || given.rank > KDL_MAX_RANK)
    return Invalid("rank_", given.pack, " is ", given.rank, "; a pack has 0 to ", KDL_MAX_RANK,
                   " dimensions");
  for (Pack& pack : packs_)
    if (given.pack == pack.name.substr(0, pack.name.size() - 2)) pack.rank = given.rank;
  return nullptr;
}

PackShapes::Unknown PackShapes::UnknownOf(std::size_t p) {
  Unknown unknown{0, views_[p]->rank};
  for (const std::string_view dim : dims_[p]) {
    const Pack* pack = FindPack(dim);
    unknown.packs += pack != nullptr && pack->rank < 0 ? 1 : 0;
    unknown.left -= pack == nullptr ? 1 : std::max<std::int64_t>(pack->rank, 0);
  }
  return unknown;
}

bool PackShapes::IsDetermined(std::size_t p) {
  if (!IsValid(views_[p]) || Param(p).is_tensor == 0) return false;
  const Unknown unknown = UnknownOf(p);
  return unknown.packs == 0 && unknown.left == 0;
}

// Finds the ranks: first from tensors with one unknown pack, or with no dimensions left for several, again and again. If
// that does not suffice, a tensor with as many dimensions as its parameter has one for each pack.
void PackShapes::FindRanks() {
  for (bool progress = true; progress;) {
    progress = false;
    for (const bool several : {false, true}) {
      for (std::size_t p = 0; p < views_.size() && !progress; ++p)
        progress = FindRanksBy(p, several);
    }
  }
}

bool PackShapes::FindRanksBy(std::size_t p, bool several) {
  if (!IsValid(views_[p]) || Param(p).is_tensor == 0 || IsBroadcast(Param(p))) return false;
  const Unknown unknown = UnknownOf(p);
  if (unknown.packs == 0 || unknown.left < 0) return false;
  const bool is_clear = unknown.packs == 1 || unknown.left == 0;
  if (several ? unknown.left != unknown.packs : !is_clear) return false;
  for (const std::string_view dim : dims_[p]) {
    Pack* pack = FindPack(dim);
    if (pack != nullptr && pack->rank < 0) pack->rank = several ? 1 : unknown.left;
  }
  return true;
}

// Returns an error if other tensors or the caller give the packs of this one more or fewer dimensions than it has.
Error PackShapes::CheckRank(std::size_t p) {
  if (!IsValid(views_[p]) || Param(p).is_tensor == 0) return nullptr;
  const Unknown unknown = UnknownOf(p);
  std::string ranks;
  for (const std::string_view dim : dims_[p]) {
    const Pack* pack = FindPack(dim);
    if (pack == nullptr || pack->rank < 0) continue;
    ranks += Concat(ranks.empty() ? "" : ", ", pack->name, " has ", pack->rank);
  }
  const bool fits = unknown.packs == 0 ? unknown.left == 0 : unknown.left >= 0;
  if (ranks.empty() || fits) return nullptr;
  return Invalid("the tensor for ", Spelling(Param(p)), " has rank ", views_[p]->rank,
                 ", which does not fit the number of dimensions of its packs: ", ranks);
}

// Gives the view of a broadcast parameter all dimensions of its pack. It is repeated along those that it does not have,
// and along those of size 1.
Error PackShapes::Repeat(std::size_t p) {
  if (!IsValid(views_[p])) return nullptr;
  kdl_tensor& view = *views_[p];
  std::int32_t at = 0;
  const Pack* pack = nullptr;
  while (pack == nullptr && at < std::ssize(dims_[p]))
    pack = FindPack(dims_[p][static_cast<std::size_t>(at++)]);
  --at;
  const std::int32_t others = Param(p).rank - 1;
  const std::int64_t rank = pack == nullptr ? -1 : others + pack->rank;
  if (rank > KDL_MAX_RANK || view.rank < others || view.rank > rank || pack->param == nullptr)
    return nullptr;  // reported elsewhere
  const auto missing = static_cast<std::int32_t>(rank) - view.rank;
  std::copy_backward(view.size + at, view.size + view.rank, view.size + rank);
  std::copy_backward(view.stride + at, view.stride + view.rank, view.stride + rank);
  std::fill_n(view.size + at, missing, 1);
  view.rank = static_cast<std::int32_t>(rank);
  const std::vector<std::int64_t> given(view.size + at + missing, view.size + at + pack->rank);
  for (std::int32_t d = 0; d < pack->rank; ++d) {
    const std::int64_t size = pack->sizes[static_cast<std::size_t>(d)];
    if (view.size[at + d] == size) continue;
    if (view.size[at + d] != 1)
      return Invalid("the dimensions ", pack->name, " of the tensor for ", Spelling(Param(p)),
                     " are ", Text(given), ", which cannot be repeated to ", Text(pack->sizes),
                     ", those of the tensor for ", Spelling(*pack->param));
    view.size[at + d] = size;
    view.stride[at + d] = 0;
  }
  return nullptr;
}

Error PackShapes::CompareAll(std::size_t p) {
  return ForEachDim(p, [&](Pack* pack, std::int32_t first, std::int32_t) {
    return pack == nullptr ? Error(nullptr) : Compare(p, *views_[p], first, *pack);
  });
}

// Compares the dimensions of a pack with those of the first tensor that has it.
Error PackShapes::Compare(std::size_t p, const kdl_tensor& view, std::int32_t first, Pack& pack) {
  const std::vector<std::int64_t> sizes(view.size + first, view.size + first + pack.rank);
  if (pack.param == nullptr) {
    pack.param = &Param(p);
    pack.sizes = sizes;
  }
  if (sizes == pack.sizes) return nullptr;
  return Invalid("the dimensions ", pack.name, " are ", Text(pack.sizes), " in the tensor for ",
                 Spelling(*pack.param), ", but ", Text(sizes), " in the tensor for ",
                 Spelling(Param(p)));
}

}  // namespace kdl::runtime
