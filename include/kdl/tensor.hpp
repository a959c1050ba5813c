// The tensors of the C++ interface, with their parts, views and elements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "kdl/device.hpp"
#include "kdl/mapping.hpp"
#include "kdl/values.hpp"

namespace kdl::inline KDL_VERSIONED {

// Returns a shape as text, such as "f32[3, 4]".
inline std::string Describe(std::uint8_t element, std::span<const std::int64_t> sizes) {
  std::string text = ElementName(element);
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    // Append, because GCC 12 warns about operator+ here.
    text.append(d == 0 ? "[" : ", ").append(std::to_string(sizes[d]));
  }
  return text + (sizes.empty() ? "" : "]");
}

// A tensor on a device. Copies share its memory, which is released with the last copy. A tensor that was moved from is empty,
// like a new one.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor&) = default;
  Tensor& operator=(const Tensor&) = default;
  Tensor(Tensor&& other) noexcept
      : array_(std::exchange(other.array_, {})), buffer_(std::move(other.buffer_)) {}
  Tensor& operator=(Tensor&& other) noexcept {
    Tensor moved(std::move(other));
    std::swap(array_, moved.array_);
    std::swap(buffer_, moved.buffer_);
    return *this;
  }
  ~Tensor() = default;
  // Takes ownership of the array's reference to its buffer.
  explicit Tensor(const kdl_array& array) : array_(array), buffer_(array.buffer, kdl_buffer_free) {}
  // Returns a tensor that shares the buffer of the caller's array. Throws if the array is NULL. `name` is the
  // name of the parameter for which the caller passed it.
  static Tensor Share(const kdl_array* array, const char* name) {
    if (array == nullptr)
      throw Error(KDL_ERROR_INVALID_ARGUMENT, std::string("parameter '") + name + "' is NULL");
    kdl_buffer_retain(array->buffer);
    return Tensor(*array);
  }

  const kdl_array& array() const { return array_; }
  std::int64_t rank() const { return array_.view.rank; }
  std::int64_t size(int dimension) const { return array_.view.size[dimension]; }
  Element element() const { return static_cast<Element>(array_.view.element); }

  // Throws unless the tensor has the given element type and sizes, and lies inside its buffer. `declared` is
  // the parameter as written in the source, such as "a: f32[M, K]".
  void Expect(const char* declared, Element element,
              std::initializer_list<std::int64_t> sizes) const {
    const auto refuse = [&](kdl_code code, const std::string& what) {
      throw Error(code, std::string("parameter '") + declared + "'" + what);
    };
    if (array_.buffer == nullptr) refuse(KDL_ERROR_INVALID_ARGUMENT, " has no buffer");
    if (rank() < 0 || rank() > KDL_MAX_RANK) {
      refuse(KDL_ERROR_INVALID_ARGUMENT, " has rank " + std::to_string(rank()) +
                                             "; ranks go from 0 to " +
                                             std::to_string(KDL_MAX_RANK));
    }
    const std::span<const std::int64_t> needed(sizes.begin(), sizes.size());
    const std::span<const std::int64_t> found(array_.view.size, static_cast<std::size_t>(rank()));
    if (array_.view.element != element || !std::ranges::equal(needed, found)) {
      refuse(KDL_ERROR_INVALID_ARGUMENT, " is " + Describe(array_.view.element, found) +
                                             "; here it must be " + Describe(element, needed));
    }
    std::int32_t unused = 0;
    const std::unique_ptr<kdl_error, void (*)(kdl_error*)> wrong(
        kdl_arrays_overlap(&array_, nullptr, &unused), kdl_error_free);
    if (wrong != nullptr)
      refuse(kdl_error_code(wrong.get()), std::string(": ") + kdl_error_message(wrong.get()));
  }

  // Throws unless the tensor is in the memory of the device. `name` is the name of the parameter, and
  // `declared` is the name of the device in the source.
  void ExpectOn(const Device& device, const char* name, const char* declared,
                const char* place = nullptr) const {
    const kdl_device* found = kdl_buffer_device(array_.buffer);
    if (kdl_devices_share_memory(found, device.get()) != 0) return;
    const std::string text = std::string("'") + name + "' lives on " + kdl_device_uri(found) +
                             "; the program expects it on '" + declared + "', which is " +
                             device.uri();
    Check(kdl_error_create(KDL_ERROR_INVALID_ARGUMENT, text.c_str()), place);
  }

  // Overlaps returns whether an element of this tensor and an element of `other` share memory. OverlapsItself
  // returns whether two elements of this tensor share memory.
  bool Overlaps(const Tensor& other) const { return Overlaps(&other.array_); }
  bool OverlapsItself() const { return Overlaps(nullptr); }

  // Throws if this parameter, which the program writes, overlaps itself or one of the others.
  struct Parameter;
  void ExpectApart(const char* name, std::initializer_list<Parameter> others) const;

  // Throws an error with the message `message` if the tensors overlap.
  void Apart(const Tensor& other, const char* place, const char* message) const {
    if (Overlaps(other)) Check(kdl_error_create(KDL_ERROR_INVALID_ARGUMENT, message), place);
  }

  // Maps the elements, whose type must be T, for access by the host. The caller must first wait for the
  // operations that write them.
  template <class T>
  Mapping<T> Map(kdl_map_access access = KDL_MAP_READ_WRITE) const {
    if (ElementOf<std::remove_const_t<T>>() != element()) {
      throw Error(KDL_ERROR_INVALID_ARGUMENT,
                  "map of a tensor with another element type than its own");
    }
    std::int64_t count = 1;
    for (int d = 0; d < rank(); ++d) {
      count = size(d) == 0 || count == 0 ? 0 : count + (size(d) - 1) * array_.view.stride[d];
    }
    const char* base = static_cast<const char*>(kdl_buffer_address(array_.buffer));
    const std::int64_t offset = count == 0 ? 0 : static_cast<const char*>(array_.view.data) - base;
    return Mapping<T>(array_.buffer, offset, static_cast<std::size_t>(count), access);
  }

  // Returns the part of the tensor at one index of a dimension. The part does not have that dimension. It
  // shares the tensor's memory. `place` and `text` are the position and the text of the access in the source,
  // for error messages.
  Tensor At(int dimension, std::int64_t index, const char* place, const char* text) const {
    CheckIndex(index, dimension, place, text);
    Tensor part = *this;
    part.Skip(dimension, index);
    kdl_tensor& view = part.array_.view;
    for (int d = dimension; d + 1 < view.rank; ++d) {
      view.size[d] = view.size[d + 1];
      view.stride[d] = view.stride[d + 1];
    }
    --view.rank;
    view.size[view.rank] = 1;
    view.stride[view.rank] = 0;
    return part;
  }
  // Returns the part of the tensor whose indices in the given dimension are in [lo, hi).
  Tensor Part(int dimension, std::int64_t lo, std::int64_t hi, const char* place,
              const char* text) const {
    const std::string range = std::to_string(lo) + ".." + std::to_string(hi);
    const std::string where = " dimension " + std::to_string(dimension);
    if (hi < lo) {
      throw Error(KDL_ERROR_TRAP, std::string(place) + ": error: " + range + " of" + where +
                                      " ends before it begins in '" + text + "'");
    }
    if (lo < 0 || hi > size(dimension)) {
      throw Error(KDL_ERROR_TRAP, std::string(place) + ": error: " + range + " is outside" + where +
                                      " of size " + std::to_string(size(dimension)) + " in '" +
                                      text + "'");
    }
    Tensor part = *this;
    part.Skip(dimension, lo);
    part.array_.view.size[dimension] = hi - lo;
    return part;
  }

  // Returns a view of the same memory. Either splits one dimension into dimensions with the given `sizes`, or
  // merges `count` adjacent dimensions, which must be contiguous. `view` and `tensor` are the names of the
  // view and the tensor in the source.
  Tensor View(int dimension, int count, std::initializer_list<std::int64_t> sizes,
              const char* place, const char* view, const char* tensor) const {
    CheckMerge(dimension, count, place, view, tensor);
    Tensor shown = *this;
    kdl_tensor& to = shown.array_.view;
    const auto more = static_cast<int>(sizes.size()) - count;
    to.rank += more;
    for (int d = 0; d < KDL_MAX_RANK; ++d) {
      const bool is_after = d >= dimension + static_cast<int>(sizes.size());
      if (d >= dimension) to.size[d] = d >= to.rank ? 1 : is_after ? size(d - more) : 0;
      if (d >= dimension) to.stride[d] = d >= to.rank ? 0 : is_after ? stride(d - more) : 0;
    }
    std::int64_t step = stride(dimension + count - 1);
    for (std::size_t d = sizes.size(); d-- > 0;) {
      const auto at = static_cast<std::size_t>(dimension) + d;
      to.size[at] = sizes.begin()[d];
      to.stride[at] = step;
      step *= to.size[at];
    }
    return shown;
  }

  // Reads one element on the host after the events in `after` have completed. `place` and `text` are the
  // position and the text of the access in the source, for error messages.
  template <class T>
  T Read(std::initializer_list<std::int64_t> index, std::initializer_list<Event> after,
         const char* place, const char* text) const {
    const std::size_t at = OffsetOf(index, place, text);
    for (const Event& event : after) event.Wait();
    const Mapping<T> elements = Map<T>(KDL_MAP_READ);
    return Load<T>(&elements.elements()[at]);
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
  bool Overlaps(const kdl_array* other) const {
    std::int32_t overlap = 0;
    Check(kdl_arrays_overlap(&array_, other, &overlap));
    return overlap != 0;
  }
  // Returns the offset of an element from the first element, in elements. Throws if an index is out of
  // bounds.
  std::size_t OffsetOf(std::initializer_list<std::int64_t> index, const char* place,
                       const char* text) const {
    std::int64_t offset = 0;
    int dimension = 0;
    for (const std::int64_t at : index) {
      CheckIndex(at, dimension, place, text);
      offset += at * array_.view.stride[dimension++];
    }
    return static_cast<std::size_t>(offset);
  }
  void CheckIndex(std::int64_t index, int dimension, const char* place, const char* text) const {
    if (index >= 0 && index < size(dimension)) return;
    throw Error(KDL_ERROR_TRAP, std::string(place) + ": error: index " + std::to_string(index) +
                                    " is outside dimension " + std::to_string(dimension) +
                                    " of size " + std::to_string(size(dimension)) + " in '" + text +
                                    "'");
  }
  std::int64_t stride(int dimension) const { return array_.view.stride[dimension]; }
  // Checks that `count` dimensions can be merged. Strides do not matter if there are no elements, or for a
  // dimension of size 1.
  void CheckMerge(int dimension, int count, const char* place, const char* view,
                  const char* tensor) const {
    for (int d = 0; d < rank(); ++d) {
      if (size(d) == 0) return;
    }
    const int last = dimension + count - 1;
    std::int64_t wanted = stride(last);
    for (int d = last; d > dimension; --d) {
      wanted *= size(d);
      if (size(d - 1) == 1 || stride(d - 1) == wanted) continue;
      throw Error(KDL_ERROR_TRAP,
                  std::string(place) + ": error: the view '" + view +
                      "' makes one dimension of dimensions " + std::to_string(dimension) + " to " +
                      std::to_string(last) + " of " + tensor +
                      ", which are not contiguous: the stride of dimension " +
                      std::to_string(d - 1) + " is " + std::to_string(stride(d - 1)) + ", not " +
                      std::to_string(wanted));
    }
  }
  // Advances the start of the view by `indices` along a dimension. Does nothing if the tensor has no memory,
  // as is possible for a tensor without elements.
  void Skip(int dimension, std::int64_t indices) {
    kdl_tensor& view = array_.view;
    if (view.data == nullptr) return;
    view.data =
        static_cast<char*>(view.data) + indices * view.stride[dimension] * (view.element_bits / 8);
  }

  kdl_array array_ = {};
  std::shared_ptr<kdl_buffer> buffer_;
};

// A parameter of a program, with its name in the source.
struct Tensor::Parameter {
  const char* name;
  const Tensor& tensor;
};

inline void Tensor::ExpectApart(const char* name, std::initializer_list<Parameter> others) const {
  const std::string start = std::string("parameter '") + name + "' is written, but ";
  if (OverlapsItself()) {
    throw Error(KDL_ERROR_INVALID_ARGUMENT,
                start + "has elements that share memory; its strides must keep all elements apart");
  }
  for (const Parameter& other : others) {
    if (!Overlaps(other.tensor)) continue;
    throw Error(KDL_ERROR_INVALID_ARGUMENT,
                start + "shares memory with '" + other.name +
                    "'; a written tensor must not overlap another parameter");
  }
}

}  // namespace kdl::inline KDL_VERSIONED
