// The suite's tables for devices that receive their kernels as text (kdl/workgroup_abi.h).
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "conformance/kernels.h"

namespace kdl::conformance {

// An image that describes the same kernels as the host's image, but without host code. Its
// payload is text, in which the variants' symbols name the functions.
struct WorkgroupImage {
  std::string text;
  std::deque<std::string> symbols;
  std::deque<std::vector<kdl_variant>> variants;
  std::vector<kdl_kernel> kernels;
  kdl_image image;

  WorkgroupImage(const char* kind, std::string its_text)
      : text(std::move(its_text)), image(*kImages[0]) {
    for (int k = 0; k < image.kernel_count; ++k) Add(image.kernels[k]);
    image.kind = kind;
    image.kernels = kernels.data();
    image.kernel_count = static_cast<std::int32_t>(kernels.size());
    image.payload = text.data();
    image.payload_bytes = static_cast<std::int64_t>(text.size());
  }

 private:
  void Add(kdl_kernel kernel) {
    std::vector<kdl_variant>& own = variants.emplace_back();
    for (int v = 0; v < kernel.variant_count; ++v) {
      kdl_variant variant = kernel.variants[v];
      std::string& symbol = symbols.emplace_back(variant.symbol);
      for (char& c : symbol) c = c == '.' ? '_' : c;
      variant.entry = nullptr;
      variant.symbol = symbol.c_str();
      variant.dynamic_counter_count = 0;
      variant.frame_bytes = 0;
      if (variant.scratch_bytes > 0) variant.scratch_bytes = 1024;
      if ((variant.flags & KDL_VARIANT_SYNC) != 0) variant.scratch_bytes = 64;
      own.push_back(variant);
    }
    kernel.variants = own.data();
    kernels.push_back(kernel);
  }
};

}  // namespace kdl::conformance
