#include "compare_targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <utility>

#include "drawn_launch.h"
#include "driver/compile/compile.h"
#include "driver/run/arguments.h"
#include "driver/run/draw_special.h"
#include "driver/run/run_program.h"
#include "driver/run/wrap_kernel.h"
#include "targets/builtin.h"
#include "tools/loading/load.h"

namespace kdl::fuzz {

namespace {

constexpr int kLaunches = 3;  // number of launches on each target

std::string Text(const DiagnosticEngine& diagnostics) {
  for (const auto& one : diagnostics.all()) {
    if (one->severity == Severity::Error) return fmt::format("{} [{}]", one->text, one->id);
  }
  return {};
}

ir::Function* OnlyKernel(const ir::Module& module) {
  for (ir::Function* function : module.functions()) {
    if (function->kind == ir::FunctionKind::Kernel) return function;
  }
  return nullptr;
}

void DrawSpecial(driver::HostTensor& tensor, uint64_t seed) {
  auto count = static_cast<int64_t>(tensor.bytes.size()) / Bytes(tensor.scalar);
  for (int64_t n = 0; n < count; ++n)
    driver::SetElementBits(
        tensor, n, driver::SpecialElement(tensor.scalar, true, seed, static_cast<uint64_t>(n)));
}

/// Returns random sizes of the kind that is also used to run kernels under the sanitizer.
Sizes DrawSizes(std::mt19937_64& random) {
  static constexpr int64_t kSmall[] = {0, 1, 2, 3, 5, 7, 9, 16, 33};
  static constexpr int64_t kGreat[] = {
      0, 1, 3, int64_t{1} << 31, int64_t{1} << 32, int64_t{1} << 40};
  Sizes sizes;
  for (const char* name : {"N", "M"}) sizes[name] = kSmall[random() % std::size(kSmall)];
  for (const char* name : {"H", "G"}) sizes[name] = kGreat[random() % std::size(kGreat)];
  return sizes;
}

/// A random kernel that is compiled for all targets, in a program that launches it once.
class CompiledKernel {
 public:
  CompiledKernel(const std::string& text, const std::vector<std::string>& targets,
                 std::mt19937_64& random)
      : families_(targets::BuiltinFamilies()), targets_(targets) {
    options_.files = {"drawn.kdl"};
    options_.verify = true;
    options_.opt_level = static_cast<int64_t>(random() % 4);
    session_.emplace(options_, families_);
    drawn_ = driver::Compile(*session_, {.until = driver::Until::Ir, .text = text});
    driver::CompileRequest request;
    request.text = text;
    request.edit = [&](driver::Compilation& made) {
      if (!drawn_.ok() || !FixConstants(*made.module, random)) return false;
      program_ = driver::WrapKernel(*made.module, *OnlyKernel(*made.module), Name(),
                                    driver::WrapCores::Parameter);
      driver::KeepOnly(*made.module, {program_});
      return true;
    };
    targets_.emplace_back(kReference);
    request.places.under_test = targets_;
    compilation_ = driver::Compile(*session_, std::move(request));
    if (compilation_.ok()) context_ = tools::Load(*session_, compilation_);
  }

  bool ok() const { return context_ != nullptr; }
  /// Returns whether the kernel's static assertions accept the random constants.
  bool fits() const { return fits_; }
  /// Returns whether the kernel was rejected because an index is out of bounds for the random constants. It is not
  /// for others, since the kernel was accepted without them.
  bool is_outside_for_constants() const {
    std::string text = error();
    return !constants_.empty() && (text.ends_with("[E0410]") || text.ends_with("[E0411]"));
  }
  std::string error() const { return Text(session_->diagnostics); }

  DrawnLaunch Draw(Sizes sizes, uint64_t seed) const {
    sizes.insert(constants_.begin(), constants_.end());
    return {*OnlyKernel(*drawn_.module), sizes, seed};
  }

  /// Binds the program's arguments: integers as in `launch`, and floats that include special values.
  std::optional<driver::BoundProgram> Bind(const DrawnLaunch& launch, const Sizes& sizes,
                                           int64_t cores, uint64_t seed) const {
    driver::Options options;
    for (Name dim : program_->dims)
      options.set.push_back(fmt::format("{}={}", dim.text(), sizes.at(dim.str())));
    DiagnosticEngine refused;
    auto bound = driver::BindProgram(*compilation_.module, *program_, {}, options, refused);
    if (!bound) return bound;
    size_t tensors = 0;
    size_t scalars = 0;
    for (driver::BoundArgument& argument : bound->arguments) {
      driver::HostTensor& tensor = argument.tensor;
      if (&argument == &bound->arguments.back())
        driver::SetElementBits(tensor, 0, static_cast<uint64_t>(cores));
      else if (!argument.is_tensor)
        driver::SetElementBits(tensor, 0, launch.arguments().scalars.at(scalars++));
      else if (const void* data = launch.arguments().tensors.at(tensors++).data;
               IsInteger(tensor.scalar) && !tensor.bytes.empty())
        std::memcpy(tensor.bytes.data(), data, tensor.bytes.size());
      else if (argument.direction != ir::Direction::Out)
        DrawSpecial(tensor, seed + tensors);
    }
    return bound;
  }

  /// Runs the program once and returns what is wrong. Sets `refused` if a check ends the run.
  std::string FindFault(const std::string& target, const driver::BoundProgram& bound,
                        bool& refused) const {
    driver::RunPlace place{context_.get(), *compilation_.module, DevicesOn(target),
                           session_->sources, &compilation_.contracts.list};
    DiagnosticEngine report;
    driver::RunAndReport(place, *program_, bound, options_, report);
    if (!report.has_errors()) return {};
    std::string what = Text(report);
    driver::BoundProgram again = bound;
    place.specs = DevicesOn(kReference);
    refused = !driver::RunOnce(place, *program_, {}, again).ok();
    if (refused && what.ends_with(kTrapped)) return {};
    refused = false;
    return what;
  }

 private:
  static constexpr const char* kReference = "reference";
  static constexpr const char* kTrapped = "[E0959]";

  const driver::DeviceSpecs& DevicesOn(const std::string& target) const {
    auto number = std::ranges::find(targets_, target) - targets_.begin();
    return compilation_.devices.at(static_cast<size_t>(number));
  }

  /// Generates a first launch, and assigns its constants to the generics for which the compiler
  /// would otherwise choose values.
  bool FixConstants(const ir::Module& module, std::mt19937_64& random) {
    DrawnLaunch first(*OnlyKernel(*drawn_.module), DrawSizes(random), random());
    fits_ = first.fits();
    const auto& drawn = first.arguments().constants;
    for (ir::Generic& generic : OnlyKernel(module)->generics) {
      constants_[generic.name.str()] = drawn.at(generic.name.str());
      generic.values = {drawn.at(generic.name.str())};
    }
    return fits_;
  }

  targets::Registry families_;
  driver::Options options_;
  std::vector<std::string> targets_;
  std::optional<driver::Session> session_;
  driver::Compilation compilation_;
  /// The kernel before the passes. Arguments are generated for its parameters.
  driver::Compilation drawn_;
  ir::Function* program_ = nullptr;
  driver::Context context_;
  Sizes constants_;
  bool fits_ = false;
};

}  // namespace

Comparison CompareTargets(const std::string& text, uint64_t seed,
                          const std::vector<std::string>& targets) {
  static constexpr int64_t kCores[] = {1, 2, 3, 5, 1000};
  Comparison comparison;
  std::mt19937_64 random(seed);
  CompiledKernel kernel(text, targets, random);
  if (!kernel.ok()) {
    if (kernel.fits() && !kernel.is_outside_for_constants())
      comparison.what = "does not compile: " + kernel.error();
    return comparison;
  }
  for (int n = 0; n < kLaunches; ++n) {
    Sizes sizes = DrawSizes(random);
    int64_t cores = kCores[random() % std::size(kCores)];
    DrawnLaunch launch = kernel.Draw(sizes, random());
    if (!launch.fits()) continue;
    auto bound = kernel.Bind(launch, sizes, cores, seed);
    if (!bound) continue;
    for (const std::string& target : targets) {
      bool refused = false;
      std::string what = kernel.FindFault(target, *bound, refused);
      ++comparison.runs;
      comparison.refusals += refused ? 1 : 0;
      if (what.empty()) continue;
      comparison.what = fmt::format("{}: {}\nfor {}, {}on {} cores, seed {}", target, what,
                                    ToText(sizes), launch.said(), cores, seed);
      return comparison;
    }
  }
  return comparison;
}

}  // namespace kdl::fuzz
