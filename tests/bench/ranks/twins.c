// The twins of programs.kdl: what somebody would write by hand with MPI. They use the same kernels, and compute what they can
// while messages travel. Rank r of P owns the rows from r * S up to (r + 1) * S, as in the programs.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"
#include "twins.h"

typedef struct rows {
  int64_t first;
  int64_t end;
} rows;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static rows rows_of(int64_t size, int rank, int ranks) {
  const int64_t share = (size + ranks - 1) / ranks;
  return (rows){smaller(rank * share, size), smaller((rank + 1) * share, size)};
}

static int rank_of_this(void) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
static int count_ranks(void) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

static void check(kdl_error* error) {
  if (error != NULL) MPI_Abort(MPI_COMM_WORLD, 1);
}

static float* allocate(int64_t count) { return calloc((size_t)count, sizeof(float)); }

static float* with_rows(const float* x, rows own, int64_t n, int64_t count) {
  float* copy = allocate(count);
  memcpy(copy + own.first * n, x + own.first * n, (size_t)((own.end - own.first) * n) * sizeof *x);
  return copy;
}

// Gives each rank the rows of all ranks.
static void exchange_all(float* x, int64_t m, int64_t n) {
  const int me = rank_of_this();
  const int ranks = count_ranks();
  const rows own = rows_of(m, me, ranks);
  MPI_Request* requests = malloc(2 * (size_t)ranks * sizeof *requests);
  int pending = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const rows other = rows_of(m, rank, ranks);
    if (rank == me) continue;
    MPI_Irecv(x + other.first * n, (int)((other.end - other.first) * n), MPI_FLOAT, rank, 0,
              MPI_COMM_WORLD, &requests[pending++]);
    MPI_Isend(x + own.first * n, (int)((own.end - own.first) * n), MPI_FLOAT, rank, 0,
              MPI_COMM_WORLD, &requests[pending++]);
  }
  MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE);
  free(requests);
}

// The rows next to those of this rank.
static int start_halo(float* x, int64_t m, int64_t n, rows own, MPI_Request* requests) {
  const int me = rank_of_this();
  int pending = 0;
  if (own.first == own.end) return 0;
  if (own.first > 0) {
    MPI_Irecv(x + (own.first - 1) * n, (int)n, MPI_FLOAT, me - 1, 0, MPI_COMM_WORLD,
              &requests[pending++]);
    MPI_Isend(x + own.first * n, (int)n, MPI_FLOAT, me - 1, 0, MPI_COMM_WORLD,
              &requests[pending++]);
  }
  if (own.end < m) {
    MPI_Irecv(x + own.end * n, (int)n, MPI_FLOAT, me + 1, 0, MPI_COMM_WORLD, &requests[pending++]);
    MPI_Isend(x + (own.end - 1) * n, (int)n, MPI_FLOAT, me + 1, 0, MPI_COMM_WORLD,
              &requests[pending++]);
  }
  return pending;
}

static programs_kernels* kernels;

static void relax_by_kernel(int64_t m, int64_t n, const float* x, float* y, int64_t first,
                            int64_t end) {
  if (first < end) check(programs_relax_box(kernels, m, n, x, y, first, end));
}

// The same in C.
static void relax_in_c(int64_t m, int64_t n, const float* restrict x, float* restrict y,
                       int64_t first, int64_t end) {
  for (int64_t i = first; i < end; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const float above = i > 0 ? x[(i - 1) * n + j] : 0.0f;
      const float below = i + 1 < m ? x[(i + 1) * n + j] : 0.0f;
      const float before = j > 0 ? x[i * n + j - 1] : 0.0f;
      const float after = j + 1 < n ? x[i * n + j + 1] : 0.0f;
      y[i * n + j] = 0.25f * (above + below + before + after);
    }
  }
}

typedef void relax_rows(int64_t m, int64_t n, const float* x, float* y, int64_t first, int64_t end);

static void jacobi(const float* x, float* y, int64_t m, int64_t n, int64_t steps,
                   relax_rows* relax) {
  const rows own = rows_of(m, rank_of_this(), count_ranks());
  float* now = with_rows(x, own, n, m * n);
  float* next = allocate(m * n);
  const int64_t first = own.first == 0 ? 0 : own.first + 1;
  const int64_t end = own.end == m ? m : own.end - 1;
  for (int64_t t = 0; t < steps; ++t) {
    MPI_Request requests[4];
    const int pending = start_halo(now, m, n, own, requests);
    relax(m, n, now, next, first, end);
    MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE);
    relax(m, n, now, next, own.first, smaller(first, own.end));
    if (end >= first) relax(m, n, now, next, end, own.end);
    float* other = now;
    now = next;
    next = other;
  }
  exchange_all(now, m, n);
  memcpy(y, now, (size_t)(m * n) * sizeof *y);
  free(now);
  free(next);
}

static void twin_jacobi(const float* x, void* y, int64_t m, int64_t n, int64_t steps) {
  jacobi(x, y, m, n, steps, relax_by_kernel);
}
static void c_jacobi(const float* x, void* y, int64_t m, int64_t n, int64_t steps) {
  jacobi(x, y, m, n, steps, relax_in_c);
}

static void twin_matmul(const float* x, void* y, int64_t m, int64_t n, int64_t steps) {
  const rows own = rows_of(m, rank_of_this(), count_ranks());
  const rows own_b = rows_of(n, rank_of_this(), count_ranks());
  float* a = with_rows(x, own, n, m * n);
  float* b = allocate(n * n);
  float* c = allocate(m * n);
  for (int64_t i = own_b.first * n; i < own_b.end * n; ++i) b[i] = 0.001f;
  for (int64_t t = 0; t < steps; ++t) {
    if (t == 0) exchange_all(b, n, n);  // b does not change
    check(programs_product(kernels, own.end - own.first, n, n, a + own.first * n, b,
                           c + own.first * n));
    float* other = a;
    a = c;
    c = other;
  }
  exchange_all(a, m, n);
  memcpy(y, a, (size_t)(m * n) * sizeof(float));
  free(a);
  free(b);
  free(c);
}

// Copies a box of a matrix with n columns to adjacent memory, or back.
static float* pack(float* packed, const float* x, int64_t n, rows i, rows j) {
  for (int64_t row = i.first; row < i.end; ++row, packed += j.end - j.first)
    memcpy(packed, x + row * n + j.first, (size_t)(j.end - j.first) * sizeof *x);
  return packed;
}
static const float* unpack(float* x, const float* packed, int64_t n, rows i, rows j) {
  for (int64_t row = i.first; row < i.end; ++row, packed += j.end - j.first)
    memcpy(x + row * n + j.first, packed, (size_t)(j.end - j.first) * sizeof *x);
  return packed;
}

// Transposes x into the rows of y that this rank owns. While the columns of x of other ranks travel, it transposes its own.
static void transpose(float* x, float* y, int64_t m, int64_t n) {
  const int me = rank_of_this();
  const int ranks = count_ranks();
  const rows from = rows_of(m, me, ranks);
  const rows own = rows_of(n, me, ranks);
  float* const received = allocate(m * (own.end - own.first));
  float* const sent = allocate((from.end - from.first) * n);
  MPI_Request* requests = malloc(2 * (size_t)ranks * sizeof *requests);
  int pending = 0;
  float* at = received;
  for (int rank = 0; rank < ranks; ++rank) {
    const rows theirs = rows_of(m, rank, ranks);
    const int64_t count = (theirs.end - theirs.first) * (own.end - own.first);
    if (rank == me) continue;
    MPI_Irecv(at, (int)count, MPI_FLOAT, rank, 0, MPI_COMM_WORLD, &requests[pending++]);
    at += count;
  }
  at = sent;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == me) continue;
    float* const end = pack(at, x, n, from, rows_of(n, rank, ranks));
    MPI_Isend(at, (int)(end - at), MPI_FLOAT, rank, 0, MPI_COMM_WORLD, &requests[pending++]);
    at = end;
  }
  check(programs_transpose_box(kernels, m, n, x, y, own.first, own.end, from.first, from.end));
  MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE);
  const float* next = received;
  for (int rank = 0; rank < ranks; ++rank)
    if (rank != me) next = unpack(x, next, n, rows_of(m, rank, ranks), own);
  check(programs_transpose_box(kernels, m, n, x, y, own.first, own.end, 0, from.first));
  check(programs_transpose_box(kernels, m, n, x, y, own.first, own.end, from.end, m));
  free(requests);
  free(received);
  free(sent);
}

static void twin_transposition(const float* x, void* y, int64_t m, int64_t n, int64_t steps) {
  float* a = with_rows(x, rows_of(m, rank_of_this(), count_ranks()), n, m * n);
  float* b = allocate(n * m);
  for (int64_t t = 0; t < steps; ++t) {
    transpose(a, b, m, n);
    transpose(b, a, n, m);
  }
  exchange_all(a, m, n);
  memcpy(y, a, (size_t)(m * n) * sizeof *a);
  free(a);
  free(b);
}

static void twin_histogram(const float* x, void* y, int64_t m, int64_t n, int64_t steps) {
  const rows own = rows_of(m, rank_of_this(), count_ranks());
  float* a = with_rows(x, own, n, m * n);
  for (int64_t t = 0; t < steps; ++t) {
    int64_t counts[TWIN_BINS];
    check(programs_count(kernels, own.end - own.first, n, TWIN_BINS, a + own.first * n, counts));
    MPI_Allreduce(counts, y, TWIN_BINS, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  }
  free(a);
}

static const twin twins[] = {
    {"jacobi", twin_jacobi},       {"jacobi in C", c_jacobi},
    {"matmul", twin_matmul},       {"transposition", twin_transposition},
    {"histogram", twin_histogram},
};

twin_function* find_twin(const char* name, const char* device) {
  if (kernels == NULL) check(programs_open(NULL, device, &kernels));
  for (size_t i = 0; i < sizeof twins / sizeof *twins; ++i)
    if (strcmp(twins[i].name, name) == 0) return twins[i].run;
  return NULL;
}
