/* What the processes of an MPI application do when a program fails in some of them (kdl_transport in ranks.h). Afterwards, nothing of
 * the call is left in the communicator: all processes count what they have sent to each other and received, so each knows how many
 * messages it still has to receive. Sends cannot be cancelled in all MPI libraries, and this ends them, too. */
#pragma once

#include "kdl/mpi_transfers.h"

/* No other message has this tag. */
static inline int kdl_mpi_failure_tag(const kdl_mpi_transfers* transfers) {
  return (int)transfers->most_tag;
}

/* From now on, a wait also ends if another process says that it has failed. */
static inline int kdl_mpi_watch(kdl_mpi_transfers* transfers) {
  transfers->watches = 1;
  transfers->failed_process = -1;
  return MPI_Irecv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, kdl_mpi_failure_tag(transfers),
                   transfers->comm, &transfers->failure);
}

/* Ends the watch. Returns whether a process has said that it has failed. */
static inline int kdl_mpi_end_watch(kdl_mpi_transfers* transfers) {
  int has_failed = transfers->failed_process >= 0;
  if (transfers->failure != MPI_REQUEST_NULL) {
    MPI_Status status;
    int is_cancelled = 0;
    MPI_Cancel(&transfers->failure);
    MPI_Wait(&transfers->failure, &status);
    MPI_Test_cancelled(&status, &is_cancelled);
    if (!is_cancelled) ++transfers->received[status.MPI_SOURCE];
    has_failed = has_failed || !is_cancelled;
  }
  transfers->watches = 0;
  transfers->failed_process = -1;
  return has_failed;
}

static inline int kdl_mpi_say_failure(kdl_mpi_transfers* transfers) {
  int code = MPI_SUCCESS;
  for (int other = 0; other < transfers->count && code == MPI_SUCCESS; ++other) {
    if (other == transfers->rank) continue;
    MPI_Request* request = kdl_mpi_request(&transfers->left, other);
    if (request == NULL) return MPI_ERR_NO_MEM;
    code = MPI_Isend(NULL, 0, MPI_BYTE, other, kdl_mpi_failure_tag(transfers), transfers->comm,
                     request);
    if (code == MPI_SUCCESS) ++transfers->sent[other];
  }
  return code;
}

/* Ends the watch. If the call has failed, says so, unless another process has already done it, and ends the transfers: receives are taken
 * back, and kdl_mpi_settle waits for the sends. */
static inline int kdl_mpi_stop(kdl_mpi_transfers* transfers, int has_failed) {
  const int is_known = kdl_mpi_end_watch(transfers);
  if (!has_failed) return MPI_SUCCESS;
  kdl_mpi_take_back_receives(transfers);
  const kdl_mpi_requests unused = transfers->left;
  transfers->left = transfers->sends;
  transfers->sends = unused;
  return is_known ? MPI_SUCCESS : kdl_mpi_say_failure(transfers);
}

/* Receives and forgets a message. */
static inline int kdl_mpi_discard(kdl_mpi_transfers* transfers, int from, char** data, int* room) {
  MPI_Status status;
  int bytes = 0;
  int code = MPI_Probe(from, MPI_ANY_TAG, transfers->comm, &status);
  if (code == MPI_SUCCESS) code = MPI_Get_count(&status, MPI_BYTE, &bytes);
  if (code == MPI_SUCCESS && bytes > *room) {
    free(*data);
    *data = (char*)malloc((size_t)bytes);
    *room = *data == NULL ? 0 : bytes;
    if (*data == NULL) return MPI_ERR_NO_MEM;
  }
  if (code == MPI_SUCCESS)
    code = MPI_Recv(*data, bytes, MPI_BYTE, from, status.MPI_TAG, transfers->comm, &status);
  if (code == MPI_SUCCESS) ++transfers->received[from];
  return code;
}

/* Receives what has been sent to this process and not yet received, and waits for its own sends. All processes call this after
 * kdl_mpi_stop, if the call has failed. */
static inline int kdl_mpi_settle(kdl_mpi_transfers* transfers) {
  uint64_t* due = (uint64_t*)calloc((size_t)transfers->count, sizeof *due);
  char* data = NULL;
  int room = 0;
  if (due == NULL) return MPI_ERR_NO_MEM;
  int code = MPI_Alltoall(transfers->sent, 1, MPI_UINT64_T, due, 1, MPI_UINT64_T, transfers->comm);
  for (int other = 0; other < transfers->count; ++other)
    while (code == MPI_SUCCESS && transfers->received[other] < due[other])
      code = kdl_mpi_discard(transfers, other, &data, &room);
  for (int i = 0; i < transfers->left.count && code == MPI_SUCCESS; ++i) {
    MPI_Status status;
    code = MPI_Wait(&transfers->left.all[i].request, &status);
  }
  if (code == MPI_SUCCESS) transfers->left.count = 0;
  free(data);
  free(due);
  return code;
}
