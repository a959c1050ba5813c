#pragma once

#include "ir/module.h"

namespace kdl::driver {

/// Gives each program with checkpoints a number that identifies what it computes, so that it only continues at its own files. If the
/// module has ranks, gives one to all programs, so that the processes can check that they run the same one. The number is a checksum of the program and of the functions that it uses, as the front end has translated them: places in the
/// source and comments do not change it, and it is the same for `kernelc run` and for everything that `kernelc build` writes.
/// A program that was read as KIR keeps the number that its text states.
void IdentifyPrograms(ir::Module& module);

}  // namespace kdl::driver
