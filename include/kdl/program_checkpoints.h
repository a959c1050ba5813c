/* Checkpoints of compiled programs in C. program.h explains how these functions report failures, and checkpoints.h what they
 * do. */
#pragma once

#include "kdl/checkpoints.h"
#include "kdl/program_given.h"

#define KDL_FILES(...) KDL_LIST(const char* const, __VA_ARGS__)
#define KDL_VARIABLES(...) KDL_LIST(const kdl_variable, __VA_ARGS__)

/* `ranks` is NULL if the program has no distributed tensors. */
static inline kdl_checkpoints* kdl_open_checkpoints(kdl_program* run, kdl_ranks* ranks,
                                                    const char* program, const char* code,
                                                    const char* const* files, int32_t file_count) {
  kdl_checkpoints* checkpoints = NULL;
  if (kdl_goes(run))
    kdl_note(
        run,
        kdl_checkpoints_create(run->context, ranks, program, code, files, file_count, &checkpoints),
        NULL);
  return checkpoints;
}

/* Both wait for the events in `after`, which use the tensors. */
static inline void kdl_restore(kdl_program* run, kdl_checkpoints* checkpoints, const char* file,
                               const kdl_variable* numbers, int32_t number_count,
                               const kdl_named_array* tensors, int32_t tensor_count,
                               kdl_event* const* after, int32_t after_count, const char* place) {
  for (int32_t i = 0; i < after_count && kdl_goes(run); ++i)
    kdl_note(run, kdl_event_wait(after[i], -1), NULL);
  if (kdl_goes(run))
    kdl_note(
        run,
        kdl_checkpoints_restore(checkpoints, file, numbers, number_count, tensors, tensor_count),
        place);
}
static inline void kdl_write_checkpoint(kdl_program* run, kdl_checkpoints* checkpoints,
                                        const char* file, int64_t every, const kdl_arg* numbers,
                                        int32_t number_count, const kdl_named_array* tensors,
                                        int32_t tensor_count, kdl_event* const* after,
                                        int32_t after_count, const char* place) {
  for (int32_t i = 0; i < after_count && kdl_goes(run); ++i)
    kdl_note(run, kdl_event_wait(after[i], -1), NULL);
  if (kdl_goes(run))
    kdl_note(run,
             kdl_checkpoints_write(checkpoints, file, every, numbers, number_count, tensors,
                                   tensor_count),
             place);
}
