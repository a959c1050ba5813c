#pragma once

#include <string_view>
#include <vector>

#include "driver/compile/session.h"
#include "passes/pass.h"

namespace kdl::driver {

// KIR text can name the last pass that ran on it, and the target of this pass. Compilation then
// resumes after that pass.

/// Checks that the pass named in the text is a target-independent pass or a pass of the module's
/// target. Reports an error if it is not. Without --trust-ir, the names of the pass and the target
/// in the text are ignored, so that all passes run.
bool CheckStanding(Session& session, ir::Module& module);

/// Returns the module passes that still have to run on KIR text. Without --trust-ir, these are
/// all of them. With --trust-ir, they are the passes after the one that the text names, or
/// passes::kTrustedPipeline if it names none.
passes::Pipeline TextPasses(const ir::Module& module, const Options& options);

/// Whether compilation can continue after the pass `after`. It cannot if the pass is one of the family, but
/// the file of --pipeline omits it. Reports an error in this case.
bool MayResume(Session& session, std::string_view after, const targets::Family& family);

/// Returns the device for a launch that is about to be added to the module. The name is empty if a
/// remaining pass assigns devices to launches.
Name DeviceOfAddedLaunch(const ir::Module& module, const Options& options);

/// Removes the passes up to and including `after` from pipelines that run one after another, and
/// returns the pipelines that remain.
std::vector<passes::Pipeline> After(std::vector<passes::Pipeline> pipelines,
                                    std::string_view after);

}  // namespace kdl::driver
