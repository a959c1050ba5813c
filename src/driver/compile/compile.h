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

/// What a compile has made, as far as it came.
struct Compilation : Lowered {
  std::vector<DeviceSpecs> devices = {};  ///< PlacedDevices::at_run
  Code code = {};

  bool ok() const { return end == PipelineEnd::Done; }
};

/// The last phase of a compile.
enum class Until : uint8_t { Ir, ModulePasses, Pipes, Code };

/// What is to be compiled, and how far.
struct CompileRequest {
  Until until = Until::Code;
  std::optional<std::string> text = {};    ///< in place of what options.files[0] holds
  std::vector<sema::Define> defines = {};  ///< besides those of -D
  Emits emits = {};
  /// Changes the module before its passes; false: the compile ends here.
  std::function<bool(Compilation&)> edit = {};
  Places places = {};
  SelectorAround around = {};  ///< selectors of tiles, those of --tuned included
};

/// The whole compiler: one file or text, from the front end to code, as far as it is asked for and nothing is reported.
Compilation Compile(Session& session, CompileRequest request);

}  // namespace kdl::driver
