#include "extension/library.h"

#include <algorithm>
#include <string_view>

#include "core/binding_parts.h"
#include "core/packs.h"
#include "extension/context.h"
#include "system/library.h"

namespace kdl::python {

namespace {

/// Whether the text is the spelling of an element type.
bool IsElementType(std::string_view text) {
#define KDL_SCALAR(Name, ID, spelling, code, bits, Group, ctype, comment) \
  if (text == #spelling) return true;
#include "kdl/scalars.def"
  return false;
}

/// The constants of a variant, such as "T=f32" and "BM=64".
std::vector<std::string_view> Constants(const kdl_variant& variant) {
  std::vector<std::string_view> all;
  std::string_view text = variant.constants;
  while (!text.empty()) {
    std::string_view one = text.substr(0, text.find(", "));
    text.remove_prefix(std::min(one.size() + 2, text.size()));
    all.push_back(one);
  }
  return all;
}

std::vector<std::string_view> Types(const kdl_variant& variant) {
  std::vector<std::string_view> constants = Constants(variant);
  std::erase_if(constants, [](std::string_view constant) {
    return !IsElementType(constant.substr(std::min(constant.find('=') + 1, constant.size())));
  });
  return constants;
}

/// Whether a constant such as "bias=0" says if an optional parameter is present.
bool IsPresence(const kdl_variant& variant, std::string_view constant) {
  std::string_view name = constant.substr(0, constant.find('='));
  return std::any_of(variant.params, variant.params + variant.param_count,
                     [&](const kdl_param_desc& param) { return name == param.name; });
}

std::vector<std::string_view> Presences(const kdl_variant& variant) {
  std::vector<std::string_view> constants = Constants(variant);
  std::erase_if(constants,
                [&](std::string_view constant) { return !IsPresence(variant, constant); });
  return constants;
}

/// Returns the constants that distinguish a variant from the others of its kernel: "T=f32, D=3". Other constants are
/// block sizes that the compiler has chosen. They also differ between processor levels, and between variants for
/// different optional parameters.
std::string Distinction(const kdl_kernel& kernel, const kdl_variant& variant) {
  std::vector<std::string_view> types = Types(variant);
  std::vector<std::string_view> presences = Presences(variant);
  std::string text;
  for (std::string_view constant : Constants(variant)) {
    if (runtime::IsShapeMark(variant, constant)) continue;
    auto shares = [&](const kdl_variant& other) {
      bool is_comparable = !runtime::IsForStrides(other) && Types(other) == types &&
                           (IsPresence(variant, constant) || Presences(other) == presences);
      std::vector<std::string_view> constants = Constants(other);
      return !is_comparable || std::ranges::find(constants, constant) != constants.end();
    };
    bool is_shared = std::all_of(kernel.variants, kernel.variants + kernel.variant_count, shares);
    if (is_shared && std::ranges::find(types, constant) == types.end()) continue;
    text += (text.empty() ? "" : ", ") + std::string(constant);
  }
  return text;
}

}  // namespace

Library* Library::Load(const char* path, const char* device) {
  const runtime::Library object = runtime::LoadDriver(path);
  void* images = object ? runtime::SymbolOf(object, "kdl_module_images") : nullptr;
  if (images == nullptr) {
    PyErr_Format(PyExc_ImportError, "%s: %s", path,
                 object ? "it contains no kernels" : runtime::WhyNotLoaded(path).c_str());
    return nullptr;
  }
  auto* library = new Library;
  library->spec_ = device;
  library->images_ = static_cast<const kdl_image* const*>(images);
  for (const kdl_image* const* image = library->images_; *image != nullptr; ++image) {
    if ((*image)->abi_hash != KDL_ABI_HASH) {
      PyErr_Format(PyExc_ImportError, "%s was built by %s, with another version of the kernel ABI",
                   path, (*image)->compiler);
      delete library;
      return nullptr;
    }
    library->AddFunctions(**image);
  }
  return library;
}

void Library::AddFunctions(const kdl_image& image) {
  for (int32_t k = 0; k < image.kernel_count; ++k) {
    const kdl_kernel& kernel = image.kernels[k];
    for (int32_t v = 0; v < kernel.variant_count; ++v) {
      const kdl_variant& variant = kernel.variants[v];
      if (runtime::IsForStrides(variant)) continue;
      std::string constants = Distinction(kernel, variant);
      std::string lookup = std::string(image.module) + "." + kernel.name;
      if (!constants.empty()) lookup += "<" + constants + ">";
      auto same = [&](const Function& function) { return function.lookup == lookup; };
      if (std::ranges::any_of(functions_, same)) continue;
      auto of_kernel = [&](const Function& function) { return function.name == kernel.name; };
      auto last = std::find_if(functions_.rbegin(), functions_.rend(), of_kernel);
      auto place = last == functions_.rend() ? functions_.end() : last.base();
      functions_.insert(place, {kernel.name, std::move(constants), std::move(lookup), &variant});
    }
  }
}

bool Library::OpenKernels() {
  if (fork_count_ == ForkCount()) return true;
  kdl_context* context = Context();
  if (context == nullptr) return false;
  std::vector<const char*> names;
  for (const Function& function : functions_) names.push_back(function.lookup.c_str());
  kdl_kernels* kernels = nullptr;
  if (!Succeeded(kdl_kernels_open(context, images_, spec_.c_str(), names.data(),
                                  static_cast<int32_t>(names.size()), &kernels)))
    return false;
  kernels_ = kernels;
  const kdl_device* device = kdl_kernels_device(kernels);
  place_.is_cuda = std::string_view(kdl_device_kind(device)) == "cuda";
  place_.ordinal = static_cast<int>(kdl_device_ordinal(device));
  place_.uri = kdl_device_uri(device);
  fork_count_ = ForkCount();
  return true;
}

}  // namespace kdl::python
