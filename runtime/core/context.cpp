#include "core/context.h"

#include <algorithm>

#include "core/processor.h"
#include "system/library.h"

namespace kdl::runtime {

Context::Context(const kdl_hooks& hooks) : hooks_(hooks) {}

Context::~Context() {
  scheduler_->Shutdown();
  for (const auto& [uri, device] : devices_) device->Retire();
  devices_.clear();
}

namespace {

constexpr std::string_view kPluginPrefix = "plugin:";

const kdl_plugin_host& PluginHost() {
  static const kdl_plugin_host kHost = {.size = sizeof(kdl_plugin_host),
                                        .version = KDL_PLUGIN_VERSION,
                                        .error_create = kdl_error_create,
                                        .error_free = kdl_error_free,
                                        .error_from_trap = kdl_error_from_trap,
                                        .arch = ProcessorArch(),
                                        .features = ProcessorFeatures()};
  return kHost;
}

// Adds "./" to a bare file name. Otherwise, the loader would search the system's library folders for it.
std::string PathWithFolder(const std::string& path) {
  return path.find('/') == std::string::npos ? "./" + path : path;
}

// Returns why a library could not be opened. For a library that was built for another processor, the system's
// own message would be misleading: "no such file".
std::string WhyNotOpened(const std::string& path) {
  std::string reason = WhyNotLoaded(PathWithFolder(path));
  const char* arch = ArchOfLibrary(path);
  if (arch == nullptr || std::string_view(arch) == ProcessorArch()) return reason;
  return Concat("it contains code for ", arch, ", but this process runs on ", ProcessorArch());
}

}  // namespace

Error Context::AddDeviceKind(const kdl_device_ops* ops, void* kind_context) {
  DeviceKind kind;
  KDL_RETURN_IF_ERROR(DeviceKind::Make(*ops, kind_context, &kind));
  const std::lock_guard lock(mutex_);
  if (!kinds_.emplace(ops->kind, kind).second) {
    return Invalid("device kind '", ops->kind, "' already exists");
  }
  return nullptr;
}

Error Context::LoadPlugin(const std::string& path, DeviceKind* kind) {
  Library library = LoadLibrary(PathWithFolder(path).c_str());
  if (library == nullptr) {
    return Fail(KDL_ERROR_NOT_FOUND, "cannot load a device from '", path,
                "': ", WhyNotOpened(path));
  }
  const auto plugin = FunctionOf<kdl_device_plugin_fn>(library, "kdl_device_plugin");
  if (plugin == nullptr) {
    return Fail(KDL_ERROR_NOT_FOUND, "'", path,
                "' contains no device: it does not define kdl_device_plugin");
  }
  const kdl_device_ops* ops = plugin(&PluginHost());
  if (ops == nullptr) {
    return Fail(KDL_ERROR_UNSUPPORTED, "the device of '", path,
                "' does not work with plugin version ", std::uint32_t{KDL_PLUGIN_VERSION});
  }
  KDL_RETURN_IF_ERROR(DeviceKind::Make(*ops, nullptr, kind));
  kind->library = std::move(library);
  return nullptr;
}

Error Context::FindKind(const std::string& name, const DeviceKind** kind) {
  auto found = kinds_.find(name);
  if (found == kinds_.end() && name.starts_with(kPluginPrefix)) {
    DeviceKind loaded;
    KDL_RETURN_IF_ERROR(LoadPlugin(name.substr(kPluginPrefix.size()), &loaded));
    found = kinds_.emplace(name, std::move(loaded)).first;
  }
  if (found != kinds_.end()) {
    *kind = &found->second;
    return nullptr;
  }
  std::vector<std::string> known;
  for (const auto& [word, unused] : kinds_) {
    if (!word.starts_with(kPluginPrefix)) known.push_back(word);
  }
  const std::string_view nearest = NearestWord(name, known);
  return Fail(KDL_ERROR_NOT_FOUND, "unknown kind of device '", name, "'; the kinds are ",
              JoinWords(known), nearest.empty() ? "" : Concat("; did you mean '", nearest, "'?"));
}

Error Context::PluginImageKind(const std::string& path, const char** image_kind) {
  const std::lock_guard lock(mutex_);
  const DeviceKind* kind = nullptr;
  KDL_RETURN_IF_ERROR(FindKind(std::string(kPluginPrefix) + path, &kind));
  *image_kind = kind->image_kind();
  return nullptr;
}

Error Context::SelectOne(std::string_view text, Device** device) {
  DeviceSpec spec;
  KDL_RETURN_IF_ERROR(ParseDeviceSpec(text, &spec));
  const DeviceKind* kind = nullptr;
  KDL_RETURN_IF_ERROR(FindKind(spec.kind, &kind));
  std::string uri = CanonicalSpec(spec);
  const auto known = devices_.find(uri);
  if (known != devices_.end()) {
    *device = known->second.get();
    return nullptr;
  }
  std::shared_ptr<Device> opened;
  KDL_RETURN_IF_ERROR(Device::Open(
      *kind, spec, {scheduler_, transfers_, prints_, registry_, HostMemory(hooks_)}, &opened));
  *device = opened.get();
  devices_.emplace(std::move(uri), std::move(opened));
  return nullptr;
}

// Programs select their devices in each call, so this must be fast. A single spec always denotes the same
// device, so its result is cached. The result for a list of specs may change when another kind of device is
// loaded, so it is not cached.
Error Context::SelectDevice(std::string_view specs, Device** device) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = selected_.find(specs); known != selected_.end()) {
      *device = known->second;
      return nullptr;
    }
  }
  const std::vector<std::string_view> candidates = Split(specs, ',');
  if (candidates.empty()) {
    return Invalid("the device spec is empty; write kind[ordinal]?key=value, such as host");
  }
  if (std::ranges::find(candidates, std::string_view()) != candidates.end()) {
    return Invalid("device list '", specs,
                   "' has an empty element; write spec,spec, such as opencl,host");
  }
  const std::lock_guard lock(mutex_);
  if (candidates.size() == 1) {
    KDL_RETURN_IF_ERROR(SelectOne(candidates.front(), device));
    // Bounds the cache, because the same device can be spelled in any number of ways.
    constexpr std::size_t kMost = 64;
    if (selected_.size() < kMost) selected_.emplace(specs, *device);
    return nullptr;
  }
  std::string reasons;
  for (std::string_view candidate : candidates) {
    const Error error = SelectOne(candidate, device);
    if (error == nullptr) return nullptr;
    reasons += Concat("\n  ", candidate, ": ", kdl_error_message(error.get()));
  }
  return Fail(KDL_ERROR_NOT_FOUND, "none of the devices '", specs, "' is available:", reasons);
}

Error Context::Load(const std::string& path) {
  Library library = LoadLibrary(PathWithFolder(path).c_str());
  if (library == nullptr) {
    return Fail(KDL_ERROR_NOT_FOUND, "cannot load kernels from '", path, "': ", WhyNotOpened(path));
  }
  {
    // Keep the library before any of its images is registered: if a later image is refused, the earlier ones
    // stay in use.
    const std::lock_guard lock(mutex_);
    libraries_.push_back(library);
  }
  auto* images = static_cast<const kdl_image* const*>(SymbolOf(library, "kdl_module_images"));
  Error error;
  if (images == nullptr) {
    error = Fail(KDL_ERROR_NOT_FOUND, "'", path,
                 "' contains no kernels: it does not define kdl_module_images");
  } else {
    for (; error == nullptr && *images != nullptr; ++images) error = registry_.Register(*images);
  }
  return error;
}

void Context::set_resume(std::string file) {
  const std::lock_guard lock(mutex_);
  resume_ = std::move(file);
}

std::string Context::TakeResume() {
  const std::lock_guard lock(mutex_);
  return std::exchange(resume_, {});
}

}  // namespace kdl::runtime
