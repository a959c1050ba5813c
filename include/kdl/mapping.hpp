// The host's access to the elements of a tensor in the C++ interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "kdl/errors.hpp"

namespace kdl::inline KDL_VERSIONED {

// The host's access to a tensor's buffer while it is mapped. The destructor unmaps the buffer. Close also
// unmaps it, and throws if that fails.
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
      : buffer_(std::exchange(other.buffer_, nullptr)),
        elements_(std::exchange(other.elements_, {})) {}
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping() {
    if (buffer_ != nullptr) kdl_error_free(kdl_buffer_unmap(buffer_));
  }

  void Close() {
    elements_ = {};
    Check(kdl_buffer_unmap(std::exchange(buffer_, nullptr)));
  }

  // Returns everything from the tensor's first element to its last, including the gaps between rows that
  // outer strides cause.
  std::span<T> elements() const { return elements_; }
  T& operator[](std::int64_t index) const { return elements_[static_cast<std::size_t>(index)]; }
  T* begin() const { return elements_.data(); }
  T* end() const { return elements_.data() + elements_.size(); }

 private:
  kdl_buffer* buffer_;
  std::span<T> elements_;
};

}  // namespace kdl::inline KDL_VERSIONED
