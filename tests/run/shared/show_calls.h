// Prints what a call computes, or why it fails. shared/callers.py compares the output.
#pragma once

#include <array>
#include <cstdio>

#include "kdl/runtime.hpp"

template <class Launch>
void Show(const char* what, const std::array<float, 4>& y, Launch&& launch) {
  try {
    launch();
    std::printf("%s: %g %g %g %g\n", what, y[0], y[1], y[2], y[3]);
  } catch (const kdl::Error& error) {
    std::printf("%s: %s\n", what, error.what());
  }
}
