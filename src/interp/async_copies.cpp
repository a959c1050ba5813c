#include "interp/async_copies.h"

#include <algorithm>

namespace kdl::interp {

namespace {

constexpr std::string_view kAwaitsWrite =
    "accesses an element that an asynchronous copy has not written yet";
constexpr std::string_view kAwaitsRead =
    "changes an element that an asynchronous copy has not read yet";

/// Returns whether the copy is into or out of the slot. No copy is in two slots.
bool IsInSlot(const AsyncCopy& copy, int64_t slot) {
  int64_t elements = 1;
  for (size_t d = 1; d < copy.buffer->type()->dims.size(); ++d)
    elements *= copy.buffer->type()->dims[d]->value;
  return copy.elements.front().offset / elements == slot;
}

}  // namespace

void AsyncCopies::Begin(int64_t thread, AsyncCopy copy) {
  if (copy.elements.empty()) return;
  Protect(copy);
  copy.group = ThreadAt(thread).groups;
  ThreadAt(thread).copies.push_back(std::move(copy));
}

void AsyncCopies::BeginAt(MbarrierId mbarrier, AsyncCopy copy) {
  Protect(copy);
  of_mbarriers_[mbarrier].push_back(std::move(copy));
}

std::vector<AsyncCopy> AsyncCopies::End(int64_t thread, const AwaitedCopies& awaited) {
  Thread& self = ThreadAt(thread);
  auto remains = [&](const AsyncCopy& copy) {
    return copy.buffer != awaited.buffer || copy.in != awaited.in ||
           (awaited.slot && !IsInSlot(copy, *awaited.slot)) ||
           (awaited.ahead && copy.group >= self.groups - *awaited.ahead);
  };
  std::vector<AsyncCopy> copies;
  std::vector<AsyncCopy> left;
  for (AsyncCopy& copy : self.copies) (remains(copy) ? left : copies).push_back(std::move(copy));
  self.copies = std::move(left);
  for (const AsyncCopy& copy : copies) Release(copy);
  return copies;
}

std::vector<AsyncCopy> AsyncCopies::EndAt(MbarrierId mbarrier) {
  auto found = of_mbarriers_.find(mbarrier);
  if (found == of_mbarriers_.end()) return {};
  std::vector<AsyncCopy> copies = std::move(found->second);
  of_mbarriers_.erase(found);
  for (const AsyncCopy& copy : copies) Release(copy);
  return copies;
}

std::string_view AsyncCopies::FaultAt(const ir::Value* buffer, int64_t offset,
                                      TouchKind kind) const {
  auto found = in_buffers_.find(buffer);
  if (found == in_buffers_.end()) return "";
  auto element = found->second.find(offset);
  if (element == found->second.end()) return "";
  if (element->second) return kAwaitsWrite;
  return kind == TouchKind::Read ? "" : kAwaitsRead;
}

std::string_view AsyncCopies::FaultAt(const std::byte* address, TouchKind kind) const {
  if (!targets_.empty() && targets_.contains(address)) return kAwaitsWrite;
  bool changes_source = kind != TouchKind::Read && sources_.contains(address);
  return changes_source ? kAwaitsRead : "";
}

void AsyncCopies::Protect(const AsyncCopy& copy) {
  auto& in_buffer = in_buffers_[copy.buffer];
  for (const AsyncCopy::Element& element : copy.elements) {
    in_buffer.emplace(element.offset, copy.in);
    if (element.address) (copy.in ? sources_ : targets_).insert(element.address);
  }
}

void AsyncCopies::Release(const AsyncCopy& copy) {
  auto& in_buffer = in_buffers_.at(copy.buffer);
  for (const AsyncCopy::Element& element : copy.elements) {
    in_buffer.erase(in_buffer.find(element.offset));
    auto& in_tensors = copy.in ? sources_ : targets_;
    if (element.address) in_tensors.erase(in_tensors.find(element.address));
  }
  if (in_buffer.empty()) in_buffers_.erase(copy.buffer);
}

}  // namespace kdl::interp
