/* Lets programs whose tensors are distributed over ranks run in the processes of an MPI application:
 *
 *   MPI_Init(&argc, &argv);
 *   kdl_context_create(&context);
 *   kdl_error* error = kdl_use_mpi(context, MPI_COMM_WORLD);
 *   … calls of programs, in all processes and with the same arguments …
 *   kdl_context_destroy(context);
 *   MPI_Finalize();
 *
 * Collective functions, which all processes of the communicator must call, and in the same order, are kdl_use_mpi and the programs
 * over ranks. If a call of a program fails in one process, for any reason, it fails in all of them, with the same error. The results of
 * this call are then undefined, but the processes can go on, and call further programs. Only one thread at a time can call
 * programs over ranks of a context: for others, this is an error, after which the processes may no longer fit together. Several contexts can
 * be used at the same time, if MPI_Init_thread has allowed it.
 *
 * This header needs <mpi.h>. The runtime does not depend on MPI. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "kdl/mpi_failures.h"
#include "kdl/mpi_transfers.h"
#include "kdl/ranks.h"

static inline kdl_error* kdl_mpi_error(int code, const char* what) {
  if (code == MPI_SUCCESS) return NULL;
  char text[MPI_MAX_ERROR_STRING + 1] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  kdl_error* error = kdl_error_create(KDL_ERROR_DEVICE, text[0] == '\0' ? what : text);
  return error;
}

static inline kdl_error* kdl_mpi_send(void* state, int64_t to, int64_t tag, const void* data,
                                      int64_t bytes) {
  return kdl_mpi_error(kdl_mpi_start_send((kdl_mpi_transfers*)state, to, tag, data, bytes),
                       "MPI cannot send");
}
static inline kdl_error* kdl_mpi_receive(void* state, int64_t from, int64_t tag, void* data,
                                         int64_t bytes) {
  return kdl_mpi_error(kdl_mpi_start_receive((kdl_mpi_transfers*)state, from, tag, data, bytes),
                       "MPI cannot receive");
}
static inline kdl_error* kdl_mpi_wait_all(void* state) {
  kdl_mpi_transfers* transfers = (kdl_mpi_transfers*)state;
  const int code = kdl_mpi_wait_for_all(transfers);
  if (transfers->failed_process < 0) return kdl_mpi_error(code, "MPI cannot transfer");
  char text[64];
  snprintf(text, sizeof text, "process %d has failed", transfers->failed_process);
  return kdl_error_create(KDL_ERROR_CANCELLED, text);
}
static inline kdl_error* kdl_mpi_watch_failures(void* state) {
  return kdl_mpi_error(kdl_mpi_watch((kdl_mpi_transfers*)state), "MPI cannot receive");
}
static inline kdl_error* kdl_mpi_stop_transfers(void* state, int has_failed) {
  return kdl_mpi_error(kdl_mpi_stop((kdl_mpi_transfers*)state, has_failed), "MPI cannot send");
}
static inline kdl_error* kdl_mpi_settle_transfers(void* state) {
  return kdl_mpi_error(kdl_mpi_settle((kdl_mpi_transfers*)state), "MPI cannot transfer");
}
static inline void kdl_mpi_release(void* state) {
  kdl_mpi_end((kdl_mpi_transfers*)state);
  free(state);
}

/* Shares the work of programs among the processes of a communicator, whose ranks become the ranks of the programs. All processes
 * of the communicator must call this. It duplicates the communicator, so the application may free its own, and messages of the
 * application and of programs do not meet. The threads that call programs must be allowed to call MPI, by the level of
 * MPI_Init_thread. A later call for the same context replaces the communicator. kdl_context_destroy frees the duplicate, and may
 * also be called after MPI_Finalize. */
static inline kdl_error* kdl_use_mpi(kdl_context* context, MPI_Comm comm) {
  kdl_transport transport = {0,
                             1,
                             NULL,
                             kdl_mpi_send,
                             kdl_mpi_receive,
                             kdl_mpi_wait_all,
                             kdl_mpi_release,
                             kdl_mpi_watch_failures,
                             kdl_mpi_stop_transfers,
                             kdl_mpi_settle_transfers};
  const char* unusable = kdl_mpi_unusable(comm);
  if (unusable != NULL) return kdl_error_create(KDL_ERROR_INVALID_ARGUMENT, unusable);
  kdl_mpi_transfers* transfers = (kdl_mpi_transfers*)malloc(sizeof *transfers);
  if (transfers == NULL) return kdl_error_create(KDL_ERROR_OUT_OF_MEMORY, "out of memory");
  transport.state = transfers;
  const int code = kdl_mpi_begin(transfers, comm, &transport.rank, &transport.count);
  kdl_error* error = code == MPI_SUCCESS ? kdl_context_set_transport(context, &transport)
                                         : kdl_mpi_error(code, "MPI cannot start");
  if (error != NULL) kdl_mpi_release(transfers);
  return error;
}
