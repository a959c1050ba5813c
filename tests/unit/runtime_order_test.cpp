// Tests the ordering checks: in a context with a debug device, unordered operations on one buffer fail,
// regardless of the order in which they actually ran.
#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "kdl/runtime.hpp"

namespace kdl {
namespace {

struct OrderSetup {
  Context context;
  Device debug = context.Select("debug");
  Queue first = debug.queue(0);
  Queue second = debug.queue(1);
  Tensor x = context.Allocate(debug, f32, {8}, "x");
  Tensor y = context.Allocate(debug, f32, {8}, "y");
  Tensor z = context.Allocate(debug, f32, {8}, "z");

  // Returns the error from waiting for both queues.
  std::string Outcome() const {
    for (const Queue& queue : {first, second}) {
      try {
        queue.Wait();
      } catch (const Error& error) {
        CHECK(error.code() == KDL_ERROR_INVALID_ARGUMENT);
        return error.what();
      }
    }
    return "";
  }
};

std::string MessageOf(const std::function<void()>& call) {
  try {
    call();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

constexpr const char* kHelp =
    ", but nothing orders the two; let one wait for the event of the other";

TEST_CASE("order: a write and a read on two queues without an event") {
  const OrderSetup s;
  s.first.Fill(s.x, 1.0f);
  s.second.Copy(s.y, s.x, "late");
  CHECK(s.Outcome() ==
        std::string("copy 'late' reads 'x' on debug, and fill of 'x' on debug writes it") + kHelp);
}

TEST_CASE("order: a read and a write, and two writes") {
  const OrderSetup s;
  s.first.Fill(s.x, 1.0f).Wait();
  s.first.Copy(s.y, s.x, "early");
  s.second.Fill(s.x, 2.0f);
  CHECK(s.Outcome() ==
        std::string("fill of 'x' on debug writes 'x' on debug, and copy 'early' reads it") + kHelp);
  s.first.Fill(s.z, 1.0f);
  s.second.Fill(s.z, 2.0f);
  CHECK(
      s.Outcome() ==
      std::string("fill of 'z' on debug writes 'z' on debug, and fill of 'z' on debug writes it") +
          kHelp);
}

TEST_CASE("order: events, queues and waits order operations") {
  const OrderSetup s;
  const Event filled = s.first.Fill(s.x, 1.0f);
  const Event copied = s.second.Copy(s.y, s.x, "after", {filled});
  s.second.Fill(s.y, 2.0f);           // ordered by the queue
  s.first.Fill(s.x, 3.0f, {copied});  // ordered by the event
  CHECK(s.Outcome() == "");
  s.first.Fill(s.y, 1.0f);  // the host has waited for both queues
  s.first.Wait();
  s.second.Copy(s.z, s.y);
  CHECK(s.Outcome() == "");
}

TEST_CASE("order: the ordering is transitive") {
  const OrderSetup s;
  const Event filled = s.first.Fill(s.x, 1.0f);
  const Event nothing = s.debug.queue(2).Call([] {}, {filled});
  const Event later = s.debug.queue(3).Call([] {}, {nothing});
  s.second.Copy(s.y, s.x, "after", {later});
  CHECK(s.Outcome() == "");
}

TEST_CASE(
    "order: readers need no ordering with each other, but a writer needs it with all of them") {
  const OrderSetup s;
  s.first.Fill(s.x, 1.0f).Wait();
  const Event one = s.first.Copy(s.y, s.x, "one");
  const Event two = s.second.Copy(s.z, s.x, "two");
  CHECK(MessageOf([&] { s.debug.queue(2).Fill(s.x, 2.0f, {one, two}).Wait(); }) == "");
  const Event three = s.first.Copy(s.y, s.x, "three", {one, s.debug.queue(2).Call([] {})});
  s.second.Copy(s.z, s.x, "four");
  CHECK(MessageOf([&] {
          s.debug.queue(3).Fill(s.x, 2.0f, {three}).Wait();
        }).find("and copy 'four' reads it") != std::string::npos);
}

TEST_CASE("order: disjoint parts of a buffer need no ordering") {
  const OrderSetup s;
  const auto half = [&](std::uintptr_t at) {
    kdl_array part = s.x.array();
    part.view.size[0] = 4;
    part.view.data =
        reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(part.view.data) + at * 4);
    return part;
  };
  const auto fill = [&](const Queue& queue, std::uintptr_t at) {
    const kdl_array part = half(at);
    Check(kdl_fill(queue.get(), &part, 0, nullptr, 0, nullptr));
  };
  fill(s.first, 0);
  fill(s.second, 4);
  CHECK(s.Outcome() == "");
  fill(s.first, 0);
  fill(s.second, 3);
  CHECK(s.Outcome() != "");
}

TEST_CASE("order: the host must wait before it maps a tensor") {
  const OrderSetup s;
  const Event filled = s.first.Fill(s.x, 1.0f);
  CHECK(
      MessageOf([&] { s.x.Map<const float>(KDL_MAP_READ); }) ==
      "the host reads 'x' on debug, and fill of 'x' on debug writes it; the host must wait for its "
      "event first");
  while (!filled.is_done()) std::this_thread::yield();  // polling counts as waiting
  CHECK(s.x.Map<const float>(KDL_MAP_READ)[0] == 1.0f);
  s.first.Copy(s.y, s.x, "reader");
  CHECK(s.x.Map<const float>(KDL_MAP_READ)[0] == 1.0f);
  CHECK(MessageOf([&] { s.x.Map<float>(KDL_MAP_WRITE); }).find("copy 'reader' reads it") !=
        std::string::npos);
}

TEST_CASE("order: no operation starts on a buffer while the host has mapped it") {
  const OrderSetup s;
  Mapping<float> mapping = s.x.Map<float>();
  s.first.Fill(s.x, 1.0f);
  CHECK(MessageOf([&] { mapping.Close(); }).find("fill of 'x' on debug writes it") !=
        std::string::npos);
}

TEST_CASE("order: timelines and host calls order what the host did") {
  const OrderSetup s;
  const Timeline mbarrier = s.context.MakeTimeline();
  const Event copied = s.second.Copy(s.y, s.x, "waiting", {mbarrier.At(1)});
  s.first.Fill(s.x, 1.0f).Wait();
  mbarrier.Signal(1);
  CHECK(MessageOf([&] { copied.Wait(); }) == "");
  s.first.Call([&] { s.x.Map<float>()[0] = 2.0f; }, {copied});
  s.first.Copy(s.z, s.x, "after");
  CHECK(s.Outcome() == "");
  CHECK(s.z.Map<const float>(KDL_MAP_READ)[0] == 2.0f);
  // A signal orders nothing if the host has not waited before it.
  const Event unordered = s.second.Copy(s.y, s.x, "unordered", {mbarrier.At(2)});
  s.first.Fill(s.x, 3.0f);
  mbarrier.Signal(2);
  CHECK(MessageOf([&] { unordered.Wait(); }).find("fill of 'x' on debug writes it") !=
        std::string::npos);
}

TEST_CASE("order: host memory is also checked after a debug device was selected") {
  const OrderSetup s;
  const Device host = s.context.Select("host");
  const Tensor here = s.context.Allocate(host, f32, {8}, "here");
  host.queue().Fill(here, 1.0f);
  s.first.Copy(s.x, here, "missing event");
  CHECK(s.Outcome().find("copy 'missing event' reads 'here' on host, and fill") == 0);

  Context without;
  const Device plain = without.Select("host");
  const Tensor tensor = without.Allocate(plain, f32, {8}, "t");
  std::atomic<bool> is_filled = false;
  plain.queue(0).Fill(tensor, 1.0f);
  plain.queue(0).Call([&] {
    is_filled = true;
    is_filled.notify_all();
  });
  is_filled.wait(false);  // orders the operations in a way unknown to the runtime
  plain.queue(1).Fill(tensor, 2.0f).Wait();
  plain.queue(0).Wait();
}

}  // namespace
}  // namespace kdl
