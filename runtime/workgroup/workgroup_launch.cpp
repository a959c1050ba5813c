#include "workgroup/workgroup_launch.h"

#include <algorithm>
#include <vector>

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
  Error TakeScratch();
  Error Prepare();
  Error Part(std::int64_t part);
  Error Show();

  WorkgroupDriver& driver_;
  const kdl_launch_request& request_;
  LaunchArguments arguments_;
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
  arguments_.Collect(request_, {scratch_.memory(), record_.memory(), prints_.memory()},
                     [&](const void* address) { return driver_.PlaceOf(address); });
  return nullptr;
}

// Runs one part of the launch on all cores. A part extends from one barrier of the launch to the next.
Error WorkgroupLaunch::Part(std::int64_t part) {
  arguments_.numbers[1] = part;
  const std::int64_t at_once = CoresAtOnce();
  for (std::int64_t core = 0; core < request_.busy_cores; core += at_once) {
    arguments_.numbers[2] = core;
    KDL_RETURN_IF_ERROR(driver_.Call(arguments_.numbers, arguments_.memories,
                                     std::min(at_once, request_.busy_cores - core)));
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
    return TrapOf(request_, told_, driver_.WhoIs(told_[5], told_[5] % CoresAtOnce(), told_[6]));
  }
  return Show();
}

}  // namespace

std::string WorkgroupDriver::WhoIs(std::int64_t, std::int64_t, std::int64_t) { return ""; }

Error RunWorkgroupLaunch(WorkgroupDriver& driver, const kdl_launch_request& request) {
  return WorkgroupLaunch(driver, request).RunParts();
}

}  // namespace kdl::runtime
