#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "driver/run/arguments.h"
#include "driver/run/contracts.h"

namespace kdl::tools {

/// The classes of special values that inputs can contain: first those for floats, then those for
/// integers. Each class is a draw of its own, so that one special value cannot hide the effect of another:
/// a NaN, for example, decides the maximum of its row.
enum class InputClass : uint8_t {
  Ordinary,
  MinusInfinity,
  PlusInfinity,
  NaN,          ///< in some of the rows
  Tiny,         ///< zeros and subnormal numbers among others
  SignedZeros,  ///< every float is 0.0 or -0.0
  Infinities,   ///< most floats are infinities, in some rows all with the same sign
  Ties,         ///< every float is one of three numbers
  Zero,
  Ends
};
inline constexpr InputClass kSpecialInputClasses[] = {
    InputClass::MinusInfinity, InputClass::PlusInfinity, InputClass::NaN,
    InputClass::Tiny,          InputClass::SignedZeros,  InputClass::Infinities,
    InputClass::Ties,          InputClass::Zero,         InputClass::Ends};
std::string_view Describe(InputClass input_class);

enum class DrawEnd : uint8_t {
  Done,
  Excluded,  ///< `requires` excludes the class or the shape
  Failed,    ///< random inputs did not meet `requires`
};
struct DrawResult {
  DrawEnd end = DrawEnd::Done;
  std::optional<interp::ContractFailure> broken;  ///< for Failed, the requirement that is not met
};

/// How to generate inputs.
struct DrawPlan {
  const driver::BoundContract& contract;
  /// Indices of arguments that need small values (driver/run/loop_inputs.h).
  std::set<size_t> loop_inputs;
  uint64_t seed = 1;         ///< seed of the first argument
  uint64_t seed_step = 101;  ///< added to the seed for each further argument
};

/// Generates the arguments that have `is_drawn` set, so that they meet the contract's requirements.
/// Bounds, ascending order and fixed elements are satisfied directly. Other requirements are
/// satisfied by trial and error. The shapes in `bound` must already be set.
DrawResult DrawInputs(const DrawPlan& plan, InputClass input_class, driver::BoundProgram& bound);

/// Reports that no valid inputs were found.
void ReportNotDrawn(const interp::ContractFailure& broken, const SourceManager& sources,
                    DiagnosticEngine& report);

/// Generates the arguments of a kernel that no --arg specifies, so that they meet the kernel's
/// requirements. On error, reports it and returns false. If the sizes or the given arguments
/// violate a requirement, the launch reports it.
bool DrawUngiven(const driver::BoundContract& contract, const ir::Function& kernel,
                 const SourceManager& sources, driver::BoundProgram& bound,
                 DiagnosticEngine& report);

}  // namespace kdl::tools
