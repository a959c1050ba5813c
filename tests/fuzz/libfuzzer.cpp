#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "mutate.h"
#include "support/check_end.h"
#include "target.h"

// The entry points that libFuzzer calls. libFuzzer itself provides main. libFuzzer's mutations change bytes;
// ours change words.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

std::string_view AsText(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

size_t Put(std::string_view text, uint8_t* data, size_t max_size) {
  size_t size = std::min(text.size(), max_size);
  std::memcpy(data, text.data(), size);
  return size;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  kdl::EndFailedChecksBy(std::abort);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kdl::fuzz::RunText(AsText(data, size));
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  if (seed % 8 == 0) return LLVMFuzzerMutate(data, size, max_size);
  return Put(kdl::fuzz::Mutate(AsText(data, size), AsText(data, size), seed), data, max_size);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* a, size_t a_size, const uint8_t* b,
                                            size_t b_size, uint8_t* out, size_t max_size,
                                            unsigned seed) {
  return Put(kdl::fuzz::Mutate(AsText(a, a_size), AsText(b, b_size), seed), out, max_size);
}
