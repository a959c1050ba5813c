// The root of everything: kinds of device, devices, kernels. There is no state outside a context.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/registry.h"
#include "core/schedule.h"
#include "core/statistics.h"
#include "core/trap.h"
#include "system/library.h"

namespace kdl::runtime {

class Context : public Handle {
 public:
  // Whatever the hooks do not provide is the runtime's own.
  explicit Context(const kdl_hooks& hooks);
  ~Context() override;

  Error AddDeviceKind(const kdl_device_ops* ops, void* kind_context);
  // Selects a device by one spec, or the first available of a list.
  Error SelectDevice(std::string_view specs, Device** device);
  // Stores the kind of images that a plugin's devices run.
  Error PluginImageKind(const std::string& path, const char** image_kind);
  // Loads a shared object and registers its images.
  Error Load(const std::string& path);

  const std::shared_ptr<Scheduler>& scheduler() const { return scheduler_; }
  Registry& registry() { return registry_; }
  const TransferLog& transfers() const { return *transfers_; }
  PrintSink& prints() { return prints_; }
  kdl_hooks* hooks() { return &hooks_; }

 private:
  Error SelectOne(std::string_view text, Device** device);
  // Finds a kind; loads the plugin of one that is not loaded yet.
  Error FindKind(const std::string& name, const DeviceKind** kind);
  Error LoadPlugin(const std::string& path, DeviceKind* kind);

  kdl_hooks hooks_;
  std::shared_ptr<Scheduler> scheduler_ = std::make_shared<Scheduler>();
  Registry registry_;
  std::shared_ptr<TransferLog> transfers_ = std::make_shared<TransferLog>();
  PrintSink prints_;
  std::mutex mutex_;  // guards the rest
  std::map<std::string, DeviceKind, std::less<>> kinds_;
  std::map<std::string, std::shared_ptr<Device>> devices_;  // by URI
  std::map<std::string, Device*, std::less<>> selected_;    // by the specs that callers wrote
  std::vector<Library> libraries_;
};

}  // namespace kdl::runtime
