// Shared by the callers that orchestration.py writes. Reads tensors from files, writes them to files, and
// prints the lines of `kernelc run -v`.
#pragma once

#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "kdl/runtime.hpp"

enum class Direction { In, Out };

// Calls `use(data, bytes)` with the memory of the tensor, unless the tensor is empty.
template <class Use>
void WithBytes(const kdl::Tensor& tensor, kdl_map_access access, Use use) {
  kdl_buffer* buffer = tensor.array().buffer;
  if (kdl_buffer_bytes(buffer) == 0) return;
  void* data = nullptr;
  kdl::Check(kdl_buffer_map(buffer, access, &data));
  use(static_cast<char*>(data), kdl_buffer_bytes(buffer));
  kdl::Check(kdl_buffer_unmap(buffer));
}

// Makes the tensor for a parameter as `kernelc run` does: filled from NAME.in unless it is an output.
inline kdl::Tensor MoveIn(const kdl::Context& context, const char* device, kdl::Element element,
                          const std::vector<std::int64_t>& sizes, const std::string& name,
                          Direction direction) {
  kdl::Tensor tensor = context.Allocate(context.Select(device), element, sizes, name.c_str());
  if (direction == Direction::Out) return tensor;
  WithBytes(tensor, KDL_MAP_WRITE, [&](char* data, std::int64_t bytes) {
    std::ifstream(name + ".in", std::ios::binary).read(data, bytes);
  });
  return tensor;
}

// Writes an output to NAME.out.
inline void MoveOut(const kdl::Tensor& tensor, const std::string& name) {
  std::ofstream file(name + ".out", std::ios::binary);
  WithBytes(tensor, KDL_MAP_READ,
            [&](const char* data, std::int64_t bytes) { file.write(data, bytes); });
}

// Prints the counts of each device once, then which data was moved, from where, to where and why.
inline void PrintStatistics(const kdl::Context& context, const std::vector<const char*>& specs) {
  std::set<kdl_device*> seen;
  for (const char* spec : specs) {
    const kdl::Device device = context.Select(spec);
    if (!seen.insert(device.get()).second) continue;
    const kdl_statistics counts = device.statistics();
    std::printf("%s: launches %lld, copies %lld (%lld bytes), allocated %lld bytes\n",
                device.uri().c_str(), static_cast<long long>(counts.launches),
                static_cast<long long>(counts.copies), static_cast<long long>(counts.bytes_copied),
                static_cast<long long>(counts.bytes_allocated));
  }
  for (const kdl_transfer& one : context.transfers()) {
    std::printf("%s -> %s: %s: %s, %lld bytes\n", one.from, one.to, one.tensor, one.cause,
                static_cast<long long>(one.bytes));
  }
}
