// Devices, each a plugin's state and the state that every device has, and buffers in their memory.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/handles.h"
#include "core/host_memory.h"
#include "core/order.h"
#include "core/ref.h"
#include "core/spec.h"
#include "core/statistics.h"
#include "core/trap.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

class Buffer;
class Queue;
class Registry;
class Scheduler;

// What a context provides to its devices. The references are valid as long as the context; the pointers live
// as long as its buffers, which may be mapped and unmapped after it.
struct Services {
  std::shared_ptr<Scheduler> scheduler;
  std::shared_ptr<TransferLog> transfers;
  PrintSink& prints;
  const Registry& registry;
  HostMemory memory;
};

// A kind of device. The structs are copies, in which functions that the plugin does not know of are null.
struct DeviceKind {
  kdl_device_ops ops = {};
  kdl_memory_ops memory = {};  // the host's if the plugin has none
  void* context = nullptr;
  std::shared_ptr<void> library;  // contains the code; null: the program itself

  const char* image_kind() const { return ops.image_kind != nullptr ? ops.image_kind : "host"; }

  // Refuses structs that this runtime cannot read.
  static Error Make(const kdl_device_ops& ops, void* kind_context, DeviceKind* kind);
};

// A device, kept alive by its context and by each of its buffers.
class Device : public Handle, public std::enable_shared_from_this<Device> {
 public:
  static constexpr std::int32_t kMaxQueues = 64;

  static Error Open(const DeviceKind& kind, const DeviceSpec& spec, const Services& services,
                    std::shared_ptr<Device>* device);
  ~Device() override;

  const std::string& uri() const { return uri_; }
  const DeviceSpec& spec() const { return spec_; }
  const kdl_device_facts& facts() const { return facts_; }
  DeviceCounters& counters() { return counters_; }
  const DeviceCounters& counters() const { return counters_; }
  TransferLog& transfers() { return *services_.transfers; }
  PrintSink& prints() { return services_.prints; }
  // The kernels of the device's context.
  const Registry& registry() const { return services_.registry; }
  const kdl_device_ops& ops() const { return kind_.ops; }
  const kdl_memory_ops& memory_ops() const { return kind_.memory; }
  Scheduler& scheduler() const { return *services_.scheduler; }
  // Host memory, for the work of devices in this process.
  const HostMemory& host_memory() const { return services_.memory; }
  // The plugin's state, the first argument of its functions.
  void* state() const { return state_; }
  // Whether its memory is host memory that other devices can use.
  bool works_in_host_memory() const { return kind_.ops.memory == nullptr; }
  // Whether memory of the other device can be used on this one without a copy.
  bool SharesMemoryWith(const Device& other) const {
    return this == &other || (works_in_host_memory() && other.works_in_host_memory());
  }
  // Whether this device can copy directly from the other's memory.
  bool reaches(const Device& other) const {
    return memory_ops().copy_from != nullptr && kind_.context == other.kind_.context &&
           kind_.memory.copy_from == other.kind_.memory.copy_from;
  }
  // Whether it accepts operations early and orders them itself.
  bool orders() const { return kind_.ops.submit != nullptr; }

  Error FindQueue(std::int32_t index, Queue** queue);
  // Finds the device's module for the image, which is loaded at its first use.
  Error FindModule(const kdl_image& image, void** module);
  Error Allocate(std::int64_t bytes, const char* name, kdl_memory* memory);
  void Release(kdl_memory memory, std::int64_t bytes);

  // Unloads images and releases the queues, when the context is destroyed.
  void Retire();

  // Whether this process was forked from the one that opened the device.
  bool in_child() const;
  // Fails if the host may not access the buffer now because of operations in queues.
  Error CheckHostAccess(Buffer& buffer, bool writes) const;

 private:
  Device(const DeviceKind& kind, const DeviceSpec& spec, const Services& services);
  Error Load(const kdl_image& image, void** module) const;
  // From now on, unordered operations of its context on the same memory fail.
  void CheckOrders() const;

  const DeviceKind kind_;
  DeviceSpec spec_;
  std::string uri_;
  Services services_;
  void* state_ = nullptr;
  kdl_device_facts facts_ = {};
  std::string image_kind_;  // facts_ points to these two
  std::string arch_;
  DeviceCounters counters_;
  std::mutex mutex_;  // guards the rest
  std::array<std::unique_ptr<Queue>, kMaxQueues> queues_;
  std::map<const kdl_image*, void*> modules_;
};

// Memory of one device. It is reference-counted, because operations keep it until they have ended.
class Buffer : public Counted {
 public:
  static Error Allocate(Device& device, std::int64_t bytes, const char* name, Ref<Buffer>* buffer);
  // If `is_constant`, operations that would write to it are refused.
  static Error Wrap(Device& device, void* data, std::int64_t bytes, const char* name,
                    bool is_constant, Ref<Buffer>* buffer);
  ~Buffer() override;

  Device& device() const { return *device_; }
  kdl_memory memory() const { return memory_; }
  std::int64_t bytes() const { return bytes_; }
  const std::string& name() const { return name_; }
  bool is_constant() const { return is_constant_; }

  // The accesses so far; guarded by the scheduler's mutex.
  AccessLog& access_log() { return access_log_; }

  Error Map(kdl_map_access access, void** data);
  Error Unmap();

 private:
  Buffer(Device& device, std::int64_t bytes, const char* name);
  Error Stage();
  Error Transfer(bool to_host);

  std::shared_ptr<Device> device_;
  kdl_memory memory_ = {};
  std::int64_t bytes_;
  std::string name_;
  bool owned_ = false;
  bool is_constant_ = false;
  AccessLog access_log_;
  std::mutex map_mutex_;  // guards the rest
  int mapped_ = 0;        // the kdl_map_access; 0: not mapped
  int maps_ = 0;          // several if all of them read
  void* staging_ = nullptr;
};

// Returns a view of the whole buffer as bytes.
kdl_tensor WholeOf(const Buffer& buffer);

// Fails if the buffer may only be read. Messages start with `what`.
Error CheckWritable(const Buffer& buffer, std::string_view what);

// Returns "x on debug[1]", or "a buffer of 16 bytes on host" if it has no name.
std::string Describe(const Buffer& buffer);

}  // namespace kdl::runtime
