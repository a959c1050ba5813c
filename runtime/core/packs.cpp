#include "core/packs.h"

#include <algorithm>

#include "core/binding_parts.h"
#include "core/pack_shapes.h"
#include "core/text.h"
#include "core/view.h"

namespace kdl::runtime {

namespace {

bool IsStrided(const kdl_param_desc& param) { return (param.flags & KDL_PARAM_STRIDED) != 0; }

class Merger {
 public:
  Merger(const kdl_variant& variant, const kdl_variant* strided, std::span<kdl_tensor* const> views)
      : variant_(variant), strided_(strided), shapes_(variant, views) {}

  Error Merge(Gaps gaps, std::span<const PackRank> ranks) {
    KDL_RETURN_IF_ERROR(shapes_.Find(ranks));
    bool is_dense = true;
    for (std::size_t p = 0; p < shapes_.count(); ++p)
      is_dense &= !shapes_.IsDetermined(p) || !IsStrided(shapes_.Param(p)) || IsDense(p);
    if (!is_dense && gaps == Gaps::kExpand) return Expand();
    if (!is_dense) return RemoveGaps();
    for (std::size_t p = 0; p < shapes_.count(); ++p)
      if (shapes_.IsDetermined(p)) KDL_RETURN_IF_ERROR(MergeOne(p));
    return nullptr;
  }

 private:
  // Whether the dimensions of each pack are adjacent in memory, and neighbours in the last dimension are.
  bool IsDense(std::size_t p) {
    const kdl_tensor& view = shapes_.View(p);
    if (IsEmpty(view)) return true;
    bool is_dense = true;
    static_cast<void>(
        shapes_.ForEachDim(p, [&](const Pack*, std::int32_t first, std::int32_t count) {
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

  Error MergeOne(std::size_t p) {
    const kdl_tensor from = shapes_.View(p);
    kdl_tensor& into = shapes_.View(p);
    std::int32_t made = 0;
    KDL_RETURN_IF_ERROR(
        shapes_.ForEachDim(p, [&](const Pack* pack, std::int32_t first, std::int32_t count) {
          ++made;
          if (count != 1) return MergeDims(p, from, first, count, pack->name, made - 1);
          into.size[made - 1] = from.size[first];
          into.stride[made - 1] = from.stride[first];
          return Error(nullptr);
        }));
    into.rank = made;
    for (std::int32_t d = made; d < KDL_MAX_RANK; ++d) {
      into.size[d] = 1;
      into.stride[d] = 0;
    }
    return nullptr;
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
        return Invalid("the dimensions ", dim, " of the tensor for ", Spelling(shapes_.Param(p)),
                       " have 2^63 elements or more");
    }
    if (has_gaps && !IsEmpty(from))
      return Invalid("the tensor for ", Spelling(shapes_.Param(p)),
                     " has gaps between its dimensions ", first, " and ", first + count - 1,
                     ", which belong to the pack ", dim, "; pass a copy without gaps");
    shapes_.View(p).size[made] = size;
    shapes_.View(p).stride[made] = stride;
    return nullptr;
  }

  // Whether neighbours in the last dimension of the parameter are adjacent.
  bool HasRows(std::size_t p) {
    const kdl_tensor& view = shapes_.View(p);
    bool has_rows = true;
    static_cast<void>(
        shapes_.ForEachDim(p, [&](const Pack*, std::int32_t first, std::int32_t count) {
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
      const std::int32_t packs = shapes_.CountPacks(static_cast<std::size_t>(p));
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
        if (__builtin_mul_overflow(pack.groups.front().size, size, &pack.groups.front().size))
          return Invalid("the dimensions ", pack.name, " have 2^63 elements or more");
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
    for (std::size_t p = 0; p < shapes_.count(); ++p) {
      if (!shapes_.IsDetermined(p)) continue;
      static_cast<void>(
          shapes_.ForEachDim(p, [&](const Pack* other, std::int32_t first, std::int32_t) {
            const std::int64_t* strides = shapes_.View(p).stride + first;
            if (other != &pack) return Error(nullptr);
            std::int64_t next = 0;  // the stride without gaps
            is_adjacent &= !__builtin_mul_overflow(strides[group.inner], group.size, &next) &&
                           strides[dim] == next;
            return Error(nullptr);
          }));
    }
    return is_adjacent;
  }

  Error ExpandOne(std::size_t p) {
    const kdl_tensor from = shapes_.View(p);
    kdl_tensor& into = shapes_.View(p);
    std::int32_t made = 0;
    const auto add = [&](std::int64_t size, std::int64_t stride) {
      into.size[made] = size;
      into.stride[made++] = stride;
    };
    KDL_RETURN_IF_ERROR(
        shapes_.ForEachDim(p, [&](const Pack* pack, std::int32_t first, std::int32_t) {
          if (pack == nullptr) {
            add(from.size[first], from.stride[first]);
            return Error(nullptr);
          }
          for (const Pack::Group& group : pack->groups)
            add(group.size, group.inner < 0 ? 0 : from.stride[first + group.inner]);
          return Error(nullptr);
        }));
    if (IsStrided(shapes_.Param(p))) add(1, 1);
    into.rank = made;
    for (std::int32_t d = made; d < KDL_MAX_RANK; ++d) {
      into.size[d] = 1;
      into.stride[d] = 0;
    }
    if (HasDenseRows(into) || IsEmpty(into)) return nullptr;
    return Invalid("the tensor for ", Spelling(shapes_.Param(p)),
                   " has gaps between its elements, and the parameter is not `strided`; pass a "
                   "copy without gaps");
  }

  Error RemoveGaps() {
    for (std::size_t p = 0; p < shapes_.count(); ++p) {
      if (!shapes_.IsDetermined(p)) continue;
      std::int64_t stride = 1;
      for (std::int32_t d = shapes_.View(p).rank - 1; d >= 0 && IsStrided(shapes_.Param(p)); --d) {
        shapes_.View(p).stride[d] = stride;
        if (__builtin_mul_overflow(stride, std::max<std::int64_t>(shapes_.View(p).size[d], 1),
                                   &stride))
          return Invalid("the tensor for ", Spelling(shapes_.Param(p)),
                         " has 2^63 elements or more");
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
    for (Pack& pack : shapes_.packs()) KDL_RETURN_IF_ERROR(Group(pack, DimsOfPacks()));
    for (std::size_t p = 0; p < shapes_.count(); ++p)
      if (shapes_.IsDetermined(p)) KDL_RETURN_IF_ERROR(ExpandOne(p));
    return nullptr;
  }

  const kdl_variant& variant_;
  const kdl_variant* strided_;
  PackShapes shapes_;
};

}  // namespace

Error MergePacks(const kdl_variant& variant, const kdl_variant* strided, Gaps gaps,
                 std::span<const PackRank> ranks, std::span<kdl_tensor* const> views) {
  return Merger(variant, strided, views).Merge(gaps, ranks);
}

}  // namespace kdl::runtime
