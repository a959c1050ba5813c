// Values of the C++ interface other than tensors: element types and events.
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
#include "kdl/float_format.hpp"

namespace kdl::inline KDL_VERSIONED {

// The element types: kdl::f32 and so on. The element type bool is kdl::bool_.
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
  f32 = KDL_F32,
  f64 = KDL_F64,
#define KDL_NARROW_FLOAT(Name, ID, spelling, ...) spelling = KDL_##ID,
#include "kdl/scalars.def"
};

// Returns the name of an element type, such as "f32".
constexpr const char* ElementName(std::uint8_t element) {
  switch (element) {
#define KDL_SCALAR(Name, ID, spelling, code, bits, Group, ctype, comment) \
  case code:                                                              \
    return #spelling;
#include "kdl/scalars.def"
    default:
      return "?";
  }
}

// C++ has no types for narrow floats. A scalar argument of such a type is passed as one of these structs,
// which contain the bits of the value.
#define KDL_NARROW_FLOAT(Name, ID, spelling, code, size, ctype, Cpp, exponent, fraction,      \
                         infinities, nans, saturates, comment)                                \
  struct Cpp {                                                                                \
    std::ctype bits;                                                                          \
    static constexpr Element kElement = spelling;                                             \
    static constexpr FloatFormat kFormat = {exponent, fraction, infinities, nans, saturates}; \
  };
#include "kdl/scalars.def"

template <class T>
concept Narrow = std::same_as<const FloatFormat, decltype(T::kFormat)>;

// Returns the element type that corresponds to a C++ type.
template <class T>
constexpr Element ElementOf() {
  if constexpr (std::same_as<T, bool>) {
    return bool_;
  } else if constexpr (std::same_as<T, float>) {
    return f32;
  } else if constexpr (std::same_as<T, double>) {
    return f64;
  } else if constexpr (Narrow<T>) {
    return T::kElement;
  } else {
    static_assert(std::integral<T>, "no element type corresponds to this C++ type");
    constexpr int kLog = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<Element>((std::is_signed_v<T> ? KDL_I8 : KDL_U8) + kLog);
  }
}

// Loads the value of an argument or an element. For a bool, any byte other than 0 means true, as in kernels.
template <class T>
T Load(const void* from) {
  if constexpr (std::same_as<T, bool>) {
    return *static_cast<const unsigned char*>(from) != 0;
  } else {
    T value;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
  }
}

// An event, which completes when an operation of a queue has ended, or when a timeline reaches a value.
// Copies denote the same event. An empty event counts as completed.
class Event {
 public:
  Event() = default;
  // Takes ownership of the caller's reference. NULL stands for an operation that has ended.
  explicit Event(kdl_event* event) {
    if (event != nullptr) event_.reset(event, kdl_event_free);
  }

  kdl_event* get() const { return event_.get(); }
  // Waits for the event. If the event failed, throws its failure.
  void Wait() const { Check(kdl_event_wait(event_.get(), -1)); }
  bool is_done() const { return kdl_event_is_done(event_.get()) != 0; }
  // Makes work that `stream` gets later start after the operation: a stream of the driver of the operation's
  // device, such as a CUstream. May wait for the event, and throw its failure (kdl_stream_after_event).
  void LeadStream(void* stream) const { Check(kdl_stream_after_event(stream, event_.get())); }
  // Cancels the event's operation and everything that waits for it.
  void Cancel() const { Check(kdl_event_cancel(event_.get())); }

 private:
  std::shared_ptr<kdl_event> event_;
};

// A counter that the caller increases. Operations can wait for an event that completes when the counter
// reaches a value.
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

}  // namespace kdl::inline KDL_VERSIONED
