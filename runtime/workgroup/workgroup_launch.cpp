#include "workgroup/workgroup_launch.h"

#include <algorithm>
#include <vector>

#include "core/trap.h"
#include "core/view.h"
#include "kdl/workgroup_abi.h"
#include "workgroup/workgroup_prints.h"

namespace kdl::runtime {

namespace {

// Memory that is released when the launch ends.
class Temporary {
 public:
  explicit Temporary(WorkgroupDriver& driver) : driver_(driver) {}
  ~Temporary() {
    if (memory_ != nullptr) driver_.Release(memory_);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  Error Make(std::int64_t bytes) {
    return driver_.Take(std::max<std::int64_t>(bytes, 64), &memory_);
  }
  Error Make(const std::vector<std::int64_t>& numbers) {
    KDL_RETURN_IF_ERROR(Make(static_cast<std::int64_t>(numbers.size() * sizeof(std::int64_t))));
    return driver_.Write(memory_, numbers);
  }
  void* memory() const { return memory_; }

 private:
  WorkgroupDriver& driver_;
  void* memory_ = nullptr;
};

// The state of one launch.
class WorkgroupLaunch {
 public:
  WorkgroupLaunch(WorkgroupDriver& driver, const kdl_launch_request& request)
      : driver_(driver), request_(request) {}

  Error RunParts();

 private:
  bool syncs() const { return (request_.variant->flags & KDL_VARIANT_SYNC) != 0; }
  std::int64_t CoresWithScratch() const;
  std::int64_t CoresAtOnce() const;
  void CollectNumbers();
  Error TakeScratch();
  Error Prepare();
  Error Part(std::int64_t part);
  Error Show();

  WorkgroupDriver& driver_;
  const kdl_launch_request& request_;
  std::vector<std::int64_t> numbers_;
  std::vector<void*> memories_;
  Temporary scratch_{driver_};
  Temporary record_{driver_};
  Temporary prints_{driver_};  // memory for the kernel's prints
  std::int64_t told_[kdl_workgroup_record] = {};
};

// Returns the number of cores whose scratch exists at the same time. If scratch outlives a call of the
// driver, these are all busy cores. Otherwise, they are the cores of one call, limited by the driver's
// maximum number of bytes for scratch.
std::int64_t WorkgroupLaunch::CoresWithScratch() const {
  if (syncs()) return request_.busy_cores;
  const std::int64_t bytes = std::max<std::int64_t>(request_.variant->scratch_bytes, 1);
  return std::clamp<std::int64_t>(driver_.most_scratch() / bytes, 1, request_.busy_cores);
}

// Returns the number of cores in one call of the driver. It is limited because drivers count cores in 32
// bits.
std::int64_t WorkgroupLaunch::CoresAtOnce() const {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  return std::min(CoresWithScratch(), kMost);
}

// Collects the numbers that workgroup_abi.h defines, and the memory arguments. The tensors' memory follows
// the memory arguments that every kernel has.
void WorkgroupLaunch::CollectNumbers() {
  const kdl_variant& variant = *request_.variant;
  const WorkgroupPlace shared = driver_.PlaceOf(request_.shared);
  memories_ = {scratch_.memory(), shared.memory, record_.memory(), prints_.memory()};
  numbers_ = {request_.core_num, 0, 0, shared.offset};
  numbers_.insert(numbers_.end(), request_.args->dims, request_.args->dims + variant.dim_count);
  std::int32_t tensor = 0;
  std::int32_t scalar = 0;
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    if (variant.params[p].is_tensor == 0) {
      numbers_.push_back(static_cast<std::int64_t>(request_.args->scalars[scalar++]));
      continue;
    }
    const kdl_tensor& view = request_.args->tensors[tensor++];
    const WorkgroupPlace place = driver_.PlaceOf(view.data);
    memories_.push_back(place.memory);
    numbers_.push_back(place.offset / static_cast<std::int64_t>(ElementBytes(view)));
    numbers_.insert(numbers_.end(), view.stride, view.stride + KDL_MAX_RANK);
  }
  // An argument of 0 bytes may have no memory. Replace its null address with that of any memory, because the
  // kernel does not access it.
  std::replace(memories_.begin(), memories_.end(), static_cast<void*>(nullptr), record_.memory());
}

// Allocates scratch. Scratch for one core is small. If the allocation fails, the error therefore states the
// number of cores, which is what makes the total too large.
Error WorkgroupLaunch::TakeScratch() {
  const std::int64_t bytes = request_.variant->scratch_bytes;
  const std::int64_t cores = CoresWithScratch();
  constexpr std::int64_t kMost = INT64_MAX / 2;
  Error error = bytes > 0 && cores > kMost / bytes
                    ? Fail(KDL_ERROR_OUT_OF_MEMORY, "no device has that much")
                    : scratch_.Make(bytes * cores);
  if (error == nullptr) return nullptr;
  return Prefixed(Concat("kernel '", request_.kernel->name, "' needs ", bytes,
                         " bytes for each of ", cores, " cores: "),
                  std::move(error));
}

Error WorkgroupLaunch::Prepare() {
  KDL_RETURN_IF_ERROR(TakeScratch());
  KDL_RETURN_IF_ERROR(record_.Make(std::vector<std::int64_t>(kdl_workgroup_record, 0)));
  if (Prints(*request_.variant)) {
    std::vector<std::int64_t> empty(kPrintNumbers, 0);
    empty[0] = kdl_workgroup_first_print;
    empty[1] = kPrintNumbers;
    KDL_RETURN_IF_ERROR(prints_.Make(empty));
  }
  CollectNumbers();
  return nullptr;
}

// Runs one part of the launch on all cores. A part extends from one barrier of the launch to the next.
Error WorkgroupLaunch::Part(std::int64_t part) {
  numbers_[1] = part;
  const std::int64_t at_once = CoresAtOnce();
  for (std::int64_t core = 0; core < request_.busy_cores; core += at_once) {
    numbers_[2] = core;
    KDL_RETURN_IF_ERROR(
        driver_.Call(numbers_, memories_, std::min(at_once, request_.busy_cores - core)));
  }
  return driver_.Read(told_, record_.memory());
}

// Prints what all parts have printed so far.
Error WorkgroupLaunch::Show() {
  if (prints_.memory() == nullptr) return nullptr;
  std::int64_t taken = 0;
  KDL_RETURN_IF_ERROR(driver_.Read({&taken, 1}, prints_.memory()));
  std::vector<std::int64_t> printed(static_cast<std::size_t>(std::min(taken, kPrintNumbers)));
  KDL_RETURN_IF_ERROR(driver_.Read(printed, prints_.memory()));
  return ShowPrints(request_, printed, taken);
}

Error WorkgroupLaunch::RunParts() {
  KDL_RETURN_IF_ERROR(Prepare());
  for (std::int64_t part = 0; part <= told_[4]; ++part) {
    KDL_RETURN_IF_ERROR(Part(part));
    if (static_cast<std::int32_t>(told_[0]) == 0) continue;
    Show();  // ignore errors while printing, because the trap matters more
    kdl_trap trap = {};
    trap.code = static_cast<std::int32_t>(told_[0]);
    trap.location = static_cast<std::int32_t>(told_[1]);
    trap.index = told_[2];
    trap.bound = told_[3];
    return Fail(KDL_ERROR_TRAP, TrapMessage(*request_.kernel, *request_.variant, trap),
                driver_.WhoIs(told_[5], told_[5] % CoresAtOnce(), told_[6]));
  }
  return Show();
}

}  // namespace

std::string WorkgroupDriver::WhoIs(std::int64_t, std::int64_t, std::int64_t) { return ""; }

Error RunWorkgroupLaunch(WorkgroupDriver& driver, const kdl_launch_request& request) {
  return WorkgroupLaunch(driver, request).RunParts();
}

}  // namespace kdl::runtime
