// Devices, and buffers in their memory. A device combines a plugin's state with the state that all kinds of
// devices need.
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
#include "kdl/own_device.h"

namespace kdl::runtime {

class Buffer;
class Queue;
class Registry;
class Scheduler;

// The objects that a context provides to its devices. The references are valid while the context exists. The
// objects to which the pointers refer live as long as any buffer of the context, because buffers can be
// mapped and unmapped after the context is destroyed.
struct Services {
  std::shared_ptr<Scheduler> scheduler;
  std::shared_ptr<TransferLog> transfers;
  PrintSink& prints;
  const Registry& registry;
  HostMemory memory;
};

// A kind of device. The tables are copies, in which functions that the plugin's version lacks are null.
struct DeviceKind {
  kdl_device_ops ops = {};
  kdl_memory_ops memory = {};  // the functions for host memory if the plugin has none
  void* context = nullptr;
  // The library that contains the code; null if the program itself contains it.
  std::shared_ptr<void> library;

  const char* image_kind() const {
    return ops.image_kind != nullptr ? ops.image_kind : KDL_OWN_DEVICE;
  }

  // Initializes `kind`. Returns an error if this runtime cannot read the tables.
  static Error Make(const kdl_device_ops& ops, void* kind_context, DeviceKind* kind);
};

// A device. It is kept alive by its context and by each of its buffers.
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
  // The kernels that are registered with the device's context.
  const Registry& registry() const { return services_.registry; }
  const kdl_device_ops& ops() const { return kind_.ops; }
  const kdl_memory_ops& memory_ops() const { return kind_.memory; }
  Scheduler& scheduler() const { return *services_.scheduler; }
  // Host memory for the work of devices that run in this process.
  const HostMemory& host_memory() const { return services_.memory; }
  // The plugin's state, which is the first argument of the plugin's functions.
  void* state() const { return state_; }
  // Whether the device's memory is host memory that other devices can use.
  bool works_in_host_memory() const { return kind_.ops.memory == nullptr; }
  // Whether memory of `other` can be used on this device without a copy.
  bool SharesMemoryWith(const Device& other) const {
    return this == &other || (works_in_host_memory() && other.works_in_host_memory());
  }
  // Whether this device can copy directly from the memory of `other`.
  bool reaches(const Device& other) const {
    return memory_ops().copy_from != nullptr && kind_.context == other.kind_.context &&
           kind_.memory.copy_from == other.kind_.memory.copy_from;
  }
  // Whether the device accepts all operations before their predecessors have ended, and orders them itself.
  bool orders() const { return kind_.ops.submit != nullptr && kind_.ops.accepts == nullptr; }
  // Returns the kdl_acceptance of a launch.
  std::int32_t Accepts(const kdl_launch_request& request) const {
    if (kind_.ops.submit == nullptr) return KDL_REFUSES;
    return kind_.ops.accepts == nullptr ? KDL_ACCEPTS : kind_.ops.accepts(state_, &request);
  }
  // Whether the device completes operations only when it is asked to wait for them.
  bool must_be_asked() const { return kind_.ops.wait != nullptr; }

  Error FindQueue(std::int32_t index, Queue** queue);
  // Finds the device's module for an image. Loads the image at its first use.
  Error FindModule(const kdl_image& image, void** module);
  Error Allocate(std::int64_t bytes, const char* name, kdl_memory* memory);
  void Release(kdl_memory memory, std::int64_t bytes);

  // Unloads the images and releases the queues. Called when the context is destroyed.
  void Retire();

  // Whether this process is a forked child of the process that opened the device.
  bool in_child() const;
  // Fails if a queued operation currently prevents the host from accessing the buffer.
  Error CheckHostAccess(Buffer& buffer, bool writes) const;

 private:
  Device(const DeviceKind& kind, const DeviceSpec& spec, const Services& services);
  Error Load(const kdl_image& image, void** module) const;
  // Turns on checks of ordering for the context: from now on, unordered operations on the same memory fail.
  void CheckOrders() const;

  const DeviceKind kind_;
  DeviceSpec spec_;
  std::string uri_;
  Services services_;
  void* state_ = nullptr;
  kdl_device_facts facts_ = {};
  std::string image_kind_;  // `facts_` points to this string and to `arch_`
  std::string arch_;
  DeviceCounters counters_;
  std::mutex mutex_;  // guards the members below
  std::array<std::unique_ptr<Queue>, kMaxQueues> queues_;
  std::map<const kdl_image*, void*> modules_;
};

// Memory of one device. It is reference-counted, because each operation keeps the buffers that it uses until
// the operation ends.
class Buffer : public Counted {
 public:
  static Error Allocate(Device& device, std::int64_t bytes, const char* name, Ref<Buffer>* buffer);
  // Wraps existing memory in a buffer. If `is_constant`, operations that would write to the buffer are
  // refused.
  static Error Wrap(Device& device, void* data, std::int64_t bytes, const char* name,
                    bool is_constant, Ref<Buffer>* buffer);
  ~Buffer() override;

  Device& device() const { return *device_; }
  kdl_memory memory() const { return memory_; }
  std::int64_t bytes() const { return bytes_; }
  const std::string& name() const { return name_; }
  // A number, from 1, that no other buffer of this process ever has.
  std::uint64_t number() const { return number_; }
  bool is_constant() const { return is_constant_; }

  // The accesses recorded so far. Guarded by the scheduler's mutex.
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
  const std::uint64_t number_;
  bool owned_ = false;
  bool is_constant_ = false;
  AccessLog access_log_;
  std::mutex map_mutex_;  // guards the members below
  int mapped_ = 0;        // the kdl_map_access of the mapping; 0 if not mapped
  int maps_ = 0;          // number of mappings; more than one only if all of them read
  void* staging_ = nullptr;
};

// Returns a view of the whole buffer as a tensor of bytes.
kdl_tensor WholeOf(const Buffer& buffer);

// Fails if the buffer is read-only. Messages start with `what`.
Error CheckWritable(const Buffer& buffer, std::string_view what);

// Returns text such as "x on debug[1]", or "a buffer of 16 bytes on host" if the buffer has no name.
std::string Describe(const Buffer& buffer);

}  // namespace kdl::runtime
