// Tests queues, events and timelines: ordering, waits before signals, threads, failures.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "conformance/conformance.h"

namespace kdl::conformance {
namespace {

// Records the order in which host calls run.
class Journal {
 public:
  std::function<void()> Note(int number) {
    return [this, number] {
      const std::lock_guard lock(mutex_);
      notes_.push_back(number);
    };
  }
  std::vector<int> notes() {
    const std::lock_guard lock(mutex_);
    return notes_;
  }

 private:
  std::mutex mutex_;
  std::vector<int> notes_;
};

[[noreturn]] void Explode() { throw Error(KDL_ERROR_DEVICE, "the first cause"); }

CONFORMANCE_TEST(QueuesKeepTheirOrder) {
  Journal journal;
  const Timeline gate = bench.context.MakeTimeline();
  bench.queue.Call(journal.Note(0), {gate.At(1)});
  for (int i = 1; i < 100; ++i) bench.queue.Call(journal.Note(i));
  CHECK(journal.notes().empty());
  gate.Signal(1);
  bench.queue.Wait();
  const std::vector<int> notes = journal.notes();
  REQUIRE(notes.size() == 100);
  for (int i = 0; i < 100; ++i) CHECK(notes[static_cast<std::size_t>(i)] == i);
}

CONFORMANCE_TEST(EventsMayBeWaitedForBeforeTheyAreSignalled) {
  Journal journal;
  const Timeline timeline = bench.context.MakeTimeline(10);
  const Queue other = bench.device.queue(1);
  const Event late = bench.queue.Call(journal.Note(2), {timeline.At(12)});
  const Event later = other.Call(journal.Note(3), {late, timeline.At(11)});
  const Event at_once = bench.device.queue(2).Call(journal.Note(1), {timeline.At(10)});
  at_once.Wait();
  CHECK_FALSE(late.is_done());
  timeline.Signal(11);
  CHECK_FALSE(later.is_done());
  timeline.Signal(12);
  later.Wait();
  CHECK(late.is_done());
  CHECK(journal.notes() == std::vector<int>{1, 2, 3});
  CHECK(timeline.value() == 12);
}

CONFORMANCE_TEST(SignalsMaySkipAndMustRise) {
  const Timeline timeline = bench.context.MakeTimeline();
  const Event third = timeline.At(3);
  const Event seventh = timeline.At(7);
  timeline.Signal(5);
  CHECK(third.is_done());
  CHECK_FALSE(seventh.is_done());
  std::string message;
  CHECK(CodeOf([&] { timeline.Signal(5); }, &message) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(message == "signal of 5 on a timeline that has reached 5; its value can only increase");
}

CONFORMANCE_TEST(WaitsTimeOut) {
  const Timeline timeline = bench.context.MakeTimeline();
  const Event event = bench.queue.Call([] {}, {timeline.At(1)});
  kdl_error* error = kdl_event_wait(event.get(), 1000000);
  CHECK(kdl_error_code(error) == KDL_ERROR_TIMEOUT);
  kdl_error_free(error);
  timeline.Signal(1);
  constexpr std::int64_t kLongNs = 60'000'000'000;
  CHECK(kdl_event_wait(event.get(), kLongNs) == nullptr);
}

CONFORMANCE_TEST(WaitsWithTheLongestTimeoutEnd) {
  const Timeline timeline = bench.context.MakeTimeline();
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    timeline.Signal(1);
  });
  CHECK(kdl_event_wait(timeline.At(1).get(), INT64_MAX) == nullptr);
  other.join();
}

// Tests every order in which three operations can become ready, where b waits for a, and c waits for both.
CONFORMANCE_TEST(EventsInAllOrders) {
  std::vector<int> order = {0, 1, 2};
  do {
    Journal journal;
    std::vector<Timeline> gates;
    for (int i = 0; i < 3; ++i) gates.push_back(bench.context.MakeTimeline());
    const Event a = bench.device.queue(0).Call(journal.Note(0), {gates[0].At(1)});
    const Event b = bench.device.queue(1).Call(journal.Note(1), {a, gates[1].At(1)});
    const Event c = bench.device.queue(2).Call(journal.Note(2), {b, a, gates[2].At(1)});
    for (int gate : order) gates[static_cast<std::size_t>(gate)].Signal(1);
    c.Wait();
    CHECK(journal.notes() == std::vector<int>{0, 1, 2});
  } while (std::next_permutation(order.begin(), order.end()));
}

CONFORMANCE_TEST(FailuresReachEverythingDownstream) {
  Journal journal;
  const Timeline gate = bench.context.MakeTimeline();
  const Event cause = bench.device.queue(1).Call(Explode, {gate.At(1)});
  const Event direct = bench.device.queue(2).Call(journal.Note(1), {cause});
  const Event indirect = bench.sibling().queue().Call(journal.Note(2), {direct});
  const Event after = bench.device.queue(1).Call(journal.Note(3));
  const Event apart = bench.device.queue(3).Call(journal.Note(4));
  gate.Signal(1);
  for (const Event& event : {indirect, direct, after, cause, indirect}) {
    std::string message;
    CHECK(CodeOf([&] { event.Wait(); }, &message) == KDL_ERROR_DEVICE);
    CHECK(message == "the first cause");
  }
  apart.Wait();
  CHECK(journal.notes() == std::vector<int>{4});
}

CONFORMANCE_TEST(QueuesRecoverOnceAFailureIsReported) {
  Journal journal;
  const Event failed = bench.queue.Call(Explode);
  const Event after = bench.queue.Call(journal.Note(1));
  std::string message;
  CHECK(CodeOf([&] { bench.queue.Wait(); }, &message) == KDL_ERROR_DEVICE);
  CHECK(message == "the first cause");
  bench.queue.Call(journal.Note(2)).Wait();
  bench.queue.Wait();
  CHECK(journal.notes() == std::vector<int>{2});
  // The events remain failed, and so does everything that waits for them.
  CHECK(CodeOf([&] { after.Wait(); }) == KDL_ERROR_DEVICE);
  const Event again = bench.queue.Call(journal.Note(3), {failed});
  CHECK(CodeOf([&] { again.Wait(); }) == KDL_ERROR_DEVICE);
  bench.queue.Call(journal.Note(4)).Wait();
  CHECK(journal.notes() == std::vector<int>{2, 4});
}

// A wait for an event of another queue reports that event's failure. This does not count as a report of the
// waiting queue's own failure, even if its own failure occurs later.
CONFORMANCE_TEST(EachQueueTellsOfItsOwnFailures) {
  for (const bool is_late : {true, false}) {
    CAPTURE(is_late);
    Journal journal;
    const Timeline gate = bench.context.MakeTimeline();
    const Queue other = bench.device.queue(1);
    const Event failed = bench.queue.Call(Explode);
    other.Call([] {}, {gate.At(1)});
    const Event after = other.Call(journal.Note(1), {failed});
    other.Call(journal.Note(2));
    if (!is_late) gate.Signal(1);
    CHECK(CodeOf([&] { failed.Wait(); }) == KDL_ERROR_DEVICE);
    if (is_late) gate.Signal(1);
    other.Call(journal.Note(3));
    CHECK(CodeOf([&] { other.Wait(); }) == KDL_ERROR_DEVICE);
    other.Wait();
    bench.queue.Wait();
    // A second report of the same failure does not affect operations that were enqueued after the first.
    const Timeline second = bench.context.MakeTimeline();
    other.Call(Explode, {second.At(1)});
    CHECK(CodeOf([&] { after.Wait(); }) == KDL_ERROR_DEVICE);
    other.Call(journal.Note(4));
    second.Signal(1);
    CHECK(CodeOf([&] { other.Wait(); }) == KDL_ERROR_DEVICE);
    other.Call(journal.Note(5)).Wait();
    CHECK(journal.notes() == std::vector<int>{5});
  }
}

CONFORMANCE_TEST(WhatIsGivenAfterTheReportRuns) {
  for (const bool is_late : {true, false}) {
    CAPTURE(is_late);
    Journal journal;
    const Timeline gate = bench.context.MakeTimeline();
    const Event failed = bench.queue.Call(Explode);
    bench.queue.Call(journal.Note(1), {gate.At(1)});
    bench.queue.Call(journal.Note(2));
    if (!is_late) gate.Signal(1);
    CHECK(CodeOf([&] { failed.Wait(); }) == KDL_ERROR_DEVICE);
    const Event fresh = bench.queue.Call(journal.Note(3));
    if (is_late) gate.Signal(1);
    fresh.Wait();
    bench.queue.Wait();
    CHECK(journal.notes() == std::vector<int>{3});
  }
}

// The operations of two callers are ordered together. But no caller fails because of the other caller, or
// receives the other caller's errors.
CONFORMANCE_TEST(CallersAreToldOfTheirOwnFailures) {
  Journal journal;
  const Timeline gate = bench.context.MakeTimeline();
  const Device own_device = bench.device.Own();
  const Queue own = own_device.queue();
  CHECK(own.get() != bench.queue.get());
  CHECK(own.get() == own_device.queue().get());
  const Tensor y = bench.Upload(std::vector<std::int64_t>(3, 1));
  const Event failed = bench.queue.Call(Explode, {gate.At(1)});
  const Event beside = own.Launch("mark", 3, {y});
  bench.queue.Call(journal.Note(1));
  own.Call(Explode);
  bench.queue.Call(journal.Note(2));
  own.Call(journal.Note(3));
  gate.Signal(1);
  CHECK(CodeOf([&] { failed.Wait(); }) == KDL_ERROR_DEVICE);
  bench.queue.Wait();
  beside.Wait();
  CHECK(CodeOf([&] { own.Wait(); }) == KDL_ERROR_DEVICE);
  own.Wait();
  bench.queue.Call(journal.Note(4));
  own.Call(journal.Note(5)).Wait();
  CHECK(journal.notes() == std::vector<int>{4, 5});
  CHECK(Bench::Download<std::int64_t>(y) == std::vector<std::int64_t>(3, 4));
}

// As soon as one of its events has failed, an enqueued operation or a run stops waiting.
CONFORMANCE_TEST(AFailedEventEndsAllWaiting) {
  const Tensor y = bench.Upload(std::vector<std::int64_t>(3, 1));
  const Timeline never = bench.context.MakeTimeline();
  const Timeline late = bench.context.MakeTimeline();
  const Event failed = bench.device.queue(1).Call(Explode);
  CHECK(CodeOf([&] { failed.Wait(); }) == KDL_ERROR_DEVICE);
  const Event given = bench.queue.Launch("mark", 3, {y}, {never.At(1), failed});
  CHECK(CodeOf([&] { given.Wait(); }) == KDL_ERROR_DEVICE);
  std::atomic<bool> is_over = false;
  std::thread rescue([&] {
    for (int i = 0; i < 5000 && !is_over; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(is_over);
    late.Signal(1);
  });
  CHECK(CodeOf([&] { bench.queue.Run("mark", 3, {y}, {late.At(1), failed}); }) == KDL_ERROR_DEVICE);
  is_over = true;
  rescue.join();
  CHECK(Bench::Download<std::int64_t>(y) == std::vector<std::int64_t>(3, 1));
}

CONFORMANCE_TEST(TimelinesFail) {
  const Timeline timeline = bench.context.MakeTimeline(5);
  const Event waiting = bench.queue.Call([] {}, {timeline.At(6)});
  timeline.Fail(KDL_ERROR_DEVICE, "the producer died");
  std::string message;
  CHECK(CodeOf([&] { waiting.Wait(); }, &message) == KDL_ERROR_DEVICE);
  CHECK(message == "the producer died");
  CHECK(timeline.At(5).is_done());
  timeline.At(5).Wait();
  CHECK(CodeOf([&] { timeline.At(9).Wait(); }) == KDL_ERROR_DEVICE);
  CHECK(CodeOf([&] { timeline.Signal(6); }) == KDL_ERROR_INVALID_ARGUMENT);
  for (const int code : {0, 7, 10}) {
    const auto fail = [&] { timeline.Fail(static_cast<kdl_code>(code), "no reason"); };
    CHECK(CodeOf(fail) == KDL_ERROR_INVALID_ARGUMENT);
  }
}

CONFORMANCE_TEST(FreedTimelinesFailWhatWaits) {
  Event waiting;
  {
    const Timeline timeline = bench.context.MakeTimeline();
    waiting = bench.queue.Call([] {}, {timeline.At(1)});
  }
  CHECK(CodeOf([&] { waiting.Wait(); }) == KDL_ERROR_INVALID_ARGUMENT);
}

CONFORMANCE_TEST(HostCallsMayUseTheRuntime) {
  Journal journal;
  const Timeline timeline = bench.context.MakeTimeline();
  const Queue other = bench.device.queue(1);
  const Event second = other.Call(journal.Note(2), {timeline.At(1)});
  bench.queue.Call([&] {
    journal.Note(1)();
    timeline.Signal(1);
    second.Wait();
    other.Call(journal.Note(3)).Wait();
  });
  bench.queue.Call(journal.Note(4)).Wait();
  CHECK(journal.notes() == std::vector<int>{1, 2, 3, 4});
}

CONFORMANCE_TEST(LongChainsDoNotRecurse) {
  constexpr int kLength = 20000;
  std::atomic<int> count = 0;
  const Timeline gate = bench.context.MakeTimeline();
  Event last = gate.At(1);
  for (int i = 0; i < kLength; ++i) {
    last = bench.device.queue(i % 3).Call([&] { ++count; }, {last});
  }
  gate.Signal(1);
  last.Wait();
  CHECK(count == kLength);
}

// All threads enqueue work in all queues. Each item waits for the previous item of its thread.
CONFORMANCE_TEST(ManyThreadsShareTheQueues) {
  constexpr int kThreads = 4;
  constexpr int kItems = 200;
  std::array<std::vector<int>, kThreads> seen;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Event last;
      for (int i = 0; i < kItems; ++i) {
        const Queue queue = bench.device.queue((t + i) % 3);
        last =
            queue.Call([&seen, t, i] { seen[static_cast<std::size_t>(t)].push_back(i); }, {last});
      }
      last.Wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<int>& items : seen) {
    REQUIRE(items.size() == kItems);
    for (int i = 0; i < kItems; ++i) REQUIRE(items[static_cast<std::size_t>(i)] == i);
  }
}

CONFORMANCE_TEST(ThreadsPassTheBaton) {
  const Timeline timeline = bench.context.MakeTimeline();
  std::int64_t total = 0;  // only accessed by the thread whose turn it is
  std::vector<std::thread> threads;
  constexpr std::uint64_t kRounds = 50;
  for (std::uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        const std::uint64_t turn = round * 3 + t;
        timeline.At(turn).Wait();
        total += static_cast<std::int64_t>(turn);
        timeline.Signal(turn + 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(total == 150 * 149 / 2);
}

CONFORMANCE_TEST(EventsOfAnotherContextAreRefused) {
  Context other;
  const Timeline foreign = other.MakeTimeline();
  CHECK(CodeOf([&] { bench.queue.Call([] {}, {foreign.At(0)}); }) == KDL_ERROR_INVALID_ARGUMENT);
}

CONFORMANCE_TEST(TeardownWithWorkInFlight) {
  std::atomic<bool> ran = false;
  // Objects that outlive the context can only be freed.
  Event waiting;
  Tensor tensor;
  Timeline gate = bench.context.MakeTimeline();
  {
    Context context;
    const Device device = context.Select("host");
    gate = context.MakeTimeline();
    tensor = context.Allocate(device, f32, {100}, "survivor");
    device.queue().Fill(tensor, 1.0f, {gate.At(1)});
    waiting = device.queue().Call([&] { ran = true; });
  }
  CHECK_FALSE(ran);
}

// An operation that fails has ended. So the code of a call's error is never that of a wait that ended early, or success.
CONFORMANCE_TEST(CallsReturnCodesOfWaits) {
  for (const kdl_code code : {KDL_OK, KDL_ERROR_TIMEOUT}) {
    const Event failed = bench.queue.Call([code] { throw kdl::Error(code, "a message"); });
    CHECK(CodeOf([&] { Check(kdl_event_wait(failed.get(), -1)); }) == KDL_ERROR_DEVICE);
    Check(kdl_event_wait(bench.queue.Call([] {}).get(), 1000000000));
  }
}

// A cancellation ends a kernel that would run forever, and nothing that waits for the kernel blocks.
CONFORMANCE_TEST(CancelEndsWhatRuns) {
  const Tensor y = bench.Upload(std::vector<std::int64_t>(3, 1));
  for (const std::int64_t cores : {1, 3}) {
    const Event running = bench.queue.Launch("spin", cores, {y});
    const Event after = bench.queue.Launch("mark", 3, {y});
    // This timeout is long enough for the kernel to start even on a busy machine.
    CHECK(CodeOf([&] { Check(kdl_event_wait(running.get(), 50000000)); }) == KDL_ERROR_TIMEOUT);
    running.Cancel();
    CHECK(CodeOf([&] { running.Wait(); }) == KDL_ERROR_CANCELLED);
    CHECK(CodeOf([&] { after.Wait(); }) == KDL_ERROR_CANCELLED);
  }
  bench.queue.Launch("mark", 3, {y}).Wait();
  CHECK(Bench::Download<std::int64_t>(y) == std::vector<std::int64_t>(3, 4));
}

CONFORMANCE_TEST(TeardownWaitsForWhatRuns) {
  std::atomic<bool> finished = false;
  std::atomic<bool> started = false;
  std::thread worker;
  {
    Context context;
    const Queue queue = context.Select("host").queue();
    const Timeline gate = context.MakeTimeline();
    queue.Call(
        [&] {
          started = true;
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          finished = true;
        },
        {gate.At(1)});
    worker = std::thread([gate] { gate.Signal(1); });
    while (!started) std::this_thread::yield();
  }
  CHECK(finished);
  worker.join();
}

}  // namespace
}  // namespace kdl::conformance
