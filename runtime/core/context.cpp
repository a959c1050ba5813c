#include "core/context.h"

#include <dlfcn.h>

namespace kdl::runtime {

Context::Context() = default;

Context::~Context() {
  scheduler_->Shutdown();
  for (const auto& [uri, device] : devices_) device->Retire();
  devices_.clear();
  for (void* library : libraries_) dlclose(library);
}

Error Context::AddDeviceKind(const kdl_device_ops* ops, void* kind_context) {
  if (ops->size != sizeof(kdl_device_ops) || ops->version != KDL_PLUGIN_VERSION) {
    return Invalid("device kind '", ops->kind, "' was made for plugin version ", ops->version,
                   "; this runtime has version ", std::uint32_t{KDL_PLUGIN_VERSION});
  }
  const std::lock_guard lock(mutex_);
  if (!kinds_.emplace(ops->kind, Kind{ops, kind_context}).second) {
    return Invalid("device kind '", ops->kind, "' is there already");
  }
  return nullptr;
}

Error Context::UnknownKind(const std::string& kind) {
  std::vector<std::string> known;
  for (const auto& [name, unused] : kinds_) known.push_back(name);
  return Fail(KDL_ERROR_NOT_FOUND, "there is no kind of device '", kind, "'; there are ",
              JoinWords(known));
}

Error Context::SelectOne(std::string_view text, Device** device) {
  DeviceSpec spec;
  KDL_RETURN_IF_ERROR(ParseDeviceSpec(text, &spec));
  const auto kind = kinds_.find(spec.kind);
  if (kind == kinds_.end()) return UnknownKind(spec.kind);
  std::shared_ptr<Device>& known = devices_[CanonicalSpec(spec)];
  if (known == nullptr) {
    Error error = Device::Open(*kind->second.ops, kind->second.context, spec,
                               {scheduler_, transfers_, prints_, registry_}, &known);
    if (error != nullptr) {
      devices_.erase(CanonicalSpec(spec));
      return error;
    }
  }
  *device = known.get();
  return nullptr;
}

Error Context::SelectDevice(std::string_view specs, Device** device) {
  const std::vector<std::string_view> candidates = Split(specs, ',');
  if (candidates.empty()) {
    return Invalid("the device spec is empty; it reads kind[ordinal]?key=value, such as host");
  }
  const std::lock_guard lock(mutex_);
  if (candidates.size() == 1) return SelectOne(candidates.front(), device);
  std::string reasons;
  for (std::string_view candidate : candidates) {
    const Error error = SelectOne(candidate, device);
    if (error == nullptr) return nullptr;
    reasons += Concat("\n  ", candidate, ": ", kdl_error_message(error.get()));
  }
  return Fail(KDL_ERROR_NOT_FOUND, "none of the devices '", specs, "' is there:", reasons);
}

Error Context::Load(const std::string& path) {
  // A bare name would be looked up among the system's libraries.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Fail(KDL_ERROR_NOT_FOUND, "cannot load kernels from '", path, "': ", dlerror());
  }
  auto* images = static_cast<const kdl_image* const*>(dlsym(library, "kdl_module_images"));
  Error error;
  if (images == nullptr) {
    error = Fail(KDL_ERROR_NOT_FOUND, "'", path,
                 "' holds no kernels: it does not define kdl_module_images");
  } else {
    for (; error == nullptr && *images != nullptr; ++images) error = registry_.Register(*images);
  }
  // Also after an error: images before the one that failed are registered and stay in use.
  const std::lock_guard lock(mutex_);
  libraries_.push_back(library);
  return error;
}

}  // namespace kdl::runtime
