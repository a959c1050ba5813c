#include <doctest/doctest.h>

#include "interp/race_detector.h"

// Tests which accesses of a workgroup are races. The threads are 0, 1 and 2.

namespace kdl::interp {

namespace {

constexpr auto kRead = TouchKind::Read;
constexpr auto kWrite = TouchKind::Write;
constexpr auto kAtomic = TouchKind::Atomic;
const RaceDetector::SlotId kSlot = {nullptr, 1};

bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a barrier orders all accesses before it and all after it") {
  RaceDetector races(3);
  Mark mark;
  CHECK(races.Touch(0, mark, kWrite).empty());
  CHECK(races.Touch(0, mark, kRead).empty());
  CHECK(Contains(races.Touch(1, mark, kRead), "that thread 0 wrote"));
  races.Meet();
  CHECK(races.Touch(1, mark, kRead).empty());
  CHECK(races.Touch(2, mark, kRead).empty());
  CHECK(Contains(races.Touch(0, mark, kWrite), "that several threads read"));
  races.Meet();
  CHECK(races.Touch(0, mark, kAtomic).empty());
  CHECK(races.Touch(1, mark, kAtomic).empty());
  CHECK(Contains(races.Touch(1, mark, kRead), "that thread 0 updated"));
}

TEST_CASE("an arrival at an mbarrier orders accesses only for threads that await it") {
  RaceDetector races(3);
  Mark mark;
  CHECK(races.Touch(0, mark, kWrite).empty());
  Clock phase;
  races.Release(0, phase);
  races.Acquire(1, phase);
  CHECK(races.Touch(1, mark, kRead).empty());
  CHECK(Contains(races.Touch(2, mark, kRead), "that thread 0 wrote"));
  // What thread 1 has done, thread 2 learns with what thread 1 knew.
  Clock next;
  races.Release(1, next);
  races.Acquire(2, next);
  CHECK(races.Touch(2, mark, kWrite).empty());
  CHECK(Contains(races.Touch(0, mark, kRead), "that thread 2 wrote"));
}

TEST_CASE("what a thread does after its arrival is not known to those that await it") {
  RaceDetector races(3);
  Mark mark;
  Clock phase;
  races.Release(0, phase);
  CHECK(races.Touch(0, mark, kRead).empty());
  races.Acquire(1, phase);
  CHECK(Contains(races.Touch(1, mark, kWrite), "that thread 0 read"));
}

TEST_CASE(
    "no access may disturb an asynchronous copy, not even one of the thread that started it") {
  RaceDetector races(1);
  Mark mark;
  RaceDetector::BeginCopy(mark, true);
  CHECK(Contains(races.Touch(0, mark, kRead), "has not written yet"));
  RaceDetector::EndCopy(mark, true);
  RaceDetector::BeginCopy(mark, false);
  CHECK(races.Touch(0, mark, kRead).empty());
  CHECK(Contains(races.Touch(0, mark, kWrite), "has not read yet"));
  RaceDetector::EndCopy(mark, false);
  CHECK(races.Touch(0, mark, kWrite).empty());
}

TEST_CASE("a tile copy is known to the threads that have awaited it") {
  RaceDetector races(3);
  Epoch arrival;
  CHECK(races.FillSlot(0, kSlot, &arrival).empty());
  CHECK(Contains(races.MultiplySlot(1, kSlot), "for which it has not waited"));
  CHECK(Contains(races.StoreToSlot(0, kSlot), "for which it has not waited"));
  Clock phase;
  phase.Advance(arrival);
  races.Acquire(2, phase);
  CHECK(races.LoadFromSlot(2, kSlot).empty());
  CHECK(races.MultiplySlot(2, kSlot).empty());
}

TEST_CASE("a slot is filled again only after the matrix instructions that read it") {
  RaceDetector races(2);
  Epoch arrival;
  CHECK(races.MultiplySlot(0, kSlot).empty());
  races.MmaCommit(0);
  CHECK(Contains(races.FillSlot(0, kSlot, &arrival), "matrix instructions of thread 0"));
  races.MmaWait(0, 1);
  CHECK(races.Multiplies(0));
  races.MmaWait(0, 0);
  CHECK(!races.Multiplies(0));
  CHECK(Contains(races.FillSlot(1, kSlot, &arrival), "that other threads have read"));
  CHECK(races.FillSlot(0, kSlot, &arrival).empty());
}

TEST_CASE("matrix instructions see stores only after a fence and a barrier") {
  RaceDetector races(2);
  CHECK(races.StoreToSlot(0, kSlot).empty());
  CHECK(Contains(races.MultiplySlot(0, kSlot), "without a proxy fence"));
  races.MmaCommit(0);
  races.ProxyFence(0);
  CHECK(Contains(races.MultiplySlot(1, kSlot), "that other threads have written"));
  races.MmaCommit(1);
  races.Meet();
  CHECK(races.MultiplySlot(1, kSlot).empty());
}

}  // namespace kdl::interp
