#include "extension/arguments.h"

#include <string>

#include "extension/context.h"
#include "extension/elements.h"

namespace kdl::python {

namespace {

std::string TextOf(const kdl_tensor& view) {
  std::string text = std::string(ElementName(view.element)) + "[";
  for (int32_t d = 0; d < view.rank; ++d) {
    if (d > 0) text += ", ";
    text += std::to_string(view.size[d]);
  }
  return text + "]";
}

std::string TextOf(const kdl_param_desc& param) {
  const char* direction = param.direction == KDL_OUT     ? "out "
                          : param.direction == KDL_INOUT ? "inout "
                                                         : "in ";
  return std::string(param.name) + ": " + (param.is_tensor != 0 ? direction : "") +
         ElementName(param.element) + param.shape;
}

}  // namespace

bool Arguments::Open(PyObject* const* given, const Library& library, size_t begin, size_t end) {
  const kdl_variant& any = *library.functions()[begin].variant;
  tensors_ = std::make_unique<TensorArgument[]>(static_cast<size_t>(any.param_count));
  for (int32_t p = 0; p < any.param_count; ++p) {
    if (any.params[p].is_tensor != 0 && !tensors_[p].Open(given[p], any.params[p].name))
      return false;
  }
  return Select(library, begin, end) && Convert(given, *variant_);
}

bool Arguments::Select(const Library& library, size_t begin, size_t end) {
  for (size_t f = begin; f < end; ++f) {
    if (!Fits(*library.functions()[f].variant)) continue;
    function_ = f;
    variant_ = library.functions()[f].variant;
    return true;
  }
  std::string text = library.functions()[begin].name + " is called with";
  const kdl_variant& any = *library.functions()[begin].variant;
  const char* comma = " ";
  for (int32_t p = 0; p < any.param_count; ++p) {
    if (any.params[p].is_tensor == 0) continue;
    text += comma + std::string(any.params[p].name) + ": " + TextOf(tensors_[p].view());
    comma = ", ";
  }
  text += "; it takes";
  for (size_t f = begin; f < end; ++f) {
    text += f == begin ? " (" : ", or (";
    const kdl_variant& variant = *library.functions()[f].variant;
    for (int32_t p = 0; p < variant.param_count; ++p)
      text += (p > 0 ? ", " : "") + TextOf(variant.params[p]);
    text += ")";
  }
  PyErr_SetString(PyExc_TypeError, text.c_str());
  return false;
}

bool Arguments::Fits(const kdl_variant& variant) const {
  for (int32_t p = 0; p < variant.param_count; ++p) {
    const kdl_param_desc& param = variant.params[p];
    if (param.is_tensor == 0) continue;
    const kdl_tensor& view = tensors_[p].view();
    if (view.element != param.element || view.rank != param.rank) return false;
    for (int32_t d = 0; d < param.rank; ++d) {
      if (param.dim_symbol[d] == KDL_DIM_CONST && param.dim_const[d] != view.size[d]) return false;
    }
  }
  return true;
}

bool Arguments::Convert(PyObject* const* given, const kdl_variant& variant) {
  values_.resize(static_cast<size_t>(variant.param_count));
  for (int32_t p = 0; p < variant.param_count; ++p) {
    const kdl_param_desc& param = variant.params[p];
    if (param.is_tensor == 0) {
      values_[p].u64 = 0;
      if (!ToScalar(given[p], param.element, param.name, &values_[p].u64)) return false;
      continue;
    }
    if (param.direction != KDL_IN && tensors_[p].is_read_only()) {
      PyErr_Format(PyExc_ValueError, "'%s' is read-only, but the kernel writes it", param.name);
      return false;
    }
    const kdl_tensor& view = tensors_[p].view();
    sizes_.insert(sizes_.end(), view.size, view.size + view.rank);
    values_[p].data = view.data;
  }
  return true;
}

bool Arguments::are_dense() const {
  for (int32_t p = 0; p < variant_->param_count; ++p) {
    if (variant_->params[p].is_tensor != 0 && !tensors_[p].is_dense()) return false;
  }
  return true;
}

kdl_error* Arguments::Launch(Library& library, int64_t core_num) {
  std::vector<kdl_array> arrays(values_.size());
  std::vector<kdl_arg> args(values_.size());
  kdl_error* error = nullptr;
  for (size_t p = 0; p < values_.size() && error == nullptr; ++p) {
    const kdl_param_desc& param = variant_->params[p];
    args[p] = {nullptr, values_[p].u64, param.element, {}};
    if (param.is_tensor == 0) continue;
    const kdl_tensor& view = tensors_[p].view();
    auto wrap = [&](auto create) {
      return create(library.device(), view.data, view.element, view.rank, view.size, view.stride,
                    param.name, &arrays[p]);
    };
    error = tensors_[p].is_read_only() ? wrap(kdl_array_wrap_constant) : wrap(kdl_array_wrap);
    args[p].array = &arrays[p];
  }
  if (error == nullptr) {
    error = kdl_run_kernel(library.queue(), library.functions()[function_].handle, core_num,
                           args.data(), static_cast<int32_t>(args.size()), nullptr, nullptr, 0);
  }
  for (kdl_array& array : arrays) kdl_array_free(&array);
  return error;
}

}  // namespace kdl::python
