/* Calls saxpy from C: the kernel is a C function whose parameters are pointers. */
#include <stdio.h>

#include "saxpy.h"

int main(void) {
  const float x[5] = {1, 2, 3, 4, 5};
  float y[5] = {10, 10, 10, 10, 10};
  saxpy_kernels* kernels = NULL;
  kdl_error* error = saxpy_open(NULL, "host", &kernels);
  if (error == NULL) error = saxpy_saxpy(kernels, 5, 2.0f, x, y);
  if (error != NULL) {
    fprintf(stderr, "%s\n", kdl_error_message(error));
    kdl_error_free(error);
    return 1;
  }
  printf("%g %g %g %g %g\n", y[0], y[1], y[2], y[3], y[4]);

  /* Binds the arguments once for three calls. */
  saxpy_saxpy_bound bound = {NULL};
  error = saxpy_saxpy_bind(kernels, 5, 1.0f, x, y, &bound);
  for (int turn = 0; turn < 3 && error == NULL; ++turn) error = saxpy_saxpy_call(&bound);
  saxpy_saxpy_unbind(&bound);
  printf("%g %g %g %g %g\n", y[0], y[1], y[2], y[3], y[4]);
  kdl_error_free(error);

  error = saxpy_saxpy(kernels, 5, 2.0f, y, y);
  printf("%s\n", kdl_error_message(error));
  kdl_error_free(error);
  saxpy_close(kernels);
  return 0;
}
