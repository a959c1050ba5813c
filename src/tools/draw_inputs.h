#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "driver/arguments.h"
#include "driver/contracts.h"

namespace kdl::tools {

/// What inputs hold beside ordinary numbers: of floats, then of integers.
enum class InputClass : uint8_t { Ordinary, MinusInfinity, PlusInfinity, NaN, Zero, Ends };
inline constexpr InputClass kAllInputClasses[] = {
    InputClass::Ordinary, InputClass::MinusInfinity, InputClass::PlusInfinity,
    InputClass::NaN,      InputClass::Zero,          InputClass::Ends};
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

/// Draws the `in` and `inout` arguments anew, such that the contract's requirements hold: bounds, ascending order and fixed
/// elements are solved, everything else is tried. `bound` has its shapes.
DrawResult DrawInputs(const driver::BoundContract& contract, uint64_t seed, InputClass input_class,
                      driver::BoundProgram& bound);

}  // namespace kdl::tools
