/* Checkpoints of programs, at which an interrupted program continues. An application only needs kdl_context_resume. The other
 * functions are for compiled programs and `kernelc run`. The conventions are those of runtime.h. */
#pragma once

#include "kdl/ranks.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Lets the next call of a program that has checkpoints continue at the one in this file. The program executes everything before
 * the loop again, so its arguments must be the same as before; only the number of iterations may be larger. If there is no
 * such file, the program starts from the beginning. The call fails if the program has no checkpoint in this file. Later calls start from the
 * beginning. If a program shares its work among processes, all of them must call this. NULL revokes it. */
kdl_error* kdl_context_resume(kdl_context* context, const char* file);

/* The checkpoints of one call of a program. */
typedef struct kdl_checkpoints kdl_checkpoints;

/* Creates the checkpoints of a call of `program`. `code` identifies what it computes: files of other code are refused. `files` are
 * those of its checkpoints. `ranks` are the ranks of its distributed tensors, which must exist as long as the checkpoints;
 * NULL if it has none. */
kdl_error* kdl_checkpoints_create(kdl_context* context, kdl_ranks* ranks, const char* program,
                                  const char* code, const char* const* files, int32_t file_count,
                                  kdl_checkpoints** checkpoints);
void kdl_checkpoints_free(kdl_checkpoints* checkpoints);

/* Sets a function that kdl_checkpoints_write calls with the path of the temporary file that it has created, and with NULL when this file has
 * got its name or is removed. Executables that signals may end use it to remove the file. Must be called before the first
 * checkpoint is written. */
void kdl_checkpoints_observe(kdl_checkpoints* checkpoints,
                             void (*changed)(void* state, const char* temporary), void* state);

/* A number that is stored at `value`. */
typedef struct kdl_variable {
  void* value;
  uint8_t element; /* its type */
} kdl_variable;

/* If the program continues at the checkpoint in this file, replaces the numbers and the elements of the tensors by those in the
 * file. Otherwise, does nothing. The file must have been written by this code, with as many numbers and with tensors of these names, types and
 * sizes. Also checks that kdl_checkpoints_write can replace the file. Operations that use the tensors must have ended.
 *
 * If there are several processes, all of them must call these two functions. If the call fails in one of them, it fails in
 * all. */
kdl_error* kdl_checkpoints_restore(kdl_checkpoints* checkpoints, const char* file,
                                   const kdl_variable* numbers, int32_t number_count,
                                   const kdl_named_array* tensors, int32_t tensor_count);

/* Writes the numbers, which are scalars, and the tensors to the file: at each call for this file whose number is a multiple of
 * `every`. The file is replaced when the new one is complete and on the disk. After a failure, the old one stays. A file that is not a
 * checkpoint is never replaced. */
kdl_error* kdl_checkpoints_write(kdl_checkpoints* checkpoints, const char* file, int64_t every,
                                 const kdl_arg* numbers, int32_t number_count,
                                 const kdl_named_array* tensors, int32_t tensor_count);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
