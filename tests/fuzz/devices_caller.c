// Runs the C version of a program that devices.py has generated. The arguments are the program's number,
// its devices, and then the name, direction and device of each parameter. The elements of a parameter are
// read from NAME.npy and written to NAME_out.npy. The program is first called with one tensor for two
// parameters. If it writes one of these parameters, it must refuse this call. At the end, no device memory
// may be in use.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"

enum { kDevices = 4, kMostParameters = 3, kBytes = ROWS * COLUMNS * 4, kHeader = 128 };

static kdl_context* context;

static void Check(kdl_error* error) {
  if (error == NULL) return;
  fprintf(stderr, "%s\n", kdl_error_message(error));
  exit(1);
}

static kdl_device* Select(const char* spec) {
  kdl_device* device;
  Check(kdl_select_device(context, spec, &device));
  return device;
}

// Reads or writes the elements of a file in NumPy's format.
static void Exchange(const kdl_array* array, const char* name, const char* ending, int writes) {
  char path[64];
  snprintf(path, sizeof path, "%s%s.npy", name, ending);
  FILE* file = fopen(path, writes ? "wb" : "rb");
  if (file == NULL) return;  // the parameter is only written, so it has no input file
  void* data;
  Check(kdl_buffer_map(array->buffer, writes ? KDL_MAP_READ : KDL_MAP_WRITE, &data));
  static const char kMagic[] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, kHeader - 10, 0};
  char header[kHeader];
  memset(header, ' ', kHeader);
  memcpy(header, kMagic, sizeof kMagic);
  const int length =
      snprintf(header + sizeof kMagic, kHeader - sizeof kMagic,
               "{'descr': '<i4', 'fortran_order': False, 'shape': (%d, %d), }", ROWS, COLUMNS);
  header[sizeof kMagic + (size_t)length] = ' ';
  header[kHeader - 1] = '\n';
  const int done = writes
                       ? fwrite(header, kHeader, 1, file) == 1 && fwrite(data, kBytes, 1, file) == 1
                       : fseek(file, kHeader, SEEK_SET) == 0 && fread(data, kBytes, 1, file) == 1;
  fclose(file);
  Check(kdl_buffer_unmap(array->buffer));
  if (!done) exit(2);
}

static kdl_error* RunProgram(int number, kdl_array* p, const programs_devices* devices) {
#define PROGRAM(own, ...) \
  if (number == own) return programs_run##own(context, __VA_ARGS__, devices);
#include "programs.def"
  return NULL;
}

static void RunShared(int number, const kdl_array* p, int one, int other,
                      const programs_devices* devices) {
  kdl_array shared[kMostParameters];
  memcpy(shared, p, sizeof shared);
  shared[other] = p[one];
  kdl_error* error = RunProgram(number, shared, devices);
  const char* said = error == NULL ? "nothing" : kdl_error_message(error);
  const int is_refused = strstr(said, "must not overlap another parameter") != NULL ||
                         strstr(said, " lives on ") != NULL;
  if (!is_refused) fprintf(stderr, "one tensor for parameters %d and %d: %s\n", one, other, said);
  if (!is_refused) exit(3);
  kdl_error_free(error);
}

int main(int argc, char** argv) {
  const programs_devices devices = {argv[2], argv[3], argv[4], argv[5]};
  char** parameters = argv + 2 + kDevices;
  const int count = (argc - 2 - kDevices) / 3;
  const int64_t sizes[2] = {ROWS, COLUMNS};
  kdl_array p[kMostParameters] = {{NULL}};
  Check(kdl_context_create(&context));
  Check(kdl_context_register_all(context, kdl_images_programs));
  for (int i = 0; i < count; ++i) {
    Check(kdl_array_allocate(Select(parameters[3 * i + 2]), KDL_I32, 2, sizes, parameters[3 * i],
                             &p[i]));
    Exchange(&p[i], parameters[3 * i], "", 0);
  }
  const int number = atoi(argv[1]);
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < i; ++j) {
      const int are_read =
          strcmp(parameters[3 * i + 1], "in") == 0 && strcmp(parameters[3 * j + 1], "in") == 0;
      if (!are_read) RunShared(number, p, j, i, &devices);
    }
  }
  Check(RunProgram(number, p, &devices));
  for (int i = 0; i < count; ++i) {
    Exchange(&p[i], parameters[3 * i], "_out", 1);
    kdl_array_free(&p[i]);
  }
  for (int i = 0; i < kDevices; ++i) {
    kdl_statistics counts;
    kdl_device_get_statistics(Select(argv[2 + i]), &counts);
    if (counts.bytes_in_use != 0)
      printf("%s: %d bytes still in use\n", argv[2 + i], (int)counts.bytes_in_use);
  }
  kdl_context_destroy(context);
  return 0;
}
