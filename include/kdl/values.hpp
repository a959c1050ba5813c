// What the C++ interface passes around beside tensors: element kinds, events.
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

namespace kdl::inline KDL_VERSIONED {

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
  f8e4m3 = KDL_F8E4M3,
  f8e5m2 = KDL_F8E5M2,
};

// The name of an element kind: "f32".
constexpr const char* ElementName(std::uint8_t element) {
  switch (element) {
#define KDL_ELEMENT(ID, spelling, code, bits, comment) \
  case code:                                           \
    return #spelling;
#include "kdl/tensor.def"
    default:
      return "?";
  }
}

// Floats that C++ lacks by their bits, as scalar arguments.
struct F8E4M3 {
  std::uint8_t bits;
};
struct F8E5M2 {
  std::uint8_t bits;
};
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
  } else if constexpr (std::same_as<T, F8E4M3>) {
    return f8e4m3;
  } else if constexpr (std::same_as<T, F8E5M2>) {
    return f8e5m2;
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
  // Cancels the operation that it stands for, and with it what comes after.
  void Cancel() const { Check(kdl_event_cancel(event_.get())); }

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

}  // namespace kdl::inline KDL_VERSIONED
