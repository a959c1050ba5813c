// A device: a plugin's state with what every device has, and buffers, its memory.
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

// What a context lends to its devices; the references hold as long as the context lives, the rest as long as its
// buffers, which may be mapped and unmapped after it.
struct Services {
  std::shared_ptr<Scheduler> scheduler;
  std::shared_ptr<TransferLog> transfers;
  PrintSink& prints;
  const Registry& registry;
  HostMemory memory;
};

// A kind of device. The tables are copies: what the plugin does not know of is null.
struct DeviceKind {
  kdl_device_ops ops = {};
  kdl_memory_ops memory = {};  // the host's where the plugin has none
  void* context = nullptr;
  std::shared_ptr<void> library;  // that the code lies in; null: the program

  const char* image_kind() const { return ops.image_kind != nullptr ? ops.image_kind : "host"; }

  // Refuses tables that this runtime cannot read.
  static Error Make(const kdl_device_ops& ops, void* kind_context, DeviceKind* kind);
};

// Kept alive by its context and by each buffer of it.
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
  // Of this process, for what devices do there.
  const HostMemory& host_memory() const { return services_.memory; }
  // The plugin's state, the first argument of its functions.
  void* state() const { return state_; }
  // Whether its memory is host memory that others may hand to it.
  bool works_in_host_memory() const { return kind_.ops.memory == nullptr; }
  // Whether what lives on the other device can be used on this one as it is.
  bool SharesMemoryWith(const Device& other) const {
    return this == &other || (works_in_host_memory() && other.works_in_host_memory());
  }
  // Whether this one can copy from the other's memory by itself.
  bool reaches(const Device& other) const {
    return memory_ops().copy_from != nullptr && kind_.context == other.kind_.context &&
           kind_.memory.copy_from == other.kind_.memory.copy_from;
  }
  // Whether it takes operations early.
  bool orders() const { return kind_.ops.submit != nullptr; }

  Error FindQueue(std::int32_t index, Queue** queue);
  // Loads the image at its first use.
  Error FindModule(const kdl_image& image, void** module);
  Error Allocate(std::int64_t bytes, const char* name, kdl_memory* memory);
  void Release(kdl_memory memory, std::int64_t bytes);

  // Unloads images and gives the queues up; the context is going.
  void Retire();

  // Whether this process was forked from the one that opened it.
  bool in_child() const;
  // Fails where the host may not touch the buffer now, for what queues do.
  Error CheckHostAccess(Buffer& buffer, bool writes) const;

 private:
  Device(const DeviceKind& kind, const DeviceSpec& spec, const Services& services);
  Error Load(const kdl_image& image, void** module) const;
  // From now on, operations of its context that touch the same memory without order fail.
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

// Memory of one device, counted because operations keep it until they are over.
class Buffer : public Counted {
 public:
  static Error Allocate(Device& device, std::int64_t bytes, const char* name, Ref<Buffer>* buffer);
  // `is_constant`: what would write to it is refused.
  static Error Wrap(Device& device, void* data, std::int64_t bytes, const char* name,
                    bool is_constant, Ref<Buffer>* buffer);
  ~Buffer() override;

  Device& device() const { return *device_; }
  kdl_memory memory() const { return memory_; }
  std::int64_t bytes() const { return bytes_; }
  const std::string& name() const { return name_; }
  bool is_constant() const { return is_constant_; }

  // What touched it; guarded by the scheduler's mutex.
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
  int mapped_ = 0;        // the access; 0: not mapped
  int maps_ = 0;          // several where all of them read
  void* staging_ = nullptr;
};

// All of a buffer, as bytes.
kdl_tensor WholeOf(const Buffer& buffer);

// Fails where the buffer may only be read; the message starts with `what`.
Error CheckWritable(const Buffer& buffer, std::string_view what);

// "x on debug[1]", "a buffer of 16 bytes on host" where it has no name.
std::string Describe(const Buffer& buffer);

}  // namespace kdl::runtime
