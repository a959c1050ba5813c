#pragma once

#include <string_view>
#include <vector>

#include "driver/compile/session.h"
#include "passes/pass.h"

namespace kdl::driver {

// A .kir text can state the last pass that ran on it, and the target. The compile then continues
// after that pass.

/// Checks that the pass that the text names is one of the module's target, or independent of
/// targets, and reports an error if not. For an untrusted text, the statement is discarded, so that
/// all passes run as for a source.
bool CheckStanding(Session& session, ir::Module& module);

/// Returns the module passes that still have to run on a text: all for an untrusted text. For a
/// trusted one, those after the pass that it names, or passes::kTrustedPipeline if it names none.
passes::Pipeline TextPasses(const ir::Module& module, const Options& options);

/// Returns the device for a launch that is added to the module now. It is empty if a remaining pass
/// assigns devices to launches.
Name DeviceOfAddedLaunch(const ir::Module& module, const Options& options);

/// Returns the pipelines, which run one after the other, without the passes up to and including
/// `after`.
std::vector<passes::Pipeline> After(std::vector<passes::Pipeline> pipelines,
                                    std::string_view after);

}  // namespace kdl::driver
