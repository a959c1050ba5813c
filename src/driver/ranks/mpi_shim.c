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

/* Ends all ranks. Does not return. */
void kdl_mpi_abort(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

void kdl_mpi_text(int code, char* text) {
  int length = 0;
  MPI_Error_string(code, text, &length);
}

int kdl_mpi_text_size(void) { return MPI_MAX_ERROR_STRING; }
