// The C interface of buffers and arrays.
#include "api/api.h"
#include "core/binding.h"
#include "core/view.h"

using namespace kdl::runtime;

namespace {

std::string NameOfArray(const char* name) {
  return name == nullptr || *name == '\0' ? "the array" : Concat("array '", name, "'");
}

}  // namespace

kdl_error* kdl_buffer_allocate(kdl_device* device, int64_t bytes, const char* name,
                               kdl_buffer** buffer) {
  KDL_RETURN_IF_UNUSABLE(device, buffer);
  return Guard(Unwrap(device)->scheduler(), [&]() -> Error {
    Ref<Buffer> made;
    KDL_RETURN_IF_ERROR(Buffer::Allocate(*Unwrap(device), bytes, name, &made));
    *buffer = Wrap(made.Leave());
    return nullptr;
  });
}

kdl_error* kdl_buffer_wrap(kdl_device* device, void* data, int64_t bytes, const char* name,
                           kdl_buffer** buffer) {
  KDL_RETURN_IF_UNUSABLE(device, buffer);
  return Guard(Unwrap(device)->scheduler(), [&]() -> Error {
    Ref<Buffer> made;
    KDL_RETURN_IF_ERROR(Buffer::Wrap(*Unwrap(device), data, bytes, name, false, &made));
    *buffer = Wrap(made.Leave());
    return nullptr;
  });
}

void kdl_buffer_retain(kdl_buffer* buffer) {
  if (buffer != nullptr) Unwrap(buffer)->Retain();
}

void kdl_buffer_free(kdl_buffer* buffer) {
  if (buffer != nullptr) GuardQuiet([&] { Unwrap(buffer)->Release(); });
}

kdl_device* kdl_buffer_device(const kdl_buffer* buffer) {
  return buffer == nullptr ? nullptr : Wrap(&Unwrap(buffer)->device());
}

int64_t kdl_buffer_bytes(const kdl_buffer* buffer) {
  return buffer == nullptr ? 0 : Unwrap(buffer)->bytes();
}

const char* kdl_buffer_name(const kdl_buffer* buffer) {
  return buffer == nullptr ? "" : Unwrap(buffer)->name().c_str();
}

void* kdl_buffer_address(const kdl_buffer* buffer) {
  return buffer == nullptr ? nullptr : Unwrap(buffer)->memory().address;
}

kdl_error* kdl_buffer_map(kdl_buffer* buffer, kdl_map_access access, void** data) {
  KDL_RETURN_IF_UNUSABLE(buffer, data);
  return Guard(Unwrap(buffer)->device().scheduler(),
               [&] { return Unwrap(buffer)->Map(access, data); });
}

kdl_error* kdl_buffer_unmap(kdl_buffer* buffer) {
  KDL_RETURN_IF_UNUSABLE(buffer);
  return Guard(Unwrap(buffer)->device().scheduler(), [&] { return Unwrap(buffer)->Unmap(); });
}

kdl_error* kdl_array_allocate(kdl_device* device, uint8_t element, int32_t rank,
                              const int64_t* sizes, const char* name, kdl_array* array) {
  KDL_RETURN_IF_UNUSABLE(device, array);
  return Guard(Unwrap(device)->scheduler(), [&]() -> Error {
    kdl_tensor view = {};
    KDL_RETURN_IF_ERROR(MakeView(element, rank, sizes, NameOfArray(name), &view));
    Ref<Buffer> buffer;
    KDL_RETURN_IF_ERROR(Buffer::Allocate(*Unwrap(device), SpanBytes(view), name, &buffer));
    view.data = buffer->memory().address;
    *array = {Wrap(buffer.Leave()), view};
    return nullptr;
  });
}

namespace {

kdl_error* WrapArray(kdl_device* device, void* data, bool is_constant, uint8_t element,
                     int32_t rank, const int64_t* sizes, const int64_t* strides, const char* name,
                     kdl_array* array) {
  return Guard(Unwrap(device)->scheduler(), [&]() -> Error {
    const std::string what = NameOfArray(name);
    kdl_tensor view = {};
    KDL_RETURN_IF_ERROR(MakeView(element, rank, sizes, what, &view));
    for (int32_t d = 0; strides != nullptr && d < rank; ++d) view.stride[d] = strides[d];
    view.data = data;
    KDL_RETURN_IF_ERROR(CheckView(view, what));
    KDL_RETURN_IF_ERROR(CheckAddress(view, what));
    Ref<Buffer> buffer;
    KDL_RETURN_IF_ERROR(
        Buffer::Wrap(*Unwrap(device), data, SpanBytes(view), name, is_constant, &buffer));
    *array = {Wrap(buffer.Leave()), view};
    return nullptr;
  });
}

}  // namespace

kdl_error* kdl_array_wrap(kdl_device* device, void* data, uint8_t element, int32_t rank,
                          const int64_t* sizes, const int64_t* strides, const char* name,
                          kdl_array* array) {
  KDL_RETURN_IF_UNUSABLE(device, array);
  return WrapArray(device, data, false, element, rank, sizes, strides, name, array);
}

kdl_error* kdl_array_wrap_constant(kdl_device* device, const void* data, uint8_t element,
                                   int32_t rank, const int64_t* sizes, const int64_t* strides,
                                   const char* name, kdl_array* array) {
  KDL_RETURN_IF_UNUSABLE(device, array);
  return WrapArray(device, const_cast<void*>(data), true, element, rank, sizes, strides, name,
                   array);
}

kdl_error* kdl_arrays_overlap(const kdl_array* a, const kdl_array* b, int32_t* overlap) {
  KDL_RETURN_IF_UNUSABLE(a, overlap);
  return Guard([&]() -> Error {
    KDL_RETURN_IF_ERROR(CheckArray(*a, b == nullptr ? "the array" : "array a"));
    if (b == nullptr) {
      *overlap = OverlapsItself(a->view) ? 1 : 0;
      return nullptr;
    }
    KDL_RETURN_IF_ERROR(CheckArray(*b, "array b"));
    const Device& device = Unwrap(a->buffer)->device();
    const bool one_memory = device.SharesMemoryWith(Unwrap(b->buffer)->device());
    *overlap = one_memory && Overlap(a->view, b->view) ? 1 : 0;
    return nullptr;
  });
}

void kdl_array_free(kdl_array* array) {
  if (array == nullptr) return;
  kdl_buffer_free(array->buffer);
  *array = kdl_array{};
}
