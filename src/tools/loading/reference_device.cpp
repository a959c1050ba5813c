#include "tools/loading/reference_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/run/executor.h"
#include "interp/locate/locate.h"
#include "interp/run.h"
#include "ir/module.h"
#include "ir/parse/parser.h"
#include "kdl/device_keys.h"
#include "kdl/device_plugin.h"
#include "support/diagnostics.h"
#include "support/machine.h"
#include "support/names.h"
#include "support/near_names.h"
#include "support/render.h"
#include "support/source.h"
#include "targets/builtin_instructions.h"
#include "targets/kinds.h"

namespace kdl::tools {

namespace {

constexpr int64_t kMostCores = 1 << 20;
constexpr std::string_view kLocateKey = "locate";

/// A kind of device that is implemented by the interpreter.
struct InterpreterKind {
  std::string name;
  std::vector<const ir::MatrixInstruction*> instructions;
  int64_t features;
  kdl_device_ops ops;
};

struct ReferenceDevice {
  const InterpreterKind* kind = nullptr;
  int64_t seed = -1;  ///< -1 if the option is not given
  int64_t cores = 4;
  /// Features of the imitated processor. Tile sizes may depend on them, and results may depend on
  /// tile sizes.
  int64_t features = 0;
  Sanitizers sanitizers = {};
  std::shared_ptr<interp::Locator> locator = nullptr;  ///< null unless errors are to be located
};

struct ReferenceOption {
  std::string_view key;
  int64_t least;
  int64_t most;
  int64_t ReferenceDevice::* value;
};
constexpr ReferenceOption kOptions[] = {
    {"seed", 0, INT64_MAX, &ReferenceDevice::seed},
    {"cores", 1, kMostCores, &ReferenceDevice::cores},
    {"features", 0, INT64_MAX, &ReferenceDevice::features},
};

/// The parsed KIR of an image. Launches do not modify it.
struct LoadedModule {
  explicit LoadedModule(std::span<const ir::MatrixInstruction* const> instructions)
      : context{names, instructions} {}

  Names names;
  ir::Context context;
  SourceManager sources;
  DiagnosticEngine diagnostics;
  std::unique_ptr<ir::Module> module;
};

kdl_error* Fail(kdl_code code, const std::string& message) {
  return kdl_error_create(code, message.c_str());
}

bool ReadNumber(std::string_view text, int64_t least, int64_t most, int64_t* value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && *value >= least &&
         *value <= most;
}

/// Opens a device. `kind_context` points to an InterpreterKind.
kdl_error* Open(void* kind_context, int64_t ordinal, const kdl_option* options, int32_t count,
                void** device) {
  const auto& kind = *static_cast<const InterpreterKind*>(kind_context);
  if (ordinal != 0) {
    return Fail(KDL_ERROR_NOT_FOUND,
                fmt::format("there is no {}[{}], only {}", kind.name, ordinal, kind.name));
  }
  ReferenceDevice made;
  made.kind = &kind;
  made.features = kind.features;
  for (int32_t i = 0; i < count; ++i) {
    std::string_view key = options[i].key;
    if (key == kSanitizeKey) {
      std::optional<Sanitizers> sanitizers = ParseSanitizers(options[i].value);
      if (!sanitizers) {
        return Fail(
            KDL_ERROR_INVALID_ARGUMENT,
            fmt::format("sanitize={} is unknown; use races, init or races+init", options[i].value));
      }
      made.sanitizers = *sanitizers;
      continue;
    }
    if (key == kLocateKey) {
      std::optional<interp::Located> located = interp::ParseLocated(options[i].value);
      if (!located) {
        return Fail(
            KDL_ERROR_INVALID_ARGUMENT,
            fmt::format("locate={} is unknown; use errors or not-finite", options[i].value));
      }
      made.locator = std::make_shared<interp::Locator>(*located);
      continue;
    }
    const auto* known = std::find_if(std::begin(kOptions), std::end(kOptions),
                                     [&](const ReferenceOption& row) { return row.key == key; });
    if (known == std::end(kOptions)) {
      return Fail(KDL_ERROR_INVALID_ARGUMENT,
                  fmt::format("{} has no option '{}'; it has {}", kind.name, key,
                              QuotedList(NamesIn(KDL_INTERPRETER_KEYS))));
    }
    if (!ReadNumber(options[i].value, known->least, known->most, &(made.*known->value))) {
      return Fail(KDL_ERROR_INVALID_ARGUMENT,
                  fmt::format("{}={} is not an integer from {} to {}", key, options[i].value,
                              known->least, known->most));
    }
  }
  // With sanitizers, one run checks all orders of the cores. The sequential order is the default,
  // because with it the first problem in source order is reported.
  if (made.seed < 0) made.seed = made.sanitizers.any() ? 0 : 1;
  *device = new ReferenceDevice(made);
  return nullptr;
}

void Close(void* device) { delete static_cast<ReferenceDevice*>(device); }

void Facts(void* device, kdl_device_facts* facts) {
  const auto& reference = *static_cast<const ReferenceDevice*>(device);
  *facts = {};
  facts->cores = reference.cores;
  facts->resident = reference.cores;
  facts->features = static_cast<uint64_t>(reference.features);
  facts->memory_bytes = PhysicalMemoryBytes();
  facts->exact = 1;
  facts->host_visible = 1;
  facts->functional = 1;
  facts->image_kind = reference.kind->name.c_str();
  facts->arch = "";
}

kdl_error* Load(void* device, const kdl_image* image, void** module) {
  const InterpreterKind& kind = *static_cast<const ReferenceDevice*>(device)->kind;
  auto loaded = std::make_unique<LoadedModule>(kind.instructions);
  std::string text(static_cast<const char*>(image->payload),
                   static_cast<size_t>(image->payload_bytes));
  FileId file = loaded->sources.Add(fmt::format("{}.kir", image->module), std::move(text));
  loaded->module = ir::Parse(loaded->sources, file, loaded->context, loaded->diagnostics);
  if (!loaded->module) {
    return Fail(
        KDL_ERROR_INVALID_ARGUMENT,
        fmt::format("the {} image of module '{}' is not KIR: {}", kind.name, image->module,
                    RenderText(*loaded->diagnostics.all().front(), loaded->sources, false)));
  }
  *module = loaded.release();
  return nullptr;
}

void Unload(void*, void* module) { delete static_cast<LoadedModule*>(module); }

std::optional<Scalar> ScalarOfElement(uint8_t element) {
  const auto* info = std::ranges::find(kScalars, element, &ScalarInfo::code);
  return info == std::end(kScalars) ? std::nullopt : std::optional(info->scalar);
}

interp::KernelArguments ArgumentsOf(const kdl_launch_request& request) {
  interp::KernelArguments arguments;
  const kdl_tensor* tensor = request.args->tensors;
  const uint64_t* scalar = request.args->scalars;
  for (int32_t p = 0; p < request.variant->param_count; ++p) {
    if (request.variant->params[p].is_tensor == 0) {
      arguments.scalars.push_back(*scalar++);
      continue;
    }
    // The runtime has checked that the element type matches that of the parameter, so the code is a
    // valid scalar type.
    arguments.tensors.push_back({tensor->data,
                                 *ScalarOfElement(tensor->element),
                                 {tensor->size, tensor->size + tensor->rank},
                                 {tensor->stride, tensor->stride + tensor->rank}});
    ++tensor;
  }
  for (int32_t d = 0; d < request.variant->dim_count; ++d) {
    arguments.constants[request.variant->dims[d]] = request.args->dims[d];
  }
  return arguments;
}

/// Writes the text in a single call, as the runtime does for the prints of compiled code. Returns
/// 0, or errno on failure.
int WriteText(const std::string& text) {
  bool is_written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return is_written ? 0 : errno;
}

kdl_error* RunLaunch(const ReferenceDevice& device, const kdl_launch_request& request) {
  auto& loaded = *static_cast<LoadedModule*>(request.module);
  std::string_view symbol = request.variant->symbol;
  const ir::Function* kernel = nullptr;
  for (const ir::Function* function : loaded.module->functions()) {
    if (function->name.text() == symbol) kernel = function;
  }
  if (!kernel) {
    return Fail(KDL_ERROR_NOT_FOUND, fmt::format("the {} image of module '{}' has no kernel '{}'",
                                                 device.kind->name, request.image->module, symbol));
  }
  int print_error = 0;
  auto print = [&](const std::string& text) {
    int error = WriteText(text);
    if (print_error == 0) print_error = error;
  };
  // The runtime calls this function through a C interface, so it must not throw exceptions.
  try {
    Result<std::optional<interp::Trap>> run = interp::RunKernel(
        *loaded.module, *kernel, ArgumentsOf(request), request.core_num,
        {static_cast<uint64_t>(device.seed), print, device.sanitizers,
         [&] { return std::atomic_ref(request.launch->stop).load() != 0; }, device.locator.get()});
    if (!run.ok()) return Fail(KDL_ERROR_INVALID_ARGUMENT, run.failure().message);
    if (*run) return Fail(KDL_ERROR_TRAP, interp::ToString(**run));
    if (print_error == 0) return nullptr;
    return Fail(KDL_ERROR_DEVICE,
                fmt::format("a kernel prints to standard output, but writing to it failed: {}",
                            std::strerror(print_error)));
  } catch (const std::bad_alloc&) {
    return Fail(
        KDL_ERROR_OUT_OF_MEMORY,
        fmt::format("launch of '{}': its tiles, pipes and tensors need more memory than there is",
                    kernel->base_name()));
  }
}

void Launch(void* device, const kdl_launch_request* request, kdl_completion done) {
  done.call(done.context, RunLaunch(*static_cast<const ReferenceDevice*>(device), *request));
}

/// Returns the features of this machine's processor as reported by the runtime.
Result<int64_t> OwnFeatures(kdl_context* context) {
  kdl_device* host = nullptr;
  Status found = driver::StatusOf(kdl_select_device(context, targets::kOwnKind.data(), &host));
  if (!found.ok()) return found.failure();
  kdl_device_facts facts = {};
  facts.size = sizeof facts;
  found = driver::StatusOf(kdl_device_get_facts(host, &facts));
  if (!found.ok()) return found.failure();
  return static_cast<int64_t>(facts.features);
}

/// Returns a new kind. It is never freed, because contexts keep pointers to it.
const InterpreterKind* MakeKind(std::string_view name,
                                std::span<const ir::MatrixInstruction* const> instructions,
                                int64_t features) {
  static std::mutex mutex;
  static std::list<InterpreterKind> kinds;
  const std::lock_guard lock(mutex);
  for (const InterpreterKind& kind : kinds) {
    if (kind.name == name && std::ranges::equal(kind.instructions, instructions)) return &kind;
  }
  InterpreterKind& made = kinds.emplace_back(
      InterpreterKind{std::string(name), {instructions.begin(), instructions.end()}, features, {}});
  made.ops = {.size = sizeof(kdl_device_ops),
              .version = KDL_PLUGIN_VERSION,
              .kind = made.name.c_str(),
              .memory = nullptr,
              .open = Open,
              .close = Close,
              .facts = Facts,
              .load = Load,
              .unload = Unload,
              .launch = Launch,
              .submit = nullptr,
              .image_kind = made.name.c_str(),
              .counts = nullptr,
              .properties = nullptr,
              .prepare = nullptr,
              .discard = nullptr,
              .cores = nullptr,
              .accepts = nullptr,
              .wait = nullptr,
              .mark = nullptr,
              .unmark = nullptr,
              .lead = nullptr};
  return &made;
}

}  // namespace

Status AddInterpreter(kdl_context* context, std::string_view kind,
                      std::span<const ir::MatrixInstruction* const> instructions) {
  static Result<int64_t> features = OwnFeatures(context);  // the same for every context
  if (!features.ok()) return features.failure();
  const InterpreterKind* made = MakeKind(kind, instructions, *features);
  return driver::StatusOf(
      kdl_context_add_device_kind(context, &made->ops, const_cast<InterpreterKind*>(made)));
}

Status AddReferenceDevice(kdl_context* context) {
  return AddInterpreter(context, targets::kReferenceKind, targets::BuiltinInstructions());
}

}  // namespace kdl::tools
