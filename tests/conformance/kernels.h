// The kernels of the suite, written by hand with the ABI of compiled kernels. Devices that run other kinds of
// images have the same kernels in images of those kinds.
#pragma once

#include "kdl/kernel_abi.h"

namespace kdl::conformance {

// A null-terminated list of images of kind "host". They contain these kernels, where capital letters are
// sizes:
//
//   saxpy(a: f32, x: in f32[N], y: inout f32[N])        y = fma(a, x, y), blocks of 64
//   saxpy(a: f64, x: in f64[N], y: inout f64[N])
//   mark(y: inout i64[N])                               y[core_id] += core_num if core_id < N
//   row_sums(x: in f32[R, C], y: out f32[R])            sums in ascending order, one row a block
//   matmul(a: in f32[M, K], b: in f32[K, N], c: out f32[M, N])
//   quads(x: in i32[N, 4], y: out i32[N])               y = sum over the last dimension
//   halve(x: in i32[C], y: out i32[G]) where C == 2 * G y[g] = x[2g] + x[2g + 1]
//   scalars(one of each element kind, y: out u64[N])    y[k] = the k-th slot, N at most 16
//   many(x0 … x69: in i32[N], s0 … s9: i64, y: out i64[N])   y = x0 + … + x69 + s0 + … + s9
//   trap_at(at: i64, y: inout i32[N])                   y = y + 1; traps at index `at`
//   exchange(x: inout i64[N], y: out i64[N])            x[core_id] = core_id; sync;
//                                                       y[i] = x[(i + 1) % N]
//   endless(x: inout i64[N])                            waits at barriers until core 0 traps at the
//                                                       third
//   spin(y: inout i64[N])                               never ends unless it is cancelled
//   dynamic_counter(y: inout i64[N])                    y[n] += 1 for each n taken from the launch's
//                                                       counter
//   scratch(y: inout i64[N])                            y[core_id] = 1 if it had its own scratch
//   workspace(y: out i64[N])                            y[core_id] = core_id, through slice and
//                                                       shared
//   slices(y: inout i64[N])                             y[core_id] = its slot; fills its slice with
//                                                       that number
//   busy_slices(y: inout i64[N])                        the same, only on cores below N
//   print(x: in f32[N])                                 print("x is {}, N is {}", x, N) on core 0
extern const kdl_image* const kImages[];

}  // namespace kdl::conformance
