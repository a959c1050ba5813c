/* Functions with which compiled programs in C check the tensors that their callers pass: shapes, devices,
 * and that written tensors do not overlap other tensors. program.h explains how these functions report
 * failures. */
#pragma once

#include "kdl/program.h"

static inline void kdl_given(kdl_program* run, const kdl_array* tensor, const char* name) {
  if (tensor == NULL)
    kdl_stop(run, KDL_ERROR_INVALID_ARGUMENT, NULL, "parameter '%s' is NULL", name);
}

static inline int64_t kdl_size(const kdl_program* run, const kdl_array* tensor, int dimension) {
  return kdl_goes(run) ? tensor->view.size[dimension] : 0;
}

/* Formats a shape such as "f32[3, 4]" into `text`, which must have room for KDL_SHAPE_BYTES bytes. Returns
 * `text`. */
enum { KDL_SHAPE_BYTES = 256 };
static inline const char* kdl_shape(char* text, uint8_t element, const int64_t* sizes,
                                    int32_t rank) {
  const char* name = "?";
#define KDL_SCALAR(Name, ID, spelling, code, bits, Group, ctype, comment) \
  if (element == (code)) name = #spelling;
#include "kdl/scalars.def"
  size_t length = (size_t)snprintf(text, KDL_SHAPE_BYTES, "%s", name);
  for (int32_t d = 0; d < rank && length < KDL_SHAPE_BYTES; ++d)
    length += (size_t)snprintf(text + length, KDL_SHAPE_BYTES - length, "%s%lld",
                               d == 0 ? "[" : ", ", (long long)sizes[d]);
  if (rank > 0 && length < KDL_SHAPE_BYTES) snprintf(text + length, KDL_SHAPE_BYTES - length, "]");
  return text;
}

/* Fails unless the view lies inside its buffer. */
static inline void kdl_expect_inside(kdl_program* run, const kdl_array* tensor,
                                     const char* declared) {
  int32_t unused = 0;
  kdl_error* wrong = kdl_arrays_overlap(tensor, NULL, &unused);
  if (wrong != NULL)
    kdl_stop(run, kdl_error_code(wrong), NULL, "parameter '%s': %s", declared,
             kdl_error_message(wrong));
  kdl_error_free(wrong);
}

/* Fails unless the tensor has the given element type and sizes, and lies inside its buffer. `declared` is
 * the parameter as written in the source. */
static inline void kdl_expect(kdl_program* run, const kdl_array* tensor, const char* declared,
                              uint8_t element, const int64_t* sizes, int32_t rank) {
  if (!kdl_goes(run)) return;
  const kdl_tensor* view = &tensor->view;
  if (view->rank < 0 || view->rank > KDL_MAX_RANK) {
    kdl_stop(run, KDL_ERROR_INVALID_ARGUMENT, NULL,
             "parameter '%s' has rank %d; ranks go from 0 to %d", declared, (int)view->rank,
             (int)KDL_MAX_RANK);
    return;
  }
  bool same = view->element == element && view->rank == rank;
  for (int32_t d = 0; d < rank && same; ++d) same = view->size[d] == sizes[d];
  if (same) {
    kdl_expect_inside(run, tensor, declared);
    return;
  }
  char found[KDL_SHAPE_BYTES];
  char needed[KDL_SHAPE_BYTES];
  kdl_stop(run, KDL_ERROR_INVALID_ARGUMENT, NULL, "parameter '%s' is %s; here it must be %s",
           declared, kdl_shape(found, view->element, view->size, view->rank),
           kdl_shape(needed, element, sizes, rank));
}

/* Returns whether the tensors overlap. If `b` is NULL, returns whether two indices of `a` share memory. */
static inline bool kdl_overlap(kdl_program* run, const kdl_array* a, const kdl_array* b,
                               const char* place) {
  int32_t overlap = 0;
  if (kdl_goes(run)) kdl_note(run, kdl_arrays_overlap(a, b, &overlap), place);
  return overlap != 0;
}

/* A list of tensors with their names in the source. */
#define KDL_PARAMETERS(...) KDL_LIST(const kdl_named_array, __VA_ARGS__)

/* Fails if a parameter that the program writes overlaps itself or one of the others. */
static inline void kdl_expect_apart(kdl_program* run, const kdl_array* tensor, const char* name,
                                    const kdl_named_array* others, int32_t count) {
  if (kdl_overlap(run, tensor, NULL, NULL))
    kdl_stop(run, KDL_ERROR_INVALID_ARGUMENT, NULL,
             "parameter '%s' is written, but has elements that share memory; its strides must keep "
             "all elements apart",
             name);
  for (int32_t i = 0; i < count; ++i) {
    if (kdl_overlap(run, tensor, others[i].array, NULL))
      kdl_stop(run, KDL_ERROR_INVALID_ARGUMENT, NULL,
               "parameter '%s' is written, but shares memory with '%s'; a written tensor must not "
               "overlap another parameter",
               name, others[i].name);
  }
}

/* Fails with `message` if the tensors overlap. */
static inline void kdl_apart(kdl_program* run, const kdl_array* a, const kdl_array* b,
                             const char* place, const char* message) {
  if (kdl_overlap(run, a, b, place))
    kdl_stop(run, KDL_ERROR_INVALID_ARGUMENT, place, "%s", message);
}

/* Fails unless the tensor is in the device's memory. `declared` is the device's name in the source. */
static inline void kdl_expect_on(kdl_program* run, const kdl_array* tensor,
                                 const kdl_device* device, const char* name, const char* declared,
                                 const char* place) {
  if (!kdl_goes(run)) return;
  const kdl_device* found = kdl_buffer_device(tensor->buffer);
  if (kdl_devices_share_memory(found, device) != 0) return;
  kdl_stop(run, KDL_ERROR_INVALID_ARGUMENT, place,
           "'%s' lives on %s; the program expects it on '%s', which is %s", name,
           kdl_device_uri(found), declared, kdl_device_uri(device));
}
