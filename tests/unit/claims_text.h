#pragma once

#include <string_view>

namespace kdl {

/// Adds 1 to z[i] for each i, and to y[t, i] for i below t in each iteration t of an outer loop. Both loops
/// use dynamic scheduling.
inline constexpr std::string_view kDynamicCountersKernel = R"(
kernel @claims dims(%T, %N) (%y: tensor<i64,[T,N]> inout, %z: tensor<i64,[N]> inout) {
  %0 = const 0 : i64
  %1 = const 1 : i64
  loop %t in %0 .. %T step %1 {
    %most = min %t, %N : i64
    loop %i in %0 .. %most step %1 {dynamic_counter = 1} {
      %v = load %y[%t, %i] {bounds = proven} : i64
      %w = add %v, %1 : i64
      store %w to %y[%t, %i] {bounds = proven}
      yield
    }
    yield
  }
  loop %i.1 in %0 .. %N step %1 {dynamic_counter = 0} {
    %v.1 = load %z[%i.1] {bounds = proven} : i64
    %w.1 = add %v.1, %1 : i64
    store %w.1 to %z[%i.1] {bounds = proven}
    yield
  }
  return
}
)";

}  // namespace kdl
