// Measures what messages between two processes of MPI cost, and prints the parameters of the LogGP model as JSON, in seconds.
//
// A ping-pong of k bytes takes T(k) = L + 2 o + k G in each direction. The processor is busy for o when it starts a message, and
// a burst of small messages takes g for each of them. G and L + 2 o are fitted to the medians of all lengths, weighted so that the relative
// errors count.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kLengths = 23, kTrials = 31, kBurst = 256, kMostBytes = 1 << (kLengths - 1) };

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}
static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, compare);
  return values[count / 2];
}

static double one_way(int rank, char* data, int bytes) {
  double seconds[kTrials];
  const int rounds = bytes < 65536 ? 50 : 4;
  for (int trial = 0; trial < kTrials; ++trial) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < rounds; ++i) {
      if (rank == 0) MPI_Send(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(data, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank == 1) MPI_Send(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    seconds[trial] = (MPI_Wtime() - begin) / (2 * rounds);
  }
  return median(seconds, kTrials);
}

// Stores the time in which a message is started, and that of each message of a burst.
static void measure_burst(int rank, char* data, double* overhead, double* gap) {
  double starts[kTrials];
  double messages[kTrials];
  MPI_Request requests[kBurst];
  for (int trial = 0; trial < kTrials; ++trial) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < kBurst; ++i) {
      if (rank == 0)
        MPI_Isend(data + i, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[i]);
      else
        MPI_Irecv(data + i, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[i]);
    }
    starts[trial] = (MPI_Wtime() - begin) / kBurst;
    MPI_Waitall(kBurst, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    messages[trial] = (MPI_Wtime() - begin) / kBurst;
  }
  *overhead = median(starts, kTrials);
  *gap = median(messages, kTrials);
}

static double copy_time(char* to, const char* from) {
  double seconds[kTrials];
  for (int trial = 0; trial < kTrials; ++trial) {
    const double begin = MPI_Wtime();
    memcpy(to, from, kMostBytes);
    seconds[trial] = (MPI_Wtime() - begin) / kMostBytes;
  }
  return median(seconds, kTrials);
}

int main(int argc, char** argv) {
  int rank = 0;
  int ranks = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char* data = malloc(kMostBytes);
  char* other = malloc(kMostBytes);
  if (ranks != 2 || data == NULL || other == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  memset(data, 1, kMostBytes);
  memset(other, 2, kMostBytes);
  // Least squares for the line T(k) = a + b k with the weights 1 / T(k)^2.
  double w = 0, wk = 0, wkk = 0, wt = 0, wkt = 0;
  for (int i = 0; i < kLengths; ++i) {
    const double k = 1 << i;
    const double t = one_way(rank, data, 1 << i);
    const double weight = 1 / (t * t);
    w += weight;
    wk += weight * k;
    wkk += weight * k * k;
    wt += weight * t;
    wkt += weight * k * t;
  }
  const double slope = (w * wkt - wk * wt) / (w * wkk - wk * wk);
  const double begin = (wt - slope * wk) / w;
  double overhead = 0;
  double gap = 0;
  measure_burst(rank, data, &overhead, &gap);
  const double latency = begin > 2 * overhead ? begin - 2 * overhead : 0;
  const double copy = copy_time(other, data);
  if (rank == 0)
    printf(
        "{\"latency\": %.4g, \"overhead\": %.4g, \"gap\": %.4g, \"gap_per_byte\": %.4g, "
        "\"copy_per_byte\": %.4g}\n",
        latency, overhead, gap, slope, copy);
  free(data);
  free(other);
  MPI_Finalize();
  return 0;
}
