#include <cstring>
#include <stdexcept>

#include "drivers/ptx_machine.h"
#include "drivers/ptx_values.h"

// Asynchronous operations: tile copies from tensors to shared memory, and the matrix instructions of
// warpgroups, which read that memory.

namespace ptx {

namespace {

constexpr unsigned kGroup = 128;
constexpr unsigned kGroupRows = 64;
constexpr std::uint64_t kRowBytes = 128;
constexpr unsigned kStepBytes = 32;  // bytes of each row that one instruction multiplies

// XORs bits 4 to 6 of an address with bits 7 to 9.
std::uint64_t Swizzled(std::uint64_t address) { return address ^ (address >> 7 & 7) << 4; }

// The location of a factor's elements in shared memory, as described by a matrix descriptor.
struct Descriptor {
  std::uint64_t start;
  std::uint64_t leading;
  std::uint64_t stride;
  bool turned;  // contiguous elements are along M or N, not along K
  std::uint64_t bytes;

  Descriptor(std::uint64_t bits, bool is_turned, unsigned element_bytes)
      : start((bits & 0x3fff) << 4),
        leading((bits >> 16 & 0x3fff) << 4),
        stride((bits >> 32 & 0x3fff) << 4),
        turned(is_turned),
        bytes(element_bytes) {
    if (bits >> 62 != 1) throw std::runtime_error("a descriptor of another swizzle than 128B");
  }

  std::uint64_t At(std::uint64_t kept, std::uint64_t term) const {
    const std::uint64_t row = turned ? term : kept;
    const std::uint64_t column = turned ? kept : term;
    const std::uint64_t panel = turned ? column / 64 : 0;
    return Swizzled(start + panel * leading + row / 8 * stride + row % 8 * kRowBytes +
                    (turned ? column % 64 : column) * bytes);
  }
};

}  // namespace

void TileCopy(const TensorMap& map, const std::int32_t* at, std::uint64_t to, char* shared,
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

std::uint64_t TileBytes(const TensorMap& map) {
  std::uint64_t bytes = map.element_bytes;
  for (unsigned d = 0; d < map.rank; ++d) bytes *= map.box[d];
  return bytes;
}

namespace {

bool IsInteger(std::string_view type) { return type == "s8" || type == "u8"; }

// Returns the value of an integer, or the bits of a float converted to f32.
std::uint32_t Taken(std::string_view type, std::uint64_t bits) {
  const auto byte = static_cast<std::uint8_t>(bits);
  if (type == "u8") return byte;
  if (type == "s8") return static_cast<std::uint32_t>(static_cast<std::int8_t>(byte));
  return static_cast<std::uint32_t>(Bits(WidenedElement(type, bits)));
}

std::uint32_t GroupTerms(std::string_view type, std::uint32_t sum, const std::uint32_t* a,
                         const std::uint32_t* b, unsigned terms) {
  if (IsInteger(type)) {
    for (unsigned k = 0; k < terms; ++k) sum += a[k] * b[k];
    return sum;
  }
  std::vector<float> of_a(terms);
  std::vector<float> of_b(terms);
  for (unsigned k = 0; k < terms; ++k) {
    of_a[k] = As<float>(a[k]);
    of_b[k] = As<float>(b[k]);
  }
  return static_cast<std::uint32_t>(
      Bits(MatrixStep(As<float>(sum), of_a.data(), of_b.data(), terms)));
}

}  // namespace

// Lane l of warp w has rows 16 w + l / 4 and 16 w + l / 4 + 8 of the result. Of every 8 columns, it has
// columns 2 (l % 4) and 2 (l % 4) + 1.
void MultiplyOfGroup(const Instruction& i, std::uint64_t a_bits, std::uint64_t b_bits,
                     const SharedElement& element, const GroupRegister& accs) {
  const std::string_view of_rows = i.how.substr(0, i.how.find('.'));
  const std::string_view of_columns = i.how.substr(i.how.find('.') + 1);
  const unsigned bytes = of_rows == "tf32" ? 4 : of_rows == "bf16" || of_rows == "f16" ? 2 : 1;
  const unsigned terms = kStepBytes / bytes;
  const Descriptor a(a_bits, (i.offset & 1) != 0, bytes);
  const Descriptor b(b_bits, (i.offset & 2) != 0, bytes);
  const unsigned columns = static_cast<unsigned>(2 * i.many.size());
  std::vector<std::uint32_t> of_a(std::size_t{kGroupRows} * terms);
  std::vector<std::uint32_t> of_b(std::size_t{columns} * terms);
  for (unsigned k = 0; k < terms; ++k) {
    for (unsigned r = 0; r < kGroupRows; ++r)
      of_a[r * terms + k] = Taken(of_rows, element(a.At(r, k), bytes));
    for (unsigned c = 0; c < columns; ++c)
      of_b[c * terms + k] = Taken(of_columns, element(b.At(c, k), bytes));
  }
  for (unsigned thread = 0; thread < kGroup; ++thread) {
    for (unsigned r = 0; r < i.many.size(); ++r) {
      const unsigned row = 16 * (thread / 32) + thread % 32 / 4 + 8 * (r >> 1 & 1);
      const unsigned column = 8 * (r >> 2) + 2 * (thread % 4) + (r & 1);
      std::uint32_t& acc = accs(thread, r);
      acc = GroupTerms(of_rows, acc, &of_a[row * terms], &of_b[column * terms], terms);
    }
  }
}

}  // namespace ptx
