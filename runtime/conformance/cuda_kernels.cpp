#include "conformance/cuda_kernels.h"

#include <fstream>
#include <iterator>
#include <string>

#include "conformance/team_image.h"

namespace kdl::conformance {

namespace {

std::string TextOf(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

const kdl_image* const* CudaImages() {
  static const TeamImage kImage("cuda", TextOf(KDL_CUDA_KERNELS));
  static const kdl_image* const kAll[] = {&kImage.image, nullptr};
  return kAll;
}

}  // namespace kdl::conformance
