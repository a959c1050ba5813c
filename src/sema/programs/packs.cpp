#include "sema/programs/packs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "sema/types/literal_value.h"
#include "sema/types/size_arithmetic.h"
#include "sema/walk/quote.h"

namespace kdl::sema {

namespace {

using syntax::Expr;
using syntax::NameExpr;

const NameExpr* PackOf(const Expr* dim) {
  const auto* name = syntax::DynAs<NameExpr>(dim);
  return name != nullptr && name->is_pack ? name : nullptr;
}

constexpr std::string_view kRankPrefix = "rank_";
constexpr std::string_view kRankOfPack = "the number of dimensions of a pack";
constexpr int64_t kMostRank = 8;  ///< of a tensor

class PackMerger {
 public:
  PackMerger(FunctionState& state, const syntax::CallExpr& call, LaunchInfo& launch)
      : state_(state), call_(call), launch_(launch), params_(launch.kernel->item->params) {}

  bool Merge() {
    if (!TakeRanks()) return false;
    FindRanks();
    launch_.merged.resize(params_.size());
    bool ok = true;
    for (size_t p = 0; p < params_.size(); ++p)
      if (HasPacks(p) && !MergeOne(p)) ok = false;
    return ok;
  }

 private:
  const Type& ArgumentType(size_t p) const { return state_.fn.exprs[call_.args[p].value].type; }
  const std::vector<const Expr*>& Dims(size_t p) const { return params_[p].type->dims; }

  bool HasPacks(size_t p) const {
    return ArgumentType(p).is_tensor() && !launch_.kernel->IsAbsent(params_[p].name.name) &&
           std::ranges::any_of(Dims(p), [](const Expr* dim) { return PackOf(dim) != nullptr; });
  }

  /// Returns the number of dimensions that are left for packs of unknown ranks, and how many of these there are.
  std::pair<int64_t, size_t> Unknown(size_t p) const {
    int64_t left = std::ssize(ArgumentType(p).dims);
    size_t unknown = 0;
    for (const Expr* dim : Dims(p)) {
      const NameExpr* pack = PackOf(dim);
      bool is_known = pack == nullptr || ranks_.contains(pack->name);
      left -= pack == nullptr ? 1 : is_known ? ranks_.at(pack->name) : 0;
      unknown += is_known ? 0 : 1;
    }
    return {left, unknown};
  }

  /// Stores the ranks that the launch states. Returns false after an error.
  bool TakeRanks() {
    size_t errors = state_.diagnostics.error_count();
    for (const syntax::Arg& arg : call_.generics) {
      const NameExpr* pack = RankedPack(*launch_.kernel->item, arg.name.name);
      if (pack == nullptr) continue;
      std::optional<int64_t> rank = EvaluateInteger(state_, arg.value, kRankOfPack);
      if (!rank) continue;
      if (*rank < 0 || *rank > kMostRank) {
        state_.diagnostics.Report(diag::DefaultChoice, arg.value->span, *rank, arg.name.name.text())
            .Help(fmt::format("a pack has 0 to {} dimensions", kMostRank));
      } else if (!ranks_.emplace(pack->name, *rank).second) {
        state_.diagnostics.Report(diag::GenericTwice, arg.span, arg.name.name.text());
      }
    }
    return state_.diagnostics.error_count() == errors;
  }

  /// Finds the rank of each pack: first from tensors in which only one is unknown, or no dimensions are left for several, again
  /// and again. If that does not suffice, a tensor with as many dimensions as the parameter has one for each pack.
  void FindRanks() {
    for (bool progress = true; progress;) {
      progress = false;
      for (size_t p = 0; p < params_.size() && !progress; ++p) {
        auto [left, unknown] = HasPacks(p) ? Unknown(p) : std::pair<int64_t, size_t>{0, 0};
        bool is_clear = unknown == 1 || (unknown > 1 && left == 0);
        progress = is_clear && SetUnknown(p, left);
      }
      for (size_t p = 0; p < params_.size() && !progress; ++p) {
        auto [left, unknown] = HasPacks(p) ? Unknown(p) : std::pair<int64_t, size_t>{0, 0};
        progress = unknown > 1 && left == static_cast<int64_t>(unknown) && SetUnknown(p, 1);
      }
    }
  }

  bool SetUnknown(size_t p, int64_t rank) {
    for (const Expr* dim : Dims(p))
      if (const NameExpr* pack = PackOf(dim)) ranks_.emplace(pack->name, rank);
    return true;
  }

  bool MergeOne(size_t p) {
    const Type& type = ArgumentType(p);
    auto [left, unknown] = Unknown(p);
    bool is_empty = std::ranges::any_of(ranks_, [](const auto& rank) { return rank.second < 0; });
    if (left != 0 || unknown != 0 || is_empty || type.dims.empty()) return Report(p);
    std::vector<Size> merged;
    size_t next = 0;
    for (const Expr* dim : Dims(p)) {
      const NameExpr* pack = PackOf(dim);
      auto count = static_cast<size_t>(pack == nullptr ? 1 : ranks_.at(pack->name));
      std::vector<Size> sizes(type.dims.begin() + static_cast<std::ptrdiff_t>(next),
                              type.dims.begin() + static_cast<std::ptrdiff_t>(next + count));
      if (pack != nullptr && !Compare(p, next, *pack, sizes)) return false;
      next += count;
      merged.push_back(pack == nullptr ? sizes[0] : Product(sizes));
    }
    if (merged != type.dims) launch_.merged[p] = std::move(merged);
    return true;
  }

  Size Product(const std::vector<Size>& sizes) const {
    SizeTable& table = state_.module.sizes;
    Size product = table.Constant(1);
    for (Size size : sizes) product = table.Binary(SizeKind::Mul, product, size);
    return product;
  }

  /// Compares the dimensions of a pack with those of the first tensor that has it.
  bool Compare(size_t p, size_t first, const NameExpr& pack, const std::vector<Size>& sizes) {
    auto [known, is_new] = sizes_.emplace(pack.name, sizes);
    for (size_t d = 0; d < sizes.size() && !is_new; ++d) {
      std::optional<int64_t> difference =
          ConstantDifference(state_.module.sizes, known->second[d], sizes[d]);
      if (difference && *difference != 0) {
        const Expr* arg = call_.args[p].value;
        state_.diagnostics.Report(diag::PackSizes, arg->span, first + d, Quote(state_, arg),
                                  ToString(sizes[d]), pack.name.text(), ToString(known->second[d]));
        return false;
      }
      if (!difference)
        launch_.checks.push_back({static_cast<uint32_t>(p), static_cast<uint32_t>(first + d),
                                  known->second[d], sizes[d]});
    }
    return true;
  }

  bool Report(size_t p) {
    const Expr* arg = call_.args[p].value;
    Diagnostic& report = state_.diagnostics.Report(
        diag::PackRank, arg->span, Quote(state_, arg), ToString(ArgumentType(p)),
        params_[p].name.name.text(), launch_.kernel->entity->name.text());
    report.Note(params_[p].span, "the parameter is declared here");
    for (const Expr* dim : Dims(p)) {
      const NameExpr* pack = PackOf(dim);
      if (pack == nullptr || ranks_.contains(pack->name) || Unknown(p).first < 0) continue;
      report.Help(fmt::format("say how many dimensions {}.. has, as in {}<{}{} = 1>(…)",
                              pack->name.text(), call_.callee.name.text(), kRankPrefix,
                              pack->name.text()));
      return false;
    }
    report.Help("pass tensors with the same dimensions for each pack, or views that have one");
    return false;
  }

  FunctionState& state_;
  const syntax::CallExpr& call_;
  LaunchInfo& launch_;
  const std::vector<syntax::Param>& params_;
  std::map<Name, int64_t> ranks_;
  std::map<Name, std::vector<Size>>
      sizes_;  ///< the dimensions of each pack in the first tensor that has it
};

}  // namespace

const NameExpr* RankedPack(const syntax::FunctionItem& kernel, Name name) {
  std::string_view text = name.text();
  if (!text.starts_with(kRankPrefix)) return nullptr;
  text.remove_prefix(kRankPrefix.size());
  for (const syntax::Param& param : kernel.params) {
    for (const Expr* dim : param.type->dims) {
      const NameExpr* pack = PackOf(dim);
      if (pack != nullptr && pack->name.text() == text) return pack;
    }
  }
  return nullptr;
}

bool MergePacks(FunctionState& state, const syntax::CallExpr& call, LaunchInfo& launch) {
  return PackMerger(state, call, launch).Merge();
}

const std::vector<Size>& SizesOfArgument(const FunctionState& state, const LaunchInfo& launch,
                                         const syntax::Expr* arg, size_t param) {
  bool is_merged = param < launch.merged.size() && !launch.merged[param].empty();
  return is_merged ? launch.merged[param] : state.fn.exprs[arg].type.dims;
}

}  // namespace kdl::sema
