#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/module.h"

namespace kdl::driver {

/// Adds a program to the module that launches the kernel once, with the kernel's own parameters and sizes:
///   program @f.run dims(%N) (%x: tensor<f32,[N]> in) { launch @f on … (%x) }
/// Generics that have one value stand as that value in its types. An empty device: the passes choose it.
ir::Function* WrapKernel(ir::Module& module, const ir::Function& kernel, Name device);

/// Gives every launch of the program that leaves the number of cores to the device this one.
void SetCoreNum(ir::Module& module, ir::Function& program, int64_t core_num);

/// Removes the programs other than this one, and the kernels that it does not launch.
void KeepOnly(ir::Module& module, const ir::Function& program);

}  // namespace kdl::driver
