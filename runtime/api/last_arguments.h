// The arguments of the last call of a kernel.
#pragma once

#include <cstdint>

#include "core/binding.h"
#include "core/small_array.h"

namespace kdl::runtime {

// Compares arguments with those of the last call. Programs often call a kernel with the same memory again, such as
// the two buffers of a filter, and then nothing needs to be checked.
class LastArguments {
 public:
  explicit LastArguments(const kdl_variant& variant);
  LastArguments(const LastArguments&) = delete;
  LastArguments& operator=(const LastArguments&) = delete;

  // Whether the sizes, pointers and scalars are those that were kept last. Does not compare the numbers of cores.
  bool AreThese(const DenseArguments& arguments) const;
  void Keep(const DenseArguments& arguments);

 private:
  SmallArray<std::int64_t, 16> sizes_;
  SmallArray<std::uint64_t, 8> values_;
  SmallArray<std::uint64_t, 8>
      masks_;  // the bits that belong to each value, as the others may be uninitialized
};

}  // namespace kdl::runtime
