/* Calls a program with a distributed parameter (ranks_files.py) in the processes of an MPI application in C. Each process only
 * knows its own rows, and writes only these. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "kdl/use_mpi.h"
#include "ranks_files.h"

enum { kRows = 17, kColumns = 10, kUnknown = 12345 };

static kdl_error* call(kdl_context* context, float* x, float* total, float* y) {
  static const int64_t sizes[] = {kRows, kColumns};
  kdl_device* host = NULL;
  kdl_array arrays[3];
  kdl_error* error = kdl_use_mpi(context, MPI_COMM_WORLD);
  if (error == NULL) error = kdl_context_register_all(context, kdl_images_ranks_files);
  if (error == NULL) error = kdl_select_device(context, "host", &host);
  if (error == NULL) error = kdl_array_wrap(host, x, KDL_F32, 2, sizes, NULL, "x", &arrays[0]);
  if (error == NULL)
    error = kdl_array_wrap(host, total, KDL_F32, 2, sizes, NULL, "total", &arrays[1]);
  if (error == NULL) error = kdl_array_wrap(host, y, KDL_F32, 2, sizes, NULL, "y", &arrays[2]);
  if (error != NULL) return error;
  error = ranks_files_relaxed(context, &arrays[0], &arrays[1], &arrays[2], 2, NULL);
  for (int i = 0; i < 3; ++i) kdl_array_free(&arrays[i]);
  return error;
}

static void read_floats(const char* name, float* values) {
  FILE* file = fopen(name, "rb");
  if (file == NULL || fread(values, sizeof *values, kRows * kColumns, file) != kRows * kColumns)
    exit(1);
  fclose(file);
}

/* The elements in a half of the rows and in a half of the columns of a grid of 2 by 2 ranks; -1 means both halves. */
static int is_in(int n, int row_half, int column_half) {
  const int in_rows = row_half < 0 || n / kColumns / ((kRows + 1) / 2) == row_half;
  return in_rows && (column_half < 0 || n % kColumns / ((kColumns + 1) / 2) == column_half);
}

static void forget(float* values, int row_half, int column_half) {
  for (int n = 0; n < kRows * kColumns; ++n)
    if (!is_in(n, row_half, column_half)) values[n] = kUnknown;
}

/* Returns whether the elements of others are still unknown. Then makes them 0, so that bits can be added. */
static int take_owned(float* values, int row_half, int column_half) {
  int untouched = 1;
  for (int n = 0; n < kRows * kColumns; ++n) {
    if (is_in(n, row_half, column_half)) continue;
    if (values[n] != kUnknown) untouched = 0;
    values[n] = 0;
  }
  return untouched;
}

int main(int argc, char** argv) {
  static float x[kRows * kColumns];
  static float total[kRows * kColumns];
  static float y[kRows * kColumns];
  char name[32];
  int rank = 0;
  kdl_context* context = NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  read_floats("x.bin", x);
  read_floats("total.bin", total);
  forget(x, rank / 2, rank % 2);
  forget(total, -1, rank % 2);
  forget(y, 2, 2);
  kdl_error* error = kdl_context_create(&context);
  if (error == NULL) error = call(context, x, total, y);
  if (error != NULL) {
    fprintf(stderr, "rank %d: %s\n", rank, kdl_error_message(error));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  kdl_context_destroy(context);
  if (!take_owned(total, -1, rank % 2) || !take_owned(y, rank / 2, -1))
    MPI_Abort(MPI_COMM_WORLD, 2);
  snprintf(name, sizeof name, "part%d.bin", rank);
  FILE* file = fopen(name, "wb");
  if (file != NULL) {
    fwrite(total, sizeof total, 1, file);
    fwrite(y, sizeof y, 1, file);
    fclose(file);
  }
  MPI_Finalize();
  return 0;
}
