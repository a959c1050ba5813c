// Counts messages by MPI's profiling interface: these functions are called in place of those of the library, which they call as PMPI_….
#include "traffic.h"

#include <mpi.h>

static mpi_traffic sent;

static void count(int64_t messages, int64_t bytes) {
  sent.messages += messages;
  sent.bytes += bytes;
}

static int64_t bytes_of(int64_t elements, MPI_Datatype type) {
  int bytes = 0;
  MPI_Type_size(type, &bytes);
  return elements * bytes;
}

// Before a program sends elements, its processes compare its arguments, and at its end, whether one has failed. Twins take both for
// granted. These messages, with the tags 0 and 1 on a communicator of their own, are not counted.
int MPI_Isend(const void* data, int elements, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  if (tag > 1 || comm == MPI_COMM_WORLD) count(1, bytes_of(elements, type));
  return PMPI_Isend(data, elements, type, to, tag, comm, request);
}

// The library does not say what it sends, so this counts the least that suffices. All of P ranks together send each element P - 1 times
// to be combined, and P - 1 times as a result. Each rank needs log2(P) messages, because the number of ranks on whose
// elements a result depends at most doubles with each.
int MPI_Allreduce(const void* data, void* result, int elements, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  int64_t messages = 0;
  while ((int64_t)1 << messages < ranks) ++messages;
  count(messages, 2 * bytes_of(elements, type) * (ranks - 1) / ranks);
  return PMPI_Allreduce(data, result, elements, type, op, comm);
}

mpi_traffic mpi_traffic_sent(void) { return sent; }
