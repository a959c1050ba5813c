// The arguments of a launch in the form that workgroup_abi.h defines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/error.h"
#include "core/view.h"
#include "kdl/device_plugin.h"
#include "kdl/workgroup_abi.h"

namespace kdl::runtime {

// A memory argument of a kernel: the driver's handle and a byte offset.
struct WorkgroupPlace {
  void* memory = nullptr;
  std::int64_t offset = 0;
};

// The memories that every kernel has.
struct FixedMemories {
  void* scratch = nullptr;
  void* record = nullptr;
  void* prints = nullptr;
};

struct LaunchArguments {
  std::vector<std::int64_t> numbers;
  std::vector<void*> memories;

  // Collects the arguments. `place_of` returns the place of an address. The part and the first core are 0.
  template <class PlaceOf>
  void Collect(const kdl_launch_request& request, const FixedMemories& fixed,
               const PlaceOf& place_of) {
    const kdl_variant& variant = *request.variant;
    const WorkgroupPlace shared = place_of(request.shared);
    memories = {fixed.scratch, shared.memory, fixed.record, fixed.prints};
    numbers = {request.core_num, 0, 0, shared.offset};
    numbers.insert(numbers.end(), request.args->dims, request.args->dims + variant.dim_count);
    std::int32_t tensor = 0;
    std::int32_t scalar = 0;
    for (std::int32_t p = 0; p < variant.param_count; ++p) {
      if (variant.params[p].is_tensor == 0) {
        numbers.push_back(static_cast<std::int64_t>(request.args->scalars[scalar++]));
        continue;
      }
      const kdl_tensor& view = request.args->tensors[tensor++];
      const WorkgroupPlace place = place_of(view.data);
      memories.push_back(place.memory);
      numbers.push_back(place.offset / static_cast<std::int64_t>(ElementBytes(view)));
      numbers.insert(numbers.end(), view.stride, view.stride + KDL_MAX_RANK);
    }
    // An argument of 0 bytes may have no memory. Replace its null address with that of any memory, because
    // the kernel does not access it.
    std::replace(memories.begin(), memories.end(), static_cast<void*>(nullptr), fixed.record);
  }
};

// Returns the error for the trap in the record of a launch. `who` is a suffix that identifies a thread.
Error TrapOf(const kdl_launch_request& request, std::span<const std::int64_t> record,
             const std::string& who);

}  // namespace kdl::runtime
