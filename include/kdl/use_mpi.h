/* Lets programs whose tensors are distributed over ranks run in the processes of an MPI application:
 *
 *   MPI_Init(&argc, &argv);
 *   kdl_context_create(&context);
 *   kdl_error* error = kdl_use_mpi(context, MPI_COMM_WORLD);
 *   … calls of programs, in all processes and with the same arguments …
 *   kdl_context_destroy(context);
 *   MPI_Finalize();
 *
 * This header needs <mpi.h>. The runtime does not depend on MPI. */
#pragma once

#include <stdlib.h>

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
  return kdl_mpi_error(kdl_mpi_wait_for_all((kdl_mpi_transfers*)state), "MPI cannot transfer");
}
static inline void kdl_mpi_release(void* state) {
  kdl_mpi_end((kdl_mpi_transfers*)state);
  free(state);
}

/* Shares the work of programs among the processes of a communicator, whose ranks become the ranks of the programs. All processes
 * of the communicator must call this. If a program fails in one process, others may wait for it, so the application should
 * then call MPI_Abort. The threads that call programs must be allowed to call MPI, by the level of MPI_Init_thread. */
static inline kdl_error* kdl_use_mpi(kdl_context* context, MPI_Comm comm) {
  kdl_transport transport = {
      0, 1, NULL, kdl_mpi_send, kdl_mpi_receive, kdl_mpi_wait_all, kdl_mpi_release};
  kdl_mpi_transfers* transfers = (kdl_mpi_transfers*)malloc(sizeof *transfers);
  if (transfers == NULL) return kdl_error_create(KDL_ERROR_OUT_OF_MEMORY, "out of memory");
  transport.state = transfers;
  const int code = kdl_mpi_begin(transfers, comm, &transport.rank, &transport.count);
  kdl_error* error = code == MPI_SUCCESS ? kdl_context_set_transport(context, &transport)
                                         : kdl_mpi_error(code, "MPI cannot start");
  if (error != NULL) kdl_mpi_release(transfers);
  return error;
}
