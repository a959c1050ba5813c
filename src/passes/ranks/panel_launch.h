#pragma once

#include <vector>

#include "passes/names.h"
#include "passes/ranks/launch_axes.h"
#include "passes/ranks/launch_code.h"
#include "passes/ranks/panel_kernel.h"

namespace kdl::passes {

/// How a launch is divided into launches that each need only a panel of some tensors.
struct Panels {
  Size iterations = nullptr;  ///< of the loop, in the sizes of the program
  /// The axes along which panels are distributed. The panel of the axis with most ranks is the shortest.
  std::vector<int64_t> axes;
  std::vector<Value*> tensors;  ///< of which the ranks forget each panel after its launch
};

/// Returns nothing if no tensor is needed in panels. `needs` must not contain what the ranks own.
std::optional<Panels> FindPanels(SizeTable& sizes, const Op* launch, const PanelKernel& kernel,
                                 const std::vector<RankNeed>& needs);

/// Shares a launch of which each rank runs the blocks that write what it owns, in several launches:
///
///   %acc_kept = alloc "acc_kept" {rank_axes = …}
///   loop %p in 0 .. %panels + 1 {
///      if %p < %panels { … each rank fetches what the iterations of panel %p in its blocks read }
///      if %p > 0 {       // panel %p - 1, whose iterations are %from .. %to - 1; meanwhile, panel %p travels
///        loop %r in %local_first .. %local_end { launch @product_panel(%ar, %br, %cr, …, %from, %to, %acc_keptr) } }
///      if %panels > 2 { rewritten %a ; rewritten %b }   // panel %p - 1
///      finish_fetches }
///
/// So of each tensor in `panels`, a rank has at most two panels of other ranks: one that its blocks read, and one that travels.
void LaunchInPanels(LaunchCode& code, const PanelKernel& kernel, const Panels& panels,
                    const std::vector<LaunchAxis>& axes, const std::vector<RankArgument>& arguments,
                    const std::vector<RankNeed>& needs);

}  // namespace kdl::passes
