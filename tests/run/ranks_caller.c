/* Calls a program whose tensors are distributed over ranks (ranks.py) in the processes of an MPI application in C. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "kdl/use_mpi.h"
#include "ranks.h"

enum { kRows = 17, kColumns = 9 };

static kdl_error* settle(kdl_context* context, float* x, float* y, int64_t* steps) {
  static const int64_t sizes[] = {kRows, kColumns};
  static const int64_t one = 1;
  kdl_device* host = NULL;
  kdl_array arrays[3];
  kdl_error* error = kdl_use_mpi(context, MPI_COMM_WORLD);
  if (error == NULL) error = kdl_context_register_all(context, kdl_images_ranks);
  if (error == NULL) error = kdl_select_device(context, "host", &host);
  if (error == NULL) error = kdl_array_wrap(host, x, KDL_F32, 2, sizes, NULL, "x", &arrays[0]);
  if (error == NULL) error = kdl_array_wrap(host, y, KDL_F32, 2, sizes, NULL, "y", &arrays[1]);
  if (error == NULL) error = kdl_array_wrap(host, steps, KDL_I64, 1, &one, NULL, "n", &arrays[2]);
  if (error != NULL) return error;
  error = ranks_settle(context, &arrays[0], 0.01f, &arrays[1], &arrays[2], NULL);
  for (int i = 0; i < 3; ++i) kdl_array_free(&arrays[i]);
  return error;
}

int main(int argc, char** argv) {
  static float x[kRows * kColumns];
  static float y[kRows * kColumns];
  int64_t steps = 0;
  int rank = 0;
  kdl_context* context = NULL;
  FILE* file = fopen("x.bin", "rb");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (file == NULL || fread(x, sizeof x, 1, file) != 1) MPI_Abort(MPI_COMM_WORLD, 1);
  fclose(file);
  kdl_error* error = kdl_context_create(&context);
  if (error == NULL) error = settle(context, x, y, &steps);
  if (error != NULL) {
    fprintf(stderr, "rank %d: %s\n", rank, kdl_error_message(error));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  kdl_context_destroy(context);
  file = rank == 0 ? fopen("results.bin", "wb") : NULL;
  if (file != NULL) {
    fwrite(y, sizeof y, 1, file);
    fwrite(&steps, sizeof steps, 1, file);
    fclose(file);
  }
  MPI_Finalize();
  return 0;
}
