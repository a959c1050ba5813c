#include "network.h"

#include <mpi.h>
#include <stdlib.h>

enum { kBurst = 256, kShort = 65536 };

static int length_of(int number) { return 1 << (2 * number); }

static double one_way(int rank, char* data, int bytes) {
  const int rounds = bytes < kShort ? 10 : 1;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) {
    if (rank == 0) MPI_Send(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(data, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
  return (MPI_Wtime() - begin) / (2 * rounds);
}

static void measure_burst(int rank, char* data, network_sample* sample) {
  MPI_Request requests[kBurst];
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < kBurst; ++i) {
    if (rank == 0)
      MPI_Isend(data + i, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[i]);
    else
      MPI_Irecv(data + i, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[i]);
  }
  sample->overhead = (MPI_Wtime() - begin) / kBurst;
  MPI_Waitall(kBurst, requests, MPI_STATUSES_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  sample->gap = (MPI_Wtime() - begin) / kBurst;
}

void measure_network(network_sample* sample) {
  static char* data = NULL;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (data == NULL) data = calloc(1, (size_t)length_of(kNetworkLengths - 1));
  if (data == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int i = 0; i < kNetworkLengths; ++i) sample->one_way[i] = one_way(rank, data, length_of(i));
  measure_burst(rank, data, sample);
}
