#include "core/packs.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/binding_parts.h"
#include "core/text.h"
#include "core/view.h"

namespace kdl::runtime {

namespace {

// The dimensions of a parameter as in the source, such as "A.." and "C".
std::vector<std::string_view> DimsOf(const kdl_param_desc& param) {
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

bool IsPack(std::string_view dim) { return dim.ends_with(".."); }

struct Pack {
  std::string_view name;
  std::int64_t rank = -1;
  // The parameter that determines its dimensions, and these dimensions.
  const kdl_param_desc* param = nullptr;
  std::vector<std::int64_t> sizes;
};

// Whether merging the view makes sense. Other checks report a view that has no valid shape.
bool IsValid(const kdl_tensor* view) {
  if (view == nullptr || view->rank < 0 || view->rank > KDL_MAX_RANK) return false;
  for (std::int32_t d = 0; d < view->rank; ++d)
    if (view->size[d] < 0 || (view->size[d] > 1 && view->stride[d] < 0)) return false;
  return true;
}

class Merger {
 public:
  Merger(const kdl_variant& variant, std::span<kdl_tensor* const> views)
      : variant_(variant), views_(views) {
    for (std::int32_t p = 0; p < variant.param_count; ++p)
      for (const std::string_view dim : DimsOf(variant.params[p]))
        if (IsPack(dim) && Find(dim) == nullptr) packs_.push_back({dim, -1, nullptr, {}});
  }

  Error Merge() {
    FindRanks();
    for (std::size_t p = 0; p < views_.size(); ++p) {
      KDL_RETURN_IF_ERROR(CheckRank(p));
      if (IsDetermined(p)) KDL_RETURN_IF_ERROR(MergeOne(p));
    }
    return nullptr;
  }

 private:
  const kdl_param_desc& Param(std::size_t p) const { return variant_.params[p]; }

  Pack* Find(std::string_view name) {
    const auto found = std::find_if(packs_.begin(), packs_.end(),
                                    [&](const Pack& pack) { return pack.name == name; });
    return found == packs_.end() ? nullptr : &*found;
  }

  // The number of packs of unknown ranks, and how many dimensions are left for them.
  struct Unknown {
    std::int64_t packs = 0;
    std::int64_t left = 0;
  };
  Unknown UnknownOf(std::size_t p) {
    Unknown unknown{0, views_[p]->rank};
    for (const std::string_view dim : DimsOf(Param(p))) {
      const Pack* pack = IsPack(dim) ? Find(dim) : nullptr;
      unknown.packs += pack != nullptr && pack->rank < 0 ? 1 : 0;
      unknown.left -= pack == nullptr ? 1 : std::max<std::int64_t>(pack->rank, 0);
    }
    return unknown;
  }

  bool IsDetermined(std::size_t p) {
    if (!IsValid(views_[p]) || Param(p).is_tensor == 0) return false;
    const Unknown unknown = UnknownOf(p);
    return unknown.packs == 0 && unknown.left == 0;
  }

  // Finds the ranks: first from tensors with one unknown pack, again and again. If that does not suffice, a tensor with
  // as many dimensions as its parameter has one for each pack.
  void FindRanks() {
    for (bool progress = true; progress;) {
      progress = false;
      for (const bool several : {false, true}) {
        for (std::size_t p = 0; p < views_.size() && !progress; ++p)
          progress = FindRanksBy(p, several);
      }
    }
  }

  bool FindRanksBy(std::size_t p, bool several) {
    if (!IsValid(views_[p]) || Param(p).is_tensor == 0) return false;
    const Unknown unknown = UnknownOf(p);
    if (unknown.packs == 0 || unknown.left < 0) return false;
    if (several ? unknown.left != unknown.packs : unknown.packs != 1) return false;
    for (const std::string_view dim : DimsOf(Param(p))) {
      Pack* pack = IsPack(dim) ? Find(dim) : nullptr;
      if (pack != nullptr && pack->rank < 0) pack->rank = several ? 1 : unknown.left;
    }
    return true;
  }

  // Returns an error if other tensors give the packs of this one more or fewer dimensions than it has.
  Error CheckRank(std::size_t p) {
    if (!IsValid(views_[p]) || Param(p).is_tensor == 0) return nullptr;
    const Unknown unknown = UnknownOf(p);
    std::string ranks;
    for (const std::string_view dim : DimsOf(Param(p))) {
      const Pack* pack = IsPack(dim) ? Find(dim) : nullptr;
      if (pack != nullptr) ranks += Concat(ranks.empty() ? "" : ", ", dim, " has ", pack->rank);
    }
    if (ranks.empty() || unknown.packs != 0 || unknown.left == 0) return nullptr;
    return Invalid("the tensor for ", Spelling(Param(p)), " has rank ", views_[p]->rank,
                   ", which does not fit the dimensions of other tensors: ", ranks);
  }

  Error MergeOne(std::size_t p) {
    const kdl_tensor from = *views_[p];
    kdl_tensor& into = *views_[p];
    std::int32_t next = 0;
    std::int32_t made = 0;
    for (const std::string_view dim : DimsOf(Param(p))) {
      Pack* pack = IsPack(dim) ? Find(dim) : nullptr;
      const auto count = static_cast<std::int32_t>(pack == nullptr ? 1 : pack->rank);
      if (pack != nullptr) KDL_RETURN_IF_ERROR(Compare(p, from, next, *pack));
      if (count == 1) {
        into.size[made] = from.size[next];
        into.stride[made] = from.stride[next];
      } else {
        KDL_RETURN_IF_ERROR(MergeDims(p, from, next, count, dim, made));
      }
      next += count;
      ++made;
    }
    into.rank = made;
    for (std::int32_t d = made; d < KDL_MAX_RANK; ++d) {
      into.size[d] = 1;
      into.stride[d] = 0;
    }
    return nullptr;
  }

  // Compares the dimensions of a pack with those of the first tensor that has it.
  Error Compare(std::size_t p, const kdl_tensor& view, std::int32_t first, Pack& pack) {
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

  static std::string Text(const std::vector<std::int64_t>& sizes) {
    std::string text = "[";
    for (const std::int64_t size : sizes) text += Concat(text.size() > 1 ? ", " : "", size);
    return text + "]";
  }

  // Merges `count` dimensions of `from`, starting at `first`, to dimension `made` of the parameter's view.
  Error MergeDims(std::size_t p, const kdl_tensor& from, std::int32_t first, std::int32_t count,
                  std::string_view dim, std::int32_t made) {
    std::int64_t size = 1;
    std::int64_t stride = 1;
    bool is_first = true;  // no dimension of more than one element has been seen
    bool has_gaps = false;
    for (std::int32_t d = first + count - 1; d >= first; --d) {
      if (from.size[d] == 1) continue;
      if (is_first) stride = from.stride[d];
      has_gaps |= !is_first && from.stride[d] != stride * size;
      is_first = false;
      if (__builtin_mul_overflow(size, from.size[d], &size))
        return Invalid("the dimensions ", dim, " of the tensor for ", Spelling(Param(p)),
                       " have 2^63 elements or more");
    }
    if (has_gaps && !IsEmpty(from))
      return Invalid("the tensor for ", Spelling(Param(p)), " has gaps between its dimensions ",
                     first, " and ", first + count - 1, ", which belong to the pack ", dim,
                     "; pass a copy without gaps");
    views_[p]->size[made] = size;
    views_[p]->stride[made] = stride;
    return nullptr;
  }

  const kdl_variant& variant_;
  std::span<kdl_tensor* const> views_;
  std::vector<Pack> packs_;
};

}  // namespace

bool HasPacks(const kdl_variant& variant) {
  return std::any_of(variant.params, variant.params + variant.param_count,
                     [](const kdl_param_desc& param) {
                       return std::string_view(param.shape).find("..") != std::string_view::npos;
                     });
}

Error MergePacks(const kdl_variant& variant, std::span<kdl_tensor* const> views) {
  return Merger(variant, views).Merge();
}

}  // namespace kdl::runtime
