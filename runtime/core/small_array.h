// Arrays whose length is known at construction and is usually small. Up to N elements are stored in the
// object itself.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

namespace kdl::runtime {

template <class T, std::size_t N>
class SmallArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SmallArray() = default;
  ~SmallArray() {
    if (data_ != inside_) delete[] data_;
  }
  SmallArray(const SmallArray&) = delete;
  SmallArray& operator=(const SmallArray&) = delete;

  // Makes room for `most` elements. Call this once, before Add.
  void Reserve(std::size_t most) {
    if (most > N) data_ = new T[most];
  }
  T& Add(const T& element) { return Add() = element; }
  // Appends an element, which the caller must set.
  T& Add() { return data_[size_++]; }
  void Clear() { size_ = 0; }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t index) { return data_[index]; }
  const T& operator[](std::size_t index) const { return data_[index]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  std::size_t size_ = 0;
  T* data_ = inside_;
  T inside_[N];  // elements may be large, so they stay uninitialized until Add
};

}  // namespace kdl::runtime
