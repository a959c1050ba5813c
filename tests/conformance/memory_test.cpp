// Tests allocations, copies, fills and maps.
#include <array>
#include <chrono>
#include <memory>
#include <numeric>
#include <thread>

#include "conformance/conformance.h"

extern "C" kdl_error* kdl_conformance_fill_from_c(kdl_device* device, float value, float* result);

namespace kdl::conformance {
namespace {

// Returns a view of part of an array. It shares the array's buffer, but holds no reference to it.
kdl_array Part(const Tensor& tensor, std::int64_t offset, std::vector<std::int64_t> sizes,
               std::vector<std::int64_t> strides) {
  kdl_array part = tensor.array();
  part.view.rank = static_cast<std::int32_t>(sizes.size());
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    part.view.size[d] = sizes[d];
    part.view.stride[d] = strides[d];
  }
  const auto base = reinterpret_cast<std::uintptr_t>(part.view.data);
  const auto bytes = static_cast<std::uintptr_t>(offset) * (part.view.element_bits / 8u);
  part.view.data = reinterpret_cast<void*>(base + bytes);
  return part;
}

void CopyNow(const Bench& bench, const kdl_array& to, const kdl_array& from) {
  Check(kdl_copy(bench.queue.get(), &to, &from, "test", nullptr, 0, nullptr));
  bench.queue.Wait();
}

std::vector<std::uint8_t> Counting(std::int64_t count, int start = 0) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
  std::iota(bytes.begin(), bytes.end(), static_cast<std::uint8_t>(start));
  return bytes;
}

CONFORMANCE_TEST(AllocationsAreCounted) {
  const kdl_statistics before = bench.device.statistics();
  {
    const Tensor a = bench.context.Allocate(bench.device, f32, {10, 10}, "a");
    const Tensor b = bench.context.Allocate(bench.device, u8, {7}, "b");
    const Tensor shared = a;
    const kdl_statistics during = bench.device.statistics();
    CHECK(during.allocations == before.allocations + 2);
    CHECK(during.bytes_in_use == before.bytes_in_use + 407);
    CHECK(during.bytes_peak >= during.bytes_in_use);
  }
  const kdl_statistics after = bench.device.statistics();
  CHECK(after.bytes_in_use == before.bytes_in_use);
  CHECK(after.bytes_allocated == before.bytes_allocated + 407);
}

CONFORMANCE_TEST(AddressesAreAligned) {
  std::vector<Tensor> kept;
  for (std::int64_t bytes : {1, 63, 64, 65, 4097}) {
    kept.push_back(bench.context.Allocate(bench.device, u8, {bytes}, "t"));
    const void* address = kdl_buffer_address(kept.back().array().buffer);
    CHECK(reinterpret_cast<std::uintptr_t>(address) % KDL_SCRATCH_ALIGNMENT == 0);
  }
}

CONFORMANCE_TEST(ZeroSizesAreLegal) {
  const Tensor empty = bench.context.Allocate(bench.device, f64, {3, 0, 5}, "empty");
  CHECK(empty.rank() == 3);
  CHECK(kdl_buffer_bytes(empty.array().buffer) == 0);
  const Tensor other = bench.context.Allocate(bench.device, f64, {3, 0, 5}, "other");
  bench.queue.Copy(other, empty).Wait();
  bench.queue.Fill(empty, 1.0).Wait();
  CHECK(Bench::Download<double>(empty).empty());
  const Tensor huge = bench.context.Allocate(bench.device, f64, {INT64_MAX, INT64_MAX, 0});
  CHECK(kdl_buffer_bytes(huge.array().buffer) == 0);
}

CONFORMANCE_TEST(ScalarsAreTensorsOfRankZero) {
  const Tensor scalar = bench.Upload<std::int32_t>({42}, std::vector<std::int64_t>{});
  CHECK(scalar.rank() == 0);
  const Tensor copy = bench.context.Allocate(bench.device, i32, {});
  bench.queue.Copy(copy, scalar).Wait();
  CHECK(Bench::Download<std::int32_t>(copy) == std::vector<std::int32_t>{42});
}

CONFORMANCE_TEST(ImpossibleSizesAreErrors) {
  std::string message;
  const auto allocate = [&](std::vector<std::int64_t> sizes) {
    return CodeOf([&] { bench.context.Allocate(bench.device, f32, sizes, "h"); }, &message);
  };
  CHECK(allocate({3, -1}) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(message == "array 'h' has size -1 in dimension 1; sizes are 0 or more");
  CHECK(allocate({INT64_MAX / 4 + 1}) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(message.find("2^63 bytes or more") != std::string::npos);
  CHECK(allocate({1 << 30, 1 << 30, 1 << 30}) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(allocate({1, 1, 1, 1, 1, 1, 1, 1, 1}) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(message == "array 'h' has rank 9; ranks go from 0 to 8");
}

CONFORMANCE_TEST(ExhaustionIsAnErrorAndPasses) {
  std::string message;
  const kdl_code code =
      CodeOf([&] { bench.context.Allocate(bench.device, u8, {INT64_C(1) << 50}, "h"); }, &message);
  CHECK(code == KDL_ERROR_OUT_OF_MEMORY);
  CHECK(message.find("1125899906842624 bytes on " + bench.device.uri()) != std::string::npos);
  CHECK(Bench::Download<float>(bench.Upload<float>({1})) == std::vector<float>{1});
}

CONFORMANCE_TEST(CopiesOfAllAlignmentsAndLengths) {
  constexpr std::int64_t kRoom = 5000;
  const std::vector<std::uint8_t> source = Counting(kRoom, 3);
  const Tensor from = bench.Upload(source);
  for (std::int64_t length : {1, 2, 3, 7, 8, 15, 16, 31, 33, 63, 64, 65, 255, 4095, 4096, 4097}) {
    for (std::int64_t at : {0, 1, 2, 3, 4, 7, 8, 15, 63, 64}) {
      const Tensor to = bench.Upload(std::vector<std::uint8_t>(kRoom, 0xee));
      const std::int64_t source_at = (at * 7) % 65;
      CopyNow(bench, Part(to, at, {length}, {1}), Part(from, source_at, {length}, {1}));
      std::vector<std::uint8_t> expected(kRoom, 0xee);
      std::copy_n(source.begin() + source_at, length, expected.begin() + at);
      REQUIRE(Bench::Download<std::uint8_t>(to) == expected);
    }
  }
}

CONFORMANCE_TEST(CopiesFollowStrides) {
  const std::vector<std::uint8_t> source = Counting(120);
  const Tensor from = bench.Upload(source);
  const Tensor to = bench.Upload(std::vector<std::uint8_t>(200, 0));
  // Copies a transposed 4 x 5 x 6 block, a repeated row, and rows with gaps.
  CopyNow(bench, Part(to, 0, {6, 5, 4}, {20, 4, 1}), Part(from, 0, {6, 5, 4}, {1, 6, 30}));
  CopyNow(bench, Part(to, 120, {3, 4}, {4, 1}), Part(from, 50, {3, 4}, {0, 1}));
  CopyNow(bench, Part(to, 140, {4, 3}, {10, 1}), Part(from, 0, {4, 3}, {30, 2}));
  std::vector<std::uint8_t> expected(200, 0);
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 5; ++j) {
      for (int k = 0; k < 4; ++k) expected[i * 20 + j * 4 + k] = source[i + j * 6 + k * 30];
    }
  }
  for (int i = 0; i < 12; ++i) expected[120 + i] = source[50 + i % 4];
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 3; ++j) expected[140 + i * 10 + j] = source[i * 30 + j * 2];
  }
  CHECK(Bench::Download<std::uint8_t>(to) == expected);
}

CONFORMANCE_TEST(CopiesBetweenDevices) {
  const std::vector<std::uint8_t> source = Counting(100);
  const Tensor here = bench.Upload(source);
  const Tensor there = bench.context.Allocate(bench.sibling(), u8, {100}, "there");
  const Tensor at_host = bench.context.Allocate(bench.host, u8, {100}, "at_host");
  const Tensor back = bench.context.Allocate(bench.device, u8, {100}, "back");
  bench.queue.Copy(there, here, "out");
  bench.queue.Copy(at_host, there, "home");
  bench.queue.Copy(back, at_host, "back");
  bench.queue.Wait();
  CHECK(Bench::Download<std::uint8_t>(back) == source);
  // Copies columns of one tensor to rows of a tensor in the other memory.
  CopyNow(bench, Part(there, 0, {10, 10}, {10, 1}), Part(here, 0, {10, 10}, {1, 10}));
  const std::vector<std::uint8_t> turned = Bench::Download<std::uint8_t>(there);
  for (int i = 0; i < 100; ++i) REQUIRE(turned[i] == source[i % 10 * 10 + i / 10]);
}

CONFORMANCE_TEST(TransfersAreCountedByCause) {
  const Tensor here = bench.Upload<float>(std::vector<float>(25, 1.0f), "x");
  const Tensor there = bench.context.Allocate(bench.sibling(), f32, {25}, "x there");
  const std::int64_t copies = bench.sibling().statistics().copies;
  bench.queue.Copy(there, here, "matmul reads x");
  bench.queue.Copy(there, here, "matmul reads x");
  bench.queue.Copy(there, here, "softmax reads x");
  bench.queue.Wait();
  CHECK(bench.sibling().statistics().copies == copies + 3);
  std::vector<std::string> seen;
  for (const kdl_transfer& transfer : bench.context.transfers()) {
    if (std::string(transfer.cause) == "map") continue;
    CHECK(transfer.from == bench.device.uri());
    CHECK(transfer.to == bench.sibling().uri());
    CHECK(std::string(transfer.tensor) == "x there");
    seen.push_back(transfer.cause + std::string(" ") + std::to_string(transfer.count) + " " +
                   std::to_string(transfer.bytes));
  }
  CHECK(seen == std::vector<std::string>{"matmul reads x 2 200", "softmax reads x 1 100"});
}

CONFORMANCE_TEST(ImpossibleCopiesAreErrors) {
  const Tensor a = bench.context.Allocate(bench.device, f32, {4, 4}, "a");
  const Tensor b = bench.context.Allocate(bench.device, f32, {4, 5}, "b");
  const Tensor c = bench.context.Allocate(bench.device, i32, {4, 4}, "c");
  std::string message;
  const auto copy = [&](const kdl_array& to, const kdl_array& from) {
    return CodeOf([&] { CopyNow(bench, to, from); }, &message);
  };
  CHECK(copy(a.array(), b.array()) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(message == "copy from f32[4, 5] to f32[4, 4]; element types and sizes must be equal");
  CHECK(copy(a.array(), c.array()) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(copy(Part(a, 0, {8}, {1}), Part(a, 4, {8}, {1})) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(message.find("source and target share memory") != std::string::npos);
  CHECK(copy(Part(a, 0, {2, 2}, {1, 1}), Part(b, 0, {2, 2}, {2, 1})) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(copy(Part(a, 1, {4, 4}, {4, 1}), b.array()) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(message.find("it needs 64") != std::string::npos);
  CHECK(copy(Part(a, -1, {2}, {1}), Part(b, 0, {2}, {1})) == KDL_ERROR_INVALID_ARGUMENT);
  // The two views are interleaved, but share no element.
  CHECK(copy(Part(a, 0, {4, 2}, {4, 1}), Part(a, 2, {4, 2}, {4, 1})) == KDL_OK);
}

TEST_CASE("Copies: host devices share one memory, so source and target must not overlap") {
  const Context context;
  const Device one = context.Select("host?threads=1");
  const Device two = context.Select("host?threads=2");
  std::array<float, 10> memory = {};
  const std::int64_t size = 8;
  kdl_array from = {};
  kdl_array to = {};
  Check(kdl_array_wrap(one.get(), memory.data(), f32, 1, &size, nullptr, "from", &from));
  Check(kdl_array_wrap(two.get(), &memory[2], f32, 1, &size, nullptr, "to", &to));
  std::string message;
  const auto copy = [&] {
    Check(kdl_copy(one.queue().get(), &to, &from, nullptr, nullptr, 0, nullptr));
  };
  CHECK(CodeOf(copy, &message) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(message ==
        "copy from 'from' on host?threads=1 to 'to' on host?threads=2: source and target share "
        "memory");
  one.queue().Wait();
  kdl_array_free(&from);
  kdl_array_free(&to);
}

TEST_CASE("Copies: a copy of no elements does not make earlier results visible to the host") {
  const Context context;
  const Device debug = context.Select("debug");
  const Tensor x = context.Allocate(debug, f32, {100}, "x");
  const Tensor empty = context.Allocate(debug, f32, {0}, "empty");
  const Tensor other = context.Allocate(debug, f32, {0}, "other");
  const Queue queue = debug.queue();
  queue.Fill(x, 1.0f);
  queue.Copy(empty, other, "of nothing");
  std::this_thread::sleep_for(
      std::chrono::milliseconds(100));  // not a query, which would count as a wait
  std::string message;
  CHECK(CodeOf([&] { x.Map<float>(KDL_MAP_READ); }, &message) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(message.find("the host must wait") != std::string::npos);
  queue.Wait();
}

template <class T>
void FillEveryOther(const Bench& bench, T value) {
  const Tensor tensor = bench.Upload(std::vector<T>(12, T{}));
  kdl_array part = Part(tensor, 1, {3, 2}, {4, 2});
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  Check(kdl_fill(bench.queue.get(), &part, bits, nullptr, 0, nullptr));
  bench.queue.Wait();
  const std::vector<T> filled = Bench::Download<T>(tensor);
  for (std::size_t i = 0; i < 12; ++i) REQUIRE(filled[i] == (i % 2 == 1 ? value : T{}));
}

CONFORMANCE_TEST(FillsOfEveryElementSize) {
  FillEveryOther<std::uint8_t>(bench, 0xa5);
  FillEveryOther<std::int16_t>(bench, -1234);
  FillEveryOther<float>(bench, 0.1f);
  FillEveryOther<double>(bench, -1e300);
  FillEveryOther<std::int64_t>(bench, INT64_MIN);
  const Tensor large = bench.context.Allocate(bench.device, i32, {1000, 33});
  const std::int64_t fills = bench.device.statistics().fills;
  bench.queue.Fill(large, 7).Wait();
  CHECK(bench.device.statistics().fills == fills + 1);
  CHECK(Bench::Download<std::int32_t>(large) == std::vector<std::int32_t>(33000, 7));
}

CONFORMANCE_TEST(FillsFromC) {
  float result = 0;
  Check(kdl_conformance_fill_from_c(bench.device.get(), 0.75f, &result));
  CHECK(result == 0.75f);
}

CONFORMANCE_TEST(MapsSeeAndChange) {
  const Tensor tensor = bench.Upload<std::int32_t>({1, 2, 3});
  {
    const Mapping<std::int32_t> mapping = tensor.Map<std::int32_t>();
    CHECK(mapping[1] == 2);
    mapping[1] = 20;
    std::string message;
    CHECK(CodeOf([&] { tensor.Map<std::int32_t>(); }, &message) == KDL_ERROR_INVALID_ARGUMENT);
    CHECK(message == "map of 't' on " + bench.device.uri() + ", which is already mapped");
  }
  CHECK(Bench::Download<std::int32_t>(tensor) == std::vector<std::int32_t>{1, 20, 3});
  CHECK(CodeOf([&] { Check(kdl_buffer_unmap(tensor.array().buffer)); }) ==
        KDL_ERROR_INVALID_ARGUMENT);
  CHECK(CodeOf([&] { tensor.Map<float>(); }) == KDL_ERROR_INVALID_ARGUMENT);
}

CONFORMANCE_TEST(SeveralMapsMayRead) {
  const Tensor tensor = bench.Upload<std::int32_t>({1, 2, 3});
  const auto refusal = [&](kdl_map_access access) {
    std::string message;
    CHECK(CodeOf([&] { tensor.Map<std::int32_t>(access); }, &message) ==
          KDL_ERROR_INVALID_ARGUMENT);
    return message;
  };
  const std::string mapped = "map of 't' on " + bench.device.uri() + ", which is already mapped";
  {
    Mapping<const std::int32_t> first = tensor.Map<const std::int32_t>(KDL_MAP_READ);
    const Mapping<const std::int32_t> second = tensor.Map<const std::int32_t>(KDL_MAP_READ);
    CHECK(refusal(KDL_MAP_WRITE) == mapped);
    first.Close();
    CHECK(refusal(KDL_MAP_READ_WRITE) == mapped);
    CHECK(second[2] == 3);
  }
  const Mapping<std::int32_t> alone = tensor.Map<std::int32_t>(KDL_MAP_READ_WRITE);
  CHECK(refusal(KDL_MAP_READ) == mapped);
}

CONFORMANCE_TEST(ReadsAtOnce) {
  const Tensor tensor = bench.Upload(std::vector<std::int32_t>(1000, 7));
  const auto failures = [&] {
    int failed = 0;
    for (int i = 0; i < 200; ++i) {
      const auto read = [&] {
        if (tensor.Read<std::int32_t>({999}, {}, "f.kdl:1:1", "t[999]") != 7) ++failed;
      };
      if (CodeOf(read) != KDL_OK) ++failed;
    }
    return failed;
  };
  int there = 0;
  std::thread other([&] { there = failures(); });
  CHECK(failures() == 0);
  other.join();
  CHECK(there == 0);
}

CONFORMANCE_TEST(HostMemoryIsWrappedOrRefused) {
  std::vector<float> values = {1, 2, 3};
  if (bench.device.facts().host_visible != 0) {
    const Tensor wrapped = bench.context.Wrap(bench.device, values.data(), {3}, "v");
    bench.queue.Fill(wrapped, 5.0f).Wait();
    CHECK(values == std::vector<float>{5, 5, 5});
  } else {
    std::string message;
    const kdl_code code =
        CodeOf([&] { bench.context.Wrap(bench.device, values.data(), {3}, "v"); }, &message);
    CHECK(code == KDL_ERROR_UNSUPPORTED);
    CHECK(message.find(bench.device.uri()) != std::string::npos);
  }
}

CONFORMANCE_TEST(ConstantMemoryIsOnlyRead) {
  const std::vector<float> values = {1, 2, 3};
  const Tensor wrapped = bench.context.Wrap(bench.host, values.data(), {3}, "v");
  const Tensor there = bench.Upload<float>({0, 0, 0}, "t");
  bench.queue.Copy(there, wrapped, "in").Wait();
  CHECK(Bench::Download<float>(there) == values);
  CHECK(Bench::Download<float>(wrapped) == values);
  const auto refusal = [&](const auto& call) {
    std::string message;
    CHECK(CodeOf(call, &message) == KDL_ERROR_INVALID_ARGUMENT);
    const std::size_t reason = message.find(" is written, but 'v' on host may only be read: ");
    return message.substr(0, reason);
  };
  CHECK(refusal([&] { bench.queue.Copy(wrapped, there, "out"); }) == "the target of the copy");
  CHECK(refusal([&] { bench.queue.Fill(wrapped, 1.0f); }) == "the target of the fill");
  CHECK(refusal([&] { wrapped.Map<float>(KDL_MAP_WRITE); }) == "the mapped buffer");
  if (!bench.device.facts().host_visible) return;
  CHECK(refusal([&] { bench.queue.Launch("saxpy", 2, {1.0f, there, wrapped}); }) ==
        "launch of 'saxpy': the tensor for y[N]");
  bench.queue.Launch("saxpy", 2, {1.0f, wrapped, there}).Wait();
  CHECK(Bench::Download<float>(there) == std::vector<float>{2, 4, 6});
}

CONFORMANCE_TEST(MapsMayOutliveTheirContext) {
  auto context = std::make_unique<Context>();
  bench.prepare(*context);
  const Device device = context->Select(bench.spec.c_str());
  const Tensor tensor = context->Allocate(device, f32, {3}, "t");
  Mapping<float> mapped = tensor.Map<float>(KDL_MAP_READ_WRITE);
  context.reset();
  mapped[0] = 4;
  mapped.Close();
}

CONFORMANCE_TEST(AWorkspaceOfAnotherDeviceIsReplaced) {
  kdl_buffer* workspace = nullptr;
  Check(kdl_workspace_reserve(bench.sibling().get(), 2, 64, "w", &workspace));
  Check(kdl_workspace_reserve(bench.device.get(), 1, 64, "w", &workspace));
  CHECK(kdl_buffer_device(workspace) == bench.device.get());
  kdl_buffer_free(workspace);
}

CONFORMANCE_TEST(BuffersLiveUntilTheirLastOperation) {
  const std::int64_t in_use = bench.device.statistics().bytes_in_use;
  const Tensor kept = bench.Upload<float>({1, 2, 3});
  const Timeline gate = bench.context.MakeTimeline();
  Event copied;
  {
    const Tensor fleeting = bench.Upload<float>({4, 5, 6});
    copied = bench.queue.Copy(kept, fleeting, "late", {gate.At(1)});
  }
  CHECK(bench.device.statistics().bytes_in_use == in_use + 24);
  gate.Signal(1);
  copied.Wait();
  CHECK(Bench::Download<float>(kept) == std::vector<float>{4, 5, 6});
  CHECK(bench.device.statistics().bytes_in_use == in_use + 12);
}

}  // namespace
}  // namespace kdl::conformance
