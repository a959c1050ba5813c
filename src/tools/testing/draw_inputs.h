#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "driver/run/arguments.h"
#include "driver/run/contracts.h"

namespace kdl::tools {

/// What inputs hold besides ordinary numbers: of floats, then of integers.
enum class InputClass : uint8_t { Ordinary, MinusInfinity, PlusInfinity, NaN, Tiny, Zero, Ends };
inline constexpr InputClass kAllInputClasses[] = {
    InputClass::Ordinary, InputClass::MinusInfinity, InputClass::PlusInfinity, InputClass::NaN,
    InputClass::Tiny,     InputClass::Zero,          InputClass::Ends};
std::string_view Describe(InputClass input_class);

enum class DrawEnd : uint8_t {
  Done,
  Excluded,  ///< `requires` excludes the class, or the shape
  Failed,    ///< what `requires` says was not met by chance
};
struct DrawResult {
  DrawEnd end = DrawEnd::Done;
  std::optional<interp::ContractFailure> broken;  ///< of Failed: what does not hold
};

/// What inputs are drawn for.
struct DrawPlan {
  const driver::BoundContract& contract;
  std::set<size_t> loop_inputs;  ///< arguments that stay small (driver/loop_inputs.h)
  uint64_t seed = 1;             ///< of the first argument
  uint64_t seed_step = 101;      ///< from one argument to the next
};

/// Draws the arguments that are drawn anew, such that the contract's requirements hold: bounds, ascending order and fixed
/// elements are solved, everything else is tried. `bound` has its shapes.
DrawResult DrawInputs(const DrawPlan& plan, InputClass input_class, driver::BoundProgram& bound);

/// Reports that no inputs were found.
void ReportNotDrawn(const interp::ContractFailure& broken, const SourceManager& sources,
                    DiagnosticEngine& report);

/// Draws what no --arg gives to a kernel, such that its requirements hold. False after a report. Where sizes or the
/// given arguments break them alone, that is for the launch to say.
bool DrawUngiven(const driver::BoundContract& contract, const ir::Function& kernel,
                 const SourceManager& sources, driver::BoundProgram& bound,
                 DiagnosticEngine& report);

}  // namespace kdl::tools
