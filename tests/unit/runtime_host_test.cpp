// Tests that only apply to the host device: options, selection, the worker pool.
#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "core/processor.h"
#include "host/worker_pool.h"
#include "kdl/kernel_abi.h"
#include "kdl/ranks.hpp"
#include "kdl/runtime.hpp"
#include "system/threads.h"

namespace kdl {
namespace {

std::string SelectionError(const Context& context, const char* spec) {
  try {
    context.Select(spec);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST_CASE("host: by default, a device does not use processor features that are slow") {
  const std::uint64_t left_out = runtime::ProcessorFeatures() & ~runtime::UsualFeatures();
#if defined(__x86_64__)
  const bool is_slow = __builtin_cpu_is("intel") && __builtin_cpu_supports("avx512bf16");
  CHECK(left_out == (is_slow ? std::uint64_t{1} << KDL_FEATURE_BIT_X86_AVX512BF16 : 0));
#else
  CHECK(left_out == 0);
#endif
}

TEST_CASE("host: for a program over ranks, the thread that enqueues an operation runs it") {
  const Context context;
  const Device device = context.Select("host?threads=1").Own();
  const Queue queue = device.queue(0);
  const Ranks ranks(context, {});
  ranks.Use(queue);
  std::thread::id ran_on;
  const auto note = [&ran_on] { ran_on = std::this_thread::get_id(); };
  queue.Call(note);
  CHECK(ran_on == std::this_thread::get_id());
  ran_on = {};
  const Timeline gate = context.MakeTimeline();
  const Event later = queue.Call(note, {gate.At(1)});
  CHECK(ran_on == std::thread::id());
  gate.Signal(1);
  later.Wait();
  CHECK(ran_on != std::thread::id());
  CHECK_THROWS_WITH_AS(ranks.Use(context.Select("host?threads=1").queue(0)),
                       doctest::Contains("belongs to all of its users"), Error);
}

TEST_CASE("host: options, and mistakes in options") {
  Context context;
  CHECK(context.Select("host?threads=3").cores() == 3);
  CHECK(context.Select("host").cores() ==
        static_cast<std::int64_t>(runtime::AllowedProcessors().size()));
  CHECK(SelectionError(context, "host?thread=3") ==
        "host has no option 'thread'; did you mean 'threads'?");
  CHECK(SelectionError(context, "host?colour=3") ==
        "host has no option 'colour'; it has threads, cpus, pin, resident, spin and isa");
  CHECK(context.Select("host?threads=2&spin=0us").cores() == 2);
  CHECK(SelectionError(context, "host?spin=50") ==
        "spin=50 is not a time from 0us to 1000000us, such as 50us");
  CHECK(SelectionError(context, "host?spin=1000001us") ==
        "spin=1000001us is not a time from 0us to 1000000us, such as 50us");
  CHECK(SelectionError(context, "host?resident=all") ==
        "resident=all is neither workers nor cores");
  CHECK(SelectionError(context, "host?threads=0") == "threads=0 is not an integer from 1 to 1024");
  CHECK(SelectionError(context, "host?threads=two") ==
        "threads=two is not an integer from 1 to 1024");
  CHECK(SelectionError(context, "host[1]") ==
        "there is no host[1]: it would be the 2nd, 1 matches");
#if defined(__x86_64__)
  const char* known = "x86-64-v4-amx, x86-64-v4-fp16 and native";
  const char* other = "armv8-a";
#else
  const char* known = "armv8-a-bf16, armv8-a-sve256 and native";
  const char* other = "x86-64-v3";
#endif
  CHECK(SelectionError(context, (std::string("host?isa=") + other).c_str()) ==
        std::string("this processor does not support ") + other);
  CHECK(SelectionError(context, "host?isa=pentium").find(known) != std::string::npos);
  CHECK(SelectionError(context, "debug?seed=-1").find("seed=-1 is not an integer") !=
        std::string::npos);
  CHECK(SelectionError(context, "debug[64]") ==
        "there is no debug[64]: it would be the 65th, 64 match");
}

TEST_CASE("host: several devices in one process, each on its own processors") {
  Context context;
  const std::vector<int> allowed = runtime::AllowedProcessors();
  const std::string first = std::to_string(allowed.front());
  const std::string last = std::to_string(allowed.back());
  const Device one = context.Select(("host?cpus=" + first).c_str());
  const Device other = context.Select(("host?cpus=" + last + "&threads=2").c_str());
  CHECK(one.cores() == 1);
  CHECK(other.cores() == 2);
  CHECK_FALSE(one == other);
  // Both devices share one memory.
  const Tensor x = context.Allocate(one, f32, {4}, "x");
  const Event filled = one.queue().Fill(x, 1.0f);
  other.queue().Fill(x, 2.0f, {filled}).Wait();
  CHECK(x.Map<const float>(KDL_MAP_READ)[0] == 2.0f);
  CHECK(SelectionError(context, "host?cpus=x") ==
        "cpus=x: 'x' is not a processor or a range, such as 2 or 0-3");
  CHECK(SelectionError(context, "host?cpus=3-1") ==
        "cpus=3-1: '3-1' is not a processor or a range, such as 2 or 0-3");
  CHECK(SelectionError(context, "host?cpus=99999") ==
        "cpus=99999: this process has no processor 99999");
  CHECK(SelectionError(context, ("host?cpus=" + first + "+" + first).c_str()) ==
        "cpus=" + first + "+" + first + ": processor " + first + " is given twice");
}

TEST_CASE("host: slices of the workspace, by worker or by core") {
  Context context;
  for (const char* spec :
       {"host?threads=3", "host?threads=3&resident=workers", "debug?threads=3"}) {
    const Device device = context.Select(spec);
    CHECK(device.facts().resident == 3);
    CHECK(device.Instances(2) == 2);
    CHECK(device.Instances(1000) == 3);
    CHECK(device.Instances(KDL_CORES_AUTO) == 3);
  }
  for (const char* spec : {"host?threads=3&resident=cores", "debug[1]?resident=cores"}) {
    const Device device = context.Select(spec);
    CHECK(device.facts().resident == 0);
    CHECK(device.Instances(1000) == 1000);
    CHECK(device.Instances(INT64_MAX) == INT64_MAX);
    CHECK(device.Instances(KDL_CORES_AUTO) == 3);
  }
}

TEST_CASE("host: a list selects the first available device and says why others are not") {
  Context context;
  CHECK(context.Select("host[1], host?threads=2 ,host").uri() == "host?threads=2");
  CHECK(SelectionError(context, "vulkan,host[7]") ==
        "none of the devices 'vulkan,host[7]' is available:\n"
        "  vulkan: unknown kind of device 'vulkan'; the kinds are cluster, cluster-riscv64, cuda, "
        "debug, host and opencl\n"
        "  host[7]: there is no host[7]: it would be the 8th, 1 matches");
  CHECK(SelectionError(context, " ").find("is empty") != std::string::npos);
}

TEST_CASE("host: a kind whose driver is missing is skipped, and the reason is reported") {
  const Context context;
  const std::string refusal = SelectionError(context, "cuda");
  if (refusal.empty()) return;  // this machine has a cuda device
  CHECK(refusal.starts_with("CUDA is not available: libcuda.so.1 "));
  CHECK(context.Select("cuda,host").uri() == "host");
}

TEST_CASE("host: a lower instruction set hides features") {
#if defined(__x86_64__)
  Context context;
  if (!SelectionError(context, "host?isa=x86-64-v3").empty()) return;
  for (const char* spec : {"host?isa=x86-64-v3", "debug?isa=x86-64-v3"}) {
    const std::uint64_t v3 = context.Select(spec).facts().features;
    CHECK((v3 >> KDL_FEATURE_BIT_X86_AVX2 & 1) == 1);
    CHECK((v3 >> KDL_FEATURE_BIT_X86_AVX512F & 1) == 0);
    CHECK((v3 & ~context.Select("host").facts().features) == 0);
  }
#endif
}

TEST_CASE("pool: all tasks run, on at most the requested number of workers") {
  for (int workers : {1, 2, 4}) {
    runtime::WorkerPool pool(workers, {});
    for (int limit = 1; limit <= 5; ++limit) {
      for (int tasks : {0, 1, 7, 1000}) {
        std::atomic<int> next = 0;
        std::atomic<int> highest = 0;
        std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
        const bool is_done = pool.RunJob(limit, [&](int worker) {
          int seen = highest;
          while (worker > seen && !highest.compare_exchange_weak(seen, worker)) {
          }
          for (int task = next++; task < tasks; task = next++) {
            ++runs[static_cast<std::size_t>(task)];
          }
        });
        CHECK(is_done);
        CHECK(highest < std::min(workers, limit));
        for (const std::atomic<int>& count : runs) REQUIRE(count == 1);
      }
    }
  }
}

TEST_CASE("pool: threads help with long work") {
  runtime::WorkerPool pool(3, {});
  std::atomic<int> inside = 0;
  // The job only ends when all three workers are inside at the same time.
  CHECK(pool.RunJob(3, [&](int) {
    ++inside;
    while (inside < 3) std::this_thread::yield();
  }));
  CHECK(inside == 3);
}

TEST_CASE("pool: sleeping threads wake up, and several callers take turns") {
  runtime::WorkerPool pool(2, runtime::AllowedProcessors());
  std::atomic<int> total = 0;
  const auto call = [&] {
    for (int round = 0; round < 20; ++round) {
      std::atomic<int> next = 0;
      const bool is_done = pool.RunJob(2, [&](int) {
        while (next++ < 10) ++total;
      });
      if (!is_done) total = -1000;
      // Sleeps longer than idle threads spin.
      if (round % 5 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  };
  std::thread first(call);
  std::thread second(call);
  first.join();
  second.join();
  CHECK(total == 400);
}

}  // namespace
}  // namespace kdl
