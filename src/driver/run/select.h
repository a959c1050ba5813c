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
/// the dtypes of the files select an instance. Returns null after an error.
ir::Function* SelectFunction(const ir::Module& module, const std::string& file,
                             const std::vector<ArgumentSpec>& arguments, const Options& options,
                             DiagnosticEngine& diagnostics);

/// Whether the name denotes the function. `matmul` denotes all instances, `matmul.f32` only one.
bool IsNamed(const ir::Function& function, std::string_view name);

/// Whether -D excludes this instance. An excluded instance exists only for launches in the file.
bool IsLeftOut(const ir::Function& instance, const Options& options);

/// Derives the values of a program's integer parameters from the data, for parameters that no
/// option sets. The file must then be compiled again with these values.
std::vector<sema::Define> GenericsFromData(const ir::Function& program,
                                           const std::vector<ArgumentSpec>& arguments,
                                           const Options& options, DiagnosticEngine& diagnostics);

/// Binds the open `int` generics of a kernel from --set and the sizes of the files. Returns false
/// after an error.
bool BindGenerics(ir::Function& kernel, const std::vector<ArgumentSpec>& arguments,
                  const Options& options, DiagnosticEngine& diagnostics);

/// Returns the options without the --set values that give constants of the kernel, once these
/// constants are bound. --set can give both sizes and constants.
Options WithoutConstants(const Options& options, const ir::Function& kernel);

/// Returns the instances of the kernels that --kernel names, such as `matmul` or `matmul.f32`.
/// Without it, returns those of the exported kernels, or of all kernels if none is exported.
/// Returns nothing after an error.
std::vector<ir::Function*> SelectKernels(const ir::Module& module, const std::string& file,
                                         const Options& options, DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
