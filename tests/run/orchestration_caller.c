// A caller in C11 of tests/golden/orchestration/program.kir: a program, a kernel, and launches that are refused.
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
  kdl_queue* queue = NULL;
  if (Failed(kdl_context_create(&context))) return 1;
  if (Failed(kdl_context_register_all(context, kdl_images_my_mod))) return 1;
  if (Failed(kdl_select_device(context, "host", &host))) return 1;
  if (Failed(kdl_device_queue(host, 0, &queue))) return 1;
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
  kdl_arg factor = {NULL, 0x40400000, KDL_F32, {0}};
  kdl_event* done = NULL;
  const kdl_function* scale = NULL;
  if (Failed(my_mod_scale_find(context, &scale))) return 1;
  if (Failed(my_mod_scale_launch(queue, scale, 1, &from, &to, factor, NULL, 0, &done))) return 1;
  if (Failed(kdl_event_wait(done, -1))) return 1;
  printf("%g %g %g\n", y[0], y[1], y[2]);
  kdl_event_free(done);
  Failed(my_mod_scale(queue, scale, 0, &from, &to, factor));
  Failed(my_mod_scale_launch(queue, scale, -3, &from, &to, factor, NULL, 0, NULL));
  factor.element = KDL_I32;
  Failed(my_mod_scale(queue, scale, 1, &from, &to, factor));
  Failed(my_mod_scale(queue, NULL, 1, &from, &to, factor));
  Failed(my_mod_scale(queue, scale, 1, NULL, &to, factor));
  Failed(my_mod_work(context, NULL, &to, 0, &devices));
  kdl_array_free(&from);
  kdl_array_free(&to);
  kdl_context_destroy(context);
  return 0;
}
