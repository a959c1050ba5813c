#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "driver/compile/front_end.h"
#include "driver/compile/places.h"
#include "driver/compile/session.h"
#include "driver/compile/target_code.h"

namespace kdl::driver {

/// The result of a compilation, which may be incomplete.
struct Compilation : Lowered {
  std::vector<DeviceSpecs> devices = {};  ///< from PlacedDevices::at_run
  Code code = {};

  bool ok() const { return end == PipelineEnd::Done; }
};

/// The last phase that a compilation runs.
enum class Until : uint8_t { Ir, ModulePasses, Pipes, Loops, Code };

/// What to compile, and when to stop.
struct CompileRequest {
  Until until = Until::Code;
  std::optional<std::string> text = {};    ///< replaces the contents of options.files[0]
  std::vector<sema::Define> defines = {};  ///< in addition to the -D options
  Emits emits = {};
  /// Modifies the module before its passes run. If it returns false, the compilation stops.
  std::function<bool(Compilation&)> edit = {};
  Places places = {};
  /// Wraps the tile selectors of the targets, including those from --tuned.
  SelectorAround around = {};
};

/// Runs the compiler on one file or text, from the front end to code generation. Stops after the
/// requested phase or at the first error.
Compilation Compile(Session& session, CompileRequest request);

}  // namespace kdl::driver
