#include "conformance/cuda_kernels.h"

#include <doctest/doctest.h>

#include "conformance/workgroup_image.h"

// The PTX that clang has generated from the suite's kernels.
extern "C" const char kdl_suite_ptx[];
__asm__(
    ".section .rodata\n"
    ".global kdl_suite_ptx\n"
    "kdl_suite_ptx: .incbin \"" KDL_CUDA_KERNELS
    "\"\n"
    ".byte 0\n"
    ".previous\n");

namespace kdl::conformance {

const kdl_image* const* CudaImages() {
  static const WorkgroupImage kImage("cuda", kdl_suite_ptx);
  static const kdl_image* const kAll[] = {&kImage.image, nullptr};
  return kAll;
}

}  // namespace kdl::conformance
