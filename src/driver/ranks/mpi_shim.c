/* The functions of MPI that kernelc calls. Each MPI library has an ABI of its own, so kernelc compiles this file with the
 * `mpicc` of the library that started it. All functions return MPI_SUCCESS or an error code of MPI. */

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* A count is an int, so longer messages are sent in pieces. Both sides cut a message in the same way. */
#define MOST_BYTES ((int64_t)1 << 30)

static MPI_Comm comm = MPI_COMM_NULL;
static MPI_Request* requests;
static int pending;
static int room;

/* Sets the rank of this process and the number of ranks. The messages have a communicator of their own. */
int kdl_mpi_open(int64_t* rank, int64_t* count) {
  int provided = 0;
  int number = 0;
  int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
  if (code == MPI_SUCCESS) code = MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  if (code == MPI_SUCCESS) code = MPI_Comm_rank(comm, &number);
  *rank = number;
  if (code == MPI_SUCCESS) code = MPI_Comm_size(comm, &number);
  *count = number;
  return code;
}

static MPI_Request* next_request(void) {
  if (pending == room) {
    int more = room == 0 ? 64 : 2 * room;
    MPI_Request* moved = realloc(requests, (size_t)more * sizeof *requests);
    if (moved == NULL) return NULL;
    requests = moved;
    room = more;
  }
  return &requests[pending++];
}

static int piece_of(int64_t bytes) { return (int)(bytes < MOST_BYTES ? bytes : MOST_BYTES); }

int kdl_mpi_send(int64_t to, const void* data, int64_t bytes) {
  int code = MPI_SUCCESS;
  for (int64_t at = 0; at < bytes && code == MPI_SUCCESS; at += MOST_BYTES) {
    MPI_Request* request = next_request();
    if (request == NULL) return MPI_ERR_NO_MEM;
    code = MPI_Isend((const char*)data + at, piece_of(bytes - at), MPI_BYTE, (int)to, 0, comm,
                     request);
  }
  return code;
}

int kdl_mpi_receive(int64_t from, void* data, int64_t bytes) {
  int code = MPI_SUCCESS;
  for (int64_t at = 0; at < bytes && code == MPI_SUCCESS; at += MOST_BYTES) {
    MPI_Request* request = next_request();
    if (request == NULL) return MPI_ERR_NO_MEM;
    code = MPI_Irecv((char*)data + at, piece_of(bytes - at), MPI_BYTE, (int)from, 0, comm, request);
  }
  return code;
}

int kdl_mpi_wait_all(void) {
  int code = MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE);
  pending = 0;
  return code;
}

/* Waits for all ranks, and ends MPI. */
int kdl_mpi_close(void) {
  int code = MPI_Comm_free(&comm);
  free(requests);
  requests = NULL;
  room = 0;
  return code == MPI_SUCCESS ? MPI_Finalize() : code;
}

/* Ends all ranks. Does not return. */
void kdl_mpi_abort(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

void kdl_mpi_text(int code, char* text) {
  int length = 0;
  MPI_Error_string(code, text, &length);
}

int kdl_mpi_text_size(void) { return MPI_MAX_ERROR_STRING; }
