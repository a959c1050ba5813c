#pragma once

#include <cstdint>
#include <string>

#include "draw_kernel.h"
#include "plant_fault.h"

namespace kdl::fuzz {

enum class Verdict : uint8_t {
  Accepted,   ///< and clean under the watch
  Definite,   ///< refused with a counter-example, which the watch confirms where it can
  Unproven,   ///< refused without one
  Malformed,  ///< no kernel of the language: the drawer's mistake
  Unsound,    ///< accepted, and the watch finds something
  Differs,    ///< accepted, and compiled code leaves something else than the interpreter
  Untrue,     ///< refused with a counter-example, and the watch finds nothing there
};

struct Judgement {
  Verdict verdict = Verdict::Accepted;
  std::string what;   ///< the first error, or what the watch has found
  int64_t runs = 0;   ///< under the watch
  int64_t stops = 0;  ///< of these, ended by a check at run time: they say nothing
};

/// Compiles a kernel up to the proofs, and runs it under the watch: one that is accepted for several sizes, numbers of
/// cores and inputs, one that is refused with a counter-example at the sizes of that.
Judgement JudgeKernel(const DrawnKernel& kernel, uint64_t seed);

/// Whether the watch finds something in the kernel, which the proofs refuse: with a fault they might let it pass.
bool IsRightlyRefused(const std::string& text, uint64_t seed);

/// Whether the proofs, with the fault, accept the kernel; false where it has nothing that the fault is about.
bool IsAcceptedWith(const Fault& fault, const std::string& text);

}  // namespace kdl::fuzz
