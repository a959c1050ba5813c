#include "extension/library.h"

#include <algorithm>
#include <string_view>

#include "extension/context.h"
#include "extension/elements.h"
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

/// Returns those constants of "T=f32, BM=64" whose values are types, in angle brackets: "<T=f32>". Constants
/// with other values differ between the processor levels that a kernel is compiled for.
std::string TypesOf(std::string_view constants) {
  std::string types;
  while (!constants.empty()) {
    std::string_view one = constants.substr(0, constants.find(','));
    constants.remove_prefix(std::min(one.size() + 1, constants.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (!IsElementType(one.substr(std::min(one.find('=') + 1, one.size())))) continue;
    types += types.empty() ? "<" : ", ";
    types += one;
  }
  return types.empty() ? types : types + ">";
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
  std::ranges::stable_sort(library->functions_, {}, &Function::name);
  return library;
}

void Library::AddFunctions(const kdl_image& image) {
  for (int32_t k = 0; k < image.kernel_count; ++k) {
    const kdl_kernel& kernel = image.kernels[k];
    for (int32_t v = 0; v < kernel.variant_count; ++v) {
      const kdl_variant& variant = kernel.variants[v];
      std::string lookup =
          std::string(image.module) + "." + kernel.name + TypesOf(variant.constants);
      auto same = [&](const Function& function) { return function.lookup == lookup; };
      if (std::ranges::none_of(functions_, same))
        functions_.push_back({kernel.name, std::move(lookup), &variant});
    }
  }
}

bool Library::Open() {
  if (generation_ == Generation()) return true;
  kdl_context* context = Context();
  if (context == nullptr) return false;
  std::vector<const char*> names;
  for (const Function& function : functions_) names.push_back(function.lookup.c_str());
  kdl_kernels* kernels = nullptr;
  if (!Succeeded(kdl_kernels_open(context, images_, spec_.c_str(), names.data(),
                                  static_cast<int32_t>(names.size()), &kernels)))
    return false;
  if (!Succeeded(kdl_select_device(context, spec_.c_str(), &device_))) return false;
  if (!Succeeded(kdl_device_queue(device_, 0, &queue_))) return false;
  kdl_device_facts facts = {};
  facts.size = sizeof facts;
  if (!Succeeded(kdl_device_get_facts(device_, &facts))) return false;
  is_host_visible_ = facts.host_visible != 0;
  for (Function& function : functions_) {
    if (!Succeeded(kdl_context_find_kernel(context, function.lookup.c_str(), &function.handle)))
      return false;
  }
  kernels_ = kernels;
  generation_ = Generation();
  return true;
}

}  // namespace kdl::python
