#include "opencl/opencl_context.h"

#include <utility>
#include <vector>

namespace kdl::runtime {

OpenclDevice::~OpenclDevice() {
  memory.reset();
  staging.reset();
  EmptyPool();
  if (queue != nullptr) api.ReleaseCommandQueue(queue);
  if (context != nullptr) api.ReleaseContext(context);
}

bool OpenclDevice::EmptyPool() {
  const std::vector<void*> chunks = pool.Empty();
  for (void* chunk : chunks) api.ReleaseMemObject(static_cast<cl::MemoryId>(chunk));
  return !chunks.empty();
}

std::int32_t OpenclDevice::MakeQueue(std::uint64_t properties) {
  std::int32_t status = cl::kSuccess;
  cl::QueueId made = api.CreateCommandQueue(context, id, properties, &status);
  if (status != cl::kSuccess) return status;
  if (queue != nullptr) api.ReleaseCommandQueue(queue);
  queue = made;
  return status;
}

Error OpenclDevice::Failed(std::string_view what, std::int32_t status, bool has_waited) {
  Error error = OpenclFailure(what, status);
  return IsLost(status, has_waited) ? lost.Lose(kdl_error_message(error.get())) : std::move(error);
}

bool OpenclDevice::IsLost(std::int32_t status, bool has_waited) const {
  if (status == cl::kNotAvailable || status == cl::kInvalidContext || status == cl::kInvalidQueue)
    return true;
  return status == cl::kOutOfResources && has_waited && api.Finish(queue) != cl::kSuccess;
}

}  // namespace kdl::runtime
