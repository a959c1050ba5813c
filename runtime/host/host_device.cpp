#include "host/host_device.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "core/processor.h"
#include "core/view.h"
#include "host/core_runner.h"
#include "host/run_alone.h"
#include "kdl/device_keys.h"
#include "system/pages.h"
#include "system/threads.h"

namespace kdl::runtime {

namespace {

// A launch that touches fewer bytes than this is over before another thread could wake up.
constexpr std::int64_t kLittleWorkBytes = 16 * 1024;
constexpr std::int64_t kMostThreads = 1024;

struct HostOptions {
  std::vector<int> cpus = AllowedProcessors();
  std::int64_t threads = 0;  // 0 means one for each processor
  std::int64_t pin = 1;
  std::chrono::microseconds spin = WorkerPool::kUsualSpin;
  // Whether `cpus` was given explicitly. In that case, the calling thread is also restricted to
  // these processors.
  bool only_cpus = false;
  bool slice_per_core = false;
  std::uint64_t features = UsualFeatures();
};

struct HostDevice {
  HostDevice(const HostOptions& chosen, const kdl_hooks& hooks)
      : options(chosen),
        callers_processor(chosen.only_cpus && chosen.pin != 0 ? chosen.cpus.front() : -1),
        pool(static_cast<int>(chosen.threads), chosen.pin != 0 ? chosen.cpus : std::vector<int>(),
             hooks, chosen.spin),
        memory(hooks),
        scratch(memory) {}

  HostOptions options;
  // The processor on which a launch keeps the calling thread, or -1 if the thread may use any processor.
  const int callers_processor;
  WorkerPool pool;
  HostMemory memory;
  ScratchPool scratch;
};

// Parses processor numbers and ranges such as "0-3+8".
Error ParseProcessors(const kdl_option& option, std::vector<int>* cpus) {
  const std::vector<int> allowed = std::move(*cpus);
  cpus->clear();
  for (std::string_view part : Split(option.value, '+')) {
    const std::size_t dash = part.find('-');
    std::int64_t first = 0;
    std::int64_t last = 0;
    if (!ParseInteger(part.substr(0, dash), &first) || first < 0 ||
        !ParseInteger(dash == std::string_view::npos ? part : part.substr(dash + 1), &last) ||
        last < first) {
      return Invalid("cpus=", option.value, ": '", part,
                     "' is not a processor or a range, such as 2 or 0-3");
    }
    for (std::int64_t cpu = first; cpu <= last; ++cpu) {
      if (std::ranges::find(allowed, cpu) == allowed.end()) {
        return Fail(KDL_ERROR_NOT_FOUND, "cpus=", option.value, ": this process has no processor ",
                    cpu);
      }
      if (std::ranges::find(*cpus, cpu) != cpus->end()) {
        return Invalid("cpus=", option.value, ": processor ", cpu, " is given twice");
      }
      cpus->push_back(static_cast<int>(cpu));
    }
  }
  return nullptr;
}

// Parses a time such as "50us".
Error ParseSpin(const kdl_option& option, std::chrono::microseconds* spin) {
  constexpr std::int64_t kMost = 1000000;
  constexpr std::string_view kEnd = "us";
  std::string_view number = option.value;
  std::int64_t parsed = -1;
  const bool ends_right = number.ends_with(kEnd);
  if (ends_right) number.remove_suffix(kEnd.size());
  if (!ends_right || !ParseInteger(number, &parsed) || parsed < 0 || parsed > kMost) {
    return Invalid(option.key, "=", option.value, " is not a time from 0us to ", kMost,
                   "us, such as 50us");
  }
  *spin = std::chrono::microseconds(parsed);
  return nullptr;
}

Error ParseHostOptions(const kdl_option* options, std::int32_t count, HostOptions* parsed) {
  for (const kdl_option* option = options; option != options + count; ++option) {
    const std::string_view key = option->key;
    if (key == "threads") {
      KDL_RETURN_IF_ERROR(ParseOption(*option, 1, kMostThreads, &parsed->threads));
    } else if (key == "cpus") {
      parsed->only_cpus = true;
      KDL_RETURN_IF_ERROR(ParseProcessors(*option, &parsed->cpus));
    } else if (key == "pin") {
      KDL_RETURN_IF_ERROR(ParseOption(*option, 0, 1, &parsed->pin));
    } else if (key == "resident") {
      KDL_RETURN_IF_ERROR(ParseResident(*option, &parsed->slice_per_core));
    } else if (key == "spin") {
      KDL_RETURN_IF_ERROR(ParseSpin(*option, &parsed->spin));
    } else if (key == "isa") {
      KDL_RETURN_IF_ERROR(FeaturesOfLevel(option->value, &parsed->features));
    } else {
      return UnknownOption("host", key, KDL_HOST_KEYS);
    }
  }
  if (parsed->threads == 0) parsed->threads = static_cast<std::int64_t>(parsed->cpus.size());
  return nullptr;
}

// Opens the device. `hooks` points to the hooks of the context.
kdl_error* Open(void* hooks, std::int64_t ordinal, const kdl_option* options, std::int32_t count,
                void** device) {
  if (ordinal != 0) {
    return NoSuchDevice("host", ordinal, 1).release();
  }
  HostOptions parsed;
  if (Error error = ParseHostOptions(options, count, &parsed)) return error.release();
  *device = new HostDevice(parsed, *static_cast<const kdl_hooks*>(hooks));
  return nullptr;
}

void Close(void* device) { delete static_cast<HostDevice*>(device); }

void Facts(void* device, kdl_device_facts* facts) {
  const auto& host = *static_cast<const HostDevice*>(device);
  *facts = {.size = sizeof *facts,
            .version = KDL_PLUGIN_VERSION,
            .cores = host.options.threads,
            .resident = host.options.slice_per_core ? 0 : host.options.threads,
            .memory_bytes = PhysicalMemoryBytes(),
            .exact = 1,
            .host_visible = 1,
            .functional = 0,
            .checks_order = 0,
            .features = host.options.features,
            .image_kind = "host",
            .arch = ProcessorArch(),
            .capabilities = KDL_CAN_CALL};
}

bool IsLittleWork(const kdl_launch_request& request) {
  std::int64_t bytes = 0;
  for (std::int32_t t = 0; t < request.tensor_count && bytes < kLittleWorkBytes; ++t) {
    bytes += std::min(SpanBytes(request.args->tensors[t]), kLittleWorkBytes);
  }
  return bytes < kLittleWorkBytes;
}

// What the launches of one request share: the plan of the runner, its memory and, if one worker runs them, the core.
class Prepared {
 public:
  Prepared(const CoreRunner::Plan& plan, const HostMemory& memory)
      : plan_(plan),
        memory_(memory),
        data_(plan.is_small() ? small_ : static_cast<char*>(memory.Allocate(plan.bytes))) {}
  ~Prepared() {
    if (data_ != small_) memory_.Free(data_, plan_.bytes);
  }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  bool is_complete() const { return data_ != nullptr; }
  // Prepares the core. Called once, if the memory is complete.
  void Begin(const kdl_launch_request& request) {
    if (RunsAlone(request, plan_)) core_.emplace(request, plan_, data_);
  }
  Error RunKernel(HostDevice& host, const kdl_launch_request& request) {
    if (core_.has_value() && request.observer == nullptr) return core_->RunCores(request);
    CoreRunner runner(request, *request.args, request.workspace, request.shared, nullptr);
    return runner.RunCores(host.pool, plan_, host.scratch, data_);
  }

 private:
  const CoreRunner::Plan plan_;
  const HostMemory memory_;
  char* const data_;
  std::optional<LoneCore> core_;
  alignas(KDL_SCRATCH_ALIGNMENT) char small_[CoreRunner::Plan::kSmallBytes];
};

Error PlanLaunch(HostDevice& host, const kdl_launch_request& request, CoreRunner::Plan* plan) {
  const bool is_alone = host.pool.workers() == 1 || IsLittleWork(request);
  return CoreRunner::MakePlan(request, is_alone ? 1 : host.pool.workers(), plan);
}

kdl_error* Prepare(void* device, const kdl_launch_request* request, void** prepared) {
  auto& host = *static_cast<HostDevice*>(device);
  CoreRunner::Plan plan;
  if (Error error = PlanLaunch(host, *request, &plan)) return error.release();
  auto made = std::make_unique<Prepared>(plan, host.memory);
  if (!made->is_complete()) return CoreRunner::OutOfMemoryFor(*request, plan).release();
  made->Begin(*request);
  *prepared = made.release();
  return nullptr;
}

void Discard(void*, void* prepared) { delete static_cast<Prepared*>(prepared); }

Error RunLaunch(HostDevice& host, const kdl_launch_request& request) {
  const OnProcessor here(host.callers_processor);
  if (auto* prepared = static_cast<Prepared*>(request.prepared))
    return prepared->RunKernel(host, request);
  CoreRunner::Plan plan;
  KDL_RETURN_IF_ERROR(PlanLaunch(host, request, &plan));
  if (RunsAlone(request, plan)) return RunAlone(request, plan, host.scratch);
  CoreRunner runner(request, *request.args, request.workspace, request.shared, nullptr);
  return runner.RunCores(host.pool, plan, host.scratch);
}

void Launch(void* device, const kdl_launch_request* request, kdl_completion done) {
  Error error = RunLaunch(*static_cast<HostDevice*>(device), *request);
  done.call(done.context, error.release());
}

}  // namespace

const kdl_device_ops& HostDeviceOps() {
  static constexpr kdl_device_ops kOps = {.size = sizeof(kdl_device_ops),
                                          .version = KDL_PLUGIN_VERSION,
                                          .kind = "host",
                                          .memory = nullptr,
                                          .open = Open,
                                          .close = Close,
                                          .facts = Facts,
                                          .load = nullptr,
                                          .unload = nullptr,
                                          .launch = Launch,
                                          .submit = nullptr,
                                          .image_kind = "host",
                                          .counts = nullptr,
                                          .properties = nullptr,
                                          .prepare = Prepare,
                                          .discard = Discard,
                                          .cores = nullptr,
                                          .accepts = nullptr,
                                          .wait = nullptr,
                                          .mark = nullptr,
                                          .unmark = nullptr,
                                          .lead = nullptr};
  return kOps;
}

Error NoSuchDevice(std::string_view kind, std::int64_t ordinal, std::int64_t count) {
  const std::uint64_t number = static_cast<std::uint64_t>(ordinal) + 1;
  const std::uint64_t last = number % 100 / 10 == 1 ? 0 : number % 10;
  constexpr const char* kEndings[] = {"th", "st", "nd", "rd"};
  return Fail(KDL_ERROR_NOT_FOUND, "there is no ", kind, "[", ordinal, "]: it would be the ",
              number, kEndings[last <= 3 ? last : 0], ", ", count,
              count == 1 ? " matches" : " match");
}

Error ParseOption(const kdl_option& option, std::int64_t least, std::int64_t most,
                  std::int64_t* value) {
  std::int64_t parsed = 0;
  if (!ParseInteger(option.value, &parsed) || parsed < least || parsed > most) {
    return Invalid(option.key, "=", option.value, " is not an integer from ", least, " to ", most);
  }
  *value = parsed;
  return nullptr;
}

Error ParseResident(const kdl_option& option, bool* slice_per_core) {
  const std::string_view value = option.value;
  *slice_per_core = value == "cores";
  if (*slice_per_core || value == "workers") return nullptr;
  return Invalid(option.key, "=", value, " is neither workers nor cores");
}

Error UnknownOption(std::string_view kind, std::string_view key, std::string_view keys) {
  const std::vector<std::string_view> words = Split(keys, ' ');
  const std::vector<std::string> known(words.begin(), words.end());
  if (known.empty()) return Invalid(kind, " has no options, but '", key, "' is given");
  const std::string_view near = NearestWord(key, known);
  if (!near.empty()) {
    return Invalid(kind, " has no option '", key, "'; did you mean '", near, "'?");
  }
  return Invalid(kind, " has no option '", key, "'; it has ", JoinWords(known));
}

}  // namespace kdl::runtime
