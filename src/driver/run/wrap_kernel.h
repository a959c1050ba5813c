#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/module.h"

namespace kdl::driver {

/// Adds a program to the module that launches the kernel once, with the kernel's own parameters and sizes:
///   program @f.run dims(%N) (%x: tensor<f32,[N]> in) { launch @f on … (%x) }
/// Generics that have one value stand as that value in its types. An empty device: the passes choose it.
/// With WrapCores::Parameter the program is `f.cores` and has one parameter more, the number of cores, an i64.
enum class WrapCores : uint8_t { Auto, Parameter };
ir::Function* WrapKernel(ir::Module& module, const ir::Function& kernel, Name device,
                         WrapCores cores = WrapCores::Auto);

/// Gives every launch of the program that leaves the number of cores to the device this one.
void SetCoreNum(ir::Module& module, ir::Function& program, int64_t core_num);

/// Removes the programs other than these, and the kernels that they do not launch.
void KeepOnly(ir::Module& module, const std::vector<const ir::Function*>& programs);

}  // namespace kdl::driver
