// Counts what this process sends with MPI.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mpi_traffic {
  int64_t messages;
  int64_t bytes;
} mpi_traffic;

// Returns what the process has sent since it started.
mpi_traffic mpi_traffic_sent(void);

#ifdef __cplusplus
}
#endif
