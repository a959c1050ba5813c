#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "kdl/rank_ownership.hpp"

namespace kdl::ranks {
namespace {

TEST_CASE("each index has one owner, and parts are adjacent") {
  for (int64_t size = 0; size <= 20; ++size) {
    for (int64_t ranks = 1; ranks <= 24; ++ranks) {
      CAPTURE(size);
      CAPTURE(ranks);
      Sharding sharding(size, ranks);
      int64_t next = 0;
      for (int64_t rank = 0; rank < ranks; ++rank) {
        Indices owned = sharding.Owned(rank);
        CHECK(owned.first == (owned.empty() ? size : next));
        CHECK(owned.end - owned.first <= (size + ranks - 1) / ranks);
        next = owned.end;
        for (int64_t i = owned.first; i < owned.end; ++i)
          CHECK(sharding.Owners({i, i + 1}) == Indices{rank, rank + 1});
      }
      CHECK(next == size);
    }
  }
}

TEST_CASE("the owners of a range are those that own any of its indices") {
  Sharding sharding(10, 4);  // 0..3, 3..6, 6..9, 9..10
  CHECK(sharding.Owners({2, 7}) == Indices{0, 3});
  CHECK(sharding.Owners({3, 6}) == Indices{1, 2});
  CHECK(sharding.Owners({9, 10}) == Indices{3, 4});
  CHECK(sharding.Owners({5, 5}).empty());
}

TEST_CASE("large sizes do not overflow") {
  constexpr int64_t kMost = INT64_MAX;
  CHECK(Sharding(kMost, 2).Owned(1) == Indices{kMost / 2 + 1, kMost});
  CHECK(Sharding(kMost, 1).Owned(0) == Indices{0, kMost});
  CHECK(Sharding(3, kMost).Owned(kMost - 1).empty());
  CHECK(Sharding(kMost - 1, kMost).Owned(kMost - 2) == Indices{kMost - 2, kMost - 1});
}

TEST_CASE("a set of boxes joins those that touch, and returns what is missing") {
  BoxSet set;
  CHECK(set.MissingFrom({{2, 5}}) == std::vector<Box>{{{2, 5}}});
  set.Add({{10, 12}});
  set.Add({{2, 4}});
  set.Add({{6, 6}});
  CHECK(set.boxes() == std::vector<Box>{{{10, 12}}, {{2, 4}}});
  CHECK(set.MissingFrom({{3, 11}}) == std::vector<Box>{{{4, 10}}});
  CHECK(set.MissingFrom({{2, 4}}).empty());
  CHECK(set.MissingFrom({{5, 5}}).empty());
  set.Add({{4, 10}});
  CHECK(set.boxes() == std::vector<Box>{{{2, 12}}});
  set.Add({{1, 30}});
  CHECK(set.boxes() == std::vector<Box>{{{1, 30}}});
  set.Clear();
  CHECK(set.MissingFrom({{1, 2}}).size() == 1);
}

TEST_CASE("what is missing from a set of boxes contains each other element once") {
  for (int64_t number = 0; number < 81; ++number) {  // all boxes with corners in 0..2 and 1..3
    CAPTURE(number);
    Box box{{number % 3, number / 3 % 3 + 1}, {number / 9 % 3, number / 27 % 3 + 1}};
    BoxSet set;
    set.Add({{0, 2}, {1, 2}});
    set.Add({{1, 3}, {0, 2}});
    std::vector<Box> missing = set.MissingFrom(box);
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 3; ++j) {
        Box element{{i, i + 1}, {j, j + 1}};
        bool is_known = (i < 2 && j == 1) || (i >= 1 && j < 2);
        bool is_wanted = !IsEmpty(Intersection(box, element)) && !is_known;
        CHECK(std::ranges::count_if(missing, [&](const Box& one) {
                return !IsEmpty(Intersection(one, element));
              }) == (is_wanted ? 1 : 0));
      }
    }
  }
}

TEST_CASE("each element of a tensor has one owner, or one for each position along an unused axis") {
  RankGrid grid({2, 3});
  Ownership both(grid, {5, 7}, {0, 1});
  Ownership columns(grid, {5, 7}, {-1, 1});
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t j = 0; j < 7; ++j) {
      Box element{{i, i + 1}, {j, j + 1}};
      auto owners = [&](const Ownership& ownership) {
        std::vector<int64_t> found;
        for (int64_t rank = 0; rank < 6; ++rank)
          for (const Box& box : ownership.Owned(rank))
            if (!IsEmpty(Intersection(box, element))) found.push_back(rank);
        return found;
      };
      CHECK(owners(both) == std::vector<int64_t>{i / 3 * 3 + j / 3});
      CHECK(owners(columns) == std::vector<int64_t>{j / 3, 3 + j / 3});
      columns.ForEachOwner(element, 4, [&](int64_t owner, const Box& part) {
        CHECK(owner == 3 + j / 3);
        CHECK(part == element);
      });
    }
  }
}

TEST_CASE("the owners of a box are visited with their parts") {
  Ownership ownership(RankGrid({2, 2}), {4, 4}, {0, 1});
  std::vector<std::pair<int64_t, Box>> owners;
  ownership.ForEachOwner({{1, 3}, {0, 2}}, 3,
                         [&](int64_t owner, const Box& part) { owners.emplace_back(owner, part); });
  CHECK(owners ==
        std::vector<std::pair<int64_t, Box>>{{0, {{1, 2}, {0, 2}}}, {2, {{2, 3}, {0, 2}}}});
}

TEST_CASE("each index of a dimension in blocks belongs to the rank whose turn it is") {
  for (int64_t size : {0, 1, 4, 5, 13}) {
    for (int64_t length : {1, 2, 3, 20}) {
      CAPTURE(size);
      CAPTURE(length);
      BlockSharding sharding(size, 3, length);
      std::vector<int64_t> owners(static_cast<size_t>(size), -1);
      for (int64_t part = 0; part < 3; ++part) {
        for (int64_t number = 0; number < sharding.CountOwned(part); ++number) {
          Indices owned = sharding.Owned(part, number);
          CHECK(!owned.empty());
          for (int64_t i = owned.first; i < owned.end; ++i) {
            CHECK(owners[static_cast<size_t>(i)] == -1);
            owners[static_cast<size_t>(i)] = part;
          }
        }
      }
      for (int64_t i = 0; i < size; ++i) {
        CHECK(owners[static_cast<size_t>(i)] == i / length % 3);
        sharding.ForEachOwner({i, i + 1}, [&](int64_t part, const Indices& indices) {
          CHECK(part == i / length % 3);
          CHECK(indices == Indices{i, i + 1});
        });
      }
    }
  }
  BlockSharding large(std::numeric_limits<int64_t>::max(), 2, kMostBlock);
  CHECK(large.Owned(1, large.CountOwned(1) - 1).end == std::numeric_limits<int64_t>::max());
}

TEST_CASE(
    "elements of a tensor in blocks have one owner, and the owners of a box are visited with its "
    "parts") {
  RankGrid grid({2, 3});
  Ownership both(grid, {5, 7}, {0, 1}, {2, 1});
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t j = 0; j < 7; ++j) {
      Box element{{i, i + 1}, {j, j + 1}};
      std::vector<int64_t> found;
      for (int64_t rank = 0; rank < 6; ++rank) {
        for (const Box& box : both.Owned(rank))
          if (!IsEmpty(Intersection(box, element))) found.push_back(rank);
      }
      CHECK(found == std::vector<int64_t>{i / 2 % 2 * 3 + j % 3});
    }
  }
  Ownership rows(RankGrid({2}), {6, 2}, {0, -1}, {2, 0});
  std::vector<std::pair<int64_t, Box>> owners;
  rows.ForEachOwner({{1, 5}, {0, 1}}, 1,
                    [&](int64_t owner, const Box& part) { owners.emplace_back(owner, part); });
  CHECK(owners == std::vector<std::pair<int64_t, Box>>{
                      {0, {{1, 2}, {0, 1}}}, {1, {{2, 4}, {0, 1}}}, {0, {{4, 5}, {0, 1}}}});
}

TEST_CASE("an intersection of disjoint parts is empty") {
  CHECK(Intersection(Indices{0, 3}, Indices{2, 5}) == Indices{2, 3});
  CHECK(Intersection(Indices{0, 3}, Indices{3, 5}).empty());
}

}  // namespace
}  // namespace kdl::ranks
