#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "driver/options.h"
#include "driver/run/arguments.h"
#include "ir/module.h"
#include "sema/model/checked.h"
#include "support/diagnostics.h"

namespace kdl::driver {

/// Returns what to run: the program or kernel that the options name, or else the only exported
/// program, the only program, or the only kernel. If it has instances for several element types,
/// the dtypes of the files select one of them. On error, reports it and returns null.
ir::Function* SelectFunction(const ir::Module& module, const std::string& file,
                             const std::vector<ArgumentSpec>& arguments, const Options& options,
                             DiagnosticEngine& diagnostics);

/// Whether the name denotes the function. `matmul` denotes all instances, `matmul.f32` only one.
bool IsNamed(const ir::Function& function, std::string_view name);

/// Whether -D excludes this instance. An excluded instance exists only for launches in the file.
bool IsLeftOut(const ir::Function& instance, const Options& options);

/// Returns values for those integer parameters of the program that no option sets, as far as the
/// sizes of the data determine them. The file must then be compiled again with these values.
std::vector<sema::Define> GenericsFromData(const ir::Function& program,
                                           const std::vector<ArgumentSpec>& arguments,
                                           const Options& options, DiagnosticEngine& diagnostics);

/// Binds those `int` generics of a kernel that have no value yet, from --set and the sizes of the
/// files. Returns false after an error.
bool BindGenerics(ir::Function& kernel, const std::vector<ArgumentSpec>& arguments,
                  const Options& options, DiagnosticEngine& diagnostics);

/// Returns the options without the --set values of the kernel's constants, which must already be
/// bound. --set can give both sizes and constants.
Options WithoutConstants(const Options& options, const ir::Function& kernel);

/// Returns the instances of the kernels that --kernel names, such as `matmul` or `matmul.f32`.
/// Without --kernel, returns the instances of the exported kernels, or of all kernels if none is
/// exported. On error, reports it and returns nothing.
std::vector<ir::Function*> SelectKernels(const ir::Module& module, const std::string& file,
                                         const Options& options, DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
