// The arguments of the last call of a kernel.
#pragma once

#include <cstdint>

#include "api/ffi_param.h"
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
  // Whether these arguments of the TVM FFI are equal to them: row-major tensors in the host's memory with the parameters' types, and
  // numbers that the parameters' types represent. May return false for other equal arguments.
  bool AreThese(const kdl_ffi_any* arguments, std::int32_t count) const;
  void Keep(const DenseArguments& arguments);

 private:
  struct Param {
    std::uint64_t value;
    std::uint64_t mask;  // the bits that belong to the value, as the others may be uninitialized
    FfiParam ffi;
  };

  SmallArray<std::int64_t, 16> sizes_;
  SmallArray<Param, 8> params_;
};

}  // namespace kdl::runtime
