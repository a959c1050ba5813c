/* Operations of compiled programs in C whose tensors are distributed over ranks. program.h explains how these functions report
 * failures, and ranks.h what they do. */
#pragma once

#include "kdl/program.h"
#include "kdl/ranks.h"

#define KDL_NAMED_ARGS(...) KDL_LIST(const kdl_named_arg, __VA_ARGS__)

/* Begin and end the call in all processes, even after a failure in this one. Afterwards, all have the same failure. */
static inline void kdl_begin_call(kdl_program* run, const char* program, const char* code,
                                  const kdl_named_arg* args, int32_t arg_count, const char* place) {
  run->error =
      kdl_ranks_begin_call(run->context, program, code, args, arg_count, place, run->error);
}
static inline void kdl_end_call(kdl_program* run) {
  run->error = kdl_ranks_end_call(run->context, run->error);
}

static inline kdl_ranks* kdl_open_ranks(kdl_program* run, const int64_t* shape, int32_t axes) {
  kdl_ranks* ranks = NULL;
  if (kdl_goes(run)) kdl_note(run, kdl_ranks_create(run->context, shape, axes, &ranks), NULL);
  return ranks;
}

static inline void kdl_use_queue(kdl_program* run, kdl_ranks* ranks, kdl_queue* queue) {
  if (kdl_goes(run)) kdl_note(run, kdl_ranks_use_queue(ranks, queue), NULL);
}

static inline int64_t kdl_rank_count(const kdl_program* run, const kdl_ranks* ranks) {
  return kdl_goes(run) ? kdl_ranks_count(ranks) : 0;
}
static inline int64_t kdl_rank_first(const kdl_program* run, const kdl_ranks* ranks) {
  return kdl_goes(run) ? kdl_ranks_first(ranks) : 0;
}
static inline int64_t kdl_rank_end(const kdl_program* run, const kdl_ranks* ranks) {
  return kdl_goes(run) ? kdl_ranks_end(ranks) : 0;
}
static inline int64_t kdl_owned_first(const kdl_program* run, const kdl_ranks* ranks, int64_t size,
                                      int64_t rank, int64_t axis) {
  return kdl_goes(run) ? kdl_ranks_owned_first(ranks, size, rank, axis) : 0;
}
static inline int64_t kdl_owned_end(const kdl_program* run, const kdl_ranks* ranks, int64_t size,
                                    int64_t rank, int64_t axis) {
  return kdl_goes(run) ? kdl_ranks_owned_end(ranks, size, rank, axis) : 0;
}

static inline int64_t kdl_owned_blocks(const kdl_program* run, const kdl_ranks* ranks, int64_t size,
                                       int64_t rank, int64_t axis, int64_t block) {
  return kdl_goes(run) ? kdl_ranks_owned_blocks(ranks, size, rank, axis, block) : 0;
}
static inline int64_t kdl_owned_block_first(const kdl_program* run, const kdl_ranks* ranks,
                                            int64_t size, int64_t rank, int64_t number,
                                            int64_t axis, int64_t block) {
  return kdl_goes(run) ? kdl_ranks_owned_block_first(ranks, size, rank, axis, block, number) : 0;
}
static inline int64_t kdl_owned_block_end(const kdl_program* run, const kdl_ranks* ranks,
                                          int64_t size, int64_t rank, int64_t number, int64_t axis,
                                          int64_t block) {
  return kdl_goes(run) ? kdl_ranks_owned_block_end(ranks, size, rank, axis, block, number) : 0;
}

/* Distributes a tensor that has just been allocated. */
static inline void kdl_distribute(kdl_program* run, kdl_ranks* ranks, const kdl_array* tensor,
                                  const int64_t* axes, int32_t count) {
  (void)count;
  if (kdl_goes(run)) kdl_note(run, kdl_ranks_add(ranks, tensor, axes, NULL), NULL);
}
static inline void kdl_distribute_blocks(kdl_program* run, kdl_ranks* ranks,
                                         const kdl_array* tensor, const int64_t* axes,
                                         int32_t axis_count, const int64_t* blocks,
                                         int32_t block_count) {
  (void)axis_count;
  (void)block_count;
  if (kdl_goes(run)) kdl_note(run, kdl_ranks_add(ranks, tensor, axes, blocks), NULL);
}

/* Waits for the events in `after`, which write what is sent. */
static inline void kdl_fetch(kdl_program* run, kdl_ranks* ranks, const kdl_array* tensor,
                             int64_t rank, const int64_t* first, int32_t first_count,
                             const int64_t* end, int32_t end_count, const char* cause,
                             kdl_event* const* after, int32_t after_count, const char* place) {
  (void)first_count;
  (void)end_count;
  for (int32_t i = 0; i < after_count && kdl_goes(run); ++i)
    kdl_note(run, kdl_event_wait(after[i], -1), NULL);
  if (kdl_goes(run)) kdl_note(run, kdl_ranks_fetch(ranks, tensor, rank, first, end, cause), place);
}

static inline void kdl_start_fetches(kdl_program* run, kdl_ranks* ranks) {
  if (kdl_goes(run)) kdl_note(run, kdl_ranks_start_fetches(ranks, NULL), NULL);
}
static inline void kdl_wait(kdl_program* run, kdl_queue* queue) {
  if (kdl_goes(run)) kdl_note(run, kdl_queue_wait(queue), NULL);
}
static inline void kdl_finish_fetches(kdl_program* run, kdl_ranks* ranks) {
  if (kdl_goes(run)) kdl_note(run, kdl_ranks_finish_fetches(ranks), NULL);
}
/* Waits for the events in `after`, which use the tensor. */
static inline void kdl_rewritten(kdl_program* run, kdl_ranks* ranks, const kdl_array* tensor,
                                 kdl_event* const* after, int32_t after_count) {
  for (int32_t i = 0; i < after_count && kdl_goes(run); ++i)
    kdl_note(run, kdl_event_wait(after[i], -1), NULL);
  if (kdl_goes(run)) kdl_note(run, kdl_ranks_rewritten(ranks, tensor), NULL);
}
