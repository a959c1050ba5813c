/* Compiles the public C headers as C11, and calls a kernel using only the C interface. */
#include "kdl/device_plugin.h"
#include "kdl/error.h"
#include "kdl/kernel_abi.h"
#include "kdl/runtime.h"

kdl_error* kdl_conformance_fill_from_c(kdl_device* device, float value, float* result);

/* Fills a tensor of one element with `value` and reads it back. */
kdl_error* kdl_conformance_fill_from_c(kdl_device* device, float value, float* result) {
  union {
    float value;
    uint32_t bits;
  } const element = {value};
  kdl_queue* queue = NULL;
  kdl_event* done = NULL;
  kdl_array array = {NULL, {0}};
  void* data = NULL;
  kdl_error* error = kdl_device_queue(device, 0, &queue);
  if (error == NULL) error = kdl_array_allocate(device, KDL_F32, 0, NULL, "c", &array);
  if (error == NULL) error = kdl_fill(queue, &array, element.bits, NULL, 0, &done);
  if (error == NULL) error = kdl_event_wait(done, -1);
  if (error == NULL) error = kdl_buffer_map(array.buffer, KDL_MAP_READ, &data);
  if (error == NULL) *result = *(const float*)data;
  if (error == NULL) error = kdl_buffer_unmap(array.buffer);
  kdl_event_free(done);
  kdl_array_free(&array);
  return error;
}
