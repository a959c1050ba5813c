/* Operations that compiled programs in C enqueue besides launches: moves, copies and fills of tensors.
 * program.h explains how these functions report failures. `done` is NULL, or receives the event, which the
 * program frees. The statistics report a copy under the name `cause`. */
#pragma once

#include "kdl/program_tensors.h"

/* Whether moving a tensor copies its elements. This is not necessary if they will be written before they are
 * read. */
enum kdl_elements { KDL_MOVE_ELEMENTS, KDL_LEAVE_ELEMENTS };

/* Creates an event that completes after everything enqueued so far and after the events in `after`. */
static inline void kdl_mark(kdl_program* run, kdl_queue* queue, kdl_event* const* after,
                            int32_t after_count, kdl_event** done) {
  if (kdl_goes(run))
    kdl_note(run, kdl_host_call(queue, NULL, NULL, NULL, after, after_count, done), NULL);
}

static inline void kdl_copy_array(kdl_program* run, kdl_queue* queue, const kdl_array* to,
                                  const kdl_array* from, const char* cause, kdl_event* const* after,
                                  int32_t after_count, const char* place, kdl_event** done) {
  if (kdl_goes(run))
    kdl_note(run, kdl_copy(queue, to, from, cause, after, after_count, done), place);
}

/* Sets every element to a value. `value` is passed as an argument, and its type must be exactly the
 * tensor's element type. */
static inline void kdl_fill_array(kdl_program* run, kdl_queue* queue, const kdl_array* to,
                                  kdl_arg value, kdl_event* const* after, int32_t after_count,
                                  kdl_event** done) {
  if (kdl_goes(run)) kdl_note(run, kdl_fill(queue, to, value.bits, after, after_count, done), NULL);
}

/* Returns the tensor on the queue's device, `device`. That is the tensor itself if it is in the device's
 * memory, otherwise a copy. */
static inline kdl_array kdl_transfer_array(kdl_program* run, kdl_queue* queue, kdl_device* device,
                                           const kdl_array* from, const char* cause,
                                           kdl_event* const* after, int32_t after_count,
                                           const char* place, enum kdl_elements elements,
                                           kdl_event** done) {
  if (!kdl_goes(run)) return kdl_no_array();
  const kdl_tensor* view = &from->view;
  if (kdl_devices_share_memory(kdl_buffer_device(from->buffer), device) != 0) {
    kdl_mark(run, queue, after, after_count, done);
    return kdl_share(from);
  }
  const kdl_array to = kdl_allocate(run, device, view->element, view->size, view->rank,
                                    kdl_buffer_name(from->buffer), place);
  if (elements == KDL_MOVE_ELEMENTS)
    kdl_copy_array(run, queue, &to, from, cause, after, after_count, place, done);
  else
    kdl_mark(run, queue, after, after_count, done);
  return to;
}

/* Moves the tensor to the device. */
static inline void kdl_move_array(kdl_program* run, kdl_queue* queue, kdl_device* device,
                                  kdl_array* tensor, const char* cause, kdl_event* const* after,
                                  int32_t after_count, const char* place,
                                  enum kdl_elements elements, kdl_event** done) {
  kdl_array moved = kdl_transfer_array(run, queue, device, tensor, cause, after, after_count, place,
                                       elements, done);
  if (kdl_goes(run)) kdl_swap(tensor, &moved);
  kdl_array_free(&moved);
}

/* Copies `from` back to `to`. `from` must be the result of an earlier kdl_transfer_array of `to`. It has been
 * changed since then, so `to` is out of date. Does nothing if both are the same tensor. */
static inline void kdl_copy_array_back(kdl_program* run, kdl_queue* queue, const kdl_array* to,
                                       const kdl_array* from, const char* cause,
                                       kdl_event* const* after, int32_t after_count,
                                       const char* place, kdl_event** done) {
  if (!kdl_goes(run)) return;
  if (to->buffer == from->buffer)
    kdl_mark(run, queue, after, after_count, done);
  else
    kdl_copy_array(run, queue, to, from, cause, after, after_count, place, done);
}
