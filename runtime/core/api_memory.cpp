// The C interface: buffers and arrays.
#include "core/api.h"
#include "core/view.h"

using namespace kdl::runtime;

namespace {

std::string NameOfArray(const char* name) {
  return name == nullptr || *name == '\0' ? "the array" : Concat("array '", name, "'");
}

}  // namespace

kdl_error* kdl_buffer_allocate(kdl_device* device, int64_t bytes, const char* name,
                               kdl_buffer** buffer) {
  KDL_RETURN_IF_NULL(device, buffer);
  Ref<Buffer> made;
  if (Error error = Buffer::Allocate(*Unwrap(device), bytes, name, &made)) return error.release();
  *buffer = Wrap(made.Leave());
  return nullptr;
}

kdl_error* kdl_buffer_wrap(kdl_device* device, void* data, int64_t bytes, const char* name,
                           kdl_buffer** buffer) {
  KDL_RETURN_IF_NULL(device, buffer);
  Ref<Buffer> made;
  if (Error error = Buffer::Wrap(*Unwrap(device), data, bytes, name, &made)) {
    return error.release();
  }
  *buffer = Wrap(made.Leave());
  return nullptr;
}

void kdl_buffer_retain(kdl_buffer* buffer) {
  if (buffer != nullptr) Unwrap(buffer)->Retain();
}

void kdl_buffer_free(kdl_buffer* buffer) {
  if (buffer != nullptr) Unwrap(buffer)->Release();
}

kdl_device* kdl_buffer_device(const kdl_buffer* buffer) { return Wrap(&Unwrap(buffer)->device()); }

int64_t kdl_buffer_bytes(const kdl_buffer* buffer) { return Unwrap(buffer)->bytes(); }

const char* kdl_buffer_name(const kdl_buffer* buffer) { return Unwrap(buffer)->name().c_str(); }

void* kdl_buffer_address(const kdl_buffer* buffer) { return Unwrap(buffer)->memory().address; }

kdl_error* kdl_buffer_map(kdl_buffer* buffer, kdl_map_access access, void** data) {
  KDL_RETURN_IF_NULL(buffer, data);
  return Unwrap(buffer)->Map(access, data).release();
}

kdl_error* kdl_buffer_unmap(kdl_buffer* buffer) {
  KDL_RETURN_IF_NULL(buffer);
  return Unwrap(buffer)->Unmap().release();
}

kdl_error* kdl_array_allocate(kdl_device* device, uint8_t element, int32_t rank,
                              const int64_t* sizes, const char* name, kdl_array* array) {
  KDL_RETURN_IF_NULL(device, array);
  kdl_array made = {};
  if (Error error = MakeView(element, rank, sizes, NameOfArray(name), &made.view)) {
    return error.release();
  }
  if (kdl_error* error = kdl_buffer_allocate(device, SpanBytes(made.view), name, &made.buffer)) {
    return error;
  }
  made.view.data = kdl_buffer_address(made.buffer);
  *array = made;
  return nullptr;
}

kdl_error* kdl_array_wrap(kdl_device* device, void* data, uint8_t element, int32_t rank,
                          const int64_t* sizes, const int64_t* strides, const char* name,
                          kdl_array* array) {
  KDL_RETURN_IF_NULL(device, array);
  kdl_array made = {};
  const std::string what = NameOfArray(name);
  if (Error error = MakeView(element, rank, sizes, what, &made.view)) return error.release();
  for (int32_t d = 0; strides != nullptr && d < rank; ++d) made.view.stride[d] = strides[d];
  made.view.data = data;
  if (Error error = CheckView(made.view, what)) return error.release();
  if (Error error = CheckAddress(made.view, what)) return error.release();
  if (kdl_error* error = kdl_buffer_wrap(device, data, SpanBytes(made.view), name, &made.buffer)) {
    return error;
  }
  *array = made;
  return nullptr;
}

void kdl_array_free(kdl_array* array) {
  if (array == nullptr) return;
  kdl_buffer_free(array->buffer);
  *array = kdl_array{};
}
