// Compares parts and views of the C++ interface's tensors with index arithmetic, element by element.
#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "kdl/runtime.hpp"

namespace {

using Index = std::vector<std::int64_t>;
using Numbers = std::vector<std::int32_t>;

constexpr const char* kPlace = "f.kdl:1:2";

// A tensor with the elements 0, 1, 2 … in row-major order.
class Counted {
 public:
  explicit Counted(const Index& sizes)
      : numbers_(static_cast<std::size_t>(
            std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>()))) {
    std::iota(numbers_.begin(), numbers_.end(), 0);
    tensor_ = context_.Wrap(context_.Select("host"), numbers_.data(), sizes);
  }
  const kdl::Tensor& operator*() const { return tensor_; }
  const kdl::Tensor* operator->() const { return &tensor_; }

 private:
  kdl::Context context_;
  Numbers numbers_;
  kdl::Tensor tensor_;
};

Index SizesOf(const kdl::Tensor& tensor) {
  Index sizes;
  for (int d = 0; d < tensor.rank(); ++d) sizes.push_back(tensor.size(d));
  return sizes;
}

// Appends all elements of the view to `found`, in row-major order.
void Collect(const kdl_tensor& view, int dimension, std::int64_t offset, Numbers& found) {
  if (dimension == view.rank)
    return found.push_back(static_cast<const std::int32_t*>(view.data)[offset]);
  for (std::int64_t i = 0; i < view.size[dimension]; ++i)
    Collect(view, dimension + 1, offset + i * view.stride[dimension], found);
}
Numbers ElementsOf(const kdl::Tensor& tensor) {
  Numbers found;
  Collect(tensor.array().view, 0, 0, found);
  return found;
}

template <class Call>
std::string TrapText(Call call) {
  try {
    call();
  } catch (const kdl::Error& error) {
    CHECK(error.code() == KDL_ERROR_TRAP);
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("tensors: one that was moved from is empty") {
  kdl::Context context;
  Numbers numbers = {1, 2, 3};
  kdl::Tensor tensor = context.Wrap(context.Select("host"), numbers.data(), {3});
  const auto failure = [&]() -> std::string {
    try {
      tensor.Expect("x: i32[N]", kdl::i32, {3});
    } catch (const kdl::Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(failure().empty());
  kdl::Tensor moved = std::move(tensor);
  CHECK(tensor.array().buffer == nullptr);
  CHECK(tensor.array().view.data == nullptr);
  CHECK(tensor.rank() == 0);
  CHECK(failure() == "parameter 'x: i32[N]' has no buffer");
  tensor = std::move(moved);
  CHECK(failure().empty());
  CHECK(moved.array().buffer == nullptr);
  {
    kdl::Mapping<std::int32_t> first = tensor.Map<std::int32_t>(KDL_MAP_READ);
    const kdl::Mapping<std::int32_t> second = std::move(first);
    CHECK(first.elements().empty());
    CHECK(second[2] == 3);
  }
}

TEST_CASE("tensor: At drops a dimension") {
  const Counted x({2, 3, 4});
  CHECK(SizesOf(x->At(0, 1, kPlace, "x[1]")) == Index{3, 4});
  CHECK(ElementsOf(x->At(0, 1, kPlace, "x[1]")).front() == 12);
  const kdl::Tensor middle = x->At(1, 2, kPlace, "x[0..2, 2]");
  CHECK(SizesOf(middle) == Index{2, 4});
  CHECK(ElementsOf(middle) == Numbers{8, 9, 10, 11, 20, 21, 22, 23});
  CHECK(ElementsOf(middle.At(0, 1, kPlace, "x[1, 2]")) == Numbers{20, 21, 22, 23});
  CHECK(middle.array().view.size[2] == 1);
  CHECK(middle.array().view.stride[2] == 0);
  CHECK(SizesOf(*x) == Index{2, 3, 4});
}

TEST_CASE("tensor: Part keeps some indices of a dimension") {
  const Counted x({4, 5});
  CHECK(ElementsOf(x->Part(0, 1, 3, kPlace, "x[1..3]")) ==
        Numbers{5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
  const kdl::Tensor columns = x->Part(1, 3, 5, kPlace, "x[0..4, 3..5]");
  CHECK(ElementsOf(columns) == Numbers{3, 4, 8, 9, 13, 14, 18, 19});
  CHECK(ElementsOf(columns.Part(0, 2, 4, kPlace, "x").Part(1, 1, 2, kPlace, "x")) ==
        Numbers{14, 19});
  CHECK(ElementsOf(columns.At(0, 3, kPlace, "x")) == Numbers{18, 19});
  CHECK(SizesOf(x->Part(0, 4, 4, kPlace, "x[4..4]")) == Index{0, 5});
  CHECK(SizesOf(Counted({0, 5})->Part(0, 0, 0, kPlace, "x[0..0]")) == Index{0, 5});
}

TEST_CASE("tensor: parts out of bounds are traps that name the location and the part") {
  const Counted x({4, 5});
  CHECK(TrapText([&] { x->At(0, 4, kPlace, "x[l]"); }) ==
        "f.kdl:1:2: error: index 4 is outside dimension 0 of size 4 in 'x[l]'");
  CHECK(TrapText([&] { x->At(1, -1, kPlace, "x[l]"); }) ==
        "f.kdl:1:2: error: index -1 is outside dimension 1 of size 5 in 'x[l]'");
  CHECK(TrapText([&] { x->Part(1, 2, 6, kPlace, "x[a..b]"); }) ==
        "f.kdl:1:2: error: 2..6 is outside dimension 1 of size 5 in 'x[a..b]'");
  CHECK(TrapText([&] { x->Part(0, -1, 2, kPlace, "x[a..b]"); }) ==
        "f.kdl:1:2: error: -1..2 is outside dimension 0 of size 4 in 'x[a..b]'");
  CHECK(TrapText([&] { x->Part(0, 3, 2, kPlace, "x[a..b]"); }) ==
        "f.kdl:1:2: error: 3..2 of dimension 0 ends before it begins in 'x[a..b]'");
}

TEST_CASE("tensor: View splits and merges dimensions in place") {
  const Counted x({2, 6, 4});
  Numbers all(48);
  std::iota(all.begin(), all.end(), 0);
  const kdl::Tensor split = x->View(1, 1, {3, 2}, kPlace, "v", "x");
  CHECK(SizesOf(split) == Index{2, 3, 2, 4});
  CHECK(ElementsOf(split) == all);
  const kdl::Tensor merged = x->View(0, 2, {12}, kPlace, "v", "x");
  CHECK(SizesOf(merged) == Index{12, 4});
  CHECK(ElementsOf(merged) == all);
  CHECK(merged.array().view.size[2] == 1);
  CHECK(merged.array().view.stride[2] == 0);
  CHECK(SizesOf(split.View(0, 4, {48}, kPlace, "v", "x")) == Index{48});
  const kdl::Tensor part = x->Part(1, 1, 5, kPlace, "x").View(1, 1, {2, 2}, kPlace, "v", "x");
  CHECK(ElementsOf(part.At(1, 1, kPlace, "v").At(0, 1, kPlace, "v")) ==
        Numbers{36, 37, 38, 39, 40, 41, 42, 43});
  CHECK(SizesOf(Counted({3, 0})->View(0, 2, {0}, kPlace, "v", "x")) == Index{0});
}

TEST_CASE("tensor: dimensions with a gap between their rows are not merged") {
  const Counted x({4, 5});
  const kdl::Tensor columns = x->Part(1, 0, 3, kPlace, "x");
  CHECK(TrapText([&] { columns.View(0, 2, {12}, kPlace, "v", "x[0..4, 0..3]"); }) ==
        "f.kdl:1:2: error: the view 'v' makes one dimension of dimensions 0 to 1 of x[0..4, 0..3], "
        "which are not contiguous: the stride of dimension 0 is 5, not 3");
  CHECK(ElementsOf(columns.Part(0, 2, 3, kPlace, "x").View(0, 2, {3}, kPlace, "v", "x")) ==
        Numbers{10, 11, 12});
}

TEST_CASE("tensor: mapping, reading and writing a part accesses only its elements") {
  const Counted x({3, 4});
  const kdl::Tensor row = x->At(0, 2, kPlace, "x[2]");
  CHECK(row.Read<std::int32_t>({3}, {}, kPlace, "x[2, 3]") == 11);
  row.Write<std::int32_t>(-1, {0}, {}, kPlace, "x[2, 0]");
  CHECK(x->Read<std::int32_t>({2, 0}, {}, kPlace, "x") == -1);
  const kdl::Mapping<std::int32_t> mapped =
      x->Part(1, 1, 3, kPlace, "x").Map<std::int32_t>(KDL_MAP_READ);
  CHECK(mapped.elements().size() == 10);  // includes the gaps between rows
  CHECK(mapped[4] == 5);
  CHECK(TrapText([&] { row.Read<std::int32_t>({4}, {}, kPlace, "x[2, 4]"); }) ==
        "f.kdl:1:2: error: index 4 is outside dimension 0 of size 4 in 'x[2, 4]'");
}

TEST_CASE("tensor: a view that is a parameter is checked before it is used") {
  const Counted x({2, 3});
  const auto refusal = [&](auto change) -> std::string {
    kdl_array array = x->array();
    change(array.view);
    try {
      kdl::Tensor::Share(&array, "x").Expect("x: in i32[M, N]", kdl::i32, {2, 3});
    } catch (const kdl::Error& error) {
      CHECK(error.code() == KDL_ERROR_INVALID_ARGUMENT);
      return error.what();
    }
    return {};
  };
  CHECK(refusal([](kdl_tensor&) {}).empty());
  CHECK(refusal([](kdl_tensor& view) { view.rank = 9; }) ==
        "parameter 'x: in i32[M, N]' has rank 9; ranks go from 0 to 8");
  CHECK(refusal([](kdl_tensor& view) { view.rank = -1; }) ==
        "parameter 'x: in i32[M, N]' has rank -1; ranks go from 0 to 8");
  CHECK(
      refusal([](kdl_tensor& view) { view.stride[0] = -3; }) ==
      "parameter 'x: in i32[M, N]': the array has stride -3 in dimension 0; strides are 0 or more: "
      "pass a row-major copy");
  CHECK(refusal([](kdl_tensor& view) { view.data = nullptr; }) ==
        "parameter 'x: in i32[M, N]': the array is i32[2, 3] at a null pointer");
}

TEST_CASE("tensor: the device of a parameter is checked, and the error names both devices") {
  const kdl::Context context;
  const kdl::Device host = context.Select("host");
  const kdl::Device debug = context.Select("debug[1]");
  const kdl::Tensor x = context.Allocate(debug, kdl::f32, {3}, "x");
  x.ExpectOn(debug, "x", "npu", kPlace);
  const kdl::Tensor y = context.Allocate(host, kdl::f32, {3}, "y");
  y.ExpectOn(context.Select("host?threads=1"), "y", "cpu", kPlace);  // shares `host`'s memory
  std::string message;
  try {
    x.ExpectOn(host, "x", "cpu", kPlace);
  } catch (const kdl::Error& error) {
    CHECK(error.code() == KDL_ERROR_INVALID_ARGUMENT);
    message = error.what();
  }
  CHECK(message ==
        "f.kdl:1:2: error: 'x' lives on debug[1]; the program expects it on 'cpu', which is host");
}
