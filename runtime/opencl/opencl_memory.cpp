#include "opencl/opencl_memory.h"

#include <iterator>
#include <memory>

namespace kdl::runtime {

namespace {

// Atomic operations on elements that are narrower than a word use the whole word.
std::size_t WholeWords(std::int64_t bytes) {
  return (static_cast<std::size_t>(bytes) + 3) & ~std::size_t{3};
}

}  // namespace

Error OpenclMemory::Allocate(std::int64_t bytes, kdl_memory* memory) {
  constexpr std::uint64_t kAlignment = 4096;
  // Allocate host memory first, so that no buffer leaks if host memory runs out.
  auto allocation = std::make_unique<OpenclAllocation>(OpenclAllocation{nullptr, bytes, 0});
  const std::lock_guard lock(mutex_);
  const auto place = by_address_.emplace(next_, allocation.get()).first;
  std::int32_t status = cl::kSuccess;
  allocation->buffer =
      api_.CreateBuffer(context_, cl::kReadWrite, WholeWords(bytes), nullptr, &status);
  if (status != cl::kSuccess) {
    by_address_.erase(place);
    return Fail(KDL_ERROR_OUT_OF_MEMORY, "not enough device memory for ", bytes,
                " bytes: ", cl::ErrorName(status));
  }
  allocation->address = next_;
  next_ += (static_cast<std::uint64_t>(bytes) / kAlignment + 2) * kAlignment;
  *memory = {allocation.get(), reinterpret_cast<void*>(allocation->address)};
  allocation.release();
  return nullptr;
}

void OpenclMemory::Release(kdl_memory memory) {
  const std::unique_ptr<OpenclAllocation> allocation(static_cast<OpenclAllocation*>(memory.handle));
  const std::lock_guard lock(mutex_);
  by_address_.erase(allocation->address);
  api_.ReleaseMemObject(allocation->buffer);
}

OpenclPlace OpenclMemory::PlaceOf(const void* address) {
  const auto number = reinterpret_cast<std::uint64_t>(address);
  const std::lock_guard lock(mutex_);
  auto after = by_address_.upper_bound(number);
  if (after == by_address_.begin()) return {};
  const OpenclAllocation& allocation = *std::prev(after)->second;
  return {allocation.buffer, static_cast<std::int64_t>(number - allocation.address)};
}

}  // namespace kdl::runtime
