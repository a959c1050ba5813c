#include <doctest/doctest.h>

#include "driver/ranks/sharding.h"

namespace kdl::driver {
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

TEST_CASE("a set of parts joins parts that touch, and returns what is missing") {
  PartSet set;
  CHECK(set.MissingFrom({2, 5}) == std::vector<Indices>{{2, 5}});
  set.Add({10, 12});
  set.Add({2, 4});
  set.Add({6, 6});
  CHECK(set.parts() == std::vector<Indices>{{2, 4}, {10, 12}});
  CHECK(set.MissingFrom({0, 20}) == std::vector<Indices>{{0, 2}, {4, 10}, {12, 20}});
  CHECK(set.MissingFrom({3, 11}) == std::vector<Indices>{{4, 10}});
  CHECK(set.MissingFrom({2, 4}).empty());
  CHECK(set.MissingFrom({5, 5}).empty());
  set.Add({4, 10});
  CHECK(set.parts() == std::vector<Indices>{{2, 12}});
  set.Add({1, 30});
  CHECK(set.parts() == std::vector<Indices>{{1, 30}});
  set.Clear();
  CHECK(set.MissingFrom({1, 2}).size() == 1);
}

TEST_CASE("an intersection of disjoint parts is empty") {
  CHECK(Intersection({0, 3}, {2, 5}) == Indices{2, 3});
  CHECK(Intersection({0, 3}, {3, 5}).empty());
}

}  // namespace
}  // namespace kdl::driver
