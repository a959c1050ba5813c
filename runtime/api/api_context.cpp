// The C interface of contexts, kernels, devices and statistics.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "api/api.h"
#include "api/builtin_devices.h"

using namespace kdl::runtime;

Error kdl::runtime::Refuse(const char* function, std::string_view names,
                           std::span<const Fault> faults) {
  const auto wrong = std::ranges::find_if(faults, [](Fault f) { return f != Fault::kNone; });
  const auto name = Split(names, ',')[static_cast<std::size_t>(wrong - faults.begin())];
  if (*wrong == Fault::kNull) return Invalid(function, ": ", name, " is NULL");
  return Invalid(function, ": ", name, kForeign);
}

namespace {

// Copies those hooks that exist in the caller's version of the struct.
Error TakeHooks(const kdl_hooks& given, kdl_hooks* own) {
  if (given.size < offsetof(kdl_hooks, allocate) || given.size > sizeof(kdl_hooks)) {
    return Invalid("kdl_context_create_with: hooks->size is ", given.size,
                   "; set it to sizeof(kdl_hooks)");
  }
  if (given.version != KDL_HOOKS_VERSION) {
    return Invalid("kdl_context_create_with: hooks->version is ", given.version,
                   "; set it to KDL_HOOKS_VERSION, ", std::uint32_t{KDL_HOOKS_VERSION});
  }
  std::memcpy(own, &given, given.size);
  if ((own->allocate == nullptr) != (own->release == nullptr)) {
    return Invalid(
        "kdl_context_create_with: one of allocate and release is NULL; give both or neither");
  }
  return nullptr;
}

}  // namespace

uint64_t kdl_float_enter(void) { return EnterFloatDefault(); }

void kdl_float_leave(uint64_t before) { LeaveFloatDefault(before); }

kdl_error* kdl_context_create(kdl_context** context) {
  KDL_RETURN_IF_UNUSABLE(context);
  kdl_hooks none = {};
  none.size = sizeof none;
  none.version = KDL_HOOKS_VERSION;
  return kdl_context_create_with(&none, context);
}

kdl_error* kdl_context_create_with(const kdl_hooks* hooks, kdl_context** context) {
  KDL_RETURN_IF_UNUSABLE(hooks, context);
  return Guard([&]() -> Error {
    kdl_hooks own = {};
    KDL_RETURN_IF_ERROR(TakeHooks(*hooks, &own));
    auto made = std::make_unique<Context>(own);
    KDL_RETURN_IF_ERROR(AddBuiltinDevices(*made));
    *context = Wrap(made.release());
    return nullptr;
  });
}

void kdl_context_destroy(kdl_context* context) {
  GuardQuiet([&] {
    if (context != nullptr && !Unwrap(context)->scheduler()->in_child()) delete Unwrap(context);
  });
}

kdl_error* kdl_context_register(kdl_context* context, const kdl_image* image) {
  KDL_RETURN_IF_UNUSABLE(context);
  return Guard(*Unwrap(context)->scheduler(),
               [&] { return Unwrap(context)->registry().Register(image); });
}

kdl_error* kdl_context_register_all(kdl_context* context, const kdl_image* const* images) {
  KDL_RETURN_IF_UNUSABLE(context, images);
  for (; *images != nullptr; ++images) {
    if (kdl_error* error = kdl_context_register(context, *images)) return error;
  }
  return nullptr;
}

kdl_error* kdl_context_load(kdl_context* context, const char* path) {
  KDL_RETURN_IF_UNUSABLE(context, path);
  return Guard(*Unwrap(context)->scheduler(), [&] { return Unwrap(context)->Load(path); });
}

kdl_error* kdl_context_find_kernel(kdl_context* context, const char* name,
                                   const kdl_function** function) {
  KDL_RETURN_IF_UNUSABLE(context, name, function);
  return Guard(*Unwrap(context)->scheduler(), [&]() -> Error {
    const Function* found = nullptr;
    KDL_RETURN_IF_ERROR(Unwrap(context)->registry().Find(name, &found));
    *function = Wrap(found);
    return nullptr;
  });
}

void kdl_context_on_print(kdl_context* context, kdl_write_fn write, void* user) {
  GuardQuiet([&] {
    if (context != nullptr && !Unwrap(context)->scheduler()->in_child())
      Unwrap(context)->prints().Redirect(write, user);
  });
}

kdl_error* kdl_context_add_device_kind(kdl_context* context, const kdl_device_ops* ops,
                                       void* kind_context) {
  KDL_RETURN_IF_UNUSABLE(context, ops);
  return Guard(*Unwrap(context)->scheduler(),
               [&] { return Unwrap(context)->AddDeviceKind(ops, kind_context); });
}

kdl_error* kdl_context_plugin_image_kind(kdl_context* context, const char* path,
                                         const char** image_kind) {
  KDL_RETURN_IF_UNUSABLE(context, path, image_kind);
  return Guard(*Unwrap(context)->scheduler(),
               [&] { return Unwrap(context)->PluginImageKind(path, image_kind); });
}

kdl_error* kdl_select_device(kdl_context* context, const char* spec, kdl_device** device) {
  KDL_RETURN_IF_UNUSABLE(context, spec, device);
  return Guard(*Unwrap(context)->scheduler(), [&]() -> Error {
    Device* selected = nullptr;
    KDL_RETURN_IF_ERROR(Unwrap(context)->SelectDevice(spec, &selected));
    *device = Wrap(selected);
    return nullptr;
  });
}

const char* kdl_device_uri(const kdl_device* device) {
  return device == nullptr ? "" : Unwrap(device)->uri().c_str();
}

int32_t kdl_devices_share_memory(const kdl_device* a, const kdl_device* b) {
  if (a == nullptr || b == nullptr) return 0;
  return GuardQuiet([&] { return Unwrap(a)->SharesMemoryWith(*Unwrap(b)) ? 1 : 0; });
}

const char* kdl_device_kind(const kdl_device* device) {
  return device == nullptr ? "" : Unwrap(device)->spec().kind.c_str();
}

int64_t kdl_device_ordinal(const kdl_device* device) {
  return device == nullptr ? 0 : Unwrap(device)->spec().ordinal;
}

kdl_error* kdl_device_get_facts(const kdl_device* device, kdl_device_facts* facts) {
  KDL_RETURN_IF_UNUSABLE(device, facts);
  return Guard(Unwrap(device)->scheduler(), [&]() -> Error {
    const std::uint32_t size = facts->size;
    if (size < offsetof(kdl_device_facts, cores)) {
      return Invalid("kdl_device_get_facts: facts->size is ", size,
                     "; set it to sizeof(kdl_device_facts)");
    }
    std::memset(facts, 0, size);
    std::memcpy(facts, &Unwrap(device)->facts(), std::min<std::size_t>(size, sizeof *facts));
    facts->size = size;
    return nullptr;
  });
}

kdl_error* kdl_device_queue(kdl_device* device, int32_t index, kdl_queue** queue) {
  KDL_RETURN_IF_UNUSABLE(device, queue);
  return Guard(Unwrap(device)->scheduler(), [&]() -> Error {
    Queue* found = nullptr;
    KDL_RETURN_IF_ERROR(Unwrap(device)->FindQueue(index, &found));
    *queue = Wrap(&found->caller());
    return nullptr;
  });
}

void kdl_device_get_statistics(const kdl_device* device, kdl_statistics* statistics) {
  if (device == nullptr || statistics == nullptr) return;
  GuardQuiet([&] { *statistics = Unwrap(device)->counters().Read(); });
}

int64_t kdl_device_get_counts(const kdl_device* device, kdl_count* counts, int64_t capacity) {
  if (device == nullptr || (counts == nullptr && capacity != 0)) return 0;
  const Device& of = *Unwrap(device);
  if (of.ops().counts == nullptr) return 0;
  return GuardQuiet([&] { return of.ops().counts(of.state(), counts, capacity); });
}

int64_t kdl_device_get_properties(const kdl_device* device, kdl_property* properties,
                                  int64_t capacity) {
  if (device == nullptr || (properties == nullptr && capacity != 0)) return 0;
  const Device& of = *Unwrap(device);
  if (of.ops().properties == nullptr) return 0;
  return GuardQuiet([&] { return of.ops().properties(of.state(), properties, capacity); });
}

int64_t kdl_context_get_transfers(const kdl_context* context, kdl_transfer* transfers,
                                  int64_t capacity) {
  if (context == nullptr || (transfers == nullptr && capacity != 0)) return 0;
  if (Unwrap(context)->scheduler()->in_child()) return 0;
  return GuardQuiet([&] { return Unwrap(context)->transfers().Read(transfers, capacity); });
}
