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

/// What is to run: the program or kernel that the options name, else the only exported program, else the only program,
/// else the only kernel. One that is made for several element types is picked by the dtypes of the files. Null after an
/// error.
ir::Function* SelectFunction(const ir::Module& module, const std::string& file,
                             const std::vector<ArgumentSpec>& arguments, const Options& options,
                             DiagnosticEngine& diagnostics);

/// `matmul` names all instances, `matmul.f32` one.
bool IsNamed(const ir::Function& function, std::string_view name);

/// Whether -D names other kinds than the instance's: it is there for launches of the file alone.
bool IsLeftOut(const ir::Function& instance, const Options& options);

/// What the data says of integer parameters of a program to which nothing gives values: with them the file is compiled
/// anew.
std::vector<sema::Define> GenericsFromData(const ir::Function& program,
                                           const std::vector<ArgumentSpec>& arguments,
                                           const Options& options, DiagnosticEngine& diagnostics);

/// Gives open `int` generics of a kernel the values that the data says: sizes of the files, --set. False after an error.
bool BindGenerics(ir::Function& kernel, const std::vector<ArgumentSpec>& arguments,
                  const Options& options, DiagnosticEngine& diagnostics);

/// --set gives sizes, and constants of a kernel: what is left of it once the constants are bound.
Options WithoutConstants(const Options& options, const ir::Function& kernel);

/// The instances of the kernels that --kernel names, as `matmul` or `matmul.f32`; without it of the exported ones, or of all where
/// none is. Empty after an error.
std::vector<ir::Function*> SelectKernels(const ir::Module& module, const std::string& file,
                                         const Options& options, DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
