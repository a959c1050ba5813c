/* The transfers of bytes between the processes of an MPI program, in C11. It includes nothing of the runtime, because kernelc
 * also compiles it with the `mpicc` of the launcher. Applications use use_mpi.h. */
#pragma once

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* A count is an int, so longer messages are sent in pieces. Both sides cut a message in the same way. */
#define KDL_MPI_MOST_BYTES ((int64_t)1 << 30)

/* The transfers that have been started through a communicator. */
typedef struct kdl_mpi_transfers {
  MPI_Comm comm; /* used for nothing else */
  MPI_Request* requests;
  int pending;
  int room;
} kdl_mpi_transfers;

/* All functions return MPI_SUCCESS or an error code of MPI. */

static inline int kdl_mpi_begin(kdl_mpi_transfers* transfers, MPI_Comm comm, int64_t* rank,
                                int64_t* count) {
  int number = 0;
  transfers->requests = NULL;
  transfers->pending = 0;
  transfers->room = 0;
  int code = MPI_Comm_dup(comm, &transfers->comm);
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(transfers->comm, MPI_ERRORS_RETURN);
  if (code == MPI_SUCCESS) code = MPI_Comm_rank(transfers->comm, &number);
  *rank = number;
  if (code == MPI_SUCCESS) code = MPI_Comm_size(transfers->comm, &number);
  *count = number;
  return code;
}

static inline MPI_Request* kdl_mpi_request(kdl_mpi_transfers* transfers) {
  if (transfers->pending == transfers->room) {
    const int more = transfers->room == 0 ? 64 : 2 * transfers->room;
    MPI_Request* moved =
        (MPI_Request*)realloc(transfers->requests, (size_t)more * sizeof *transfers->requests);
    if (moved == NULL) return NULL;
    transfers->requests = moved;
    transfers->room = more;
  }
  return &transfers->requests[transfers->pending++];
}

static inline int kdl_mpi_piece(int64_t bytes) {
  return (int)(bytes < KDL_MPI_MOST_BYTES ? bytes : KDL_MPI_MOST_BYTES);
}

static inline int kdl_mpi_start_send(kdl_mpi_transfers* transfers, int64_t to, const void* data,
                                     int64_t bytes) {
  int code = MPI_SUCCESS;
  for (int64_t at = 0; at < bytes && code == MPI_SUCCESS; at += KDL_MPI_MOST_BYTES) {
    MPI_Request* request = kdl_mpi_request(transfers);
    if (request == NULL) return MPI_ERR_NO_MEM;
    code = MPI_Isend((const char*)data + at, kdl_mpi_piece(bytes - at), MPI_BYTE, (int)to, 0,
                     transfers->comm, request);
  }
  return code;
}

static inline int kdl_mpi_start_receive(kdl_mpi_transfers* transfers, int64_t from, void* data,
                                        int64_t bytes) {
  int code = MPI_SUCCESS;
  for (int64_t at = 0; at < bytes && code == MPI_SUCCESS; at += KDL_MPI_MOST_BYTES) {
    MPI_Request* request = kdl_mpi_request(transfers);
    if (request == NULL) return MPI_ERR_NO_MEM;
    code = MPI_Irecv((char*)data + at, kdl_mpi_piece(bytes - at), MPI_BYTE, (int)from, 0,
                     transfers->comm, request);
  }
  return code;
}

static inline int kdl_mpi_wait_for_all(kdl_mpi_transfers* transfers) {
  const int code = MPI_Waitall(transfers->pending, transfers->requests, MPI_STATUSES_IGNORE);
  transfers->pending = 0;
  return code;
}

/* Frees the communicator, unless MPI has ended. */
static inline int kdl_mpi_end(kdl_mpi_transfers* transfers) {
  int ended = 0;
  int code = MPI_Finalized(&ended);
  if (code == MPI_SUCCESS && !ended) code = MPI_Comm_free(&transfers->comm);
  free(transfers->requests);
  transfers->requests = NULL;
  transfers->room = 0;
  return code;
}
