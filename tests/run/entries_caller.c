/* Calls the exports of entries.kdl with overlapping memory, and in different floating-point states.
 * Without arguments, everything runs on the host; with a device spec, the kernels run there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "entries.h"

enum { kCount = 20000 };

static kdl_context* context;
static kdl_device* host;

static void Show(const char* what, kdl_error* error) {
  printf("%s: %s\n", what, error == NULL ? "runs" : kdl_error_message(error));
  kdl_error_free(error);
}

static void Need(kdl_error* error) {
  if (error == NULL) return;
  printf("%s\n", kdl_error_message(error));
  exit(1);
}

static kdl_array Rows(float* data, int64_t count, int64_t stride) {
  kdl_array array;
  Need(kdl_array_wrap(host, data, KDL_F32, 1, &count, stride == 1 ? NULL : &stride, "", &array));
  return array;
}

/* ---- memory that overlaps ---- */

static void Overlaps(void) {
  static float memory[3 * 64];
  kdl_array a = Rows(memory, 64, 1);
  kdl_array b = Rows(memory + 64, 64, 1);
  kdl_array between = Rows(memory + 32, 64, 1);
  kdl_array one = Rows(memory, 64, 0);
  Show("two apart", entries_two(context, &a, &b, NULL));
  Show("two alike", entries_two(context, &a, &a, NULL));
  Show("two that meet", entries_two(context, &b, &between, NULL));
  Show("many apart", entries_many(context, &a, &a, &b, NULL));
  Show("many, the first", entries_many(context, &b, &a, &b, NULL));
  Show("many, the second", entries_many(context, &a, &between, &b, NULL));
  Show("one element", entries_many(context, &a, &a, &one, NULL));
  Show("parts apart", entries_parts(context, &a, 0, 8, 8, NULL));
  Show("parts that meet", entries_parts(context, &a, 0, 7, 8, NULL));
  Show("empty parts", entries_parts(context, &a, 3, 3, 0, NULL));
  kdl_array_free(&a);
  kdl_array_free(&b);
  kdl_array_free(&between);
  kdl_array_free(&one);
}

/* ---- the floating-point state ---- */

#if defined(__x86_64__)
static uint64_t State(void) { return __builtin_ia32_stmxcsr() & ~0x3Fu; }
static void SetState(uint64_t state) { __builtin_ia32_ldmxcsr((unsigned)state); }
/* Flush subnormals to zero; round up; round down; round toward zero; unmask all exceptions. */
static const uint64_t kStates[] = {0x9FC0, 0x5F80, 0x3F80, 0x7F80, 0x0000, 0x1F80};
#elif defined(__aarch64__)
static uint64_t State(void) {
  uint64_t state;
  __asm__ volatile("mrs %0, fpcr" : "=r"(state));
  return state;
}
static void SetState(uint64_t state) { __asm__ volatile("msr fpcr, %0" ::"r"(state)); }
static const uint64_t kStates[] = {1 << 24, 1 << 22, 2 << 22, 3 << 22, 1 << 25, 0};
#endif

static float x[kCount];

static void Draw(void) {
  for (int i = 0; i < kCount; ++i) {
    uint32_t bits = (uint32_t)i * 2654435761u;
    bits =
        i % 3 == 0 ? bits % (1u << 23) : 0x30000000u + bits % 0x20000000u; /* subnormal or normal */
    if (i % 5 == 0) bits |= 0x80000000u;
    if (i % 7 == 0) bits &= 0x80000000u; /* zeros */
    if (i == 0) bits = 0x00345678u;
    memcpy(&x[i], &bits, sizeof bits);
  }
}

/* Runs `run` in each state. It must write the same bits as in the default state, and must preserve the
 * state. */
static void InEachState(const char* what, kdl_error* (*run)(float*)) {
  static float wanted[kCount];
  static float found[kCount];
  Need(run(wanted));
  for (size_t s = 0; s < sizeof kStates / sizeof kStates[0]; ++s) {
    memset(found, 0xFF, sizeof found);
    const uint64_t before = State();
    SetState(kStates[s]);
    kdl_error* error = run(found);
    const uint64_t after = State();
    SetState(before);
    Need(error);
    int wrong = 0;
    for (int i = 0; i < kCount; ++i) wrong += memcmp(&wanted[i], &found[i], sizeof(float)) != 0;
    printf("%s, state %d: %d wrong, %s\n", what, (int)s, wrong,
           after == kStates[s] ? "kept" : "lost");
  }
}

static entries_kernels* kernels;

static kdl_error* Called(float* y) { return entries_floats(kernels, kCount, x, 0.1f, y); }

static kdl_error* Queued(float* y) {
  kdl_event* done = NULL;
  kdl_error* error = entries_floats_async(kernels, kCount, x, 0.1f, y, NULL, 0, &done);
  if (error == NULL) error = kdl_event_wait(done, -1);
  kdl_event_free(done);
  return error;
}

static kdl_error* Program(float* y) {
  kdl_array from = Rows(x, kCount, 1);
  kdl_array to = Rows(y, kCount, 1);
  kdl_error* error = entries_computes(context, &from, 0.1f, 1e-40f, &to, NULL);
  kdl_array_free(&from);
  kdl_array_free(&to);
  return error;
}

/* The first call, which opens the device and starts threads, is made in the first state. */
static void Floats(const char* spec) {
  SetState(kStates[0]);
  kdl_error* error = entries_open(NULL, spec, &kernels);
  float* y = (float*)malloc(sizeof x);
  if (error == NULL) error = Called(y);
  if (error == NULL) error = Queued(y);
  SetState(kStates[5]);
  free(y);
  Need(error);
  InEachState("called", Called);
  InEachState("queued", Queued);
  entries_close(kernels);
}

int main(int argc, char** argv) {
  SetState(kStates[5]);
  Draw();
  if (argc > 1) {
    Floats(argv[1]);
    return 0;
  }
  Need(kdl_context_create(&context));
  Need(kdl_context_register_all(context, kdl_images_entries));
  Need(kdl_select_device(context, "host?threads=2", &host));
  Overlaps();
  Floats("host?threads=2");
  InEachState("program", Program);
  kdl_context_destroy(context);
  return 0;
}
