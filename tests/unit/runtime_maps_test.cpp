#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "cuda/cuda_maps.h"

// Tests which tensors have a tensor map, and how the map is described to the driver.

namespace kdl::runtime {

namespace {

struct Told {
  int kind = -1;
  std::vector<std::uint64_t> sizes;
  std::vector<std::uint64_t> strides;
  std::vector<std::uint32_t> tensor_tile;
} told;

int Encode(void*, int kind, std::uint32_t rank, void*, const std::uint64_t* sizes,
           const std::uint64_t* strides, const std::uint32_t* tensor_tile, const std::uint32_t*,
           int, int, int, int) {
  told = {kind,
          {sizes, sizes + rank},
          {strides, strides + rank - 1},
          {tensor_tile, tensor_tile + rank}};
  return cu::kSuccess;
}

kdl_tensor MakeTensor(std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides,
                      std::uintptr_t address = 4096) {
  kdl_tensor tensor = {};
  tensor.data = reinterpret_cast<void*>(address);
  tensor.rank = static_cast<std::int32_t>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), tensor.size);
  std::copy(strides.begin(), strides.end(), tensor.stride);
  return tensor;
}

bool HasMap(const kdl_tensor& tensor, std::int64_t row_dimension = 0) {
  cu::Api api;
  api.TensorMapEncodeTiled = Encode;
  TensorMap map;
  return MakeMap(api, {0, row_dimension, 128, 64, 128}, tensor, 2, &map);
}

}  // namespace

TEST_CASE("maps are described to the driver from the last dimension to the first") {
  CHECK(HasMap(MakeTensor({3, 100, 72}, {7208, 72, 1}), 1));
  CHECK(told.kind == 1);
  CHECK(told.sizes == std::vector<std::uint64_t>{72, 100, 3});
  CHECK(told.strides == std::vector<std::uint64_t>{144, 14416});
  CHECK(told.tensor_tile == std::vector<std::uint32_t>{64, 128, 1});
}

TEST_CASE("tensors whose memory cannot be copied as tensor tiles have no map") {
  constexpr std::int64_t kLarge = std::int64_t{1} << 31;
  CHECK(HasMap(MakeTensor({100, 72}, {72, 1})));
  CHECK_FALSE(HasMap(MakeTensor({100, 72}, {72, 1}, 4104)));  // unaligned address
  CHECK_FALSE(HasMap(MakeTensor({100, 72}, {76, 1})));        // unaligned rows
  CHECK_FALSE(HasMap(MakeTensor({100, 72}, {-72, 1})));       // negative stride
  CHECK_FALSE(HasMap(MakeTensor({100, 72}, {0, 1})));         // stride of 0
  CHECK_FALSE(HasMap(MakeTensor({100, 72}, {144, 2})));       // not contiguous
  CHECK_FALSE(HasMap(MakeTensor({0, 72}, {72, 1})));          // no elements
  CHECK_FALSE(HasMap(MakeTensor({100, 0}, {72, 1})));
  CHECK_FALSE(HasMap(MakeTensor({kLarge, 72}, {72, 1})));  // coordinates have 32 bits
  CHECK(HasMap(MakeTensor({kLarge - 1, 72}, {72, 1})));
  CHECK_FALSE(HasMap(MakeTensor({2, 72}, {std::int64_t{1} << 39, 1})));  // rows too far apart
  CHECK_FALSE(HasMap(MakeTensor({2, 72}, {std::int64_t{1} << 62, 1})));
  CHECK(HasMap(MakeTensor({1, 72}, {0, 1})));  // a single row
  CHECK_FALSE(HasMap(MakeTensor({72}, {1})));  // wrong rank
  CHECK_FALSE(HasMap(MakeTensor({1, 1, 1, 1, 8, 72}, {576, 576, 576, 576, 72, 1})));
}

TEST_CASE("a driver without tensor maps makes none") {
  TensorMap map;
  CHECK_FALSE(MakeMap(cu::Api{}, {0, 0, 128, 64, 128}, MakeTensor({100, 72}, {72, 1}), 2, &map));
}

}  // namespace kdl::runtime
