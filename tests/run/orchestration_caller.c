// Calls tests/golden/orchestration/program.kir from C11: a program, kernels with pointers, and calls that are
// refused.
#include <stdio.h>

#include "my mod.h"

static int Failed(kdl_error* error) {
  if (error != NULL) printf("%s\n", kdl_error_message(error));
  const int failed = error != NULL;
  kdl_error_free(error);
  return failed;
}

int main(void) {
  kdl_context* context = NULL;
  kdl_device* host = NULL;
  if (Failed(kdl_context_create(&context))) return 1;
  if (Failed(kdl_context_register_all(context, kdl_images_my_mod))) return 1;
  if (Failed(kdl_select_device(context, "host", &host))) return 1;
  float x[3] = {1, 2, 3};
  float y[3] = {0, 0, 0};
  const int64_t sizes[1] = {3};
  kdl_array from;
  kdl_array to;
  if (Failed(kdl_array_wrap(host, x, KDL_F32, 1, sizes, NULL, "x", &from))) return 1;
  if (Failed(kdl_array_wrap(host, y, KDL_F32, 1, sizes, NULL, "y", &to))) return 1;
  const my_mod_devices devices = {NULL, "host"};
  if (Failed(my_mod_work(context, &from, &to, 0, &devices))) return 1;
  printf("%g %g %g\n", y[0], y[1], y[2]);

  my_mod_kernels* kernels = NULL;
  if (Failed(my_mod_open(context, "host", &kernels))) return 1;
  if (Failed(my_mod_scale_f32(kernels, 3, x, y, 3))) return 1;
  printf("%g %g %g\n", y[0], y[1], y[2]);
  kdl_event* done = NULL;
  if (Failed(my_mod_scale_f32_async(kernels, 3, x, y, 4, NULL, 0, &done))) return 1;
  if (Failed(kdl_event_wait(done, -1))) return 1;
  kdl_event_free(done);
  printf("%g %g %g\n", y[0], y[1], y[2]);
  Failed(my_mod_scale_f32(kernels, -3, x, y, 3));
  Failed(my_mod_scale_f32(kernels, 3, NULL, y, 3));
  Failed(my_mod_scale_f32(kernels, 2, x, x + 1, 3));
  Failed(my_mod_scale_f32(NULL, 3, x, y, 3));
  Failed(my_mod_work(context, NULL, &to, 0, &devices));
  my_mod_close(kernels);
  my_mod_close(NULL);
  Failed(my_mod_open(NULL, "hots", &kernels));
  // Runs in its own context on a device with its own memory. The call copies the data there and back.
  if (Failed(my_mod_open(NULL, "debug", &kernels))) return 1;
  if (Failed(my_mod_scale_f32(kernels, 3, x, y, 5))) return 1;
  printf("%g %g %g\n", y[0], y[1], y[2]);
  my_mod_close(kernels);
  kdl_array_free(&from);
  kdl_array_free(&to);
  kdl_context_destroy(context);
  return 0;
}
