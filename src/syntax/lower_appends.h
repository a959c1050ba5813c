#pragma once

#include <string_view>

#include "syntax/builder.h"

namespace kdl::syntax {

/// Replaces the counted outputs and the `append` statements of a kernel by what they mean. The kernel
///
///   kernel positive(x: in f32[N], y: out f32[n <= N]) {
///     spmd for i in N by 256 { append y += x[i] where x[i] > 0.0; }
///   }
///
/// becomes
///
///   kernel positive(x: in f32[N], y: out f32[N], n: out i64[]) {
///     let _n_blocks: i64[ceil_div(N, 256)];
///     spmd for _y_0 in N by 256 { y[_y_0] = 0 as f32; }
///     spmd for i in N by 256 {
///       var _n_count = 0 as i64;
///       _n_count += sum(if x[i] > 0.0 then 1 as i64 else 0 over i);
///       _n_blocks[i.index] = _n_count;
///     }
///     sync;
///     spmd for _n_all in 0..1 { … }   // n and _n_blocks become sums of the elements in all blocks, and in those before
///     sync;
///     spmd for i in N by 256 {
///       var _n_next = _n_blocks[i.index];
///       let _n_keep = x[i] > 0.0;
///       let _n_place = _n_next + cumsum(if _n_keep then 1 as i64 else 0 over i exclusive);
///       y[_n_place] = x[i] where _n_keep;
///       _n_next += sum(if _n_keep then 1 as i64 else 0 over i);
///     }
///   }
void LowerAppends(Builder& builder, FunctionItem& kernel);

/// Reports the `append` statements of an item that is not a kernel; `where` says what it is.
void RefuseAppends(Builder& builder, std::string_view where);
/// Reports the counted sizes of a function that is not a kernel.
void RefuseCountedSizes(Builder& builder, const FunctionItem& function);

}  // namespace kdl::syntax
