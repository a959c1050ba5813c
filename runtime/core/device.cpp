#include "core/device.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "core/text.h"
#include "core/view.h"

namespace kdl::runtime {

namespace {

std::uint64_t NextBufferNumber() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

// Copies the entries of a plugin's table that exist in both the plugin's and the runtime's version of the
// table.
template <class Table>
Error TakeTable(const char* kind, const Table& given, std::size_t least, Table* own) {
  constexpr std::uint32_t kOldest = 2;
  constexpr std::uint32_t kNewest = KDL_PLUGIN_VERSION;
  if (given.version < kOldest || given.version > kNewest) {
    const bool is_old = given.version < kOldest;
    return Invalid("device kind '", kind, "' was made for plugin version ", given.version,
                   ", but this runtime accepts none ", is_old ? "below " : "above ",
                   is_old ? kOldest : kNewest);
  }
  if (given.size < least || given.size > sizeof(Table)) {
    return Invalid("device kind '", kind, "' has a table of ", given.size,
                   " bytes; one of version ", given.version, " has ", std::uint64_t{least}, " to ",
                   std::uint64_t{sizeof(Table)});
  }
  std::memcpy(own, &given, given.size);
  return nullptr;
}

}  // namespace

Error DeviceKind::Make(const kdl_device_ops& ops, void* kind_context, DeviceKind* kind) {
  if (ops.kind == nullptr) return Invalid("a device kind has no name: `kind` of its table is NULL");
  KDL_RETURN_IF_ERROR(TakeTable(ops.kind, ops, offsetof(kdl_device_ops, submit), &kind->ops));
  kind->memory = HostMemoryOps();
  if (ops.memory != nullptr) {
    KDL_RETURN_IF_ERROR(
        TakeTable(ops.kind, *ops.memory, offsetof(kdl_memory_ops, copy_from), &kind->memory));
    const kdl_memory_ops& own = kind->memory;
    if (own.allocate == nullptr || own.release == nullptr || own.write == nullptr ||
        own.read == nullptr || own.copy == nullptr || own.fill == nullptr) {
      return Invalid("the memory table of device kind '", ops.kind,
                     "' must have allocate, release, write, read, copy and fill");
    }
  }
  kind->context = kind_context;
  return nullptr;
}

Error Device::Open(const DeviceKind& kind, const DeviceSpec& spec, const Services& services,
                   std::shared_ptr<Device>* device) {
  std::vector<kdl_option> options;
  for (const auto& [key, value] : spec.options) options.push_back({key.c_str(), value.c_str()});
  std::shared_ptr<Device> opened(new Device(kind, spec, services));
  const kdl_device_ops& ops = opened->ops();
  if (ops.open == nullptr || ops.close == nullptr || ops.facts == nullptr ||
      (ops.launch == nullptr && (ops.submit == nullptr || ops.accepts != nullptr))) {
    return Invalid("device kind '", ops.kind,
                   "' must have open, close, facts, and launch or submit");
  }
  KDL_RETURN_IF_ERROR(Error(ops.open(kind.context, spec.ordinal, options.data(),
                                     static_cast<std::int32_t>(options.size()), &opened->state_)));
  kdl_device_facts& facts = opened->facts_;
  facts.size = sizeof facts;
  facts.version = KDL_PLUGIN_VERSION;
  ops.facts(opened->state_, &facts);
  facts.size = sizeof facts;
  facts.version = KDL_PLUGIN_VERSION;
  opened->image_kind_ = facts.image_kind != nullptr ? facts.image_kind : opened->kind_.image_kind();
  opened->arch_ = facts.arch != nullptr ? facts.arch : "";
  facts.image_kind = opened->image_kind_.c_str();
  facts.arch = opened->arch_.c_str();
  if (facts.cores < 1 || facts.resident < 0) {
    return Fail(KDL_ERROR_DEVICE, opened->uri(), " reports ", facts.cores, " cores, ",
                facts.resident,
                " of them at once in a launch; they must be at least 1 and at least 0");
  }
  const bool calls = opened->works_in_host_memory() && ops.launch != nullptr;
  facts.capabilities = (facts.capabilities & (calls ? std::uint64_t{KDL_CAN_CALL} : 0)) |
                       (opened->orders() ? std::uint64_t{KDL_CAN_ORDER} : 0);
  if (facts.checks_order != 0) opened->CheckOrders();
  *device = std::move(opened);
  return nullptr;
}

Error Device::Load(const kdl_image& image, void** module) const try {
  return Error(ops().load(state_, &image, module));
} catch (const std::bad_alloc&) {  // the runtime's own devices may throw it
  return OutOfMemory();
}

Error Device::FindModule(const kdl_image& image, void** module) {
  *module = nullptr;
  if (ops().load == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  // Inserts the entry before loading, so that every loaded module has an entry.
  const auto [place, is_new] = modules_.try_emplace(&image, nullptr);
  if (is_new) {
    Error error = Load(image, &place->second);
    if (error != nullptr) {
      modules_.erase(place);
      return error;
    }
  }
  *module = place->second;
  return nullptr;
}

Error Device::Allocate(std::int64_t bytes, const char* name, kdl_memory* memory) {
  if (facts_.memory_bytes > 0 && bytes > facts_.memory_bytes) {
    return Fail(KDL_ERROR_OUT_OF_MEMORY, "allocation of ", bytes, " bytes on ", uri_,
                ": the device has ", facts_.memory_bytes, " in total");
  }
  Error error;
  if (works_in_host_memory()) {
    bool is_misaligned = false;
    void* data = host_memory().Allocate(bytes, &is_misaligned);
    *memory = {data, data};
    if (is_misaligned) {
      error = Invalid("kdl_hooks.allocate returned memory that is not aligned to ",
                      KDL_SCRATCH_ALIGNMENT, " bytes");
    } else if (data == nullptr) {
      error = Fail(KDL_ERROR_OUT_OF_MEMORY, "not enough memory for ", bytes, " bytes");
    }
  } else {
    error.reset(memory_ops().allocate(state_, bytes, name, memory));
  }
  if (error != nullptr) {
    return Prefixed(Concat("allocation of ", bytes, " bytes on ", uri_, ": "), std::move(error));
  }
  counters_.CountAllocation(bytes);
  return nullptr;
}

void Device::Release(kdl_memory memory, std::int64_t bytes) {
  if (works_in_host_memory()) {
    host_memory().Free(memory.handle, bytes);
  } else {
    memory_ops().release(state_, memory);
  }
  counters_.CountRelease(bytes);
}

Buffer::Buffer(Device& device, std::int64_t bytes, const char* name)
    : device_(device.shared_from_this()),
      bytes_(bytes),
      name_(name == nullptr ? "" : name),
      number_(NextBufferNumber()) {}

Error Buffer::Allocate(Device& device, std::int64_t bytes, const char* name, Ref<Buffer>* buffer) {
  if (bytes < 0) return Invalid("buffer of ", bytes, " bytes; sizes are 0 or more");
  auto made = Ref<Buffer>::Take(new Buffer(device, bytes, name));
  if (bytes > 0) {
    KDL_RETURN_IF_ERROR(made->device_->Allocate(bytes, made->name_.c_str(), &made->memory_));
    made->owned_ = true;
  } else {
    made->device_->counters().CountAllocation(0);
  }
  *buffer = std::move(made);
  return nullptr;
}

Error Buffer::Wrap(Device& device, void* data, std::int64_t bytes, const char* name,
                   bool is_constant, Ref<Buffer>* buffer) {
  const bool is_host = device.works_in_host_memory();
  if (!is_host && device.memory_ops().adopt == nullptr) {
    return Fail(KDL_ERROR_UNSUPPORTED, "host memory cannot be a buffer of ", device.uri(),
                ", which has memory of its own; allocate there and copy");
  }
  if (bytes < 0) return Invalid("buffer of ", bytes, " bytes; sizes are 0 or more");
  if (data == nullptr && bytes > 0) return Invalid("buffer of ", bytes, " bytes at a null pointer");
  auto made = Ref<Buffer>::Take(new Buffer(device, bytes, name));
  made->memory_ = {data, data};
  if (!is_host && bytes > 0)
    KDL_RETURN_IF_ERROR(
        Error(device.memory_ops().adopt(device.state(), data, bytes, &made->memory_)));
  made->is_constant_ = is_constant;
  *buffer = std::move(made);
  return nullptr;
}

Buffer::~Buffer() {
  // In a forked child, the locks that freeing needs may be held forever.
  if (device_->in_child()) return;
  device_->host_memory().Free(staging_, bytes_);
  if (owned_) device_->Release(memory_, bytes_);
}

namespace {

// Waits for a single operation that bypasses the queues.
class Blocking {
 public:
  kdl_completion Completion() {
    return {[](void* self, kdl_error* error) { static_cast<Blocking*>(self)->Finish(error); },
            this};
  }
  Error Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
    return std::move(error_);
  }

 private:
  void Finish(kdl_error* error) {
    const std::lock_guard lock(mutex_);
    error_.reset(error);
    done_ = true;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  Error error_;
};

}  // namespace

Error Buffer::Transfer(bool to_host) {
  if (bytes_ == 0) return nullptr;
  kdl_region region = {};
  region.run_bytes = bytes_;
  const char* uri = device_->uri().c_str();
  device_->transfers().Add("map", to_host ? uri : "host memory", to_host ? "host memory" : uri,
                           name_.c_str(), bytes_);
  device_->counters().CountCopy(bytes_);
  Blocking blocking;
  const kdl_memory_ops& ops = device_->memory_ops();
  if (to_host) {
    ops.read(device_->state(), staging_, memory_, &region, blocking.Completion());
  } else {
    ops.write(device_->state(), memory_, staging_, &region, blocking.Completion());
  }
  return blocking.Wait();
}

Error Buffer::Map(kdl_map_access access, void** data) {
  if (access != KDL_MAP_READ && access != KDL_MAP_WRITE && access != KDL_MAP_READ_WRITE) {
    return Invalid("map of ", Describe(*this), ": unknown access ", static_cast<int>(access));
  }
  if ((access & KDL_MAP_WRITE) != 0) KDL_RETURN_IF_ERROR(CheckWritable(*this, "the mapped buffer"));
  const std::lock_guard lock(map_mutex_);
  const bool reads_too = mapped_ == KDL_MAP_READ && access == KDL_MAP_READ;
  if (mapped_ != 0 && !reads_too)
    return Invalid("map of ", Describe(*this), ", which is already mapped");
  KDL_RETURN_IF_ERROR(device_->CheckHostAccess(*this, (access & KDL_MAP_WRITE) != 0));
  // A second reader can use the first reader's copy, because data does not change while it is mapped for
  // reading.
  if (mapped_ == 0) KDL_RETURN_IF_ERROR(Stage());
  mapped_ = access;
  ++maps_;
  *data = device_->works_in_host_memory() ? memory_.handle : staging_;
  return nullptr;
}

Error Buffer::Stage() {
  if (device_->works_in_host_memory()) return nullptr;
  staging_ = device_->host_memory().Allocate(bytes_);
  if (staging_ == nullptr) {
    return Fail(KDL_ERROR_OUT_OF_MEMORY, "map of ", Describe(*this),
                ": not enough host memory for ", bytes_, " bytes");
  }
  // Copy the data even if it is mapped only for writing, because bytes that the caller does not write must
  // keep their values.
  Error error = Transfer(true);
  if (error != nullptr) device_->host_memory().Free(std::exchange(staging_, nullptr), bytes_);
  return error;
}

Error Buffer::Unmap() {
  const std::lock_guard lock(map_mutex_);
  if (mapped_ == 0) return Invalid("unmap of ", Describe(*this), ", which is not mapped");
  const bool writes = (mapped_ & KDL_MAP_WRITE) != 0;
  // Check again, because operations may have used the buffer while it was mapped.
  Error error = device_->CheckHostAccess(*this, writes);
  if (--maps_ > 0) return error;
  if (error == nullptr && staging_ != nullptr && writes) error = Transfer(false);
  device_->host_memory().Free(std::exchange(staging_, nullptr), bytes_);
  mapped_ = 0;
  return error;
}

kdl_tensor WholeOf(const Buffer& buffer) {
  kdl_tensor view = {};
  view.data = buffer.memory().address;
  view.rank = 1;
  view.element = KDL_U8;
  view.element_bits = 8;
  view.size[0] = buffer.bytes();
  view.stride[0] = 1;
  return view;
}

Error CheckWritable(const Buffer& buffer, std::string_view what) {
  if (!buffer.is_constant()) return nullptr;
  return Invalid(what, " is written, but ", Describe(buffer),
                 " may only be read: it was wrapped as constant memory");
}

std::string Describe(const Buffer& buffer) {
  if (buffer.name().empty()) {
    return Concat("a buffer of ", buffer.bytes(), " bytes on ", buffer.device().uri());
  }
  return Concat("'", buffer.name(), "' on ", buffer.device().uri());
}

}  // namespace kdl::runtime
