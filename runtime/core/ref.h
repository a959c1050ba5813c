// Reference counting for objects that the C interface passes to callers as handles.
#pragma once

#include <atomic>
#include <utility>

#include "core/handles.h"

namespace kdl::runtime {

// The base of reference-counted objects. An object is created with one reference.
class Counted : public Handle {
 public:
  void Retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  // Whether there is a reference in addition to the caller's. The caller must have one.
  bool is_shared() const { return references_.load(std::memory_order_acquire) > 1; }

 protected:
  Counted() = default;
  ~Counted() override = default;

 private:
  std::atomic<int> references_{1};
};

// A smart pointer that owns one reference.
template <class T>
class Ref {
 public:
  Ref() = default;
  // Takes ownership of the caller's reference.
  static Ref Take(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  // Adds a reference to an object that already has an owner.
  static Ref Share(T* object) {
    if (object != nullptr) object->Retain();
    return Take(object);
  }

  Ref(const Ref& other) : object_(other.object_) {
    if (object_ != nullptr) object_->Retain();
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) object_->Release();
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  // Transfers the reference to the caller.
  T* Leave() { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

template <class T, class... Arguments>
Ref<T> MakeRef(Arguments&&... arguments) {
  return Ref<T>::Take(new T(std::forward<Arguments>(arguments)...));
}

}  // namespace kdl::runtime
