#pragma once

#include <cstdint>
#include <string>

#include "draw_kernel.h"
#include "plant_fault.h"

namespace kdl::fuzz {

enum class Verdict : uint8_t {
  Accepted,   ///< accepted, and clean under the sanitizer
  Definite,   ///< refused with a counterexample, which the sanitizer confirms if it can
  Unproven,   ///< refused without a counterexample
  Malformed,  ///< invalid in the language: a bug in this fuzzer
  Unsound,    ///< accepted, but the sanitizer finds an error
  Differs,    ///< accepted, but compiled code and the interpreter give different results
  Untrue,     ///< refused with a counterexample at which the sanitizer finds nothing
};

struct Judgement {
  Verdict verdict = Verdict::Accepted;
  std::string what;   ///< the first error, or what the sanitizer found
  int64_t runs = 0;   ///< number of runs under the sanitizer
  int64_t stops = 0;  ///< number of runs that a run-time check ended; these prove nothing
};

/// Compiles a kernel up to the proofs and runs it under the sanitizer. An accepted kernel runs for several
/// sizes, numbers of cores and inputs. A kernel refused with a counterexample runs at the counterexample's
/// sizes.
Judgement JudgeKernel(const DrawnKernel& kernel, uint64_t seed);

/// Returns whether the sanitizer finds an error in the kernel, which the proofs refuse. Such a kernel can
/// show that a fault planted in the proofs is noticed: the faulty proofs may accept it.
bool IsRightlyRefused(const std::string& text, uint64_t seed);

/// Returns whether the proofs accept the kernel with the planted fault. Returns false if the kernel has
/// nothing that the fault changes.
bool IsAcceptedWith(const Fault& fault, const std::string& text);

}  // namespace kdl::fuzz
