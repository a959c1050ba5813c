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
  // Dimensions that are adjacent in all tensors: their size, and the number of the innermost one.
  struct Group {
    std::int32_t inner;
    std::int64_t size;
  };
  std::vector<Group> groups;
};

// Whether merging the view makes sense. Other checks report a view that has no valid shape.
bool IsValid(const kdl_tensor* view) {
  if (view == nullptr || view->rank < 0 || view->rank > KDL_MAX_RANK) return false;
  for (std::int32_t d = 0; d < view->rank; ++d)
    if (view->size[d] < 0 || (view->size[d] > 1 && view->stride[d] < 0)) return false;
  return true;
}

bool IsStrided(const kdl_param_desc& param) { return (param.flags & KDL_PARAM_STRIDED) != 0; }
bool IsBroadcast(const kdl_param_desc& param) { return (param.flags & KDL_PARAM_BROADCAST) != 0; }

class Merger {
 public:
  Merger(const kdl_variant& variant, const kdl_variant* strided, std::span<kdl_tensor* const> views)
      : variant_(variant), strided_(strided), views_(views) {
    for (std::int32_t p = 0; p < variant.param_count; ++p)
      for (const std::string_view dim : DimsOf(variant.params[p]))
        if (IsPack(dim) && Find(dim) == nullptr) packs_.push_back({dim, -1, nullptr, {}, {}});
  }

  Error Merge(Gaps gaps) {
    FindRanks();
    for (const bool repeats : {false, true}) {
      for (std::size_t p = 0; p < views_.size(); ++p) {
        if (IsBroadcast(Param(p)) != repeats) continue;
        if (repeats) KDL_RETURN_IF_ERROR(Repeat(p));
        KDL_RETURN_IF_ERROR(CheckRank(p));
        if (IsDetermined(p)) KDL_RETURN_IF_ERROR(CompareAll(p));
      }
    }
    bool is_dense = true;
    for (std::size_t p = 0; p < views_.size(); ++p)
      is_dense &= !IsDetermined(p) || !IsStrided(Param(p)) || IsDense(p);
    if (!is_dense && gaps == Gaps::kExpand) return Expand();
    if (!is_dense) return RemoveGaps();
    for (std::size_t p = 0; p < views_.size(); ++p)
      if (IsDetermined(p)) KDL_RETURN_IF_ERROR(MergeOne(p));
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
    if (!IsValid(views_[p]) || Param(p).is_tensor == 0 || IsBroadcast(Param(p))) return false;
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

  // Gives the view of a broadcast parameter all dimensions of its pack. It is repeated along those that it does not have,
  // and along those of size 1.
  Error Repeat(std::size_t p) {
    if (!IsValid(views_[p])) return nullptr;
    kdl_tensor& view = *views_[p];
    std::int32_t at = 0;
    const Pack* pack = nullptr;
    for (const std::string_view dim : DimsOf(Param(p))) {
      pack = IsPack(dim) ? Find(dim) : nullptr;
      if (pack != nullptr) break;
      ++at;
    }
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

  Error CompareAll(std::size_t p) {
    return ForEachDim(p, [&](Pack* pack, std::int32_t first, std::int32_t) {
      return pack == nullptr ? Error(nullptr) : Compare(p, *views_[p], first, *pack);
    });
  }

  // Calls `visit(pack, first, count)` for each dimension of the parameter: with its pack or null, and the dimensions of
  // the view that belong to it.
  template <class Visit>
  Error ForEachDim(std::size_t p, Visit&& visit) {
    std::int32_t next = 0;
    for (const std::string_view dim : DimsOf(Param(p))) {
      Pack* pack = IsPack(dim) ? Find(dim) : nullptr;
      const auto count = static_cast<std::int32_t>(pack == nullptr ? 1 : pack->rank);
      KDL_RETURN_IF_ERROR(visit(pack, next, count));
      next += count;
    }
    return nullptr;
  }

  // Whether the dimensions of each pack are adjacent in memory, and neighbours in the last dimension are.
  bool IsDense(std::size_t p) {
    const kdl_tensor& view = *views_[p];
    if (IsEmpty(view)) return true;
    bool is_dense = true;
    static_cast<void>(ForEachDim(p, [&](const Pack*, std::int32_t first, std::int32_t count) {
      is_dense &= !HasGaps(view, first, count);
      return Error(nullptr);
    }));
    return is_dense && HasRows(p);
  }

  // Whether neighbours in the last dimension of more than one element are adjacent.
  static bool HasDenseRows(const kdl_tensor& view) {
    const std::int32_t last = view.rank - 1;
    return last < 0 || view.size[last] <= 1 || view.stride[last] == 1;
  }

  static bool HasGaps(const kdl_tensor& view, std::int32_t first, std::int32_t count) {
    std::int64_t next = -1;  // the stride without gaps; unknown at first
    for (std::int32_t d = first + count - 1; d >= first; --d) {
      if (view.size[d] == 1) continue;
      if (next >= 0 && view.stride[d] != next) return true;
      if (__builtin_mul_overflow(view.stride[d], view.size[d], &next)) return true;
    }
    return false;
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

  // Whether neighbours in the last dimension of the parameter are adjacent.
  bool HasRows(std::size_t p) {
    const kdl_tensor& view = *views_[p];
    bool has_rows = true;
    static_cast<void>(ForEachDim(p, [&](const Pack*, std::int32_t first, std::int32_t count) {
      std::int32_t inner = first + count - 1;
      while (inner > first && view.size[inner] == 1) --inner;
      has_rows = count == 0 || view.size[inner] <= 1 || view.stride[inner] == 1;
      return Error(nullptr);
    }));
    return has_rows;
  }

  // The number of dimensions of each pack in the variant for strided tensors.
  std::int32_t DimsOfPacks() {
    for (std::int32_t p = 0; p < variant_.param_count; ++p) {
      const auto dims = DimsOf(Param(static_cast<std::size_t>(p)));
      const auto packs = static_cast<std::int32_t>(std::count_if(dims.begin(), dims.end(), IsPack));
      if (packs == 0) continue;
      const std::int32_t others = variant_.params[p].rank - packs;
      const std::int32_t last = IsStrided(variant_.params[p]) ? 1 : 0;
      return (strided_->params[p].rank - others - last) / packs;
    }
    return 0;
  }

  // Finds out which dimensions of a pack are adjacent in memory in all tensors, and merges these.
  Error Group(Pack& pack, std::int32_t most) {
    for (std::int64_t d = pack.rank - 1; d >= 0 && !pack.sizes.empty(); --d) {
      const std::int64_t size = pack.sizes[static_cast<std::size_t>(d)];
      if (size == 1) continue;
      const auto dim = static_cast<std::int32_t>(d);
      if (!pack.groups.empty() && IsAdjacent(pack, dim, pack.groups.front())) {
        pack.groups.front().size *= size;
      } else {
        pack.groups.insert(pack.groups.begin(), {dim, size});
      }
    }
    const std::int64_t missing = most - std::ssize(pack.groups);
    if (missing < 0)
      return Invalid("the tensors for the pack ", pack.name, " have gaps between ",
                     pack.groups.size(), " groups of its dimensions; there can be ", most,
                     " groups; pass copies without gaps");
    pack.groups.insert(pack.groups.begin(), static_cast<std::size_t>(missing), {-1, 1});
    return nullptr;
  }

  bool IsAdjacent(const Pack& pack, std::int32_t dim, const Pack::Group& group) {
    bool is_adjacent = true;
    for (std::size_t p = 0; p < views_.size(); ++p) {
      if (!IsDetermined(p)) continue;
      static_cast<void>(ForEachDim(p, [&](const Pack* other, std::int32_t first, std::int32_t) {
        const std::int64_t* strides = views_[p]->stride + first;
        if (other == &pack) is_adjacent &= strides[dim] == strides[group.inner] * group.size;
        return Error(nullptr);
      }));
    }
    return is_adjacent;
  }

  Error ExpandOne(std::size_t p) {
    const kdl_tensor from = *views_[p];
    kdl_tensor& into = *views_[p];
    std::int32_t made = 0;
    const auto add = [&](std::int64_t size, std::int64_t stride) {
      into.size[made] = size;
      into.stride[made++] = stride;
    };
    KDL_RETURN_IF_ERROR(ForEachDim(p, [&](const Pack* pack, std::int32_t first, std::int32_t) {
      if (pack == nullptr) {
        add(from.size[first], from.stride[first]);
        return Error(nullptr);
      }
      for (const Pack::Group& group : pack->groups)
        add(group.size, group.inner < 0 ? 0 : from.stride[first + group.inner]);
      return Error(nullptr);
    }));
    if (IsStrided(Param(p))) add(1, 1);
    into.rank = made;
    for (std::int32_t d = made; d < KDL_MAX_RANK; ++d) {
      into.size[d] = 1;
      into.stride[d] = 0;
    }
    if (HasDenseRows(into) || IsEmpty(into)) return nullptr;
    return Invalid("the tensor for ", Spelling(Param(p)),
                   " has gaps between its elements, and the parameter is not `strided`; pass a "
                   "copy without gaps");
  }

  Error RemoveGaps() {
    for (std::size_t p = 0; p < views_.size(); ++p) {
      if (!IsDetermined(p)) continue;
      std::int64_t stride = 1;
      for (std::int32_t d = views_[p]->rank - 1; d >= 0 && IsStrided(Param(p)); --d) {
        views_[p]->stride[d] = stride;
        if (__builtin_mul_overflow(stride, std::max<std::int64_t>(views_[p]->size[d], 1), &stride))
          return Invalid("the tensor for ", Spelling(Param(p)), " has 2^63 elements or more");
      }
      KDL_RETURN_IF_ERROR(MergeOne(p));
    }
    return nullptr;
  }

  // Makes each pack the number of dimensions that the variant for strided tensors has.
  Error Expand() {
    if (strided_ == nullptr)
      return Invalid(
          "there is no code for strided tensors with so many dimensions; pass copies without gaps");
    for (Pack& pack : packs_) KDL_RETURN_IF_ERROR(Group(pack, DimsOfPacks()));
    for (std::size_t p = 0; p < views_.size(); ++p)
      if (IsDetermined(p)) KDL_RETURN_IF_ERROR(ExpandOne(p));
    return nullptr;
  }

  const kdl_variant& variant_;
  const kdl_variant* strided_;
  std::span<kdl_tensor* const> views_;
  std::vector<Pack> packs_;
};

}  // namespace

Error MergePacks(const kdl_variant& variant, const kdl_variant* strided, Gaps gaps,
                 std::span<kdl_tensor* const> views) {
  return Merger(variant, strided, views).Merge(gaps);
}

}  // namespace kdl::runtime
