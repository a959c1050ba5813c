#include "api/rank_memory.h"

#include <cstring>

#include "core/rows.h"
#include "system/pages.h"

namespace kdl::runtime {

std::int64_t BytesOf(const kdl_tensor& view) {
  std::int64_t bytes = view.element_bits / 8;
  for (std::int32_t d = 0; d < view.rank; ++d) bytes *= view.size[d];
  return bytes;
}

kdl_array PartOf(const kdl_array& array, const ranks::Box& box) {
  kdl_array part = array;
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < box.size(); ++d) {
    offset += box[d].first * part.view.stride[d];
    part.view.size[d] = box[d].end - box[d].first;
  }
  part.view.data = static_cast<char*>(part.view.data) + offset * (part.view.element_bits / 8);
  return part;
}

Error Pack(const kdl_array& memory, std::span<const ranks::Box> boxes, char* to) {
  return WithRows(memory, boxes, KDL_MAP_READ,
                  [&](const char* row, std::size_t bytes, std::int64_t) {
                    std::memcpy(to, row, bytes);
                    to += bytes;
                  });
}

Error Unpack(const kdl_array& memory, std::span<const ranks::Box> boxes, const char* from) {
  return WithRows(memory, boxes, KDL_MAP_READ_WRITE,
                  [&](char* row, std::size_t bytes, std::int64_t) {
                    std::memcpy(row, from, bytes);
                    from += bytes;
                  });
}

void ReleaseBetween(char* from, char* to) {
  const auto page = static_cast<std::uintptr_t>(PageBytes());
  const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(from) + page - 1) / page * page;
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(to) / page * page;
  if (first < end)
    ReleasePages(from + (first - reinterpret_cast<std::uintptr_t>(from)),
                 static_cast<std::int64_t>(end - first));
}

}  // namespace kdl::runtime
