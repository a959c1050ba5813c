// What a checkpoint contains.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kdl/rank_boxes.hpp"
#include "kdl/runtime.h"

namespace kdl::runtime {

struct SavedNumber {
  std::uint8_t element = KDL_I64;
  std::uint64_t bits = 0;  // those beyond the element's size are 0
};

// The elements of a tensor that one of this process's ranks has.
struct SavedPart {
  kdl_array memory;  // of the whole tensor
  std::vector<ranks::Box> boxes;
  bool is_written;  // whether no other rank writes them
};

struct SavedTensor {
  std::string name;
  kdl_tensor view;
  std::vector<SavedPart> parts;

  std::int64_t ElementBytes() const { return view.element_bits / 8; }
  std::int64_t Bytes() const {
    std::int64_t bytes = ElementBytes();
    for (std::int32_t d = 0; d < view.rank; ++d) bytes *= view.size[d];
    return bytes;
  }
};

struct Saved {
  std::string code;  // a checksum of the program
  std::string file;
  std::vector<SavedNumber> numbers;
  std::vector<SavedTensor> tensors;
};

}  // namespace kdl::runtime
