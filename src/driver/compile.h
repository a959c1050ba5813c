#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/devices.h"
#include "driver/options.h"
#include "ir/contract.h"
#include "ir/module.h"
#include "passes/pass_manager.h"
#include "sema/model/checked.h"
#include "support/arena.h"
#include "support/diagnostics.h"
#include "support/names.h"
#include "support/source.h"
#include "targets/registry.h"

namespace kdl::driver {

/// What one compile reads and makes. Later members point into earlier ones; options and families outlive it.
struct Compilation {
  Compilation(const Options& o, const targets::Registry& f) : options(o), families(f) {}

  const Options& options;
  const targets::Registry& families;
  Emits emits;                          ///< what `build` is asked for
  std::vector<sema::Define> from_data;  ///< integer parameters of the program that runs
  SourceManager sources;
  DiagnosticEngine diagnostics;
  Names names;
  Arena arena;  ///< owns the trees
  ir::Context context{names, families.units()};
  std::unique_ptr<ir::Module> module;
  ir::Contracts contracts;  ///< of the module's functions
  DeviceSpecs
      runtime_specs;  ///< of the module's devices, once targets are known: for what is written to be run

  /// Puts a selector of tiles around a target's own; empty: that one stands.
  std::function<std::shared_ptr<const passes::TileSelector>(const targets::Target&)>
      around_selector;

  std::vector<std::string> files_read;  ///< as the user would name them; not the library's
  std::string printed;                  ///< by --print-after, for standard output
  std::vector<passes::PassRun> times;   ///< phases and passes, in the order in which they ran
};

/// Whether to go on; Failed where errors have been reported, Stopped after what --stop-after names.
using passes::PipelineEnd;

/// Reads options.files[0], a .kdl or a .kir file, up to KIR: `module` is there unless it failed or stopped earlier.
PipelineEnd CompileToIr(Compilation& compilation);

/// The same for a text, as if options.files[0] held it.
PipelineEnd CompileText(Compilation& compilation, std::string text);

/// The passes that no target decides: `module` is then what the interpreter runs, but for open tiles.
PipelineEnd RunModulePasses(Compilation& compilation);

/// Standard output and error of a compile: what --print-after and --time-passes print, then the diagnostics. Gives the
/// exit code.
int Finish(const Compilation& compilation);

}  // namespace kdl::driver
