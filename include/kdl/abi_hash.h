// Computes the hash of abi.def from its names, kinds, counts and codes, but not from its comments. If
// KDL_ABI_HASH in kernel_abi.h has a different value, the compilation fails. An image (the description of the
// kernels in an object) contains the hash, so that the runtime can refuse objects that were built for another
// ABI. Therefore, the compiler and the runtime each include this file where they write or check images.
#pragma once

#include <cstdint>
#include <string_view>

#include "kdl/kernel_abi.h"

namespace kdl {

inline constexpr std::string_view kAbiText =
#define KDL_SCALAR(Name, ID, spelling, code, bits, Group, ctype, comment) \
  "E" #ID "=" #code "," #bits ";"
#include "kdl/scalars.def"
#define KDL_STRUCT(name, comment) #name "{"
#define KDL_FIELD(owner, ctype, kind, name, comment) #kind " " #name ";"
#define KDL_ARRAY(owner, ctype, kind, count, name, comment) #kind " " #name "[" #count "];"
#define KDL_NESTED(owner, type, name, comment) #type " " #name ";"
#define KDL_STRUCT_END(name) "}"
#define KDL_TRAP_CODE(ID, code, text) "T" #ID "=" #code ";"
#define KDL_CODE(ID, value, comment) "C" #ID "=" #value ";"
#define KDL_FEATURE(ID, bit, arch, spelling) "F" #ID "=" #bit ";"
#include "kdl/abi.def"
    ;

// Returns the 64-bit FNV-1a hash of `text`.
consteval std::uint64_t HashAbi(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

inline constexpr std::uint64_t kAbiHash = HashAbi(kAbiText);

template <std::uint64_t computed, std::uint64_t stated>
struct AbiHashIsCurrent {
  static_assert(computed == stated,
                "abi.def, tensor.def or scalars.def has changed: set KDL_ABI_HASH to `computed`");
};
template struct AbiHashIsCurrent<kAbiHash, KDL_ABI_HASH>;

}  // namespace kdl
