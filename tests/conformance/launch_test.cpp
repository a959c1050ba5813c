// Tests launches: numbers of cores, kinds of arguments, and the data that cores receive. Also tests that
// results never depend on how the cores run.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "conformance/conformance.h"

namespace kdl::conformance {
namespace {

// Returns signed values of very different magnitudes without a simple pattern.
std::vector<float> Noise(std::int64_t count, std::uint32_t seed = 1) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = (static_cast<float>(seed >> 8) * 0x1p-23f - 1.0f) * (seed % 7 == 0 ? 1e6f : 1.0f);
  }
  return values;
}

CONFORMANCE_TEST(Saxpy) {
  for (std::int64_t n : {1, 63, 64, 65, 1009}) {
    for (std::int64_t cores : {1, 2, 3, 16, 1000}) {
      const std::vector<float> x = Noise(n, 1);
      const std::vector<float> y = Noise(n, 2);
      const Tensor tx = bench.Upload(x, "x");
      const Tensor ty = bench.Upload(y, "y");
      bench.queue.Launch("saxpy", cores, {2.5f, tx, ty}).Wait();
      const std::vector<float> result = Bench::Download<float>(ty);
      for (std::size_t i = 0; i < x.size(); ++i) {
        REQUIRE(result[i] == std::fma(2.5f, x[i], y[i]));
      }
    }
  }
}

// Returns the value of the device's counter with this name, or nullopt if there is none.
std::optional<std::int64_t> FindCount(const Device& device, std::string_view name) {
  std::vector<kdl_count> counts(
      static_cast<std::size_t>(kdl_device_get_counts(device.get(), nullptr, 0)));
  kdl_device_get_counts(device.get(), counts.data(), std::ssize(counts));
  for (const kdl_count& count : counts)
    if (count.name == name) return count.value;
  return std::nullopt;
}

// Devices that have their own clock measure the time in kernels from the first query on, even if a launch
// fails.
CONFORMANCE_TEST(TimeInKernels) {
  const Tensor y = bench.Upload(std::vector<std::int64_t>(64, 0), "y");
  bench.queue.Launch("mark", 64, {y}).Wait();
  if (!FindCount(bench.device, KDL_COUNT_KERNEL_TIME)) return;
  CHECK(*FindCount(bench.device, KDL_COUNT_KERNEL_TIME) == 0);
  std::int64_t before = 0;
  for (int turn = 0; turn < 3; ++turn) {
    bench.queue.Launch("mark", 64, {y}).Wait();
    const std::int64_t now = *FindCount(bench.device, KDL_COUNT_KERNEL_TIME);
    CHECK(now > before);
    CHECK(now < std::int64_t{60'000'000'000});
    before = now;
  }
  bench.Upload(std::vector<std::int64_t>(64, 0), "z");
  CHECK(*FindCount(bench.device, KDL_COUNT_KERNEL_TIME) == before);
  CHECK(Bench::Download<std::int64_t>(y) == std::vector<std::int64_t>(64, 4 * 64));  // 4 launches
}

CONFORMANCE_TEST(EmptyTensors) {
  const Tensor x = bench.Upload<float>({}, "x");
  const Tensor y = bench.Upload<float>({}, "y");
  bench.queue.Launch("saxpy", 4, {1.0f, x, y}).Wait();
  // With K = 0 every sum is empty.
  const Tensor a = bench.context.Allocate(bench.device, f32, {3, 0}, "a");
  const Tensor b = bench.context.Allocate(bench.device, f32, {0, 2}, "b");
  const Tensor c = bench.Upload<float>(std::vector<float>(6, 9.0f), {3, 2}, "c");
  bench.queue.Launch("matmul", 2, {a, b, c}).Wait();
  CHECK(Bench::Download<float>(c) == std::vector<float>(6, 0.0f));
}

CONFORMANCE_TEST(EveryCoreRunsOnce) {
  for (std::int64_t cores : {1, 2, 7, 64, 65537}) {
    const Tensor y =
        bench.Upload(std::vector<std::int64_t>(static_cast<std::size_t>(cores), 0), "y");
    bench.queue.Launch("mark", cores, {y}).Wait();
    REQUIRE(Bench::Download<std::int64_t>(y) ==
            std::vector<std::int64_t>(static_cast<std::size_t>(cores), cores));
  }
}

CONFORMANCE_TEST(CoreNumIsChecked) {
  const Tensor y = bench.Upload<std::int64_t>({5}, "y");
  for (std::int64_t cores : {std::int64_t{0}, std::int64_t{-3}, INT64_MIN + 1}) {
    std::string message;
    CHECK(CodeOf([&] { bench.queue.Launch("mark", cores, {y}); }, &message) ==
          KDL_ERROR_INVALID_ARGUMENT);
    CHECK(message == "launch of 'mark': core_num is " + std::to_string(cores) +
                         "; a launch runs on 1 core or more");
  }
  CHECK(Bench::Download<std::int64_t>(y) == std::vector<std::int64_t>{5});
}

CONFORMANCE_TEST(AutoTakesWhatTheDeviceHolds) {
  const Tensor y = bench.Upload<std::int64_t>({0}, "y");
  bench.queue.Launch("mark", KDL_CORES_AUTO, {y}).Wait();
  CHECK(Bench::Download<std::int64_t>(y) == std::vector<std::int64_t>{bench.device.cores()});
  CHECK(bench.device.cores() >= 1);
}

CONFORMANCE_TEST(ScalarsOfEveryKind) {
  const Tensor y = bench.Upload(std::vector<std::uint64_t>(16, 0), "y");
  bench.queue
      .Launch("scalars", 3,
              {true, std::int8_t{-1}, std::int16_t{-2}, std::int32_t{-3}, std::int64_t{-4},
               std::uint8_t{250}, std::uint16_t{60000}, std::uint32_t{4000000000u},
               std::uint64_t{1} << 63, F16{0x3c00}, Bf16{0x3f80}, 1.0f, 1.0, F8E4M3{0x38},
               F8E5M2{0xbc}, F8E8M0{0x80}, y})
      .Wait();
  const std::vector<std::uint64_t> slots = Bench::Download<std::uint64_t>(y);
  const std::vector<std::uint64_t> expected = {1,
                                               0xff,
                                               0xfffe,
                                               0xfffffffd,
                                               static_cast<std::uint64_t>(-4),
                                               250,
                                               60000,
                                               4000000000u,
                                               UINT64_C(1) << 63,
                                               0x3c00,
                                               0x3f80,
                                               0x3f800000,
                                               UINT64_C(0x3ff0000000000000),
                                               0x38,
                                               0xbc,
                                               0x80};
  CHECK(slots == expected);
}

CONFORMANCE_TEST(MoreThanSixtyFourArguments) {
  std::vector<Tensor> tensors;
  std::vector<kdl_arg> args;
  for (int t = 0; t < 70; ++t) tensors.push_back(bench.Upload<std::int32_t>({t, 1000 * t}, "x"));
  tensors.push_back(bench.Upload<std::int64_t>({0, 0}, "y"));
  for (int t = 0; t < 70; ++t) args.push_back(Argument(tensors[static_cast<std::size_t>(t)]).get());
  for (std::int64_t s = 0; s < 10; ++s) args.push_back(Argument(s << 40).get());
  args.push_back(Argument(tensors.back()).get());
  const kdl_function* many = nullptr;
  Check(kdl_context_find_kernel(bench.context.get(), "many", &many));
  Check(
      kdl_launch_kernel(bench.queue.get(), many, 2, args.data(), 81, nullptr, nullptr, 0, nullptr));
  bench.queue.Wait();
  const std::int64_t scalars = std::int64_t{45} << 40;
  CHECK(Bench::Download<std::int64_t>(tensors.back()) ==
        std::vector<std::int64_t>{2415 + scalars, 2415000 + scalars});
}

CONFORMANCE_TEST(OuterStridesAreFree) {
  const std::vector<float> x = Noise(60);
  const Tensor whole = bench.Upload(x, "x");
  const Tensor y = bench.Upload(std::vector<float>(5, 0.0f), "y");
  kdl_array rows = whole.array();
  rows.view.rank = 2;
  rows.view.size[0] = 5;
  rows.view.stride[0] = 12;
  rows.view.size[1] = 7;
  rows.view.stride[1] = 1;
  std::vector<kdl_arg> args = {{&rows, 0, 0, {}}, Argument(y).get()};
  const kdl_function* row_sums = nullptr;
  Check(kdl_context_find_kernel(bench.context.get(), "row_sums", &row_sums));
  const auto launch = [&] {
    Check(kdl_launch_kernel(bench.queue.get(), row_sums, 2, args.data(), 2, nullptr, nullptr, 0,
                            nullptr));
    bench.queue.Wait();
    return Bench::Download<float>(y);
  };
  std::vector<float> expected;
  for (std::size_t r = 0; r < 5; ++r) {
    float sum = 0;
    for (std::size_t c = 0; c < 7; ++c) sum += x[r * 12 + c];
    expected.push_back(sum);
  }
  CHECK(launch() == expected);
  rows.view.stride[0] = 0;  // with stride 0, an input repeats one row
  CHECK(launch() == std::vector<float>(5, expected[0]));
}

CONFORMANCE_TEST(BitsDoNotDependOnTheCores) {
  constexpr std::int64_t kRows = 67;
  constexpr std::int64_t kColumns = 129;
  const Tensor x = bench.Upload(Noise(kRows * kColumns), {kRows, kColumns}, "x");
  std::vector<std::vector<float>> results;
  for (std::int64_t cores : {1, 2, 3, 8, 100}) {
    const Tensor y = bench.Upload(std::vector<float>(kRows, 0.0f), "y");
    bench.queue.Launch("row_sums", cores, {x, y}).Wait();
    results.push_back(Bench::Download<float>(y));
  }
  for (const std::vector<float>& result : results) CHECK(result == results.front());
}

CONFORMANCE_TEST(BarriersHoldAllCores) {
  for (std::int64_t cores : {1, 2, 5, 64, 3000}) {
    const std::int64_t n = cores + 3;
    const Tensor x = bench.Upload(std::vector<std::int64_t>(static_cast<std::size_t>(n), -1), "x");
    const Tensor y = bench.Upload(std::vector<std::int64_t>(static_cast<std::size_t>(n), -1), "y");
    bench.queue.Launch("exchange", cores, {x, y}).Wait();
    const std::vector<std::int64_t> result = Bench::Download<std::int64_t>(y);
    for (std::int64_t i = 0; i < n; ++i) {
      REQUIRE(result[static_cast<std::size_t>(i)] == (i + 1) % n % cores);
    }
  }
}

CONFORMANCE_TEST(DynamicCountersStartAtZeroInEachLaunch) {
  const Tensor y = bench.Upload(std::vector<std::int64_t>(5000, 0), "y");
  for (int launch = 0; launch < 3; ++launch) bench.queue.Launch("dynamic_counter", 4, {y});
  bench.queue.Wait();
  CHECK(Bench::Download<std::int64_t>(y) == std::vector<std::int64_t>(5000, 3));
}

CONFORMANCE_TEST(ScratchBelongsToOneCoreAtATime) {
  const Tensor y = bench.Upload(std::vector<std::int64_t>(3000, 0), "y");
  bench.queue.Launch("scratch", 3000, {y}).Wait();
  CHECK(Bench::Download<std::int64_t>(y) == std::vector<std::int64_t>(3000, 1));
}

CONFORMANCE_TEST(WorkspaceIsAllocatedOrGiven) {
  const Tensor y = bench.Upload(std::vector<std::int64_t>(1000, -1), "y");
  std::vector<std::int64_t> expected(1000);
  for (std::size_t i = 0; i < 1000; ++i) expected[i] = static_cast<std::int64_t>(i);
  bench.queue.Launch("workspace", 1000, {y}).Wait();
  CHECK(Bench::Download<std::int64_t>(y) == expected);

  const kdl_function* kernel = nullptr;
  Check(kdl_context_find_kernel(bench.context.get(), "workspace", &kernel));
  const kdl_arg arg = Argument(y).get();
  std::int64_t bytes = 0;
  Check(kdl_launch_workspace_bytes(bench.queue.get(), kernel, 1000, &arg, 1, &bytes));
  const std::int64_t instances = bench.device.Instances(1000);
  CHECK(bytes == 8000 + instances * 256);
  // Sizes are computed in 64 bits. Only the size is requested here, so the memory is not needed.
  constexpr std::int64_t kMany = 20'000'000;
  std::int64_t many_bytes = 0;
  Check(kdl_launch_workspace_bytes(bench.queue.get(), kernel, kMany, &arg, 1, &many_bytes));
  CHECK(many_bytes == kMany * 8 + bench.device.Instances(kMany) * 256);
  CHECK(bench.device.Footprint("workspace") == 256);
  CHECK(bench.device.Instances(KDL_CORES_AUTO) == bench.device.Instances(bench.device.cores()));
  CHECK(bench.device.Instances(1) == 1);
  CHECK(bench.device.Instances(0) == 0);
  CHECK(bench.device.Instances(-7) == 0);
  CHECK(bench.device.Instances(Cores(KDL_CORES_AUTO)) == 0);

  bench.queue.Fill(y, std::int64_t{-1}).Wait();
  const auto launch_with = [&](std::int64_t size) {
    const Tensor given = bench.context.Allocate(bench.device, u8, {size}, "w");
    Check(kdl_launch_kernel(bench.queue.get(), kernel, 1000, &arg, 1, given.array().buffer, nullptr,
                            0, nullptr));
    bench.queue.Wait();
  };
  launch_with(bytes);
  CHECK(Bench::Download<std::int64_t>(y) == expected);
  // The memory only needs room for the slices.
  const std::int64_t slices = instances * 256;
  for (const std::int64_t size : {slices, bytes - 1}) {
    bench.queue.Fill(y, std::int64_t{-1}).Wait();
    launch_with(size);
    CHECK(Bench::Download<std::int64_t>(y) == expected);
  }
  std::string message;
  CHECK(CodeOf([&] { launch_with(slices - 1); }, &message) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(message.find("it needs " + std::to_string(slices)) != std::string::npos);
  CHECK(CodeOf([&] { bench.queue.Launch("workspace", KDL_LARGEST_SIZE + 1, {y}); }, &message) ==
        KDL_ERROR_INVALID_ARGUMENT);
  CHECK(message.find("at most " + std::to_string(KDL_LARGEST_SIZE)) != std::string::npos);
}

// Slices are contiguous, and launches do not change the memory between and after them. (The kernel traps if
// another core writes to its slice.)
CONFORMANCE_TEST(SlicesOfTheWorkspaceAreApart) {
  constexpr std::int64_t kGuard = 4096;
  constexpr std::uint8_t kPoison = 0xD5;
  for (const std::int64_t cores : {1, 2, 5, 1000}) {
    const std::int64_t instances = bench.device.Instances(cores);
    const std::int64_t bytes = instances * bench.device.Footprint("slices");
    const Tensor slots = bench.Upload(std::vector<std::int64_t>(1000, -1), "slots");
    const std::vector<std::uint8_t> poison(static_cast<std::size_t>(bytes + kGuard), kPoison);
    const Tensor memory = bench.Upload(poison, "memory");
    const kdl_function* kernel = nullptr;
    Check(kdl_context_find_kernel(bench.context.get(), "slices", &kernel));
    const kdl_arg arg = Argument(slots).get();
    Check(kdl_launch_kernel(bench.queue.get(), kernel, cores, &arg, 1, memory.array().buffer,
                            nullptr, 0, nullptr));
    bench.queue.Wait();
    const std::vector<std::uint8_t> after = Bench::Download<std::uint8_t>(memory);
    std::vector<bool> written(static_cast<std::size_t>(instances));
    for (const std::int64_t slot : Bench::Download<std::int64_t>(slots)) {
      CHECK(slot < instances);
      if (slot >= 0) written[static_cast<std::size_t>(slot)] = true;
    }
    std::vector<std::size_t> wrong;
    for (std::size_t at = 0; at < after.size(); ++at) {
      const std::size_t slot = at / 256;
      const bool is_written = slot < written.size() && written[slot] && at % 256 < 200;
      if (is_written == (after[at] == kPoison)) wrong.push_back(at);
    }
    CHECK(wrong == std::vector<std::size_t>());
  }
}

// Cores without blocks do not run, so they need no slices.
CONFORMANCE_TEST(SlicesOnlyForBusyCores) {
  constexpr std::int64_t kBusy = 3;
  const kdl_function* kernel = nullptr;
  Check(kdl_context_find_kernel(bench.context.get(), "busy_slices", &kernel));
  for (const std::int64_t cores :
       {std::int64_t{1}, std::int64_t{2}, kBusy, std::int64_t{1000}, KDL_LARGEST_SIZE}) {
    const std::int64_t busy = std::min(cores, kBusy);
    const std::int64_t instances = bench.device.Instances(busy);
    const Tensor slots = bench.Upload(std::vector<std::int64_t>(kBusy, -1), "slots");
    const kdl_arg arg = Argument(slots).get();
    std::int64_t bytes = 0;
    Check(kdl_launch_workspace_bytes(bench.queue.get(), kernel, cores, &arg, 1, &bytes));
    CHECK(bytes == instances * bench.device.Footprint("busy_slices"));
    bench.queue.Launch("busy_slices", cores, {slots}).Wait();
    const std::vector<std::int64_t> result = Bench::Download<std::int64_t>(slots);
    for (std::int64_t core = 0; core < kBusy; ++core) {
      const std::int64_t slot = result[static_cast<std::size_t>(core)];
      CHECK((core < busy ? slot >= 0 && slot < instances : slot == -1));
    }
  }
}

CONFORMANCE_TEST(WorkspacesGrow) {
  kdl_buffer* workspace = nullptr;
  const auto reserve = [&](std::int64_t instances, std::int64_t footprint) {
    Check(kdl_workspace_reserve(bench.device.get(), instances, footprint, "k: q", &workspace));
    return workspace == nullptr ? 0 : kdl_buffer_bytes(workspace);
  };
  const std::int64_t before = bench.device.statistics().allocations;
  CHECK(reserve(0, 256) == 0);
  CHECK(reserve(5, 0) == 0);
  CHECK(reserve(4, 256) == 1024);
  const kdl_buffer* const first = workspace;
  CHECK(reserve(4, 256) == 1024);
  CHECK(reserve(1, 128) == 1024);
  CHECK(workspace == first);
  CHECK(reserve(5, 256) == 1280);
  CHECK(bench.device.statistics().allocations == before + 2);
  std::string message;
  CHECK(CodeOf([&] { reserve(INT64_MAX / 255, 256); }, &message) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(message == "workspace 'k: q': " + std::to_string(INT64_MAX / 255) +
                       " instances of 256 bytes each are 2^63 bytes or more");
  CHECK(CodeOf([&] { reserve(-1, 256); }) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(kdl_buffer_bytes(workspace) == 1280);
  kdl_buffer_free(workspace);
}

CONFORMANCE_TEST(Print) {
  std::string printed;
  const auto write = [](void* user, const char* text, std::size_t bytes) {
    static_cast<std::string*>(user)->append(text, bytes);
  };
  kdl_context_on_print(bench.context.get(), write, &printed);
  const Tensor x = bench.Upload<float>({1.5f, -0.1f, 3e10f}, "x");
  bench.queue.Launch("print", 2, {x}).Wait();
  CHECK(printed == "x is [1.5, -0.1, 3e+10], N is 3\n");
}

// Receives lines. The first one makes it launch a kernel that prints, on another queue, and wait for it.
struct LaunchingReceiver {
  const Bench& bench;
  const Tensor& x;
  std::vector<std::string> printed = {};
  std::size_t lines_before = 0;  // number of lines before the second launch, and after it
  std::size_t lines_after = 0;

  static void Receive(void* user, const char* text, std::size_t bytes) {
    auto& self = *static_cast<LaunchingReceiver*>(user);
    self.printed.emplace_back(text, bytes);
    if (self.printed.size() > 1) return;
    self.lines_before = self.printed.size();
    self.bench.device.queue(1).Launch("print", 2, {self.x}).Wait();
    kdl_context_on_print(self.bench.context.get(), Receive, user);
    self.lines_after = self.printed.size();
  }
};

CONFORMANCE_TEST(ReceiversOfPrintsMayLaunchPrints) {
  const Tensor x = bench.Upload<float>({1.5f}, "x");
  LaunchingReceiver receiver{bench, x};
  kdl_context_on_print(bench.context.get(), LaunchingReceiver::Receive, &receiver);
  bench.queue.Launch("print", 2, {x}).Wait();
  CHECK(receiver.lines_before == 1);
  CHECK(receiver.lines_after == 1);  // only one call at a time
  const std::string line = "x is [1.5], N is 1\n";
  CHECK(receiver.printed == std::vector<std::string>{line, line});
  kdl_context_on_print(bench.context.get(), nullptr, nullptr);
}

CONFORMANCE_TEST(PrintsOfSeveralThreadsArriveOneAtATime) {
  struct Receiver {
    int inside = 0;
    int most_inside = 0;
    int lines = 0;
  } receiver;
  const auto write = [](void* user, const char*, std::size_t) {
    auto& self = *static_cast<Receiver*>(user);
    self.most_inside = std::max(self.most_inside, ++self.inside);
    std::this_thread::yield();
    --self.inside;
    ++self.lines;
  };
  kdl_context_on_print(bench.context.get(), write, &receiver);
  constexpr int kThreads = 3;
  constexpr int kLaunches = 20;
  const Tensor x = bench.Upload<float>({1.5f}, "x");
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kLaunches; ++i) bench.device.queue(t).Launch("print", 2, {x}).Wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(receiver.lines == kThreads * kLaunches);
  CHECK(receiver.most_inside == 1);
  kdl_context_on_print(bench.context.get(), nullptr, nullptr);
}

// While this object exists, standard output fails as if the disk were full.
class FullOutput {
 public:
  FullOutput() : own_(dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    const int full = open("/dev/full", O_WRONLY);
    dup2(full, STDOUT_FILENO);
    close(full);
  }
  ~FullOutput() {
    dup2(own_, STDOUT_FILENO);
    close(own_);
  }
  FullOutput(const FullOutput&) = delete;
  FullOutput& operator=(const FullOutput&) = delete;

 private:
  int own_;
};

CONFORMANCE_TEST(LostPrintsFail) {
  const Tensor x = bench.Upload<float>({1.5f, -0.1f, 3e10f}, "x");
  std::string message;
  kdl_code code = KDL_OK;
  {
    const FullOutput full;
    code = CodeOf([&] { bench.queue.Launch("print", 2, {x}).Wait(); }, &message);
  }
  CHECK(code == KDL_ERROR_DEVICE);
  CHECK(message.find("writing to it failed: No space left on device") != std::string::npos);
}

CONFORMANCE_TEST(LaunchesAreCounted) {
  const Tensor y = bench.Upload<std::int64_t>({0}, "y");
  const std::int64_t before = bench.device.statistics().launches;
  for (int i = 0; i < 5; ++i) bench.queue.Launch("mark", 2, {y});
  bench.queue.Wait();
  CHECK(bench.device.statistics().launches == before + 5);
  CHECK(Bench::Download<std::int64_t>(y) == std::vector<std::int64_t>{10});
}

CONFORMANCE_TEST(OneKernelFromSeveralThreads) {
  constexpr int kThreads = 3;
  constexpr int kLaunches = 30;
  std::vector<Tensor> tensors;
  for (int t = 0; t < kThreads; ++t) {
    tensors.push_back(bench.Upload(std::vector<std::int64_t>(50, 0), "y"));
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const Tensor& y = tensors[static_cast<std::size_t>(t)];
      for (int i = 0; i < kLaunches; ++i) bench.device.queue(t).Launch("mark", 60, {y});
      bench.device.queue(t).Wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& tensor : tensors) {
    CHECK(Bench::Download<std::int64_t>(tensor) == std::vector<std::int64_t>(50, 60 * kLaunches));
  }
}

CONFORMANCE_TEST(LaunchesFromSeveralThreads) {
  constexpr int kThreads = 3;
  constexpr int kLaunches = 30;
  constexpr int kCores = 300;
  std::vector<Tensor> tensors;
  for (int t = 0; t < kThreads; ++t) {
    tensors.push_back(bench.Upload(std::vector<std::int64_t>(kCores, 0), "y"));
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const Tensor& y = tensors[static_cast<std::size_t>(t)];
      for (int i = 0; i < kLaunches; ++i)
        bench.device.queue(t).Launch("scratch", kCores, {y}).Wait();
      for (int i = 0; i < kLaunches; ++i) bench.device.queue(t).Launch("dynamic_counter", 3, {y});
      bench.device.queue(t).Wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& tensor : tensors) {
    CHECK(Bench::Download<std::int64_t>(tensor) ==
          std::vector<std::int64_t>(kCores, 1 + kLaunches));
  }
}

CONFORMANCE_TEST(TwoDevicesOfAKindAtOnce) {
  const Device second = bench.sibling();
  CHECK_FALSE(second == bench.device);
  const Tensor x = bench.Upload(Noise(1000), "x");
  const Tensor y = bench.Upload(Noise(1000, 2), "y");
  const Tensor x2 = bench.context.Allocate(second, f32, {1000}, "x2");
  const Tensor y2 = bench.context.Allocate(second, f32, {1000}, "y2");
  const Event copied_x = second.queue().Copy(x2, x);
  const Event copied_y = second.queue(1).Copy(y2, y);
  const Event first = bench.queue.Launch("saxpy", 3, {2.0f, x, y}, {copied_x, copied_y});
  const Event other = second.queue(2).Launch("saxpy", 5, {2.0f, x2, y2}, {copied_x, copied_y});
  first.Wait();
  other.Wait();
  CHECK(Bench::Download<float>(y) == Bench::Download<float>(y2));
  CHECK(second.statistics().launches == 1);
}

}  // namespace
}  // namespace kdl::conformance
