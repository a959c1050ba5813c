/* Calls the programs of checkpoints.kdl (checkpoints_compiled.py) in the processes of an MPI application in C:
 *
 *   caller mpi|alone relaxed|settled M N NUMBER STEPS [FILE]
 *
 * NUMBER is an argument of relaxed. With `alone`, a process does all of the work. With FILE, the program continues at the checkpoint in this
 * file. The variable MOST_FILE_BYTES limits the size of files, as a full disk would. All processes read x.bin and, for settled, y.bin; the first one writes results.bin. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "checkpoints.h"
#include "kdl/checkpoints.h"
#include "kdl/use_mpi.h"

static int rank;

static void check(kdl_error* error) {
  if (error == NULL) return;
  fprintf(stderr, "%s\n", kdl_error_message(error));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void* load(const char* name, size_t bytes) {
  void* data = calloc(bytes, 1);
  FILE* file = fopen(name, "rb");
  if (data == NULL || (file != NULL && fread(data, bytes, 1, file) != 1))
    check(kdl_error_create(KDL_ERROR_DEVICE, name));
  if (file != NULL) fclose(file);
  return data;
}

static kdl_array wrap(kdl_device* host, void* data, uint8_t element, int32_t dimensions,
                      const int64_t* sizes) {
  kdl_array array;
  check(kdl_array_wrap(host, data, element, dimensions, sizes, NULL, "", &array));
  return array;
}

/* Called after MPI_Init, because MPI itself may need large files. */
static void limit_files(void) {
  const char* most = getenv("MOST_FILE_BYTES");
  if (most == NULL) return;
  const struct rlimit limit = {(rlim_t)atoll(most), (rlim_t)atoll(most)};
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &limit);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  limit_files();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc < 7) return 2;
  const int is_relaxed = strcmp(argv[2], "relaxed") == 0;
  const int64_t sizes[] = {atoll(argv[3]), atoll(argv[4])};
  const int64_t one = 1;
  const int64_t steps = atoll(argv[6]);
  const size_t bytes = (size_t)(sizes[0] * sizes[1]) * sizeof(float);
  const size_t row = (size_t)sizes[1] * sizeof(float);
  float* x = load("x.bin", bytes);
  float* y = load(is_relaxed ? "" : "y.bin", bytes);
  float* total = calloc(row, 1);
  double weight = 0;
  int64_t count = 0;

  kdl_context* context = NULL;
  kdl_device* host = NULL;
  check(kdl_context_create(&context));
  if (strcmp(argv[1], "mpi") == 0) check(kdl_use_mpi(context, MPI_COMM_WORLD));
  check(kdl_context_register_all(context, kdl_images_checkpoints));
  check(kdl_select_device(context, "host", &host));
  kdl_array arrays[] = {wrap(host, x, KDL_F32, 2, sizes), wrap(host, y, KDL_F32, 2, sizes),
                        wrap(host, total, KDL_F32, 1, &sizes[1]),
                        wrap(host, &weight, KDL_F64, 1, &one),
                        wrap(host, &count, KDL_I64, 1, &one)};
  if (argc > 7) check(kdl_context_resume(context, argv[7]));
  check(is_relaxed ? checkpoints_relaxed(context, &arrays[0], &arrays[1], &arrays[2], &arrays[3],
                                         atof(argv[5]), steps, NULL)
                   : checkpoints_settled(context, &arrays[0], &arrays[1], &arrays[4], steps, NULL));
  for (int i = 0; i < 5; ++i) kdl_array_free(&arrays[i]);
  kdl_context_destroy(context);

  FILE* file = rank == 0 ? fopen("results.bin", "wb") : NULL;
  if (file != NULL) {
    fwrite(y, bytes, 1, file);
    fwrite(is_relaxed ? (void*)total : &count, is_relaxed ? row : sizeof count, 1, file);
    if (is_relaxed) fwrite(&weight, sizeof weight, 1, file);
    fclose(file);
  }
  free(x);
  free(y);
  free(total);
  MPI_Finalize();
  return 0;
}
