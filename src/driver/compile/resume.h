#pragma once

#include <string_view>
#include <vector>

#include "driver/compile/session.h"
#include "passes/pass.h"

namespace kdl::driver {

// A .kir text may say after which pass it stands, and for which target: there the compile goes on.

/// Forgets that of a text that is not trusted: it goes through all passes, as a source does. Whether the pass is one of those that
/// run for the module's target, or for any; reported where it is not.
bool CheckStanding(Session& session, ir::Module& module);

/// The passes that a module's text has left: of one that is not trusted all, of one that is those after the pass that it names;
/// where it names none, passes::kTrustedPipeline.
passes::Pipeline TextPasses(const ir::Module& module, const Options& options);

/// The device of a launch that is added to the module now: none yet where the passes that it has left give launches theirs.
Name DeviceOfAddedLaunch(const ir::Module& module, const Options& options);

/// The pipelines, which run one after the other, without what has run where one of their passes is `after`.
std::vector<passes::Pipeline> Behind(std::vector<passes::Pipeline> pipelines,
                                     std::string_view after);

}  // namespace kdl::driver
