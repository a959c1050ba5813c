/* Calls a program over ranks (ranks.py) with arguments that differ in the processes of an MPI application in C. Such a call must fail in
 * all of them, and later calls, with the same arguments, must have the results of one process. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "kdl/use_mpi.h"
#include "ranks.h"

enum { kRows = 97, kMostColumns = 700 };

static float x[kRows * kMostColumns];

static kdl_error* relaxed(kdl_context* context, int64_t columns, int64_t count, float* y) {
  const int64_t sizes[] = {kRows, columns};
  kdl_device* host = NULL;
  kdl_array arrays[2];
  kdl_error* error = kdl_select_device(context, "host", &host);
  if (error == NULL) error = kdl_array_wrap(host, x, KDL_F32, 2, sizes, NULL, "x", &arrays[0]);
  if (error == NULL) error = kdl_array_wrap(host, y, KDL_F32, 2, sizes, NULL, "y", &arrays[1]);
  if (error == NULL) error = ranks_relaxed(context, &arrays[0], &arrays[1], count, NULL);
  for (int i = 0; i < 2; ++i) kdl_array_free(&arrays[i]);
  return error;
}

static bool fails(const char* text, kdl_error* error) {
  const char* message = error == NULL ? "no error" : kdl_error_message(error);
  const bool has_text = strstr(message, text) != NULL;
  if (!has_text) printf("'%s' is not in: %s\n", text, message);
  kdl_error_free(error);
  return has_text;
}

static bool is_same(kdl_context* shared, kdl_context* alone) {
  static float results[2][kRows * kMostColumns];
  kdl_error* error = relaxed(shared, kMostColumns, 4, results[0]);
  if (error == NULL) error = relaxed(alone, kMostColumns, 4, results[1]);
  const bool same = error == NULL && memcmp(results[0], results[1], sizeof results[0]) == 0;
  if (!same) printf("other results: %s\n", error == NULL ? "" : kdl_error_message(error));
  kdl_error_free(error);
  return same;
}

int main(int argc, char** argv) {
  static float y[kRows * kMostColumns];
  kdl_context* shared = NULL;
  kdl_context* alone = NULL;
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < kRows * kMostColumns; ++i) x[i] = (float)(i % 101) / 7.0f;
  kdl_error* error = kdl_context_create(&shared);
  if (error == NULL) error = kdl_use_mpi(shared, MPI_COMM_WORLD);
  if (error == NULL) error = kdl_context_register_all(shared, kdl_images_ranks);
  if (error == NULL) error = kdl_context_create(&alone);
  if (error == NULL) error = kdl_context_register_all(alone, kdl_images_ranks);
  if (error != NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  const bool is_last = rank == 2;
  bool is_right = fails("'count' is 10 in process 0 and 20 in process 2",
                        relaxed(shared, 9, is_last ? 20 : 10, y));
  is_right = is_same(shared, alone) && is_right;
  is_right = fails("size 1 of 'x' is 9 in process 0 and 500 in process 2",
                   relaxed(shared, is_last ? 500 : 9, 4, y)) &&
             is_right;
  is_right = is_same(shared, alone) && is_right;
  kdl_context_destroy(shared);
  kdl_context_destroy(alone);
  if (is_right) printf("all calls are right\n");
  MPI_Finalize();
  return is_right ? 0 : 1;
}
