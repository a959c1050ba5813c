/* A message that is too long for its receive is an error. After the wait that reports it, nothing may be written to the memory of another
 * receive, whose message comes later, and this message must still arrive at its next receive (ranks_agreement.py). This is for Open MPI:
 * MPICH ends the processes. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "kdl/mpi_transfers.h"

enum { kBytes = 1 << 20, kTooLong = 1, kLater = 2, kUnwritten = 7, kSent = 1 };

static char later[kBytes];
static char next[kBytes];

static int send_all(kdl_mpi_transfers* transfers) {
  memset(later, kSent, sizeof later);
  int code = kdl_mpi_start_send(transfers, 1, kTooLong, later, 8);
  if (code == MPI_SUCCESS) code = kdl_mpi_wait_for_all(transfers);
  MPI_Barrier(MPI_COMM_WORLD); /* the other process has waited */
  if (code == MPI_SUCCESS) code = kdl_mpi_start_send(transfers, 1, kLater, later, sizeof later);
  return code == MPI_SUCCESS ? kdl_mpi_wait_for_all(transfers) : code;
}

static bool receive_all(kdl_mpi_transfers* transfers) {
  char too_short[4];
  memset(later, kUnwritten, sizeof later);
  kdl_mpi_start_receive(transfers, 0, kTooLong, too_short, sizeof too_short);
  kdl_mpi_start_receive(transfers, 0, kLater, later, sizeof later);
  const bool failed = kdl_mpi_wait_for_all(transfers) != MPI_SUCCESS;
  MPI_Barrier(MPI_COMM_WORLD);
  kdl_mpi_start_receive(transfers, 0, kLater, next, sizeof next);
  const bool arrived = kdl_mpi_wait_for_all(transfers) == MPI_SUCCESS && next[0] == kSent &&
                       next[sizeof next - 1] == kSent;
  const bool untouched = later[0] == kUnwritten && memcmp(later, later + 1, sizeof later - 1) == 0;
  printf("failed %d, arrived %d, untouched %d\n", failed, arrived, untouched);
  return failed && arrived && untouched;
}

int main(int argc, char** argv) {
  kdl_mpi_transfers transfers;
  int64_t rank = 0;
  int64_t count = 0;
  MPI_Init(&argc, &argv);
  bool is_right = kdl_mpi_begin(&transfers, MPI_COMM_WORLD, &rank, &count) == MPI_SUCCESS;
  if (is_right)
    is_right = rank == 0 ? send_all(&transfers) == MPI_SUCCESS : receive_all(&transfers);
  is_right = kdl_mpi_end(&transfers) == MPI_SUCCESS && is_right;
  MPI_Finalize();
  return is_right ? 0 : 1;
}
