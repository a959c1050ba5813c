/* Programs whose tensors are distributed over ranks. An application that is started as several processes says once how they
 * send bytes to each other (`kdl_use_mpi` in use_mpi.h does it for MPI), and then calls its programs in all processes, with the
 * same arguments. If a call fails in one process, it fails in all of them with the same error, and they can call further programs.
 * The functions after kdl_context_set_transport are for compiled programs. The conventions are those of runtime.h. */
#pragma once

#include "kdl/queue.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* How the processes that share the work of programs send bytes to each other. `send` and `receive` start a transfer and return
 * at once; the bytes stay in place until `wait_all` returns, which waits for all transfers of this process. After it has failed,
 * nothing is written to the memory of receives any more. The n-th receive with a tag from a process belongs to the n-th send with
 * this tag of that process to this one. Tags are 0 or more. Different transfers of a program have different ones, so that processes
 * that have left the common order wait instead of taking other elements. All transfers of a context are started by the
 * threads that call its programs, so the programs must be called in the same order in all processes, by one thread at a time.
 *
 * The functions after `release` are for failures. They may be NULL. Then a process that has failed returns, and others may wait for it
 * forever. */
typedef struct kdl_transport {
  int64_t rank;  /* the number of this process, from 0 */
  int64_t count; /* how many processes there are */
  void* state;   /* passed to the functions */
  kdl_error* (*send)(void* state, int64_t to, int64_t tag, const void* data, int64_t bytes);
  kdl_error* (*receive)(void* state, int64_t from, int64_t tag, void* data, int64_t bytes);
  kdl_error* (*wait_all)(void* state);
  void (*release)(
      void* state); /* called when the context no longer uses the transport; may be NULL */

  /* From now on, wait_all also returns, with KDL_ERROR_CANCELLED, if another process says that it has failed. Until
   * `settle`, the memory of sends stays in place even after wait_all has failed. */
  kdl_error* (*watch)(void* state);
  /* Ends that. If the call has failed in this process, tells the other ones, unless one has told this process, and takes receives back
   * that have not ended. Later calls of wait_all do not wait for earlier sends. */
  kdl_error* (*stop)(void* state, int has_failed);
  /* Called in all processes after `stop`, if the call has failed in one of them. Receives and forgets what has been sent to this process and
   * not received, and waits for its own sends. */
  kdl_error* (*settle)(void* state);
} kdl_transport;

/* Sets the transport with which programs of the context share their work. Without one, the process does all of it. NULL removes
 * the transport. No program may be running. */
kdl_error* kdl_context_set_transport(kdl_context* context, const kdl_transport* transport);

/* An argument of a program with its name in the source. */
typedef struct kdl_named_arg {
  const char* name;
  kdl_arg value;
} kdl_named_arg;

/* Begin and end a call of a program in all processes of the context's transport. All of them must call both, even if something has failed
 * before: `failure` is the error of this process so far, which they take over, or NULL. They return NULL, or the same error in all
 * processes, which states the process that has failed first unless all have failed with it. kdl_ranks_begin_call also checks that all
 * processes call the same program with the same numbers and sizes of tensors, but not the elements of tensors; `code` identifies what
 * the program computes, and `place`, which may be NULL, is where it is in the source. If it has failed, kdl_ranks_end_call only
 * returns `failure`. Without a transport, both do. */
kdl_error* kdl_ranks_begin_call(kdl_context* context, const char* program, const char* code,
                                const kdl_named_arg* args, int32_t count, const char* place,
                                kdl_error* failure);
kdl_error* kdl_ranks_end_call(kdl_context* context, kdl_error* failure);

/* The ranks of a device, and the distributed tensors of one call of a program. */
typedef struct kdl_ranks kdl_ranks;

/* Creates the ranks of a program: one for each process of the context's transport. They form a grid with `axes` axes of these
 * lengths; without axes, there is one with all ranks. If a grid has another number of ranks than there are processes, it is an
 * error, unless there is only one process. */
kdl_error* kdl_ranks_create(kdl_context* context, const int64_t* shape, int32_t axes,
                            kdl_ranks** ranks);

/* Creates ranks for a transport, which the caller keeps. If it is NULL, this process has all ranks of the grid. */
kdl_error* kdl_ranks_create_with(const kdl_transport* transport, const int64_t* shape, int32_t axes,
                                 kdl_ranks** ranks);
/* If transfers have not ended because the call has failed, frees the memory that they use at the end of the call. */
void kdl_ranks_free(kdl_ranks* ranks);

/* Checks the arguments as kdl_ranks_begin_call does, for a caller that ends all processes if one fails. */
kdl_error* kdl_ranks_agree(const kdl_ranks* ranks, const char* program, const char* code,
                           const kdl_named_arg* args, int32_t count);

/* Says that a program over ranks uses this handle of a queue, which kdl_queue_own has created. Such a program waits for almost
 * every operation, to send its results. So the thread that enqueues an operation runs it, unless the operation must wait
 * or the device orders operations itself. Launches that have run without failure have no event: `done` receives NULL, which all
 * functions accept in place of an event that has completed. */
kdl_error* kdl_ranks_use_queue(kdl_ranks* ranks, kdl_queue* queue);

/* Return the number of ranks, and the first and the end of those of this process. */
int64_t kdl_ranks_count(const kdl_ranks* ranks);
int64_t kdl_ranks_first(const kdl_ranks* ranks);
int64_t kdl_ranks_end(const kdl_ranks* ranks);

/* Return the first and the end of the indices that a rank owns in a dimension of this size, which is distributed along an axis
 * of the grid, or over all ranks if the axis is -2. */
int64_t kdl_ranks_owned_first(const kdl_ranks* ranks, int64_t size, int64_t rank, int64_t axis);
int64_t kdl_ranks_owned_end(const kdl_ranks* ranks, int64_t size, int64_t rank, int64_t axis);

/* If the dimension is distributed in blocks of this length, which the ranks own in turn, return how many blocks the rank owns,
 * and the first and the end of the indices in one of them. */
int64_t kdl_ranks_owned_blocks(const kdl_ranks* ranks, int64_t size, int64_t rank, int64_t axis,
                               int64_t block);
int64_t kdl_ranks_owned_block_first(const kdl_ranks* ranks, int64_t size, int64_t rank,
                                    int64_t axis, int64_t block, int64_t number);
int64_t kdl_ranks_owned_block_end(const kdl_ranks* ranks, int64_t size, int64_t rank, int64_t axis,
                                  int64_t block, int64_t number);

/* Adds a distributed tensor. `memories` contains a whole tensor for each rank of this process. `axes` contains, for each
 * dimension, the axis along which it is distributed, -2 for all ranks, or -1. `blocks` contains the length of the blocks in
 * which the dimension is distributed, or 0 if each rank owns adjacent indices; it may be NULL if all are 0. In the following
 * functions, `tensor` is the first of the memories. The caller keeps the memories until it removes the tensor. */
kdl_error* kdl_ranks_add(kdl_ranks* ranks, const kdl_array* memories, const int64_t* axes,
                         const int64_t* blocks);
void kdl_ranks_remove(kdl_ranks* ranks, const kdl_array* tensor);

/* Requests the elements first[d] .. end[d] - 1 of each dimension for a rank. All processes must make the same requests for all
 * ranks, in the same order, before kdl_ranks_start_fetches and kdl_ranks_rewritten. `cause` says why, for statistics. */
kdl_error* kdl_ranks_fetch(kdl_ranks* ranks, const kdl_array* tensor, int64_t rank,
                           const int64_t* first, const int64_t* end, const char* cause);

/* kdl_ranks_start_fetches starts to send what has been requested, if that has not started yet; `queue` copies between ranks of
 * this process. Operations that write what is sent must have ended. kdl_ranks_finish_fetches waits until everything has arrived. Operations that use memory
 * which receives elements must have ended. */
kdl_error* kdl_ranks_start_fetches(kdl_ranks* ranks, kdl_queue* queue);
kdl_error* kdl_ranks_finish_fetches(kdl_ranks* ranks);

/* Says that what ranks have received of a tensor is out of date, because its owners have written it, or no longer needed. They
 * forget it, except for what has been requested and is not finished. If this process has several ranks, overwrites it, so that
 * a missing request is noticed: as floats, the elements are NaN. Operations that use it must have ended. */
kdl_error* kdl_ranks_rewritten(kdl_ranks* ranks, const kdl_array* tensor);

/* What the ranks of this process have sent for one tensor and cause. The strings are valid while the ranks exist. */
typedef struct kdl_rank_traffic {
  const char* tensor;
  const char* cause;
  int64_t messages;
  int64_t bytes;
} kdl_rank_traffic;

/* Stores at most `capacity` rows, ordered by tensor and cause, and returns how many there are. */
int64_t kdl_ranks_get_traffic(const kdl_ranks* ranks, kdl_rank_traffic* traffic, int64_t capacity);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
