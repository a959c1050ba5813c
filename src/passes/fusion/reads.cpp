#include "passes/fusion/reads.h"

#include <algorithm>
#include <cstdlib>

#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "support/is_within.h"

namespace kdl::passes {

namespace {

constexpr int64_t kMostIndex = int64_t{1} << 28;

/// Returns the value of a size that is a constant, and nothing for a large one.
std::optional<int64_t> SmallConstant(Size size) {
  if (!IsConstant(size) || !IsWithin(size->value, kMostIndex)) return std::nullopt;
  return size->value;
}

/// Returns the first and the last index of a block with constant bounds, such as that of `range r in 5;`.
std::optional<std::pair<int64_t, int64_t>> ConstantEnds(const Value* block) {
  const Op* def = block->def();
  if (!def || def->kind() != OpKind::MakeBlock) return std::nullopt;
  std::optional<int64_t> start = ConstantOf(def->operand(ir::MakeBlockOp::at_start));
  std::optional<int64_t> size = ConstantOf(def->operand(ir::MakeBlockOp::at_size));
  if (!start || !size || *size < 1 || *size > kMostIndex) return std::nullopt;
  return std::pair(*start, *start + *size - 1);
}

class SpanFinder {
 public:
  SpanFinder(const ir::Function& kernel, ir::LoadOp load) : kernel_(kernel), load_(load) {}

  std::optional<IndexSpan> Find(const ir::AccessDim& dim, Size size) {
    if (std::optional<int64_t> offset = SmallConstant(dim.offset)) {
      AddConstant(*offset);
    } else {
      span_.offset = dim.offset;
    }
    for (const ir::AccessTerm& term : dim.terms) {
      std::optional<int64_t> factor = SmallConstant(term.coefficient);
      Value* value = load_.index()[term.operand];
      bool is_whole = dim.terms.size() == 1 && factor == 1 && IsConstant(dim.offset, 0);
      if (is_whole && value->type()->kind == ir::TypeKind::Tile) value = Unclamped(value, size);
      if (!factor || !Add(value, *factor)) return std::nullopt;
    }
    bool is_element = span_.terms.size() == 1 && span_.terms[0].second == 1 && span_.low == 0 &&
                      span_.high == 0 && !span_.offset && !span_.is_clamped;
    if (is_element && IsIndexBlock(span_.terms[0].first)) span_.block = span_.terms[0].first;
    return span_;
  }

 private:
  /// Returns the index that is limited to 0 … size - 1, if the value is such an index. Otherwise, returns the value.
  Value* Unclamped(Value* value, Size size) {
    bool is_inside = !load_.otherwise();  // one of the limits is then enough
    bool has_low = false;
    bool has_high = false;
    Value* index = value;
    for (const Op* def = index->def(); def; def = index->def()) {
      bool is_low = def->kind() == OpKind::Max && ConstantOf(def->operand(1)) == 0;
      bool is_high = def->kind() == OpKind::Min && IsLast(def->operand(1), size);
      if (!is_low && !is_high) break;
      has_low |= is_low;
      has_high |= is_high;
      index = def->operand(0);
    }
    bool is_clamped = (has_low && has_high) || (is_inside && (has_low || has_high));
    if (!is_clamped) return value;
    span_.is_clamped = true;
    return index;
  }

  /// Returns whether the value is size - 1.
  bool IsLast(const Value* value, Size size) const {
    if (IsConstant(size) && ConstantOf(value) == size->value - 1) return true;
    const Op* def = value->def();
    bool is_less = def && def->kind() == OpKind::Sub && ConstantOf(def->operand(1)) == 1;
    if (!is_less) return false;
    if (IsConstant(size)) return ConstantOf(def->operand(0)) == size->value;
    return size->kind == SizeKind::Symbol && def->operand(0) == kernel_.FindDim(size->symbol);
  }

  void AddConstant(int64_t constant) {
    span_.low += constant;
    span_.high += constant;
  }

  bool AddTerm(Value* value, int64_t factor) {
    if (IsIndexBlock(value)) {
      if (auto ends = ConstantEnds(value)) {
        span_.low += std::min(factor * ends->first, factor * ends->second);
        span_.high += std::max(factor * ends->first, factor * ends->second);
        return true;
      }
    }
    auto same = std::ranges::find(span_.terms, value, [](const auto& term) { return term.first; });
    if (same == span_.terms.end()) {
      span_.terms.emplace_back(value, factor);
    } else {
      same->second += factor;
      if (same->second == 0) span_.terms.erase(same);
    }
    return true;
  }

  /// Adds `factor` times a block, a scalar, or a tile of indices. Returns false if it is not a sum.
  bool Add(Value* value, int64_t factor) {
    if (!IsWithin(factor, kMostIndex)) return false;
    if (IsIndexBlock(value)) return AddTerm(value, factor);
    if (std::optional<int64_t> constant = ConstantOf(value)) {
      if (!IsWithin(*constant, kMostIndex)) return false;
      AddConstant(factor * *constant);
      return IsWithin(span_.low, kMostIndex);
    }
    if (value->type()->axes.empty()) return AddTerm(value, factor);
    const Op* def = value->def();
    if (!def || value->type()->scalar != Scalar::I64) return false;
    switch (def->kind()) {
      case OpKind::Iota:
      case OpKind::Broadcast:
        return Add(def->operand(0), factor);
      case OpKind::Add:
        return Add(def->operand(0), factor) && Add(def->operand(1), factor);
      case OpKind::Sub:
        return Add(def->operand(0), factor) && Add(def->operand(1), -factor);
      case OpKind::Mul:
        for (size_t side : {0, 1}) {
          std::optional<int64_t> constant = ConstantOf(def->operand(side));
          if (constant && IsWithin(*constant, kMostIndex))
            return Add(def->operand(1 - side), factor * *constant);
        }
        return false;
      default:
        return false;
    }
  }

  const ir::Function& kernel_;
  ir::LoadOp load_;
  IndexSpan span_;
};

}  // namespace

std::optional<TensorRead> ReadOf(const ir::Function& kernel, Op* load, std::string& reason) {
  ir::LoadOp view(load);
  if (load->attr<AttrKey::BoundsMode>() == ir::BoundsMode::Guard) {
    reason = "it is not known to be in bounds";
    return std::nullopt;
  }
  TensorRead read{load, {}};
  const std::vector<Size>& sizes = view.tensor()->type()->dims;
  ir::Access access = load->attr<AttrKey::Access>();
  for (size_t d = 0; d < sizes.size(); ++d) {
    std::optional<IndexSpan> span = SpanFinder(kernel, view).Find(access.dims[d], sizes[d]);
    if (!span) {
      reason = "its indices are not sums of ranges";
      return std::nullopt;
    }
    read.dims.push_back(std::move(*span));
  }
  return read;
}

bool IsShifted(const IndexSpan& a, const IndexSpan& b) {
  return a.offset == b.offset && std::ranges::is_permutation(a.terms, b.terms);
}

bool IsWhole(const ir::Function& kernel, const Op* spmd, size_t binder, Size size) {
  const Value* param = spmd->region()->param(binder);
  const Value* lo = spmd->operand(2 * binder);
  const Value* hi = spmd->operand(2 * binder + 1);
  if (ConstantOf(lo) != 0) return false;
  if (IsIndexBlock(param)) return kernel.axis(param->type()->axes[0]).domain == size;
  if (IsConstant(size)) return ConstantOf(hi) == size->value;
  return size->kind == SizeKind::Symbol && hi == kernel.FindDim(size->symbol);
}

Value* IndexValue(ir::Builder& b, Op* load, size_t dim) {
  ir::LoadOp view(load);
  ir::Access access = load->attr<AttrKey::Access>();
  const ir::AccessDim& index = access.dims[dim];
  Value* sum = IsConstant(index.offset, 0) ? nullptr : b.SizeValue(index.offset);
  for (const ir::AccessTerm& term : index.terms) {
    Value* value = view.index()[term.operand];
    if (IsIndexBlock(value)) {
      value = b.Make(OpKind::Iota, {value}, b.types().Tile(Scalar::I64, value->type()->axes));
    }
    value = b.Cast(value, Scalar::I64);
    if (!IsConstant(term.coefficient, 1)) value = b.Mul(value, b.SizeValue(term.coefficient));
    sum = sum ? b.Add(sum, value) : value;
  }
  return sum ? sum : b.I64(0);
}

namespace {

Value* Plus(ir::Builder& b, Value* sum, Value* value) { return sum ? b.Add(sum, value) : value; }

/// The least and the greatest value of the terms of a span.
std::pair<Value*, Value*> EndsOfTerms(ir::Builder& b, const IndexSpan& span) {
  Value* least = nullptr;
  Value* greatest = nullptr;
  for (const auto& [value, factor] : span.terms) {
    Value* first = value;
    Value* last = value;
    if (IsIndexBlock(value)) {
      first = b.BlockStart(value);
      last = b.Sub(b.Add(first, b.BlockSize(value)), b.I64(1));
    } else {
      first = last = b.Cast(value, Scalar::I64);
    }
    if (factor != 1) {
      first = b.Mul(first, b.I64(factor));
      last = IsIndexBlock(value) ? b.Mul(last, b.I64(factor)) : first;
    }
    if (factor < 0) std::swap(first, last);
    least = Plus(b, least, first);
    greatest = Plus(b, greatest, last);
  }
  if (span.offset) {
    Value* offset = b.SizeValue(span.offset);
    least = Plus(b, least, offset);
    greatest = Plus(b, greatest, offset);
  }
  if (!least) least = greatest = b.I64(0);
  return {least, greatest};
}

/// Returns the largest number of values that a span can have.
Size ExtentOf(SizeTable& sizes, const ir::Function& kernel, const IndexSpan& span) {
  Size extent = sizes.Constant(span.high - span.low + 1);
  for (const auto& [value, factor] : span.terms) {
    if (!IsIndexBlock(value)) continue;
    Size last =
        sizes.Binary(SizeKind::Sub, kernel.axis(value->type()->axes[0]).extent, sizes.Constant(1));
    Size length = sizes.Binary(SizeKind::Mul, sizes.Constant(std::abs(factor)), last);
    extent = sizes.Binary(SizeKind::Add, extent, length);
  }
  return extent;
}

/// Returns whether the span's indices without the constant are elements of a dimension of this size.
bool IsAlong(const ir::Function& kernel, const IndexSpan& span, Size size) {
  if (span.terms.size() != 1 || span.terms[0].second != 1 || span.offset) return false;
  const Value* block = span.terms[0].first;
  return IsIndexBlock(block) && kernel.axis(block->type()->axes[0]).domain == size;
}

}  // namespace

WindowEnds EndsOf(ir::Builder& b, const ir::Function& kernel, IndexSpan span, Size size,
                  Value* limit) {
  bool is_along = span.is_clamped && IsAlong(kernel, span, size);
  if (is_along) {  // the window then contains an element, and so all clamped indices
    span.low = std::min<int64_t>(span.low, 0);
    span.high = std::max<int64_t>(span.high, 0);
  }
  auto [least, greatest] = EndsOfTerms(b, span);
  if (span.low != 0) least = b.Add(least, b.I64(span.low));
  Value* end = span.high + 1 != 0 ? b.Add(greatest, b.I64(span.high + 1)) : greatest;
  Size extent = ExtentOf(b.types().sizes(), kernel, span);
  if (span.is_clamped && !is_along) {
    Value* last = b.Sub(limit, b.I64(1));
    Value* start = b.Max(b.Min(least, last), b.I64(0));
    end = b.Add(b.Max(b.Min(b.Sub(end, b.I64(1)), last), b.I64(0)), b.I64(1));
    return {start, b.Min(b.Sub(end, start), limit), extent};
  }
  Value* start = b.Max(least, b.I64(0));
  Value* stop = b.Min(end, limit);
  return {start, b.Max(b.Sub(stop, start), b.I64(0)), extent};
}

}  // namespace kdl::passes
