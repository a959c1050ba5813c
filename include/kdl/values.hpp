// What the C++ interface passes around: element kinds, events, tensors, arguments.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "kdl/errors.hpp"

namespace kdl {

// Element kinds: kdl::f32 and so on; kdl::bool_ for bool.
enum Element : std::uint8_t {
  bool_ = KDL_BOOL,
  i8 = KDL_I8,
  i16 = KDL_I16,
  i32 = KDL_I32,
  i64 = KDL_I64,
  u8 = KDL_U8,
  u16 = KDL_U16,
  u32 = KDL_U32,
  u64 = KDL_U64,
  f16 = KDL_F16,
  bf16 = KDL_BF16,
  f32 = KDL_F32,
  f64 = KDL_F64,
};

// The name of an element kind: "f32".
constexpr const char* ElementName(std::uint8_t element) {
  switch (element) {
#define KDL_ELEMENT(ID, spelling, code, bits, comment) \
  case code:                                           \
    return #spelling;
#include "kdl/abi.def"
    default:
      return "?";
  }
}

// Two-byte floats by their bits, as scalar arguments.
struct F16 {
  std::uint16_t bits;
};
struct Bf16 {
  std::uint16_t bits;
};

// The element kind of a C++ type.
template <class T>
constexpr Element ElementOf() {
  if constexpr (std::same_as<T, bool>) {
    return bool_;
  } else if constexpr (std::same_as<T, float>) {
    return f32;
  } else if constexpr (std::same_as<T, double>) {
    return f64;
  } else if constexpr (std::same_as<T, F16>) {
    return f16;
  } else if constexpr (std::same_as<T, Bf16>) {
    return bf16;
  } else {
    static_assert(std::integral<T>, "no element kind stands for this type");
    constexpr int kLog = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<Element>((std::is_signed_v<T> ? KDL_I8 : KDL_U8) + kLog);
  }
}

// A point in the order of operations; copies stand for the same point. An empty event has
// completed.
class Event {
 public:
  Event() = default;
  // Takes over the caller's reference.
  explicit Event(kdl_event* event) : event_(event, kdl_event_free) {}

  kdl_event* get() const { return event_.get(); }
  // Waits; throws what failed.
  void Wait() const { Check(kdl_event_wait(event_.get(), -1)); }
  bool is_done() const { return kdl_event_is_done(event_.get()) != 0; }

 private:
  std::shared_ptr<kdl_event> event_;
};

// A counter that the caller raises.
class Timeline {
 public:
  explicit Timeline(kdl_context* context, std::uint64_t value = 0) {
    kdl_timeline* timeline = nullptr;
    Check(kdl_timeline_create(context, value, &timeline));
    timeline_.reset(timeline, kdl_timeline_free);
  }

  Event At(std::uint64_t value) const {
    kdl_event* event = nullptr;
    Check(kdl_timeline_event(timeline_.get(), value, &event));
    return Event(event);
  }
  void Signal(std::uint64_t value) const { Check(kdl_timeline_signal(timeline_.get(), value)); }
  void Fail(kdl_code code, const char* message) const {
    Check(kdl_timeline_fail(timeline_.get(), code, message));
  }
  std::uint64_t value() const { return kdl_timeline_value(timeline_.get()); }

 private:
  std::shared_ptr<kdl_timeline> timeline_;
};

// The host's view of a tensor's buffer while it is mapped. The destructor unmaps; Close does so too
// and throws what goes wrong.
template <class T>
class Mapping {
 public:
  Mapping(kdl_buffer* buffer, std::int64_t offset, std::size_t count, kdl_map_access access)
      : buffer_(buffer) {
    void* data = nullptr;
    Check(kdl_buffer_map(buffer, access, &data));
    elements_ = {reinterpret_cast<T*>(static_cast<char*>(data) + offset), count};
  }
  Mapping(Mapping&& other) noexcept
      : buffer_(std::exchange(other.buffer_, nullptr)), elements_(other.elements_) {}
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping() {
    if (buffer_ != nullptr) kdl_error_free(kdl_buffer_unmap(buffer_));
  }

  void Close() { Check(kdl_buffer_unmap(std::exchange(buffer_, nullptr))); }

  // From the tensor's first element to its last, gaps of outer strides included.
  std::span<T> elements() const { return elements_; }
  T& operator[](std::int64_t index) const { return elements_[static_cast<std::size_t>(index)]; }
  T* begin() const { return elements_.data(); }
  T* end() const { return elements_.data() + elements_.size(); }

 private:
  kdl_buffer* buffer_;
  std::span<T> elements_;
};

// "f32[3, 4]".
inline std::string Describe(std::uint8_t element, std::span<const std::int64_t> sizes) {
  std::string text = ElementName(element);
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    text += (d == 0 ? "[" : ", ") + std::to_string(sizes[d]);
  }
  return text + (sizes.empty() ? "" : "]");
}

// A tensor on a device; copies look at the same memory, which goes with the last of them.
class Tensor {
 public:
  Tensor() = default;
  // Takes over the array's reference to its buffer.
  explicit Tensor(const kdl_array& array) : array_(array), buffer_(array.buffer, kdl_buffer_free) {}
  // Another reference to the buffer of an array that stays the caller's.
  static Tensor Share(const kdl_array& array) {
    kdl_buffer_retain(array.buffer);
    return Tensor(array);
  }

  const kdl_array& array() const { return array_; }
  std::int64_t rank() const { return array_.view.rank; }
  std::int64_t size(int dimension) const { return array_.view.size[dimension]; }
  Element element() const { return static_cast<Element>(array_.view.element); }

  // Throws unless the tensor has this element kind and these sizes. `declared` is the parameter as
  // the source has it: "a: f32[M, K]".
  void Expect(const char* declared, Element element,
              std::initializer_list<std::int64_t> sizes) const {
    const std::span<const std::int64_t> needed(sizes.begin(), sizes.size());
    const std::span<const std::int64_t> found(array_.view.size,
                                              static_cast<std::size_t>(array_.view.rank));
    if (array_.view.element == element && std::ranges::equal(needed, found)) return;
    throw Error(KDL_ERROR_INVALID_ARGUMENT, std::string("parameter '") + declared + "' is " +
                                                Describe(array_.view.element, found) +
                                                "; here it must be " + Describe(element, needed));
  }

  // The elements for the host; T is the element kind's type. Wait for what writes them first.
  template <class T>
  Mapping<T> Map(kdl_map_access access = KDL_MAP_READ_WRITE) const {
    if (ElementOf<std::remove_const_t<T>>() != element()) {
      throw Error(KDL_ERROR_INVALID_ARGUMENT,
                  "map of a tensor as another element type than its own");
    }
    std::int64_t count = 1;
    for (int d = 0; d < rank(); ++d) {
      count = size(d) == 0 || count == 0 ? 0 : count + (size(d) - 1) * array_.view.stride[d];
    }
    const char* base = static_cast<const char*>(kdl_buffer_address(array_.buffer));
    const std::int64_t offset = count == 0 ? 0 : static_cast<const char*>(array_.view.data) - base;
    return Mapping<T>(array_.buffer, offset, static_cast<std::size_t>(count), access);
  }

  // One element, for the host, once `after` has completed. `place` and `text`: of the access in the
  // source, for errors.
  template <class T>
  T Read(std::initializer_list<std::int64_t> index, std::initializer_list<Event> after,
         const char* place, const char* text) const {
    const std::size_t at = OffsetOf(index, place, text);
    for (const Event& event : after) event.Wait();
    return Map<T>(KDL_MAP_READ).elements()[at];
  }
  template <class T>
  void Write(T value, std::initializer_list<std::int64_t> index, std::initializer_list<Event> after,
             const char* place, const char* text) const {
    const std::size_t at = OffsetOf(index, place, text);
    for (const Event& event : after) event.Wait();
    Mapping<T> elements = Map<T>(KDL_MAP_READ_WRITE);
    elements.elements()[at] = value;
    elements.Close();
  }

 private:
  // In elements from the first one; throws where an index is outside.
  std::size_t OffsetOf(std::initializer_list<std::int64_t> index, const char* place,
                       const char* text) const {
    std::int64_t offset = 0;
    int dimension = 0;
    for (const std::int64_t at : index) {
      if (at < 0 || at >= size(dimension)) {
        throw Error(KDL_ERROR_TRAP, std::string(place) + ": error: index " + std::to_string(at) +
                                        " is outside dimension " + std::to_string(dimension) +
                                        " of size " + std::to_string(size(dimension)) + " in '" +
                                        text + "'");
      }
      offset += at * array_.view.stride[dimension++];
    }
    return static_cast<std::size_t>(offset);
  }

  kdl_array array_ = {};
  std::shared_ptr<kdl_buffer> buffer_;
};

// What a launch takes: a tensor, or a scalar of exactly the parameter's type.
class Argument {
 public:
  Argument(const Tensor& tensor) : arg_{&tensor.array(), 0, 0, {}} {}  // NOLINT: implicit
  template <class T>
    requires std::is_arithmetic_v<T> || std::same_as<T, F16> || std::same_as<T, Bf16>
  Argument(T value) : arg_{nullptr, 0, ElementOf<T>(), {}} {  // NOLINT: implicit
    __builtin_memcpy(&arg_.bits, &value, sizeof value);
  }

  explicit Argument(const kdl_arg& arg) : arg_(arg) {}

  const kdl_arg& get() const { return arg_; }

  // A scalar of this type; get().element says which it is.
  template <class T>
  T As() const {
    T value;
    __builtin_memcpy(&value, &arg_.bits, sizeof value);
    return value;
  }

 private:
  kdl_arg arg_;
};

}  // namespace kdl
