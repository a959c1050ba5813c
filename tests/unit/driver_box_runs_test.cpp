#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "driver/ranks/box_runs.h"

namespace kdl::driver {
namespace {

using Runs = std::vector<std::pair<int64_t, int64_t>>;

Runs RunsOf(const std::vector<int64_t>& sizes, const Box& box) {
  Runs runs;
  ForEachRun(sizes, box, [&](int64_t first, int64_t count) { runs.emplace_back(first, count); });
  return runs;
}

TEST_CASE("runs are as long as the elements are adjacent") {
  CHECK(RunsOf({4, 5}, {{0, 4}, {0, 5}}) == Runs{{0, 20}});
  CHECK(RunsOf({4, 5}, {{1, 3}, {0, 5}}) == Runs{{5, 10}});
  CHECK(RunsOf({4, 5}, {{1, 3}, {2, 4}}) == Runs{{7, 2}, {12, 2}});
  CHECK(RunsOf({2, 3, 4}, {{0, 2}, {1, 3}, {0, 4}}) == Runs{{4, 8}, {16, 8}});
  CHECK(RunsOf({}, {}) == Runs{{0, 1}});
}

TEST_CASE("an empty box has no runs") {
  CHECK(RunsOf({4, 5}, {{2, 2}, {0, 5}}).empty());
  CHECK(RunsOf({4, 0}, {{0, 4}, {0, 0}}).empty());
}

TEST_CASE("the runs of a box contain each of its elements once, in order") {
  const std::vector<int64_t> sizes = {3, 2, 4};
  for (int64_t first = 0; first < 64; ++first) {
    Box box = {{first % 3, 3}, {first / 3 % 2, 2}, {first / 6 % 4, first / 24 + 2}};
    std::vector<int64_t> wanted;
    for (int64_t i = box[0].first; i < box[0].end; ++i)
      for (int64_t j = box[1].first; j < box[1].end; ++j)
        for (int64_t k = box[2].first; k < box[2].end; ++k) wanted.push_back((i * 2 + j) * 4 + k);
    std::vector<int64_t> found;
    for (const auto& [begin, count] : RunsOf(sizes, box))
      for (int64_t n = begin; n < begin + count; ++n) found.push_back(n);
    CHECK(found == wanted);
  }
}

}  // namespace
}  // namespace kdl::driver
