// Arrays whose length is known when they are made and mostly small: up to N elements lie in the object itself.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

namespace kdl::runtime {

template <class T, std::size_t N>
class SmallArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SmallArray() = default;
  SmallArray(const SmallArray&) = delete;
  SmallArray& operator=(const SmallArray&) = delete;

  // Makes room for `most` elements; called once, before Add.
  void Reserve(std::size_t most) {
    if (most > N) more_ = std::make_unique_for_overwrite<T[]>(most);
  }
  T& Add(const T& element) { return Add() = element; }
  // One that is to be set.
  T& Add() { return data()[size_++]; }
  void Clear() { size_ = 0; }

  T* data() { return more_ != nullptr ? more_.get() : inside_; }
  const T* data() const { return more_ != nullptr ? more_.get() : inside_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t index) { return data()[index]; }
  const T& operator[](std::size_t index) const { return data()[index]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

 private:
  std::size_t size_ = 0;
  std::unique_ptr<T[]> more_;
  T inside_[N];  // not set before Add: elements may be large
};

}  // namespace kdl::runtime
