#include "api/dynamic_call.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/dynamic_scalar.h"
#include "core/element.h"
#include "core/packs.h"
#include "core/view.h"

namespace kdl::runtime {

namespace {

bool IsTensor(const kdl_dynamic_arg& given) {
  return given.kind == KDL_DYNAMIC_TENSOR || given.kind == KDL_DYNAMIC_DEVICE_TENSOR;
}

bool IsNothing(const kdl_dynamic_arg& given) {
  return given.kind == KDL_DYNAMIC_TENSOR && given.value.tensor == nullptr;
}

// Returns an error if an argument cannot be one for this parameter, whatever the types of tensors are.
Error CheckKind(const kdl_param_desc& param, const kdl_dynamic_arg& given) {
  const bool is_tensor = IsTensor(given);
  if (param.is_tensor == 0) {
    std::uint64_t bits = 0;
    return is_tensor ? ConvertNumber(given, param, &bits) : nullptr;
  }
  if (!is_tensor) return Invalid("'", param.name, "' must be a tensor, not a number");
  if (IsNothing(given)) return nullptr;  // optional, or else no variant fits
  const kdl_tensor& view = *given.value.tensor;
  if (view.rank < 0 || view.rank > KDL_MAX_RANK || FactsOfElement(view.element) == nullptr)
    return Invalid("the tensor for '", param.name, "' has rank ", view.rank, " and element type ",
                   static_cast<int>(view.element));
  return nullptr;
}

bool Fits(const kdl_variant& variant, std::span<const kdl_dynamic_arg> given) {
  for (std::size_t p = 0; p < given.size(); ++p) {
    const kdl_param_desc& param = variant.params[p];
    if (param.is_tensor == 0) continue;
    if (IsNothing(given[p]) || IsAbsent(variant, param)) {
      if (!IsNothing(given[p]) || !IsAbsent(variant, param)) return false;
      continue;
    }
    const kdl_tensor& view = *given[p].value.tensor;
    if (view.element != param.element || view.rank != param.rank) return false;
    for (std::int32_t d = 0; d < param.rank; ++d) {
      if (param.dim_symbol[d] == KDL_DIM_CONST && param.dim_const[d] != view.size[d]) return false;
    }
  }
  return true;
}

// Returns the kernel, or the one for strided tensors that belongs to it, if the arguments fit. Otherwise returns null.
const CalledKernel* FindFitting(const CalledKernel& kernel,
                                std::span<const kdl_dynamic_arg> given) {
  if (Fits(*kernel.candidate.variant, given)) return &kernel;
  const bool fits = kernel.strided != nullptr && Fits(*kernel.strided->candidate.variant, given);
  return fits ? kernel.strided.get() : nullptr;
}

// Whether the variant is for calls with these optional tensors, and without the others.
bool HasSameTensors(const kdl_variant& variant, std::span<const kdl_dynamic_arg> given) {
  for (std::size_t p = 0; p < given.size(); ++p) {
    const kdl_param_desc& param = variant.params[p];
    if (param.is_tensor != 0 && IsAbsent(variant, param) != IsNothing(given[p])) return false;
  }
  return true;
}

// Whether the variant has the element types of these tensors.
bool HasSameElements(const kdl_variant& variant, std::span<const kdl_dynamic_arg> given) {
  for (std::size_t p = 0; p < given.size(); ++p) {
    const bool is_tensor = variant.params[p].is_tensor != 0 && !IsNothing(given[p]);
    if (is_tensor && given[p].value.tensor->element != variant.params[p].element) return false;
  }
  return true;
}

Error NothingFits(std::span<const CalledKernel> kernels, std::span<const kdl_dynamic_arg> given) {
  const Candidate& any = kernels[0].candidate;
  for (std::size_t p = 0; p < given.size(); ++p) {
    if (!IsNothing(given[p])) continue;
    const bool is_optional = std::any_of(kernels.begin(), kernels.end(), [&](const auto& kernel) {
      return IsAbsent(*kernel.candidate.variant, kernel.candidate.variant->params[p]);
    });
    if (!is_optional) return Invalid("the tensor for '", any.variant->params[p].name, "' is NULL");
  }
  std::string text = Concat(any.kernel->name, " is called with");
  const char* comma = " ";
  for (std::size_t p = 0; p < given.size(); ++p) {
    if (any.variant->params[p].is_tensor == 0 || IsNothing(given[p])) continue;
    text += Concat(comma, any.variant->params[p].name, ": ", Describe(*given[p].value.tensor));
    comma = ", ";
  }
  auto has_same = [&](const CalledKernel& kernel) {
    return HasSameTensors(*kernel.candidate.variant, given);
  };
  const bool is_any_same = std::any_of(kernels.begin(), kernels.end(), has_same);
  auto is_candidate = [&](const CalledKernel& kernel) { return !is_any_same || has_same(kernel); };
  // If the element types fit, only the shapes do not, which are the same for all types.
  auto has_elements = [&](const CalledKernel& kernel) {
    return is_candidate(kernel) && HasSameElements(*kernel.candidate.variant, given);
  };
  const bool do_types_fit = std::any_of(kernels.begin(), kernels.end(), has_elements);
  const char* before = "; it takes ";
  for (const CalledKernel& kernel : kernels) {
    if (do_types_fit ? !has_elements(kernel) : !is_candidate(kernel)) continue;
    text += Concat(before, Signature(*kernel.candidate.variant));
    before = ", or ";
  }
  return Invalid(text);
}

Error SeveralFit(std::span<const CalledKernel> kernels, std::span<const kdl_dynamic_arg> given) {
  std::string text;
  for (const CalledKernel& kernel : kernels) {
    if (FindFitting(kernel, given) == nullptr) continue;
    text += Concat(text.empty() ? "" : " and ", kernel.candidate.kernel->name, " with ",
                   kernel.candidate.variant->constants);
  }
  return Invalid("the arguments fit ", text, "; compile only one of them");
}

bool IsDense(const kdl_tensor& view) {
  std::int64_t wanted = 1;
  bool dense = true;
  for (std::int32_t d = view.rank - 1; d >= 0; --d) {
    if (view.size[d] == 0) return true;
    dense &= view.size[d] == 1 || view.stride[d] == wanted;
    if (__builtin_mul_overflow(wanted, view.size[d], &wanted)) return false;
  }
  return dense;
}

// Stores the ranks of packs that the names of the kernels state.
Error FindCommonRanks(std::span<const CalledKernel> kernels, std::span<const PackRank>* ranks) {
  for (const CalledKernel& kernel : kernels)
    if (kernel.ranks != kernels[0].ranks)
      return Invalid("the names of the kernels that are called as '", kernel.candidate.kernel->name,
                     "' state different numbers of dimensions of packs");
  *ranks = kernels[0].ranks;
  return nullptr;
}

bool NeedsMerge(const kdl_variant& variant, const DynamicArguments& arguments) {
  const std::span<const kdl_dynamic_arg> given = arguments.given;
  if ((variant.flags & KDL_VARIANT_SHAPES) == 0 || std::ssize(given) != variant.param_count)
    return false;
  bool differ = !arguments.ranks.empty();
  for (std::size_t p = 0; p < given.size(); ++p) {
    if (!IsTensor(given[p]) || IsNothing(given[p])) continue;
    differ |= MayNeedMerge(variant.params[p], *given[p].value.tensor);
  }
  return differ;
}

}  // namespace

Error MergedDynamic::Merge(const CalledKernel& kernel, Gaps gaps, DynamicArguments* arguments) {
  const kdl_variant& variant = *kernel.candidate.variant;
  if (!NeedsMerge(variant, *arguments)) return nullptr;
  given_.assign(arguments->given.begin(), arguments->given.end());
  views_.resize(given_.size());
  std::vector<kdl_tensor*> views(given_.size());
  for (std::size_t p = 0; p < given_.size(); ++p) {
    if (!IsTensor(given_[p]) || IsNothing(given_[p])) continue;
    views_[p] = *given_[p].value.tensor;
    views[p] = &views_[p];
    given_[p].value.tensor = &views_[p];
  }
  arguments->given = given_;
  const kdl_variant* strided =
      kernel.strided == nullptr ? nullptr : kernel.strided->candidate.variant;
  return MergePacks(variant, strided, gaps, std::exchange(arguments->ranks, {}), views);
}

Error DynamicCall::Choose(std::span<const CalledKernel> kernels, DynamicArguments arguments,
                          const CalledKernel** chosen) {
  const std::span<const kdl_dynamic_arg> original = arguments.given;
  const Candidate& any = kernels[0].candidate;
  if (std::ssize(original) != any.variant->param_count) {
    return Invalid(any.kernel->name, " has ", any.variant->param_count,
                   " parameters, but is called with ", original.size(),
                   original.size() == 1 ? " argument" : " arguments");
  }
  for (std::size_t p = 0; p < original.size(); ++p)
    KDL_RETURN_IF_ERROR(CheckKind(any.variant->params[p], original[p]));
  if (arguments.ranks.empty()) KDL_RETURN_IF_ERROR(FindCommonRanks(kernels, &arguments.ranks));
  MergedDynamic merged;
  KDL_RETURN_IF_ERROR(merged.Merge(kernels[0], Gaps::kExpand, &arguments));
  const std::span<const kdl_dynamic_arg> given = arguments.given;
  *chosen = nullptr;
  for (const CalledKernel& kernel : kernels) {
    const CalledKernel* fitting = FindFitting(kernel, given);
    if (fitting == nullptr) continue;
    if (*chosen != nullptr) return SeveralFit(kernels, given);
    *chosen = fitting;
  }
  if (*chosen == nullptr) return NothingFits(kernels, original);
  return Convert(*(*chosen)->candidate.variant, given);
}

Error DynamicCall::Convert(const kdl_variant& variant, std::span<const kdl_dynamic_arg> given) {
  values_.Reserve(given.size());
  sizes_.Reserve(given.size() * KDL_MAX_RANK);
  strides_.Reserve(given.size() * KDL_MAX_RANK);
  for (std::size_t p = 0; p < given.size(); ++p) {
    const kdl_param_desc& param = variant.params[p];
    if (param.is_tensor != 0) {
      KDL_RETURN_IF_ERROR(AddTensor(param, given[p]));
      continue;
    }
    kdl_value& value = values_.Add();
    KDL_RETURN_IF_ERROR(ConvertNumber(given[p], param, &value.u64));
  }
  return nullptr;
}

Error DynamicCall::AddTensor(const kdl_param_desc& param, const kdl_dynamic_arg& given) {
  if (IsNothing(given)) {
    values_.Add().data = nullptr;
    for (std::int32_t d = 0; d < param.rank; ++d) {
      sizes_.Add(0);
      strides_.Add(1);
    }
    return nullptr;
  }
  const kdl_tensor& view = *given.value.tensor;
  if (param.direction != KDL_IN && given.is_read_only != 0)
    return Invalid("'", param.name, "' is read-only, but the kernel writes it");
  values_.Add().data = view.data;
  for (std::int32_t d = 0; d < view.rank; ++d) {
    sizes_.Add(view.size[d]);
    strides_.Add(view.stride[d]);
  }
  is_dense_ &= IsDense(view);
  return nullptr;
}

namespace {

// Returns the view that is given, or an empty one for a parameter that is absent.
kdl_tensor GivenView(const kdl_param_desc& param, const kdl_dynamic_arg& given) {
  if (!IsNothing(given)) return *given.value.tensor;
  kdl_tensor view = {};
  const std::array<std::int64_t, KDL_MAX_RANK> sizes = {};
  static_cast<void>(MakeView(param.element, param.rank, sizes.data(), param.name, &view));
  return view;
}

// Checks that no written tensor overlaps another one, as the caller has given them: merged views lack the gaps in which
// elements of others may be.
Error CheckGivenApart(const Candidate& candidate, std::span<const kdl_dynamic_arg> given) {
  Binding binding;
  binding.candidate = candidate;
  binding.tensors.Reserve(given.size());
  binding.spans.Reserve(given.size());
  for (std::size_t p = 0; p < given.size(); ++p) {
    const kdl_param_desc& param = candidate.variant->params[p];
    if (param.is_tensor == 0) continue;
    const kdl_tensor& view = binding.tensors.Add(GivenView(param, given[p]));
    KDL_RETURN_IF_ERROR(CheckView(view, Concat("array '", param.name, "'"), &binding.spans.Add()));
  }
  return CheckWrittenApart(binding);
}

// Performs the checks of the launch, except those that depend on strides.
Error CheckWithoutGaps(const DenseArguments& arguments, Binding* binding) {
  const kdl_variant& variant = *binding->candidate.variant;
  binding->scalars.Reserve(static_cast<std::size_t>(variant.param_count));
  kdl_tensor* view = binding->tensors.begin();
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    const kdl_param_desc& param = variant.params[p];
    if (param.is_tensor == 0) {
      binding->scalars.Add(TakeScalar(param.element, arguments.values[p].u64));
      continue;
    }
    std::array<std::int64_t, KDL_MAX_RANK> sizes;
    std::copy_n(view->size, sizes.size(), sizes.begin());
    KDL_RETURN_IF_ERROR(MakeView(param.element, param.rank, sizes.data(), param.name, view++));
  }
  return RunLaunchCheck(binding);
}

}  // namespace

Error CheckDynamic(std::span<const CalledKernel> kernels, DynamicArguments arguments) {
  if (arguments.ranks.empty()) KDL_RETURN_IF_ERROR(FindCommonRanks(kernels, &arguments.ranks));
  MergedDynamic merged;
  const std::span<const kdl_dynamic_arg> original = arguments.given;
  KDL_RETURN_IF_ERROR(merged.Merge(kernels[0], Gaps::kIgnore, &arguments));
  const std::span<const kdl_dynamic_arg> given = arguments.given;
  const std::int64_t core_num = arguments.core_num;
  DynamicCall call;
  const CalledKernel* chosen = nullptr;
  KDL_RETURN_IF_ERROR(call.Choose(kernels, arguments, &chosen));
  Binding binding;
  binding.candidate = chosen->candidate;
  binding.tensors.Reserve(given.size());
  binding.spans.Reserve(given.size());
  for (std::size_t p = 0; p < given.size(); ++p) {
    const kdl_param_desc& param = binding.candidate.variant->params[p];
    if (param.is_tensor == 0) continue;
    const kdl_tensor& view = binding.tensors.Add(GivenView(param, given[p]));
    const std::string what = Concat("array '", param.name, "'");
    KDL_RETURN_IF_ERROR(CheckView(view, what, &binding.spans.Add()));
    KDL_RETURN_IF_ERROR(CheckAddress(view, what));
  }
  Error error = core_num == KDL_CORES_AUTO ? nullptr : CheckCores(core_num);
  if (error == nullptr) error = FindSizes(&binding);
  if (error == nullptr) error = CheckGivenApart(binding.candidate, original);
  if (error == nullptr) error = CheckWithoutGaps(call.arguments(core_num), &binding);
  return OfLaunch(binding.candidate.kernel->name, std::move(error));
}

}  // namespace kdl::runtime
