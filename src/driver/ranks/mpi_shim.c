#include <time.h>

/* The functions of MPI that kernelc calls. Each MPI library has an ABI of its own, so kernelc compiles this file, after
 * kdl/mpi_transfers.h, with the `mpicc` of the library that started it. All functions return MPI_SUCCESS or an error code of
 * MPI. */

static kdl_mpi_transfers transfers;

/* Sets the rank of this process and the number of ranks. The messages have a communicator of their own. */
int kdl_mpi_open(int64_t* rank, int64_t* count) {
  int provided = 0;
  int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
  return code == MPI_SUCCESS ? kdl_mpi_begin(&transfers, MPI_COMM_WORLD, rank, count) : code;
}

int kdl_mpi_send(int64_t to, int64_t tag, const void* data, int64_t bytes) {
  return kdl_mpi_start_send(&transfers, to, tag, data, bytes);
}

int kdl_mpi_receive(int64_t from, int64_t tag, void* data, int64_t bytes) {
  return kdl_mpi_start_receive(&transfers, from, tag, data, bytes);
}

int kdl_mpi_wait_all(void) { return kdl_mpi_wait_for_all(&transfers); }

/* Waits for all ranks, and ends MPI. */
int kdl_mpi_close(void) {
  int code = kdl_mpi_end(&transfers);
  return code == MPI_SUCCESS ? MPI_Finalize() : code;
}

/* A process that has failed calls this with a checksum of its errors. Sets `*shared` to whether all processes have failed with the same
 * ones or, in another process than the first one, whether the first one has. Waits for that until `seconds` have passed. After that,
 * the process must end all ranks, because it may still receive. */
int kdl_mpi_shares_failure(uint64_t errors, double seconds, int* shared) {
  int rank = 0;
  int count = 0;
  int done = 0;
  *shared = 0;
  int code = MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (code == MPI_SUCCESS) code = MPI_Comm_size(MPI_COMM_WORLD, &count);
  if (code != MPI_SUCCESS) return code;
  const int first = rank == 0 ? 1 : 0;
  const int end = rank == 0 ? count : 1;
  uint64_t* values = (uint64_t*)malloc(((size_t)count + 1) * sizeof *values);
  MPI_Request* requests = (MPI_Request*)malloc((size_t)(2 * count + 2) * sizeof *requests);
  if (values == NULL || requests == NULL) return MPI_ERR_NO_MEM;
  values[count] = errors;
  int started = 0;
  for (int other = first; other < end && code == MPI_SUCCESS; ++other) {
    code = MPI_Irecv(&values[other], (int)sizeof errors, MPI_BYTE, other, 0, MPI_COMM_WORLD,
                     &requests[started++]);
    if (code == MPI_SUCCESS)
      code = MPI_Isend(&values[count], (int)sizeof errors, MPI_BYTE, other, 0, MPI_COMM_WORLD,
                       &requests[started++]);
  }
  const double until = MPI_Wtime() + seconds;
  const struct timespec pause = {0, 1000000};
  while (code == MPI_SUCCESS && !done && MPI_Wtime() < until) {
    code = MPI_Testall(started, requests, &done, MPI_STATUSES_IGNORE);
    if (!done) nanosleep(&pause, NULL);
  }
  for (int other = first; other < end; ++other) done = done && values[other] == errors;
  *shared = done;
  return code;
}

/* Ends all ranks. Does not return. */
void kdl_mpi_abort(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

void kdl_mpi_text(int code, char* text) {
  int length = 0;
  MPI_Error_string(code, text, &length);
}

int kdl_mpi_text_size(void) { return MPI_MAX_ERROR_STRING; }
