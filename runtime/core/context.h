// The root object. It owns the kinds of devices, the devices and the kernels. There is no state outside
// contexts.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/device.h"
#include "core/registry.h"
#include "core/schedule.h"
#include "core/statistics.h"
#include "core/trap.h"
#include "system/library.h"

namespace kdl::runtime {

class Processes;

class Context : public Handle {
 public:
  // Creates a context. The runtime's own functions replace the hooks that are not provided.
  explicit Context(const kdl_hooks& hooks);
  ~Context() override;

  Error AddDeviceKind(const kdl_device_ops* ops, void* kind_context);
  // Selects the device of a spec, or the first available device of a list of specs.
  Error SelectDevice(std::string_view specs, Device** device);
  // Stores the kind of image that the devices of the plugin at `path` run.
  Error PluginImageKind(const std::string& path, const char** image_kind);
  // Loads a shared object and registers its images.
  Error Load(const std::string& path);

  const std::shared_ptr<Scheduler>& scheduler() const { return scheduler_; }
  Registry& registry() { return registry_; }
  const TransferLog& transfers() const { return *transfers_; }
  PrintSink& prints() { return prints_; }
  kdl_hooks* hooks() { return &hooks_; }
  // The processes that share the work of programs; null if there is only this process.
  const std::shared_ptr<Processes>& processes() const { return processes_; }
  void set_processes(std::shared_ptr<Processes> processes) { processes_ = std::move(processes); }
  // The file at whose checkpoint the next program with checkpoints continues, or "".
  void set_resume(std::string file);
  // Returns it, and forgets it.
  std::string TakeResume();

 private:
  Error SelectOne(std::string_view text, Device** device);
  // Finds a kind of device. If it is a plugin that is not loaded yet, loads the plugin.
  Error FindKind(const std::string& name, const DeviceKind** kind);
  Error LoadPlugin(const std::string& path, DeviceKind* kind);

  kdl_hooks hooks_;
  std::shared_ptr<Scheduler> scheduler_ = std::make_shared<Scheduler>();
  Registry registry_;
  std::shared_ptr<TransferLog> transfers_ = std::make_shared<TransferLog>();
  PrintSink prints_;
  std::shared_ptr<Processes> processes_;
  std::mutex mutex_;  // guards the members below
  std::map<std::string, DeviceKind, std::less<>> kinds_;
  std::map<std::string, std::shared_ptr<Device>> devices_;  // keyed by URI
  // Keyed by the specs as callers wrote them.
  std::map<std::string, Device*, std::less<>> selected_;
  std::vector<Library> libraries_;
  std::string resume_;
};

}  // namespace kdl::runtime
