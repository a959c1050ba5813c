/* The transfers of bytes between the processes of an MPI program, in C11. It includes nothing of the runtime, because kernelc
 * also compiles it with the `mpicc` of the launcher. Applications use use_mpi.h. */
#pragma once

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A count is an int, so longer messages are sent in pieces. Both sides cut a message in the same way. */
#define KDL_MPI_MOST_BYTES ((int64_t)1 << 30)

/* A transfer that has been started. */
typedef struct kdl_mpi_transfer {
  MPI_Request request;
  int other; /* the process to which it sends, or from which it receives */
} kdl_mpi_transfer;

typedef struct kdl_mpi_requests {
  kdl_mpi_transfer* all;
  int count;
  int room;
} kdl_mpi_requests;

/* The transfers that have been started through a communicator. */
typedef struct kdl_mpi_transfers {
  MPI_Comm comm; /* used for nothing else */
  int rank;
  int count;        /* of processes */
  int64_t most_tag; /* the greatest that MPI allows */
  kdl_mpi_requests sends;
  kdl_mpi_requests receives;
  uint64_t* sent;     /* the number of messages to each process */
  uint64_t* received; /* and of those that have arrived from each */

  /* For mpi_failures.h: */
  kdl_mpi_requests left; /* the sends of a call that has failed */
  int watches;           /* whether a failure of another process ends a wait */
  MPI_Request failure;   /* receives the message that says so; may be MPI_REQUEST_NULL */
  int failed_process;    /* which one has said so, or -1 */
} kdl_mpi_transfers;

/* All functions return MPI_SUCCESS or an error code of MPI. */

/* Returns what prevents the use of a communicator, or NULL. MPI itself may end the processes for it. */
static inline const char* kdl_mpi_unusable(MPI_Comm comm) {
  int is_inter = 0;
  if (comm == MPI_COMM_NULL)
    return "the communicator is MPI_COMM_NULL; it must contain this process";
  if (MPI_Comm_test_inter(comm, &is_inter) == MPI_SUCCESS && is_inter)
    return "the communicator is an inter-communicator; it must be an intra-communicator, such as "
           "the result "
           "of MPI_Intercomm_merge";
  return NULL;
}

static inline void kdl_mpi_clear(kdl_mpi_transfers* transfers) {
  memset(transfers, 0, sizeof *transfers);
  transfers->comm = MPI_COMM_NULL;
  transfers->count = 1;
  transfers->most_tag = 32767; /* MPI allows it in any case */
  transfers->failure = MPI_REQUEST_NULL;
  transfers->failed_process = -1;
}

/* kdl_mpi_end frees what this has created, even if it fails. */
static inline int kdl_mpi_begin(kdl_mpi_transfers* transfers, MPI_Comm comm, int64_t* rank,
                                int64_t* count) {
  void* most_tag = NULL;
  int is_set = 0;
  kdl_mpi_clear(transfers);
  int code = MPI_Comm_dup(comm, &transfers->comm);
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(transfers->comm, MPI_ERRORS_RETURN);
  if (code == MPI_SUCCESS)
    code = MPI_Comm_get_attr(transfers->comm, MPI_TAG_UB, &most_tag, &is_set);
  if (code == MPI_SUCCESS && is_set) transfers->most_tag = *(const int*)most_tag;
  if (code == MPI_SUCCESS) code = MPI_Comm_rank(transfers->comm, &transfers->rank);
  if (code == MPI_SUCCESS) code = MPI_Comm_size(transfers->comm, &transfers->count);
  transfers->sent = (uint64_t*)calloc((size_t)transfers->count, sizeof *transfers->sent);
  transfers->received = (uint64_t*)calloc((size_t)transfers->count, sizeof *transfers->received);
  if (transfers->sent == NULL || transfers->received == NULL) return MPI_ERR_NO_MEM;
  *rank = transfers->rank;
  *count = transfers->count;
  return code;
}

static inline MPI_Request* kdl_mpi_request(kdl_mpi_requests* requests, int other) {
  if (requests->count == requests->room) {
    const int more = requests->room == 0 ? 64 : 2 * requests->room;
    kdl_mpi_transfer* moved =
        (kdl_mpi_transfer*)realloc(requests->all, (size_t)more * sizeof *requests->all);
    if (moved == NULL) return NULL;
    requests->all = moved;
    requests->room = more;
  }
  kdl_mpi_transfer* transfer = &requests->all[requests->count++];
  transfer->request = MPI_REQUEST_NULL;
  transfer->other = other;
  return &transfer->request;
}

static inline int kdl_mpi_piece(int64_t bytes) {
  return (int)(bytes < KDL_MPI_MOST_BYTES ? bytes : KDL_MPI_MOST_BYTES);
}

/* Returns a tag that MPI allows, less than the greatest one. Only 0 becomes 0, and only 1 becomes 1. */
static inline int kdl_mpi_tag(const kdl_mpi_transfers* transfers, int64_t tag) {
  return (int)(tag < 2 ? tag : 2 + (tag - 2) % (transfers->most_tag - 2));
}

static inline int kdl_mpi_start_send(kdl_mpi_transfers* transfers, int64_t to, int64_t tag,
                                     const void* data, int64_t bytes) {
  int code = MPI_SUCCESS;
  for (int64_t at = 0; at < bytes && code == MPI_SUCCESS; at += KDL_MPI_MOST_BYTES) {
    MPI_Request* request = kdl_mpi_request(&transfers->sends, (int)to);
    if (request == NULL) return MPI_ERR_NO_MEM;
    code = MPI_Isend((const char*)data + at, kdl_mpi_piece(bytes - at), MPI_BYTE, (int)to,
                     kdl_mpi_tag(transfers, tag), transfers->comm, request);
    if (code == MPI_SUCCESS) ++transfers->sent[to];
  }
  return code;
}

static inline int kdl_mpi_start_receive(kdl_mpi_transfers* transfers, int64_t from, int64_t tag,
                                        void* data, int64_t bytes) {
  int code = MPI_SUCCESS;
  for (int64_t at = 0; at < bytes && code == MPI_SUCCESS; at += KDL_MPI_MOST_BYTES) {
    MPI_Request* request = kdl_mpi_request(&transfers->receives, (int)from);
    if (request == NULL) return MPI_ERR_NO_MEM;
    code = MPI_Irecv((char*)data + at, kdl_mpi_piece(bytes - at), MPI_BYTE, (int)from,
                     kdl_mpi_tag(transfers, tag), transfers->comm, request);
  }
  return code;
}

/* Ends the receives. Afterwards, nothing is written to their memory, because the caller may free it. */
static inline void kdl_mpi_take_back_receives(kdl_mpi_transfers* transfers) {
  for (int i = 0; i < transfers->receives.count; ++i) {
    kdl_mpi_transfer* receive = &transfers->receives.all[i];
    MPI_Status status;
    int is_cancelled = 0;
    if (receive->request == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&receive->request);
    MPI_Wait(&receive->request, &status);
    MPI_Test_cancelled(&status, &is_cancelled);
    if (!is_cancelled) ++transfers->received[receive->other];
  }
  transfers->receives.count = 0;
}

/* Sends cannot be cancelled in all MPI libraries, so their memory must stay. */
static inline void kdl_mpi_free_sends(kdl_mpi_requests* sends) {
  for (int i = 0; i < sends->count; ++i)
    if (sends->all[i].request != MPI_REQUEST_NULL) MPI_Request_free(&sends->all[i].request);
  sends->count = 0;
}

/* Waits for a transfer or until a process says that it has failed. */
static inline int kdl_mpi_wait_for(kdl_mpi_transfers* transfers, MPI_Request* request) {
  MPI_Request either[2] = {*request, transfers->failure};
  MPI_Status status;
  int ended = 0;
  const int code = MPI_Waitany(2, either, &ended, &status);
  *request = either[0];
  transfers->failure = either[1];
  if (code != MPI_SUCCESS || ended != 1) return code;
  transfers->failed_process = status.MPI_SOURCE;
  ++transfers->received[status.MPI_SOURCE];
  return MPI_ERR_OTHER;
}

static inline int kdl_mpi_wait_for_transfers(kdl_mpi_transfers* transfers) {
  kdl_mpi_requests* receives = &transfers->receives;
  kdl_mpi_requests* sends = &transfers->sends;
  if (transfers->failed_process >= 0) return MPI_ERR_OTHER;
  for (int i = 0; i < receives->count; ++i) {
    kdl_mpi_transfer* receive = &receives->all[i];
    if (receive->request == MPI_REQUEST_NULL) continue;
    const int code = kdl_mpi_wait_for(transfers, &receive->request);
    if (receive->request == MPI_REQUEST_NULL) ++transfers->received[receive->other];
    if (code != MPI_SUCCESS) return code;
  }
  for (int i = 0; i < sends->count; ++i) {
    if (sends->all[i].request == MPI_REQUEST_NULL) continue;
    const int code = kdl_mpi_wait_for(transfers, &sends->all[i].request);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

/* After a failure in a call that kdl_mpi_watch has begun, the sends remain until kdl_mpi_stop. */
static inline int kdl_mpi_wait_for_all(kdl_mpi_transfers* transfers) {
  const int code = kdl_mpi_wait_for_transfers(transfers);
  if (code != MPI_SUCCESS) {
    kdl_mpi_take_back_receives(transfers);
    if (transfers->watches) return code;
    kdl_mpi_free_sends(&transfers->sends);
  }
  transfers->receives.count = 0;
  transfers->sends.count = 0;
  return code;
}

/* Frees the communicator, unless MPI has ended. */
static inline int kdl_mpi_end(kdl_mpi_transfers* transfers) {
  int ended = 0;
  int code = MPI_Finalized(&ended);
  if (code == MPI_SUCCESS && !ended && transfers->comm != MPI_COMM_NULL) {
    kdl_mpi_take_back_receives(transfers);
    kdl_mpi_free_sends(&transfers->sends);
    kdl_mpi_free_sends(&transfers->left);
    code = MPI_Comm_free(&transfers->comm);
  }
  free(transfers->sends.all);
  free(transfers->receives.all);
  free(transfers->left.all);
  free(transfers->sent);
  free(transfers->received);
  kdl_mpi_clear(transfers);
  return code;
}
