#include <cstring>
#include <stdexcept>

#include "conformance/ptx_machine.h"

// What goes on by itself: boxes of tensors on their way to shared memory, and steps of groups of four warps, which read it.

namespace ptx {

namespace {

constexpr unsigned kGroup = 128;
constexpr unsigned kGroupTerms = 16;
constexpr unsigned kGroupRows = 64;
constexpr std::uint64_t kRowBytes = 128;

// Bits 4 to 6 of an address are exchanged by those from 7 on.
std::uint64_t Swizzled(std::uint64_t address) { return address ^ (address >> 7 & 7) << 4; }

// Where a factor's element lies that a descriptor tells of.
struct Descriptor {
  std::uint64_t start;
  std::uint64_t leading;
  std::uint64_t stride;
  bool turned;  // rows hold what is kept, not terms

  Descriptor(std::uint64_t bits, bool is_turned)
      : start((bits & 0x3fff) << 4),
        leading((bits >> 16 & 0x3fff) << 4),
        stride((bits >> 32 & 0x3fff) << 4),
        turned(is_turned) {
    if (bits >> 62 != 1) throw std::runtime_error("a descriptor of another swizzle than 128B");
  }

  std::uint64_t At(std::uint64_t kept, std::uint64_t term) const {
    const std::uint64_t row = turned ? term : kept;
    const std::uint64_t column = turned ? kept : term;
    const std::uint64_t panel = turned ? column / 64 : 0;
    return Swizzled(start + panel * leading + row / 8 * stride + row % 8 * kRowBytes +
                    (turned ? column % 64 : column) * 2);
  }
};

}  // namespace

void CopyBox(const TensorMap& map, const std::int32_t* at, std::uint64_t to, char* shared,
             const HostOf& host_of) {
  std::uint64_t elements = 1;
  for (unsigned d = 0; d < map.rank; ++d) elements *= map.box[d];
  for (std::uint64_t element = 0; element < elements; ++element) {
    std::uint64_t rest = element;
    std::uint64_t from = map.address;
    bool inside = true;
    for (unsigned d = 0; d < map.rank; ++d) {
      const std::int64_t place = at[d] + static_cast<std::int64_t>(rest % map.box[d]);
      rest /= map.box[d];
      inside = inside && 0 <= place && place < static_cast<std::int64_t>(map.sizes[d]);
      from += static_cast<std::uint64_t>(place) * (d == 0 ? map.element_bytes : map.strides[d - 1]);
    }
    char* place = shared + Swizzled(to + element * map.element_bytes);
    std::memset(place, 0, map.element_bytes);
    if (inside) std::memcpy(place, host_of(from, map.element_bytes), map.element_bytes);
  }
}

std::uint64_t BytesOf(const TensorMap& map) {
  std::uint64_t bytes = map.element_bytes;
  for (unsigned d = 0; d < map.rank; ++d) bytes *= map.box[d];
  return bytes;
}

// Of the result lane l of warp w has rows 16 w + l / 4 and 8 behind, columns 2 (l % 4) and the next one of each 8.
void MultiplyOfGroup(const Instruction& i, std::uint64_t a_bits, std::uint64_t b_bits,
                     const SharedElement& element, const GroupRegister& accs) {
  const Descriptor a(a_bits, (i.offset & 1) != 0);
  const Descriptor b(b_bits, (i.offset & 2) != 0);
  const unsigned columns = static_cast<unsigned>(2 * i.many.size());
  std::vector<float> of_a(kGroupRows * kGroupTerms);
  std::vector<float> of_b(columns * kGroupTerms);
  for (unsigned k = 0; k < kGroupTerms; ++k) {
    for (unsigned r = 0; r < kGroupRows; ++r)
      of_a[r * kGroupTerms + k] = WidenedElement(i, element(a.At(r, k)));
    for (unsigned c = 0; c < columns; ++c)
      of_b[c * kGroupTerms + k] = WidenedElement(i, element(b.At(c, k)));
  }
  for (unsigned thread = 0; thread < kGroup; ++thread) {
    for (unsigned r = 0; r < i.many.size(); ++r) {
      const unsigned row = 16 * (thread / 32) + thread % 32 / 4 + 8 * (r >> 1 & 1);
      const unsigned column = 8 * (r >> 2) + 2 * (thread % 4) + (r & 1);
      float& acc = accs(thread, r);
      acc = MatrixStep(acc, &of_a[row * kGroupTerms], &of_b[column * kGroupTerms]);
    }
  }
}

}  // namespace ptx
