// Tests how a CUDA device handles failures of its driver, and whether it leaks.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "conformance/conformance.h"
#include "conformance/cuda_kernels.h"
#include "conformance/kernels.h"
#include "drivers/fake_cuda.h"

namespace kdl::conformance {

namespace {

void Prepare(Context& context) {
  context.Register(kImages);
  context.Register(CudaImages());
}

// Makes the driver's function fail once. Returns the error message of selecting the device, of a launch that is
// one call of the driver, or of a launch that has parts.
std::string Failure(const char* function, int status, kdl_code code) {
  std::string message;
  {
    Context context;
    Prepare(context);
    fake_cuda_fail(function, status);
    const kdl_code told = CodeOf(
        [&] {
          const Device device = context.Select("cuda");
          const Tensor y = context.Allocate(device, ElementOf<std::int64_t>(), {8}, "y");
          device.queue().Launch("mark", 8, {y}).Wait();
          const Tensor x = context.Allocate(device, ElementOf<std::int64_t>(), {8}, "x");
          device.queue().Launch("exchange", 3, {x, y}).Wait();
        },
        &message);
    CHECK(told == code);
  }
  CHECK(fake_cuda_live() == 0);
  return message;
}

}  // namespace

TEST_CASE("CUDA: no resources remain after contexts are destroyed") {
  for (const char* spec : {"cuda", "cuda[1]"}) {
    const DeviceUnderTest device{spec, spec, Prepare, {}};
    const Bench bench(device);
    const Tensor kept = bench.Upload<std::int64_t>({1, 2, 3});
    CHECK(fake_cuda_live() > 0);
  }
  CHECK(fake_cuda_live() == 0);
}

TEST_CASE("CUDA: each failure of the driver is reported, and nothing leaks") {
  struct Row {
    const char* function;
    int status;
    kdl_code code;
    const char* says;
  };
  constexpr int kOutOfMemory = 2;
  constexpr int kInvalidPtx = 218;
  constexpr int kIllegalAddress = 700;
  constexpr Row kRows[] = {
      {"cuInit", 100, KDL_ERROR_NOT_FOUND, "CUDA is not available: libcuda.so.1 says"},
      {"cuDevicePrimaryCtxRetain", kOutOfMemory, KDL_ERROR_OUT_OF_MEMORY, "creating a context"},
      {"cuMemAllocFromPoolAsync", kOutOfMemory, KDL_ERROR_OUT_OF_MEMORY,
       "not enough device memory for 64 bytes"},
      {"cuModuleLoadDataEx", kInvalidPtx, KDL_ERROR_DEVICE,
       "the driver of no GPU 0 rejects the kernels of module 'suite'"},
      {"cuModuleLoadDataEx", kIllegalAddress, KDL_ERROR_DEVICE, "loading module suite failed"},
      {"cuOccupancyMaxActiveBlocksPerMultiprocessor", kIllegalAddress, KDL_ERROR_DEVICE,
       "asking how many blocks fit failed: CUDA_ERROR"},
      {"cuStreamCreate", kOutOfMemory, KDL_ERROR_OUT_OF_MEMORY, "creating a stream"},
      {"cuMemcpyHtoDAsync_v2", kIllegalAddress, KDL_ERROR_DEVICE,
       "writing the arguments of a launch"},
      {"cuLaunchKernelEx", kIllegalAddress, KDL_ERROR_DEVICE, "launching mark failed: CUDA_ERROR"},
      {"cuMemcpyDtoHAsync_v2", kIllegalAddress, KDL_ERROR_DEVICE, "running exchange"},
      {"cuEventRecord", kIllegalAddress, KDL_ERROR_DEVICE, "writing the arguments of a launch"},
      {"cuStreamSynchronize", kIllegalAddress, KDL_ERROR_DEVICE, "failed: CUDA_ERROR"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.function);
    const std::string message = Failure(row.function, row.status, row.code);
    CAPTURE(message);
    CHECK(message.find(row.says) != std::string::npos);
  }
}

TEST_CASE("CUDA: a lost device is reported, also by all later calls") {
  constexpr int kContextIsDestroyed = 709;
  struct Row {
    const char* function;
    const char* kernel;
    const char* says;
  };
  constexpr Row kRows[] = {
      {"cuMemcpyDtoHAsync_v2", "exchange", "CUDA: running exchange failed: CUDA_ERROR"},
      {"cuStreamSynchronize", "exchange", "CUDA: allocating memory for a launch failed"},
      {"cuLaunchKernelEx", "exchange", "CUDA: launching exchange failed: CUDA_ERROR"},
      {"cuStreamSynchronize", "mark", "CUDA: running mark failed: CUDA_ERROR"},
      {"cuLaunchKernelEx", "mark", "CUDA: launching mark failed: CUDA_ERROR"}};
  for (const Row& row : kRows) {
    CAPTURE(row.function);
    {
      Context context;
      Prepare(context);
      const Device device = context.Select("cuda");
      const Device host = context.Select("host");
      const Tensor y = context.Allocate(device, ElementOf<std::int64_t>(), {8}, "y");
      const Tensor x = context.Allocate(device, ElementOf<std::int64_t>(), {8}, "x");
      const auto launch = [&] {
        const bool is_marking = std::string_view(row.kernel) == "mark";
        const Queue queue = device.queue();
        (is_marking ? queue.Launch("mark", 8, {y}) : queue.Launch("exchange", 3, {x, y})).Wait();
      };
      const Tensor here = context.Allocate(host, ElementOf<std::int64_t>(), {8}, "here");
      std::string first;
      fake_cuda_fail(row.function, kContextIsDestroyed);
      CHECK(CodeOf(launch, &first) == KDL_ERROR_DEVICE);
      CAPTURE(first);
      CHECK(first.find(row.says) != std::string::npos);
      CHECK(first.find("this process cannot use the device any more: restart it") !=
            std::string::npos);
      // The driver would work again, but the runtime must not call it.
      const auto also = [&](const auto& call) {
        std::string text;
        CHECK(CodeOf(call, &text) == KDL_ERROR_DEVICE);
        CAPTURE(text);
        CHECK(text.find(row.says) != std::string::npos);
      };
      also(launch);
      also([&] { context.Allocate(device, ElementOf<std::int64_t>(), {8}, "z"); });
      also([&] { device.queue().Copy(here, y).Wait(); });
    }
    CHECK(fake_cuda_live() == 0);
  }
}

namespace {

// A device and a tensor of 8 zeros that `mark` increments by 8 in each launch on 8 cores.
struct Marked {
  const DeviceUnderTest spec{"cuda", "cuda", Prepare, {}};
  const Bench bench{spec};
  const Tensor y = bench.Upload(std::vector<std::int64_t>(8));

  Event Mark(std::int32_t queue = 0, const Queue::After& after = {}) const {
    return bench.device.queue(queue).Launch("mark", 8, {y}, after);
  }
  std::vector<std::int64_t> After(std::int64_t launches) const {
    return std::vector<std::int64_t>(8, 8 * launches);
  }
  std::vector<std::int64_t> Values() const { return Bench::Download<std::int64_t>(y); }
};

}  // namespace

TEST_CASE("CUDA: a launch is one call of the driver, and so is waiting for many of them") {
  const Marked marked;
  marked.Mark().Wait();
  fake_cuda_calls();
  const std::string one = "cuCtxPushCurrent_v2\ncuLaunchKernelEx 8\ncuCtxPopCurrent_v2\n";
  marked.Mark();
  marked.Mark();
  const Event last = marked.Mark();
  CHECK(fake_cuda_calls() == one + one + one);
  last.Wait();
  CHECK(fake_cuda_calls() ==
        std::string("cuCtxPushCurrent_v2\ncuStreamSynchronize\ncuCtxPopCurrent_v2\n"));
  CHECK(marked.Values() == marked.After(4));
}

TEST_CASE("CUDA: launches end although nobody waits for them") {
  const Marked marked;
  // A caller that only asks.
  const Event asked = marked.Mark();
  while (!asked.is_done()) std::this_thread::yield();
  // A wait with a limit.
  constexpr std::int64_t kLong = 60'000'000'000;
  const Event limited = marked.Mark();
  Check(kdl_event_wait(limited.get(), kLong));
  // A host call, and launches of other queues.
  std::atomic<bool> is_called = false;
  const Event first = marked.Mark();
  const Event second = marked.Mark(1, {first});
  const Event third = marked.Mark(2, {second});
  marked.bench.host.queue().Call([&] { is_called = true; }, {third});
  while (!is_called) std::this_thread::yield();
  CHECK(marked.Values() == marked.After(5));
}

TEST_CASE("CUDA: many launches are given before the first is waited for") {
  constexpr std::int64_t kMany = 5000;
  std::vector<std::int64_t> values;
  {
    const Marked marked;
    for (std::int64_t i = 0; i < kMany; ++i) marked.Mark();
    marked.bench.queue.Wait();
    values = marked.Values();
    CHECK(values == marked.After(kMany));
    for (std::int64_t i = 0; i < 10; ++i) marked.Mark();
  }
  CHECK(fake_cuda_live() == 0);
}

TEST_CASE("CUDA: nothing that follows a trap has run") {
  const Marked marked;
  const Tensor z = marked.bench.Upload(std::vector<std::int32_t>(70));
  const auto traps = [&] { return marked.bench.queue.Launch("trap_at", 3, {std::int64_t{5}, z}); };
  for (int round = 0; round < 2; ++round) {
    marked.Mark();
    const Event trapped = traps();
    const Event after = marked.Mark();
    for (const Event& event : {after, trapped})
      CHECK(CodeOf([&] { event.Wait(); }) == KDL_ERROR_TRAP);
    CHECK(marked.Values() == marked.After(round + 1));
  }
}

namespace {

// The parts of the driver that the application uses itself.
extern "C" {
int cuCtxPushCurrent_v2(void* context);
int cuCtxPopCurrent_v2(void** context);
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes);
int cuMemFree_v2(std::uint64_t address);
int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void* stream);
int cuMemsetD32Async(std::uint64_t address, unsigned value, std::size_t count, void* stream);
int cuStreamCreate(void** stream, unsigned flags);
int cuStreamDestroy_v2(void* stream);
int cuStreamSynchronize(void* stream);
}

// Memory of 8 integers of 64 bits and a stream, as another library in the process creates them.
class Foreign {
 public:
  explicit Foreign(int device) : device_(device) {
    void* context = nullptr;
    REQUIRE(cuDevicePrimaryCtxRetain(&context, device) == 0);
    cuCtxPushCurrent_v2(context);
    REQUIRE(cuMemAlloc_v2(&address_, 8 * sizeof(std::int64_t)) == 0);
    REQUIRE(cuStreamCreate(&stream_, 1) == 0);
    SetLater(0);
    cuStreamSynchronize(stream_);
  }
  ~Foreign() {
    cuStreamSynchronize(stream_);
    cuStreamDestroy_v2(stream_);
    cuMemFree_v2(address_);
    void* context = nullptr;
    cuCtxPopCurrent_v2(&context);
    cuDevicePrimaryCtxRelease_v2(device_);
  }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;

  std::int64_t* data() const { return reinterpret_cast<std::int64_t*>(address_); }
  void* stream() const { return stream_; }
  void Synchronize() const { cuStreamSynchronize(stream_); }
  // Sets all words of 32 bits when somebody waits for the stream.
  void SetLater(unsigned value) const { cuMemsetD32Async(address_, value, 16, stream_); }
  // Returns the integers after all work of the stream.
  std::vector<std::int64_t> Read() const {
    std::vector<std::int64_t> values(8);
    cuMemcpyDtoHAsync_v2(values.data(), address_, values.size() * sizeof(std::int64_t), stream_);
    Synchronize();
    return values;
  }

 private:
  int device_;
  std::uint64_t address_ = 0;
  void* stream_ = nullptr;
};

}  // namespace

TEST_CASE("CUDA: kernels use memory and follow streams of other libraries") {
  {
    const Foreign foreign(0);
    const Marked marked;
    const Tensor y = marked.bench.context.Wrap(marked.bench.device, foreign.data(), {8}, "y");
    const auto values = [&] { return Bench::Download<std::int64_t>(y); };
    constexpr std::int64_t kOnes = (std::int64_t{1} << 32) + 1;
    for (const bool has_parts : {false, true}) {
      CAPTURE(has_parts);
      foreign.SetLater(1);
      marked.bench.queue.FollowStream(foreign.stream());
      if (has_parts) {
        const Tensor x = marked.bench.Upload(std::vector<std::int64_t>(8));
        marked.bench.queue.Launch("exchange", 3, {x, y}).Wait();
        foreign.Synchronize();
        CHECK(values() != std::vector<std::int64_t>(8, kOnes));
      } else {
        marked.bench.queue.Launch("mark", 8, {y}).Wait();
        CHECK(values() == std::vector<std::int64_t>(8, kOnes + 8));
      }
    }
    fake_cuda_calls();
    marked.bench.queue.FollowStream(foreign.stream());
    CHECK(std::string(fake_cuda_calls()).find("Event") == std::string::npos);  // it is empty
    marked.bench.queue.Fill(y, std::int64_t{5}).Wait();
    CHECK(values() == std::vector<std::int64_t>(8, 5));
  }
  CHECK(fake_cuda_live() == 0);
}

TEST_CASE("CUDA: memory that is not the device's, and streams of other devices, are refused") {
  const Foreign foreign(1);
  const Marked marked;
  std::vector<std::int64_t> here(8);
  std::string message;
  const auto wrap = [&](std::int64_t* data) {
    return CodeOf([&] { marked.bench.context.Wrap(marked.bench.device, data, {8}, "y"); },
                  &message);
  };
  CHECK(wrap(here.data()) == KDL_ERROR_UNSUPPORTED);
  CHECK(message.find("is not in the memory of a GPU; copy the data to cuda[0]") !=
        std::string::npos);
  CHECK(wrap(foreign.data()) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(message.find("is in the memory of cuda[1]; copy the data to cuda[0]") != std::string::npos);
  CHECK(CodeOf([&] { marked.bench.host.queue().FollowStream(foreign.stream()); }, &message) ==
        KDL_ERROR_UNSUPPORTED);
  CHECK(message.find("host has no streams") != std::string::npos);
}

TEST_CASE("CUDA: a failure to follow a stream is an error, and nothing leaks") {
  {
    const Foreign foreign(0);
    const Marked marked;
    constexpr int kUnknown = 999;
    for (const char* function : {"cuEventCreate", "cuEventRecord"}) {
      foreign.SetLater(1);
      fake_cuda_fail(function, kUnknown);
      std::string message;
      CHECK(CodeOf([&] { marked.bench.queue.FollowStream(foreign.stream()); }, &message) ==
            KDL_ERROR_DEVICE);
      CHECK(message.find("noting what a stream contains failed") != std::string::npos);
    }
    foreign.SetLater(1);
    fake_cuda_fail("cuStreamWaitEvent", kUnknown);
    marked.bench.queue.FollowStream(foreign.stream());
    CHECK(CodeOf([&] { marked.bench.queue.Wait(); }) == KDL_ERROR_DEVICE);
    marked.Mark().Wait();
    for (const char* function : {"cuEventCreate", "cuEventRecord", "cuStreamWaitEvent"}) {
      const Event event = marked.Mark();
      fake_cuda_fail(function, kUnknown);
      std::string message;
      CHECK(CodeOf([&] { event.LeadStream(foreign.stream()); }, &message) == KDL_ERROR_DEVICE);
      CHECK(message.find("ordering a stream of the application failed") != std::string::npos);
    }
  }
  CHECK(fake_cuda_live() == 0);
}

TEST_CASE("CUDA: nobody waits for launches between two parts of another library's work") {
  const Foreign foreign(0);
  const Marked marked;
  const Tensor y = marked.bench.context.Wrap(marked.bench.device, foreign.data(), {8}, "y");
  marked.Mark().Wait();
  for (int round = 0; round < 2; ++round) {
    CAPTURE(round);
    // The wait and the launch come from two handles of the queue.
    kdl_queue* own = nullptr;
    Check(kdl_queue_own(marked.bench.queue.get(), &own));
    const Queue other(marked.bench.context.get(), marked.bench.device.get(), own);
    fake_cuda_calls();
    foreign.SetLater(1);
    other.FollowStream(foreign.stream());
    marked.bench.queue.Launch("mark", 8, {y}).LeadStream(foreign.stream());
    const std::string calls = fake_cuda_calls();
    CHECK(calls.find("Synchronize") == std::string::npos);
    CHECK(calls.find("cuLaunchKernelEx") != std::string::npos);
    kdl_queue_free(own);
    constexpr std::int64_t kOnes = (std::int64_t{1} << 32) + 1;
    CHECK(foreign.Read() == std::vector<std::int64_t>(8, kOnes + 8));
    foreign.SetLater(7);
    CHECK(foreign.Read() == std::vector<std::int64_t>(8, 7 * kOnes));
  }
}

TEST_CASE(
    "CUDA: a stream waits on the host for operations that may fail, and for all that the GPU "
    "cannot order") {
  const Foreign foreign(0);
  const Marked marked;
  const Tensor z = marked.bench.Upload(std::vector<std::int32_t>(70));
  const Event trapped = marked.bench.queue.Launch("trap_at", 3, {std::int64_t{5}, z});
  CHECK(CodeOf([&] { trapped.LeadStream(foreign.stream()); }) == KDL_ERROR_TRAP);
  const Event filled = marked.bench.queue.Fill(marked.y, std::int64_t{5});
  filled.LeadStream(foreign.stream());
  CHECK(filled.is_done());
  std::string message;
  const Event of_host = marked.bench.host.queue().Mark();
  CHECK(CodeOf([&] { of_host.LeadStream(foreign.stream()); }, &message) == KDL_ERROR_UNSUPPORTED);
  CHECK(message.find("host has no streams") != std::string::npos);
}

TEST_CASE("CUDA: launches reuse memory that earlier launches returned") {
  constexpr int kOutOfMemory = 2;
  for (const bool has_pools : {true, false}) {
    fake_cuda_pools(has_pools);
    const char* const function = has_pools ? "cuMemAllocFromPoolAsync" : "cuMemAlloc_v2";
    Context context;
    Prepare(context);
    const Device device = context.Select("cuda");
    fake_cuda_pools(true);
    const Tensor y = context.Allocate(device, ElementOf<std::int64_t>(), {8}, "y");
    const Tensor x = context.Allocate(device, ElementOf<std::int64_t>(), {8}, "x");
    device.queue().Launch("exchange", 3, {x, y}).Wait();
    const std::size_t live = fake_cuda_live();
    fake_cuda_fail(function, kOutOfMemory);
    device.queue().Launch("exchange", 3, {x, y}).Wait();
    CHECK(fake_cuda_live() == live);
    const Tensor more = context.Allocate(device, ElementOf<std::int64_t>(), {8}, "more");
    CHECK(fake_cuda_live() < live);
  }
  CHECK(fake_cuda_live() == 0);
}

TEST_CASE("CUDA: without memory pools, the driver's older functions allocate memory") {
  constexpr int kOutOfMemory = 2;
  {
    Context context;
    Prepare(context);
    fake_cuda_fail("cuMemPoolCreate", kOutOfMemory);
    const Device device = context.Select("cuda");
    const Tensor y = context.Allocate(device, ElementOf<std::int64_t>(), {8}, "y");
    fake_cuda_fail("cuMemAlloc_v2", kOutOfMemory);
    CHECK(CodeOf([&] { context.Allocate(device, ElementOf<std::int64_t>(), {8}, "z"); }) ==
          KDL_ERROR_OUT_OF_MEMORY);
    device.queue().Launch("mark", 8, {y}).Wait();
    CHECK(Bench::Download<std::int64_t>(y).size() == 8);
  }
  CHECK(fake_cuda_live() == 0);
}

namespace {

// Checks that data is unchanged after copies to the device and back. Some of the tensors have many
// short rows, others have few long rows.
void CheckCopies() {
  const DeviceUnderTest device{"cuda", "cuda", Prepare, {}};
  const Bench bench(device);
  for (const std::int64_t columns : {1, 7, 1000, 70000, 300000}) {
    const std::int64_t rows = std::max<std::int64_t>(3, 300000 / columns);
    CAPTURE(columns);
    std::vector<std::int64_t> values(static_cast<std::size_t>(rows * columns));
    std::iota(values.begin(), values.end(), columns);
    const Tensor all = bench.Upload(values, {rows, columns});
    CHECK(Bench::Download<std::int64_t>(all) == values);
    // The part contains all columns except the last.
    const Tensor part =
        bench.context.Allocate(bench.host, ElementOf<std::int64_t>(), {rows, columns}, "part");
    kdl_array from = all.array();
    kdl_array to = part.array();
    from.view.size[1] = to.view.size[1] = columns - 1;
    Check(kdl_copy(bench.device.queue().get(), &to, &from, "test", nullptr, 0, nullptr));
    bench.device.queue().Wait();
    const Mapping<const std::int64_t> mapping = part.Map<const std::int64_t>(KDL_MAP_READ);
    bool is_equal = true;
    for (std::int64_t i = 0; i < rows * columns; ++i)
      is_equal = is_equal && (i % columns == columns - 1 ||
                              mapping.begin()[i] == values[static_cast<std::size_t>(i)]);
    CHECK(is_equal);
  }
  bench.device.queue().Launch("mark", 8, {bench.Upload<std::int64_t>({0, 0, 0})}).Wait();
}

}  // namespace

TEST_CASE("CUDA: copies go through pinned memory") {
  const std::size_t before = fake_cuda_unpinned_copies();
  CheckCopies();
  CHECK(fake_cuda_unpinned_copies() == before);
  CHECK(fake_cuda_live() == 0);
}

TEST_CASE("CUDA: without pinned memory, the driver copies from ordinary memory") {
  constexpr int kOutOfMemory = 2;
  for (const char* function : {"cuMemHostAlloc", "cuEventCreate"}) {
    const std::size_t before = fake_cuda_unpinned_copies();
    fake_cuda_fail(function, kOutOfMemory);
    CheckCopies();
    CHECK(fake_cuda_unpinned_copies() > before);
    CHECK(fake_cuda_live() == 0);
  }
}

TEST_CASE("CUDA: a copy that fails midway is an error, and the next copy is complete") {
  constexpr int kInvalidValue = 1;
  for (const char* function :
       {"cuEventRecord", "cuEventSynchronize", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2"}) {
    CAPTURE(function);
    const DeviceUnderTest device{"cuda", "cuda", Prepare, {}};
    const Bench bench(device);
    std::vector<std::int64_t> values(500000);
    std::iota(values.begin(), values.end(), 1);
    const Tensor kept = bench.Upload(values);
    fake_cuda_fail(function, kInvalidValue);
    CHECK(CodeOf([&] {
            bench.Upload(values);
            Bench::Download<std::int64_t>(kept);
          }) == KDL_ERROR_DEVICE);
    CHECK(Bench::Download<std::int64_t>(kept) == values);
  }
  CHECK(fake_cuda_live() == 0);
}

TEST_CASE("CUDA: a launch that needs too much memory is an error, and the next launch works") {
  const DeviceUnderTest device{"cuda", "cuda", Prepare, {}};
  const Bench bench(device);
  const Tensor x = bench.Upload<std::int64_t>({1, 2, 3});
  const Tensor y = bench.Upload<std::int64_t>({1, 2, 3});
  for (const std::int64_t cores : {std::int64_t{1} << 26, (std::int64_t{1} << 43) - 1}) {
    std::string message;
    CHECK(CodeOf([&] { bench.queue.Launch("exchange", cores, {x, y}).Wait(); }, &message) ==
          KDL_ERROR_OUT_OF_MEMORY);
    CHECK(message.find("kernel 'exchange' needs 64 bytes for each of " + std::to_string(cores) +
                       " cores: ") != std::string::npos);
  }
  bench.queue.Launch("exchange", 3, {x, y}).Wait();
}

TEST_CASE("CUDA: data is copied between two GPUs without the host") {
  constexpr int kInvalidValue = 1;
  {
    const DeviceUnderTest device{"cuda", "cuda[1]", Prepare, {}};
    const Bench bench(device);
    std::vector<std::int64_t> values(1000);
    std::iota(values.begin(), values.end(), 1);
    const Tensor from = bench.Upload(values, {40, 25});
    const Tensor to =
        bench.context.Allocate(bench.sibling(), ElementOf<std::int64_t>(), {40, 25}, "to");
    kdl_array left = to.array();
    kdl_array right = from.array();
    auto copy = [&] {
      Check(kdl_copy(bench.sibling().queue().get(), &left, &right, "test", nullptr, 0, nullptr));
      bench.sibling().queue().Wait();
    };
    // These calls would fail now, but the copy must not need them.
    fake_cuda_fail("cuMemHostAlloc", kInvalidValue);
    fake_cuda_fail("cuMemcpyDtoHAsync_v2", kInvalidValue);
    copy();
    left.view.size[1] = right.view.size[1] = 24;
    copy();
    CHECK(CodeOf([&] { Bench::Download<std::int64_t>(to); }) == KDL_ERROR_DEVICE);
    CHECK(Bench::Download<std::int64_t>(to) == values);
    for (const char* function : {"cuMemcpyPeerAsync", "cuMemcpy3DPeerAsync"}) {
      left.view.size[1] = right.view.size[1] =
          function == std::string("cuMemcpyPeerAsync") ? 25 : 24;
      fake_cuda_fail(function, kInvalidValue);
      std::string message;
      CHECK(CodeOf(copy, &message) == KDL_ERROR_DEVICE);
      CHECK(message.find("copying from another GPU failed") != std::string::npos);
      copy();
    }
  }
  CHECK(fake_cuda_live() == 0);
}

TEST_CASE("CUDA: all rows of a copy are transferred at once") {
  const Context context;
  const Device device = context.Select("cuda");
  const Tensor from = context.Allocate(device, ElementOf<std::int64_t>(), {8, 8}, "from");
  const Tensor to = context.Allocate(device, ElementOf<std::int64_t>(), {8, 8}, "to");
  kdl_array left = from.array();
  kdl_array right = to.array();
  left.view.size[1] = right.view.size[1] = 4;
  constexpr int kInvalidValue = 1;
  fake_cuda_fail("cuMemcpy2DAsync_v2", kInvalidValue);
  const kdl_code told = CodeOf([&] {
    Check(kdl_copy(device.queue().get(), &right, &left, "test", nullptr, 0, nullptr));
    device.queue().Wait();
  });
  CHECK(told == KDL_ERROR_DEVICE);
}

TEST_CASE("CUDA: errors contain the messages of the driver's compiler") {
  kdl_image broken = *CudaImages()[0];
  const std::string text = "no PTX";
  broken.payload = text.data();
  broken.payload_bytes = static_cast<std::int64_t>(text.size());
  const kdl_image* const images[] = {&broken, nullptr};
  Context context;
  context.Register(images);
  const Device device = context.Select("cuda");
  const Tensor y = context.Allocate(device, ElementOf<std::int64_t>(), {8}, "y");
  std::string message;
  CHECK(CodeOf([&] { device.queue().Launch("mark", 8, {y}).Wait(); }, &message) ==
        KDL_ERROR_DEVICE);
  CHECK(message.find("ptxas fatal   : no .version") != std::string::npos);
}

TEST_CASE("CUDA: code for the highest level that the device supports is selected") {
  const Context context;
  CHECK(std::string(context.Select("cuda").facts().arch) == "sm_90a sm_90 sm_80");
}

}  // namespace kdl::conformance
