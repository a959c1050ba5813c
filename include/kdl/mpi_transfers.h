/* The transfers of bytes between the processes of an MPI program, in C11. It includes nothing of the runtime, because kernelc
 * also compiles it with the `mpicc` of the launcher. Applications use use_mpi.h. */
#pragma once

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* A count is an int, so longer messages are sent in pieces. Both sides cut a message in the same way. */
#define KDL_MPI_MOST_BYTES ((int64_t)1 << 30)

/* Transfers that have been started. */
typedef struct kdl_mpi_requests {
  MPI_Request* all;
  int count;
  int room;
} kdl_mpi_requests;

/* The transfers that have been started through a communicator. */
typedef struct kdl_mpi_transfers {
  MPI_Comm comm;    /* used for nothing else */
  int64_t most_tag; /* the greatest that MPI allows */
  kdl_mpi_requests sends;
  kdl_mpi_requests receives;
} kdl_mpi_transfers;

/* All functions return MPI_SUCCESS or an error code of MPI. */

static inline int kdl_mpi_begin(kdl_mpi_transfers* transfers, MPI_Comm comm, int64_t* rank,
                                int64_t* count) {
  int number = 0;
  const kdl_mpi_requests none = {NULL, 0, 0};
  void* most_tag = NULL;
  int is_set = 0;
  transfers->most_tag = 32767; /* MPI allows it in any case */
  transfers->sends = none;
  transfers->receives = none;
  int code = MPI_Comm_dup(comm, &transfers->comm);
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(transfers->comm, MPI_ERRORS_RETURN);
  if (code == MPI_SUCCESS)
    code = MPI_Comm_get_attr(transfers->comm, MPI_TAG_UB, &most_tag, &is_set);
  if (code == MPI_SUCCESS && is_set) transfers->most_tag = *(const int*)most_tag;
  if (code == MPI_SUCCESS) code = MPI_Comm_rank(transfers->comm, &number);
  *rank = number;
  if (code == MPI_SUCCESS) code = MPI_Comm_size(transfers->comm, &number);
  *count = number;
  return code;
}

static inline MPI_Request* kdl_mpi_request(kdl_mpi_requests* requests) {
  if (requests->count == requests->room) {
    const int more = requests->room == 0 ? 64 : 2 * requests->room;
    MPI_Request* moved = (MPI_Request*)realloc(requests->all, (size_t)more * sizeof *requests->all);
    if (moved == NULL) return NULL;
    requests->all = moved;
    requests->room = more;
  }
  MPI_Request* request = &requests->all[requests->count++];
  *request = MPI_REQUEST_NULL;
  return request;
}

static inline int kdl_mpi_piece(int64_t bytes) {
  return (int)(bytes < KDL_MPI_MOST_BYTES ? bytes : KDL_MPI_MOST_BYTES);
}

/* Returns a tag that MPI allows. Only 0 becomes 0. */
static inline int kdl_mpi_tag(const kdl_mpi_transfers* transfers, int64_t tag) {
  return tag == 0 ? 0 : (int)(1 + (tag - 1) % transfers->most_tag);
}

static inline int kdl_mpi_start_send(kdl_mpi_transfers* transfers, int64_t to, int64_t tag,
                                     const void* data, int64_t bytes) {
  int code = MPI_SUCCESS;
  for (int64_t at = 0; at < bytes && code == MPI_SUCCESS; at += KDL_MPI_MOST_BYTES) {
    MPI_Request* request = kdl_mpi_request(&transfers->sends);
    if (request == NULL) return MPI_ERR_NO_MEM;
    code = MPI_Isend((const char*)data + at, kdl_mpi_piece(bytes - at), MPI_BYTE, (int)to,
                     kdl_mpi_tag(transfers, tag), transfers->comm, request);
  }
  return code;
}

static inline int kdl_mpi_start_receive(kdl_mpi_transfers* transfers, int64_t from, int64_t tag,
                                        void* data, int64_t bytes) {
  int code = MPI_SUCCESS;
  for (int64_t at = 0; at < bytes && code == MPI_SUCCESS; at += KDL_MPI_MOST_BYTES) {
    MPI_Request* request = kdl_mpi_request(&transfers->receives);
    if (request == NULL) return MPI_ERR_NO_MEM;
    code = MPI_Irecv((char*)data + at, kdl_mpi_piece(bytes - at), MPI_BYTE, (int)from,
                     kdl_mpi_tag(transfers, tag), transfers->comm, request);
  }
  return code;
}

/* Ends what an error has left. Nothing is written to the memory of receives any more, because the caller may free it. Sends cannot be
 * cancelled in all MPI libraries, so their memory must stay. */
static inline void kdl_mpi_give_up(kdl_mpi_transfers* transfers) {
  for (int i = 0; i < transfers->receives.count; ++i) {
    MPI_Request* request = &transfers->receives.all[i];
    if (*request == MPI_REQUEST_NULL) continue;
    MPI_Cancel(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < transfers->sends.count; ++i) {
    MPI_Request* request = &transfers->sends.all[i];
    if (*request != MPI_REQUEST_NULL) MPI_Request_free(request);
  }
}

static inline int kdl_mpi_wait_for_all(kdl_mpi_transfers* transfers) {
  kdl_mpi_requests* receives = &transfers->receives;
  kdl_mpi_requests* sends = &transfers->sends;
  int code = MPI_Waitall(receives->count, receives->all, MPI_STATUSES_IGNORE);
  if (code == MPI_SUCCESS) code = MPI_Waitall(sends->count, sends->all, MPI_STATUSES_IGNORE);
  if (code != MPI_SUCCESS) kdl_mpi_give_up(transfers);
  receives->count = 0;
  sends->count = 0;
  return code;
}

/* Frees the communicator, unless MPI has ended. */
static inline int kdl_mpi_end(kdl_mpi_transfers* transfers) {
  int ended = 0;
  int code = MPI_Finalized(&ended);
  if (code == MPI_SUCCESS && !ended) {
    kdl_mpi_give_up(transfers);
    code = MPI_Comm_free(&transfers->comm);
  }
  free(transfers->sends.all);
  free(transfers->receives.all);
  const kdl_mpi_requests none = {NULL, 0, 0};
  transfers->sends = none;
  transfers->receives = none;
  return code;
}
