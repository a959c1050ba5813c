#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/module.h"

namespace kdl::driver {

/// Adds a program that launches the kernel once. The program has the kernel's parameters and sizes:
///   program @f.run dims(%N) (%x: tensor<f32,[N]> in) { launch @f on … (%x) }
/// In the parameter types, generics with a single value are replaced with that value. If `device`
/// is empty, the passes choose a device. With WrapCores::Parameter, the program is named `f.cores`
/// and has an additional i64 parameter, the number of cores.
enum class WrapCores : uint8_t { Auto, Parameter };
ir::Function* WrapKernel(ir::Module& module, const ir::Function& kernel, Name device,
                         WrapCores cores = WrapCores::Auto);

/// Sets the number of cores for every launch of the program that does not specify it.
void SetCoreNum(ir::Module& module, ir::Function& program, int64_t core_num);

/// Removes all programs except `programs`, and all kernels that these do not launch.
void KeepOnly(ir::Module& module, const std::vector<const ir::Function*>& programs);

}  // namespace kdl::driver
