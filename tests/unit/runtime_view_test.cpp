// Compares the geometry of views with brute force on random shapes.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "core/view.h"

namespace kdl::runtime {
namespace {

kdl_tensor MakeStrided(std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides,
                       std::uintptr_t address, std::uint16_t bits = 8) {
  kdl_tensor view = {};
  view.data = reinterpret_cast<void*>(address);
  view.rank = static_cast<std::int32_t>(sizes.size());
  view.element = bits == 8 ? KDL_U8 : bits == 32 ? KDL_U32 : KDL_U64;
  view.element_bits = bits;
  std::copy(sizes.begin(), sizes.end(), view.size);
  std::copy(strides.begin(), strides.end(), view.stride);
  return view;
}

// Calls visit(byte address) for the first byte of every element, in index order.
template <class Visit>
void ForEachElement(const kdl_tensor& view, Visit visit, std::int32_t dimension = 0,
                    std::uintptr_t offset = 0) {
  if (dimension == view.rank) {
    visit(reinterpret_cast<std::uintptr_t>(view.data) + offset);
    return;
  }
  for (std::int64_t i = 0; i < view.size[dimension]; ++i) {
    const auto step = static_cast<std::uintptr_t>(i * view.stride[dimension] * ElementBytes(view));
    ForEachElement(view, visit, dimension + 1, offset + step);
  }
}

std::multiset<std::uintptr_t> TouchedBytes(const kdl_tensor& view) {
  std::multiset<std::uintptr_t> bytes;
  ForEachElement(view, [&](std::uintptr_t at) {
    for (std::int64_t b = 0; b < ElementBytes(view); ++b) {
      bytes.insert(at + static_cast<std::uintptr_t>(b));
    }
  });
  return bytes;
}

class Drawing {
 public:
  explicit Drawing(unsigned seed) : random_(seed) {}
  std::int64_t Number(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  kdl_tensor View(std::uintptr_t base) {
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> strides;
    for (std::int64_t rank = Number(0, 4); rank > 0; --rank) {
      sizes.push_back(Number(rank == 1 && Number(0, 9) == 0 ? 0 : 1, 4));
      strides.push_back(Number(0, 9));
    }
    const std::uint16_t bits[] = {8, 32, 64};
    return MakeStrided(sizes, strides, base + static_cast<std::uintptr_t>(Number(0, 80)),
                       bits[Number(0, 2)]);
  }

 private:
  std::mt19937 random_;
};

TEST_CASE("views: overlap agrees with brute force") {
  Drawing drawing(1);
  int overlapping = 0;
  for (int round = 0; round < 3000; ++round) {
    const kdl_tensor a = drawing.View(1000);
    const kdl_tensor b = drawing.View(1000);
    const std::multiset<std::uintptr_t> bytes = TouchedBytes(a);
    bool expected = false;
    for (std::uintptr_t byte : TouchedBytes(b)) expected |= bytes.contains(byte);
    REQUIRE(Overlap(a, b) == expected);
    REQUIRE(Overlap(b, a) == expected);
    overlapping += expected ? 1 : 0;
  }
  CHECK(overlapping > 300);
  CHECK(overlapping < 2700);
}

TEST_CASE("views: large interleaved blocks are recognized as disjoint") {
  constexpr std::int64_t kRow = 1 << 20;
  const kdl_tensor left = MakeStrided({100000, kRow / 2}, {kRow, 1}, 4096);
  const kdl_tensor right = MakeStrided({100000, kRow / 2}, {kRow, 1}, 4096 + kRow / 2);
  CHECK_FALSE(Overlap(left, right));
  const kdl_tensor wider = MakeStrided({100000, kRow / 2 + 1}, {kRow, 1}, 4096);
  CHECK(Overlap(wider, right));
}

TEST_CASE("views: self-overlap agrees with comparing bytes, and never occurs in row-major views") {
  Drawing drawing(2);
  int apart = 0;
  for (int round = 0; round < 3000; ++round) {
    const kdl_tensor view = drawing.View(1000);
    const std::multiset<std::uintptr_t> bytes = TouchedBytes(view);
    const bool expected = std::set(bytes.begin(), bytes.end()).size() != bytes.size();
    REQUIRE(OverlapsItself(view) == expected);
    apart += expected ? 0 : 1;
  }
  CHECK(apart > 300);
  CHECK_FALSE(OverlapsItself(MakeStrided({3, 4, 5}, {20, 5, 1}, 0)));
  CHECK_FALSE(OverlapsItself(MakeStrided({3, 4, 5}, {1, 3, 12}, 0)));
  CHECK_FALSE(OverlapsItself(MakeStrided({2, 7}, {7, 3}, 0)));
  CHECK(OverlapsItself(MakeStrided({4, 8}, {7, 3}, 0)));
}

TEST_CASE("views: copies of regions agree with copies by index") {
  Drawing drawing(3);
  for (int round = 0; round < 2000; ++round) {
    kdl_tensor from = drawing.View(0);
    if (IsEmpty(from)) continue;
    // The target has the same shape, with gaps between elements, and its dimensions are in a random order in
    // memory.
    kdl_tensor to = from;
    std::vector<int> order(static_cast<std::size_t>(to.rank));
    for (int d = 0; d < to.rank; ++d) order[static_cast<std::size_t>(d)] = d;
    if (drawing.Number(0, 1) == 1) std::reverse(order.begin(), order.end());
    std::int64_t stride = 1;
    for (int d : order) {
      to.stride[d] = stride;
      stride = stride * to.size[d] + drawing.Number(0, 1);
    }
    std::vector<unsigned char> source(2000);
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<unsigned char>(i * 7);
    std::vector<unsigned char> target(20000, 0);
    std::vector<unsigned char> expected = target;
    const std::int64_t from_offset = drawing.Number(0, 50);
    const std::int64_t to_offset = drawing.Number(0, 50);

    std::vector<std::size_t> reads;
    from.data = to.data = nullptr;
    ForEachElement(from, [&](std::uintptr_t at) { reads.push_back(at); });
    std::size_t next = 0;
    ForEachElement(to, [&](std::uintptr_t at) {
      const auto* read = source.data() + reads[next++] + from_offset;
      std::copy_n(read, ElementBytes(to),
                  expected.data() + at + static_cast<std::size_t>(to_offset));
    });

    const kdl_region region = RegionOf(to, to_offset, from, from_offset);
    CopyRegion(target.data(), source.data(), region);
    REQUIRE(target == expected);
    REQUIRE(RegionBytes(region) == static_cast<std::int64_t>(reads.size()) * ElementBytes(to));

    // Copying through a dense block and back gives the same elements.
    std::vector<unsigned char> dense(static_cast<std::size_t>(RegionBytes(region)));
    std::vector<unsigned char> again(20000, 0);
    CopyRegion(dense.data(), source.data(), WithDenseTo(region));
    CopyRegion(again.data(), dense.data(), WithDenseFrom(region));
    REQUIRE(again == expected);
  }
}

TEST_CASE("views: contiguous memory is one run") {
  const kdl_tensor dense = MakeStrided({3, 4, 5}, {20, 5, 1}, 0, 32);
  const kdl_region whole = RegionOf(dense, 0, dense, 0);
  CHECK(whole.rank == 0);
  CHECK(whole.run_bytes == 240);
  const kdl_tensor rows = MakeStrided({3, 4, 5}, {40, 10, 1}, 0, 32);
  const kdl_region region = RegionOf(rows, 0, dense, 0);
  CHECK(region.rank == 1);
  CHECK(region.count[0] == 12);
  CHECK(region.run_bytes == 20);
}

TEST_CASE("views: the bytes of spans") {
  CHECK(SpanBytes(MakeStrided({}, {}, 0, 64)) == 8);
  CHECK(SpanBytes(MakeStrided({3, 4}, {10, 1}, 0, 32)) == 96);
  CHECK(SpanBytes(MakeStrided({3, 0}, {10, 1}, 0, 32)) == 0);
  CHECK(Describe(MakeStrided({3, 4}, {4, 1}, 0, 32)) == "u32[3, 4]");
  CHECK(Describe(MakeStrided({}, {}, 0, 8)) == "u8[]");
}

}  // namespace
}  // namespace kdl::runtime
