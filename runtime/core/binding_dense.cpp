#include "core/binding.h"
#include "core/view.h"

namespace kdl::runtime {

namespace {

// Creates the view of a dense tensor in the caller's memory. Messages start with `what`.
Error LayOut(const kdl_param_desc& param, const std::int64_t* sizes, const void* data,
             std::string_view what, kdl_tensor* view) {
  KDL_RETURN_IF_ERROR(MakeView(param.element, param.rank, sizes, what, view));
  view->data = const_cast<void*>(data);
  for (std::int32_t d = 0; d < param.rank; ++d) {
    if (param.dim_symbol[d] == KDL_DIM_CONST && sizes[d] != param.dim_const[d]) {
      return Invalid("dimension ", d, " of ", Spelling(param), " is ", param.dim_const[d],
                     ", but the tensor given is ", Describe(*view));
    }
  }
  return CheckAddress(*view, what);
}

// Does the same for the usual case, in less time. Returns false if the tensor has no elements or an error.
bool LayOutUsual(const kdl_param_desc& param, const std::int64_t* sizes, const void* data,
                 kdl_tensor* view, std::int64_t* span) {
  bool fits = FillDenseView(param.element, param.rank, sizes, view, span);
  for (std::int32_t d = 0; d < param.rank; ++d)
    fits &= param.dim_symbol[d] != KDL_DIM_CONST || sizes[d] == param.dim_const[d];
  view->data = const_cast<void*>(data);
  const auto misaligned = static_cast<std::uintptr_t>(ElementBytes(*view) - 1);
  return fits && data != nullptr && (reinterpret_cast<std::uintptr_t>(data) & misaligned) == 0;
}

Error AddTensor(const kdl_param_desc& param, const std::int64_t* sizes, const void* data,
                Binding* binding) {
  kdl_tensor& view = binding->tensors.Add();
  std::int64_t& span = binding->spans.Add();
  if (!LayOutUsual(param, sizes, data, &view, &span)) {
    if (LayOut(param, sizes, data, "", &view) != nullptr) {
      // Building the message allocates memory, so it is built only after a check has failed.
      return LayOut(param, sizes, data, Concat("the tensor for ", Spelling(param)), &view);
    }
    span = SpanBytes(view);
  }
  binding->memories.Add({view.data, view.data});
  return nullptr;
}

Error BindDenseUnprefixed(Device& device, const DenseArguments& arguments, Binding* binding) {
  const std::int64_t* sizes = arguments.sizes;
  const kdl_value* values = arguments.values;
  const kdl_variant& variant = *binding->candidate.variant;
  const auto count = static_cast<std::size_t>(variant.param_count);
  binding->scalars.Reserve(count);
  binding->tensors.Reserve(count);
  binding->spans.Reserve(count);
  binding->memories.Reserve(count);
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    const kdl_param_desc& param = variant.params[p];
    if (param.is_tensor == 0) {
      binding->scalars.Add(TakeScalar(param.element, values[p].u64));
      continue;
    }
    KDL_RETURN_IF_ERROR(AddTensor(param, sizes, values[p].data, binding));
    sizes += param.rank;
  }
  return Settle(device, arguments.core_num, binding);
}

// Gives tensor number `index` of the binding other data. Returns false if its sizes differ, or if its address has to be
// checked.
bool ReplaceData(const std::int64_t* sizes, const void* data, std::size_t index, Binding* binding) {
  kdl_tensor& view = binding->tensors[index];
  bool fits = data != nullptr;
  for (std::int32_t d = 0; d < view.rank; ++d) fits &= view.size[d] == sizes[d];
  const auto misaligned = static_cast<std::uintptr_t>(ElementBytes(view) - 1);
  fits &= (reinterpret_cast<std::uintptr_t>(data) & misaligned) == 0;
  view.data = const_cast<void*>(data);
  binding->memories[index] = {view.data, view.data};
  return fits;
}

// Whether other scalars change nothing that is computed from them.
bool MayChangeScalars(const Binding& binding) {
  const kdl_variant& variant = *binding.candidate.variant;
  if (variant.check != nullptr || variant.shared_bytes != nullptr) return false;
  return variant.busy_cores == nullptr || BusyCores(variant, binding) == binding.busy_cores;
}

}  // namespace

bool RebindDense(const DenseArguments& arguments, Binding* binding) {
  const kdl_variant& variant = *binding->candidate.variant;
  const std::int64_t* sizes = arguments.sizes;
  std::size_t tensor = 0;
  std::size_t scalar = 0;
  bool fits = true;
  bool is_equal = true;  // whether the scalars are
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    const kdl_param_desc& param = variant.params[p];
    if (param.is_tensor == 0) {
      const std::uint64_t value = TakeScalar(param.element, arguments.values[p].u64);
      is_equal &= value == binding->scalars[scalar];
      binding->scalars[scalar++] = value;
      continue;
    }
    fits &= ReplaceData(sizes, arguments.values[p].data, tensor++, binding);
    sizes += param.rank;
  }
  return fits && !DoWrittenRangesMeet(*binding) && (is_equal || MayChangeScalars(*binding));
}

Error BindDense(const Candidate& candidate, Device& device, const DenseArguments& arguments,
                Binding* binding) {
  binding->candidate = candidate;
  Error error = BindDenseUnprefixed(device, arguments, binding);
  return error == nullptr ? nullptr : OfLaunch(candidate.kernel->name, std::move(error));
}

}  // namespace kdl::runtime
