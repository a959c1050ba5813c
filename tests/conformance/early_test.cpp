// Tests a device that orders operations itself. Checks when the runtime passes operations to this device.
// The tests complete the device's operations by hand.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "conformance/conformance.h"

namespace kdl::conformance {
namespace {

constexpr std::int64_t kLongNs = 10'000'000'000;

class ByHand {
 public:
  explicit ByHand(const Context& context) {
    ops_.size = sizeof ops_;
    ops_.version = KDL_PLUGIN_VERSION;
    ops_.kind = "by_hand";
    ops_.open = [](void* self, std::int64_t, const kdl_option*, std::int32_t, void** device) {
      *device = self;
      return static_cast<kdl_error*>(nullptr);
    };
    ops_.close = [](void*) {};
    ops_.facts = [](void*, kdl_device_facts* facts) { facts->cores = 1; };
    ops_.submit = [](void* self, const kdl_submission* submission) {
      static_cast<ByHand*>(self)->Take(*submission);
    };
    Check(kdl_context_add_device_kind(context.get(), &ops_, this));
    device_ = context.Select("by_hand");
    x_ = context.Allocate(device_, i64, {3}, "x");
  }
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;

  Queue queue(std::int32_t index = 0) const { return device_.queue(index); }
  Event Give(std::int32_t queue, const Queue::After& after = {}) const {
    return device_.queue(queue).Fill(x_, std::int64_t{1}, after);
  }

  // Returns the number of operations that the device has received but not completed.
  std::size_t count() const {
    const std::lock_guard lock(mutex_);
    return taken_.size();
  }
  // Completes the oldest operation of the device. Returns false if there is none.
  bool End(kdl_error* error = nullptr) {
    kdl_completion done = {};
    {
      const std::lock_guard lock(mutex_);
      if (taken_.empty()) return false;
      done = taken_.front().done;
      taken_.erase(taken_.begin());
    }
    done.call(done.context, error);
    return true;
  }
  bool Fail() { return End(kdl_error_create(KDL_ERROR_DEVICE, "the device failed")); }
  // Completes all operations that arrive, until the event has completed.
  void EndUntil(const Event& event) {
    while (!event.is_done()) {
      if (!End()) std::this_thread::yield();
    }
  }
  // Returns whether the device received, before each operation, all operations that this operation waits for.
  bool KnowsAllPoints() const {
    const std::lock_guard lock(mutex_);
    return knows_all_points_;
  }

 private:
  void Take(const kdl_submission& submission) {
    const std::lock_guard lock(mutex_);
    for (const kdl_point* point = submission.after;
         point != submission.after + submission.after_count; ++point) {
      knows_all_points_ =
          knows_all_points_ && std::ranges::any_of(given_, [&](const kdl_point& given) {
            return given.queue == point->queue && given.number == point->number;
          });
    }
    given_.push_back({submission.queue, 0, submission.number});
    taken_.push_back(submission);
  }

  kdl_device_ops ops_ = {};
  Device device_;
  Tensor x_;
  mutable std::mutex mutex_;  // guards all members below
  std::vector<kdl_submission> taken_;
  std::vector<kdl_point> given_;
  bool knows_all_points_ = true;
};

TEST_CASE("Early: operations enqueued after an error report do not wait for earlier failures") {
  Context context;
  ByHand device(context);
  const Event failed = device.Give(0);
  const Event after = device.Give(0);
  REQUIRE(device.count() == 2);
  device.Fail();
  CHECK(CodeOf([&] { failed.Wait(); }) == KDL_ERROR_DEVICE);
  const Event fresh = device.Give(0);
  CHECK(device.count() == 1);  // otherwise the device would make `fresh` fail, too
  device.Fail();
  device.EndUntil(fresh);
  fresh.Wait();
  CHECK(CodeOf([&] { after.Wait(); }) == KDL_ERROR_DEVICE);
}

// If an operation is cancelled before it has started, the device receives neither this operation nor any
// operation that waits for it.
TEST_CASE("Early: nothing waits for an operation that the device has never received") {
  for (int round = 0; round < 20; ++round) {
    Context context;
    ByHand device(context);
    const Timeline gate = context.MakeTimeline();
    const Event first = device.Give(0);
    const Event dropped = device.Give(0, {gate.At(1)});
    gate.Signal(1);
    dropped.Cancel();
    const Event after = device.Give(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const Event apart = device.Give(1, {dropped});
    CHECK(device.KnowsAllPoints());
    device.EndUntil(apart);
    device.EndUntil(after);
    first.Wait();
    for (const Event& event : {after, apart}) {
      CHECK(CodeOf([&] { event.Wait(); }) == KDL_ERROR_CANCELLED);
    }
  }
}

TEST_CASE("Early: a wait does not run operations that come after its event") {
  Context context;
  ByHand device(context);
  const Queue host = context.Select("host").queue();
  const Timeline gate = context.MakeTimeline();
  const Event first = device.Give(0);
  std::atomic<bool> has_waited = false;
  std::atomic<bool> ran_in_wait = false;
  const std::thread::id here = std::this_thread::get_id();
  // This thread both enqueues and waits, so no other thread can have started the call.
  const Event call = host.Call(
      [&] {
        ran_in_wait = std::this_thread::get_id() == here && !has_waited;
        const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kLongNs);
        while (!has_waited && std::chrono::steady_clock::now() < end) std::this_thread::yield();
      },
      {gate.At(1)});
  const Event second = device.Give(0, {call});
  std::thread ends([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    device.End();
  });
  gate.Signal(1);
  first.Wait();
  has_waited = true;
  ends.join();
  call.Wait();
  CHECK_FALSE(ran_in_wait);
  device.EndUntil(second);
}

}  // namespace
}  // namespace kdl::conformance
