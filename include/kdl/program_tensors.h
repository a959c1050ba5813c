/* The tensors of compiled programs in C: parts and views of them, and their elements. program.h explains how
 * these functions report failures. A returned kdl_array contains a reference to its buffer, which
 * kdl_array_free drops. */
#pragma once

#include "kdl/program_given.h"

/* ---- arguments ---- */

static inline kdl_arg kdl_arg_array(const kdl_array* tensor) {
  const kdl_arg arg = {tensor, 0, 0, {0, 0, 0, 0, 0, 0, 0}};
  return arg;
}

/* Returns whether the index is in bounds for the dimension. `text` is the access as written in the
 * source. */
static inline bool kdl_inside(kdl_program* run, const kdl_array* tensor, int dimension,
                              int64_t index, const char* place, const char* text) {
  if (!kdl_goes(run)) return false;
  const int64_t size = tensor->view.size[dimension];
  if (index >= 0 && index < size) return true;
  kdl_stop(run, KDL_ERROR_TRAP, place, "index %lld is outside dimension %d of size %lld in '%s'",
           (long long)index, dimension, (long long)size, text);
  return false;
}

/* Waits for the events, maps the buffer and returns the element's address, or NULL. */
static inline void* kdl_open_element(kdl_program* run, const kdl_array* tensor,
                                     const int64_t* index, int32_t rank, kdl_event* const* after,
                                     int32_t after_count, kdl_map_access access, const char* place,
                                     const char* text) {
  int64_t offset = 0;
  for (int32_t d = 0; d < rank; ++d) {
    if (!kdl_inside(run, tensor, d, index[d], place, text)) return NULL;
    offset += index[d] * tensor->view.stride[d];
  }
  for (int32_t e = 0; e < after_count && kdl_goes(run); ++e)
    kdl_note(run, kdl_event_wait(after[e], -1), NULL);
  void* data = NULL;
  if (kdl_goes(run)) kdl_note(run, kdl_buffer_map(tensor->buffer, access, &data), NULL);
  if (!kdl_goes(run)) return NULL;
  const char* base = (const char*)kdl_buffer_address(tensor->buffer);
  return (char*)data + ((const char*)tensor->view.data - base) +
         offset * (tensor->view.element_bits / 8);
}

/* Loads the value of an argument or an element. For a bool, any byte other than 0 means true, as in
 * kernels. */
static inline void kdl_load(void* to, const void* from, size_t bytes, uint8_t element) {
  if (element == KDL_BOOL)
    *(bool*)to = *(const unsigned char*)from != 0;
  else
    memcpy(to, from, bytes);
}

/* Functions for each type. They convert a scalar to an argument, read a scalar that the caller passed as an
 * argument of that type, and read or write an element of a tensor. */
#define KDL_SCALAR(Name, ID, type, code, size, Group, T, comment)                                  \
  static inline kdl_arg kdl_arg_##type(T value) {                                                  \
    kdl_arg arg = {NULL, 0, code, {0, 0, 0, 0, 0, 0, 0}};                                          \
    memcpy(&arg.bits, &value, sizeof value);                                                       \
    return arg;                                                                                    \
  }                                                                                                \
  static inline T kdl_given_##type(kdl_arg arg) {                                                  \
    T value;                                                                                       \
    kdl_load(&value, &arg.bits, sizeof value, code);                                               \
    return value;                                                                                  \
  }                                                                                                \
  static inline T kdl_read_##type(kdl_program* run, const kdl_array* tensor, const int64_t* index, \
                                  int32_t rank, kdl_event* const* after, int32_t after_count,      \
                                  const char* place, const char* text) {                           \
    T value = 0;                                                                                   \
    void* at =                                                                                     \
        kdl_open_element(run, tensor, index, rank, after, after_count, KDL_MAP_READ, place, text); \
    if (at != NULL) kdl_load(&value, at, sizeof value, code);                                      \
    if (at != NULL) kdl_note(run, kdl_buffer_unmap(tensor->buffer), NULL);                         \
    return value;                                                                                  \
  }                                                                                                \
  static inline void kdl_write_##type(kdl_program* run, const kdl_array* tensor, T value,          \
                                      const int64_t* index, int32_t rank, kdl_event* const* after, \
                                      int32_t after_count, const char* place, const char* text) {  \
    void* at = kdl_open_element(run, tensor, index, rank, after, after_count, KDL_MAP_READ_WRITE,  \
                                place, text);                                                      \
    if (at != NULL) memcpy(at, &value, sizeof value);                                              \
    if (at != NULL) kdl_note(run, kdl_buffer_unmap(tensor->buffer), NULL);                         \
  }
#include "kdl/scalars.def"

/* ---- tensors of the program itself, parts and views ---- */

static inline kdl_array kdl_no_array(void) {
  kdl_array none;
  memset(&none, 0, sizeof none);
  return none;
}

static inline kdl_array kdl_allocate(kdl_program* run, kdl_device* device, uint8_t element,
                                     const int64_t* sizes, int32_t rank, const char* name,
                                     const char* place) {
  kdl_array tensor = kdl_no_array();
  if (kdl_goes(run))
    kdl_note(run, kdl_array_allocate(device, element, rank, sizes, name, &tensor), place);
  return tensor;
}

/* Returns another reference to the tensor. */
static inline kdl_array kdl_share(const kdl_array* tensor) {
  kdl_buffer_retain(tensor->buffer);
  return *tensor;
}

static inline void kdl_swap(kdl_array* a, kdl_array* b) {
  const kdl_array other = *a;
  *a = *b;
  *b = other;
}

/* Advances the start of the view by `indices` along a dimension. Does nothing if the tensor has no memory, as
 * is possible for a tensor without elements. */
static inline void kdl_skip(kdl_tensor* view, int dimension, int64_t indices) {
  if (view->data == NULL) return;
  view->data = (char*)view->data + indices * view->stride[dimension] * (view->element_bits / 8);
}

/* Returns the part of the tensor at one index of a dimension. The part does not have that dimension. It
 * shares the tensor's memory. */
static inline kdl_array kdl_at(kdl_program* run, const kdl_array* tensor, int dimension,
                               int64_t index, const char* place, const char* text) {
  if (!kdl_inside(run, tensor, dimension, index, place, text)) return kdl_no_array();
  kdl_array part = kdl_share(tensor);
  kdl_tensor* view = &part.view;
  kdl_skip(view, dimension, index);
  for (int d = dimension; d + 1 < view->rank; ++d) {
    view->size[d] = view->size[d + 1];
    view->stride[d] = view->stride[d + 1];
  }
  --view->rank;
  view->size[view->rank] = 1;
  view->stride[view->rank] = 0;
  return part;
}

/* Returns the part of the tensor whose indices in the given dimension are in [lo, hi). */
static inline kdl_array kdl_part(kdl_program* run, const kdl_array* tensor, int dimension,
                                 int64_t lo, int64_t hi, const char* place, const char* text) {
  if (!kdl_goes(run)) return kdl_no_array();
  const int64_t size = tensor->view.size[dimension];
  if (hi < lo) {
    kdl_stop(run, KDL_ERROR_TRAP, place, "%lld..%lld of dimension %d ends before it begins in '%s'",
             (long long)lo, (long long)hi, dimension, text);
    return kdl_no_array();
  }
  if (lo < 0 || hi > size) {
    kdl_stop(run, KDL_ERROR_TRAP, place, "%lld..%lld is outside dimension %d of size %lld in '%s'",
             (long long)lo, (long long)hi, dimension, (long long)size, text);
    return kdl_no_array();
  }
  kdl_array part = kdl_share(tensor);
  kdl_skip(&part.view, dimension, lo);
  part.view.size[dimension] = hi - lo;
  return part;
}

/* Returns whether `count` dimensions are contiguous, so that they can be merged. Strides do not matter if
 * there are no elements, or for a dimension of size 1. */
static inline bool kdl_merges(kdl_program* run, const kdl_array* tensor, int dimension, int count,
                              const char* place, const char* view, const char* name) {
  const kdl_tensor* from = &tensor->view;
  for (int d = 0; d < from->rank; ++d) {
    if (from->size[d] == 0) return true;
  }
  const int last = dimension + count - 1;
  int64_t wanted = from->stride[last];
  for (int d = last; d > dimension; --d) {
    wanted *= from->size[d];
    if (from->size[d - 1] == 1 || from->stride[d - 1] == wanted) continue;
    kdl_stop(run, KDL_ERROR_TRAP, place,
             "the view '%s' makes one dimension of dimensions %d to %d of %s, which are not "
             "contiguous: the stride of dimension %d is %lld, not %lld",
             view, dimension, last, name, d - 1, (long long)from->stride[d - 1], (long long)wanted);
    return false;
  }
  return true;
}

/* Returns a view of the same memory. Either splits one dimension into dimensions with the given `sizes`, or
 * merges `count` adjacent dimensions. `view` and `name` are the names of the view and the tensor in the
 * source. */
static inline kdl_array kdl_view(kdl_program* run, const kdl_array* tensor, int dimension,
                                 int count, const int64_t* sizes, int32_t size_count,
                                 const char* place, const char* view, const char* name) {
  if (!kdl_goes(run) || !kdl_merges(run, tensor, dimension, count, place, view, name))
    return kdl_no_array();
  kdl_array shown = kdl_share(tensor);
  const kdl_tensor* from = &tensor->view;
  kdl_tensor* to = &shown.view;
  const int more = size_count - count;
  to->rank += more;
  int64_t step = from->stride[dimension + count - 1];
  for (int d = KDL_MAX_RANK - 1; d >= dimension; --d) {
    if (d >= to->rank) {
      to->size[d] = 1;
      to->stride[d] = 0;
    } else if (d >= dimension + size_count) {
      to->size[d] = from->size[d - more];
      to->stride[d] = from->stride[d - more];
    } else {
      to->size[d] = sizes[d - dimension];
      to->stride[d] = step;
      step *= to->size[d];
    }
  }
  return shown;
}
