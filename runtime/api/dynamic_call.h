// A call whose arguments have types that the caller knows only at run time.
#pragma once

#include <span>
#include <vector>

#include "api/called_kernel.h"
#include "core/binding.h"
#include "core/packs.h"
#include "core/small_array.h"

namespace kdl::runtime {

// What a call passes.
struct DynamicArguments {
  std::span<const kdl_dynamic_arg> given;  // one for each parameter
  std::int64_t core_num = KDL_CORES_AUTO;
  std::span<const PackRank> ranks = {};  // those that the caller states
};

// The arguments of a call after dimensions have been merged to packs.
class MergedDynamic {
 public:
  // Replaces the arguments if anything is merged. They are valid for as long as this object.
  Error Merge(const CalledKernel& kernel, Gaps gaps, DynamicArguments* arguments);

 private:
  std::vector<kdl_dynamic_arg> given_;
  std::vector<kdl_tensor> views_;
};

// Chooses a kernel for the arguments of a call, and converts them to the form that kernels take.
class DynamicCall {
 public:
  // Chooses the first of `kernels`, of which there is at least one, whose parameters the arguments fit, or the kernel for
  // strided tensors that belongs to it. If none fits, the error lists what each of them takes.
  Error Choose(std::span<const CalledKernel> kernels, DynamicArguments arguments,
               const CalledKernel** chosen);

  // Valid for as long as this object.
  DenseArguments arguments(std::int64_t core_num) const {
    return {sizes_.data(), values_.data(), core_num};
  }
  // One for each size.
  const std::int64_t* strides() const { return strides_.data(); }
  // Whether all tensors are row-major without gaps.
  bool is_dense() const { return is_dense_; }

 private:
  Error Convert(const kdl_variant& variant, std::span<const kdl_dynamic_arg> given);
  Error AddTensor(const kdl_param_desc& param, const kdl_dynamic_arg& given);

  SmallArray<std::int64_t, 64> sizes_;
  SmallArray<std::int64_t, 64> strides_;
  SmallArray<kdl_value, 12> values_;
  bool is_dense_ = true;
};

// Enqueues a call like kdl_kernels_call_dynamic, but on the device's queue with the given number.
kdl_error* EnqueueDynamic(const kdl_kernels* kernels, std::int32_t first, std::int32_t count,
                          const DynamicArguments& arguments, std::int32_t queue, kdl_event** done);

// Makes the checks of a call that depend on neither a device nor the contents of tensors.
Error CheckDynamic(std::span<const CalledKernel> kernels, DynamicArguments arguments);

}  // namespace kdl::runtime
