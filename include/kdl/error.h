/* Errors of the device runtime, in C11. A function that can fail returns a `kdl_error*`. It is NULL on
 * success; otherwise it is an error that the caller owns. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct kdl_error kdl_error;

typedef enum kdl_code {
  KDL_OK = 0,
  KDL_ERROR_INVALID_ARGUMENT = 1, /* the caller's mistake: sizes, types, devices, specs */
  KDL_ERROR_NOT_FOUND = 2,        /* no such kernel, device, file or symbol */
  KDL_ERROR_TRAP = 3,             /* a kernel trapped; the device stays usable */
  KDL_ERROR_OUT_OF_MEMORY = 4,
  KDL_ERROR_DEVICE = 5,      /* the device or the system failed */
  KDL_ERROR_UNSUPPORTED = 6, /* the device does not support the operation */
  KDL_ERROR_TIMEOUT = 7,     /* a wait ended before its event */
  KDL_ERROR_INTERNAL = 8,    /* a bug in the runtime or in generated code */
  KDL_ERROR_CANCELLED = 9    /* the caller cancelled the operation or one that it waited for */
} kdl_code;

/* Creates an error with a copy of `message`. If `message` is NULL, the message is "". Never returns NULL,
 * even if no memory is available. */
kdl_error* kdl_error_create(kdl_code code, const char* message);

/* kdl_error_code returns the error's code, or KDL_OK for NULL. kdl_error_message returns its message,
 * without a final newline, or "" for NULL; it is valid until the error is freed. The message says what was
 * found, then what is needed, in the caller's names and numbers. A trap's message reads `file.kdl:12:9:
 * error: index 64 is outside dimension 0 of size 64 in 'x[i + 1]'`. */
kdl_code kdl_error_code(const kdl_error* error);
const char* kdl_error_message(const kdl_error* error);

/* Frees an error; NULL is allowed. */
void kdl_error_free(kdl_error* error);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
