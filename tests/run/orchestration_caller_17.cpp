// Calls the program of tests/golden/orchestration/program.kir from C++17 without exceptions.
#include <cstdio>

#include "my mod.h"

#ifdef __cpp_exceptions
#error "this is to be compiled without exceptions"
#endif

int main() {
  my_mod::Kernels kernels;
  const float x[3] = {1, 2, 3};
  float y[3] = {0, 0, 0};
  const kdl::Status closed = kernels.scale_f32(3, x, y, 3);
  std::printf("%s\n", closed.message());
  const kdl::Status unknown = kernels.Open("hots");
  std::printf("%d %s\n", unknown.code() == KDL_ERROR_NOT_FOUND, unknown.message());
  if (!kernels.Open("host?threads=2").ok()) return 1;
  my_mod::Kernels moved = std::move(kernels);
  if (!moved.scale_f32(3, x, y, 3).ok()) return 1;
  std::printf("%g %g %g\n", y[0], y[1], y[2]);
  const kdl::Status refused = moved.scale_f32(3, x, nullptr, 3);
  std::printf("%d %s\n", refused.ok(), refused.message());
  kdl_event* done = nullptr;
  if (!kdl::Status(my_mod_scale_f32_async(moved.get(), 3, x, y, 4, nullptr, 0, &done)).ok())
    return 1;
  if (!kdl::Status(kdl_event_wait(done, -1)).ok()) return 1;
  kdl_event_free(done);
  std::printf("%g %g %g\n", y[0], y[1], y[2]);
  kdl::BoundCall bound;
  std::printf("%s\n", bound().message());
  if (!moved.scale_f32_bind(3, x, y, 5, bound).ok() || !bound().ok()) return 1;
  std::printf("%g %g %g\n", y[0], y[1], y[2]);
  // What fails changes nothing.
  const kdl::Status unbound = moved.scale_f32_bind(3, x, nullptr, 6, bound);
  y[2] = 0;
  if (!bound().ok()) return 1;
  std::printf("%s; %g\n", unbound.message(), y[2]);
  if (moved.Open("hots").ok() || !moved.scale_f32(3, x, y, 7).ok()) return 1;
  std::printf("%g %g %g\n", y[0], y[1], y[2]);
  const kdl::Status nowhere(my_mod_scale_f32_bind(moved.get(), 3, x, y, 5, nullptr));
  std::printf("%s\n", nowhere.message());
  return 0;
}
