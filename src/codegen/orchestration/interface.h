#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/orchestration/cpp_names.h"
#include "codegen/orchestration/writer.h"
#include "ir/module.h"

namespace kdl::codegen {

/// A parameter of a function in the generated C and C++ interface.
struct FaceParam {
  const ir::Param* param = nullptr;
  std::string name;      ///< a valid identifier in C++
  std::string declared;  ///< declaration in the source: "in T[M, K]", "f32"
  /// For a program's tensor that may be on any device: the device that first uses it.
  std::string owner;
  bool is_tensor = false;
  bool is_absent = false;   ///< whether this is an optional tensor for which nothing is passed
  bool any_scalar = false;  ///< whether this is a scalar whose type depends on the variant

  std::string CppType() const;
  std::string CType() const;
};

/// Returns the C type of a scalar, such as `int64_t`, or `uint16_t` for f16.
std::string CType(Scalar scalar);

/// An integer parameter of a kernel that the caller must pass, since the tensors do not determine it.
struct FaceConstant {
  std::string source_name;
  std::string name;  ///< a valid identifier in C++
};

/// An exported kernel with all its variants, or an exported program.
struct FaceFunction {
  std::string source_name;
  std::string name;  ///< name in its C++ namespace
  std::string c_name;
  std::string launch_name;  ///< for a kernel: the function that only submits it to a queue
  std::string doc;
  /// Additional documentation: the possible types of T, the possible values of constants.
  std::string note;
  std::vector<const ir::Function*> functions;
  std::vector<FaceParam> params;
  std::vector<FaceConstant> constants;
  /// Whether this is one of several functions for the element types of a program. Such a function is private
  /// to its file.
  bool is_variant = false;
};

/// One instance of an exported kernel, as a function that takes pointers and sizes.
struct FaceCall {
  std::string name;  ///< name of the member function of the C++ class
  std::string c_name;
  std::string c_async_name;
  std::string bind_name;  ///< name of the member function that binds the arguments
  std::string c_bound_type;
  std::string c_bind_name;
  std::string c_call_name;
  std::string c_unbind_name;
  std::string looked_up;  ///< the instance's name in the runtime: "mlp#1f2e3d4c.scale<T=f32>"
  std::string doc;
  std::vector<FaceParam> params;
  std::vector<FaceConstant> sizes;  ///< sizes that the tensors' dimensions depend on
};

/// The kernels of a module on one device, as functions that take pointers.
struct FaceCalls {
  std::string c_type;
  std::string c_open;
  std::string c_close;
  std::vector<FaceCall> calls;
};

struct FaceDevice {
  std::string source_name;
  std::string name;  ///< name in C++
  std::string spec;  ///< empty if the caller binds the device
};

/// The names of two C++ classes: the first states where programs run, the second wraps the functions that
/// take pointers.
constexpr std::string_view kDevicesType = "Devices";
constexpr std::string_view kKernelsType = "Kernels";

/// Everything that the generated header NAME.h declares.
struct ModuleFace {
  std::string module_name;
  std::string runtime_name;   ///< the module's name in the runtime: "mlp#1f2e3d4c"
  std::string name_space;     ///< namespace in C++
  std::string c_prefix;       ///< prefix of C names: "mlp_"
  std::string c_devices;      ///< the C struct that states where programs run
  std::string images;         ///< name of the compiled images in C and C++
  std::string images_symbol;  ///< name of the compiled images for the linker
  /// Linker symbol defined in NAME.c, named after the module's contents (kdl/link.h).
  std::string calls_symbol;
  std::string orch_symbol;  ///< linker symbol defined in NAME.orch.cpp, named in the same way
  std::vector<FaceDevice> devices;
  std::vector<FaceFunction> kernels;
  std::vector<FaceFunction> programs;
  FaceCalls calls;
};

/// Return whether an op of a program, or the program, needs the ranks of a device.
bool UsesRanks(const ir::Op* op);
bool UsesRanks(const ir::Function& program);

/// Returns the interface of a module. `specs` contains, by device name, the specs that the runtime reads.
/// Devices without an entry use the spec in the source.
ModuleFace MakeFace(const ir::Module& module, const std::string& runtime_name,
                    const std::map<std::string, std::string>& specs = {});

/// Returns the interface of only one of the functions in `face`, under a separate name.
FaceFunction OnlyFunction(const FaceFunction& face, size_t index);

/// Returns the C++ type of a scalar, such as `std::int64_t` or `kdl::F16`.
std::string CppType(Scalar scalar);

/// Whether a declaration has default arguments. Only declarations in the header do.
enum class Defaults : uint8_t { Given, Absent };
/// Whether a function waits until the kernel has completed, or only submits the kernel to a queue. The
/// functions below print a declaration up to its closing parenthesis, and then `tail`.
enum class Way : uint8_t { Run, Launch };
void DeclareKernel(Writer& writer, const FaceFunction& kernel, Way way, Defaults defaults,
                   std::string_view tail);
void DeclareProgram(Writer& writer, const ModuleFace& face, const FaceFunction& program,
                    Defaults defaults, std::string_view tail);
void DeclareCProgram(Writer& writer, const ModuleFace& face, const FaceFunction& program,
                     std::string_view tail);

/// Names of the parameters and local variables that generated functions add. They differ from the names of
/// the user's parameters.
struct OwnNames {
  std::string context;
  std::string devices;
  std::string queue;
  std::string core_num;
  std::string after;
  std::string after_count;
  std::string done;
  std::string kernels;
  std::string bound;
  std::string made;
  std::string status;
  std::string sizes;
  std::string values;
  std::string run;
};
OwnNames OtherNames(const std::vector<FaceParam>& params,
                    const std::vector<FaceConstant>& constants);

/// Returns the parameters that all variants share, with names that are valid in C++.
std::vector<FaceParam> FaceParamsOf(const std::vector<const ir::Function*>& variants);

/// Returns the values of an integer parameter. There are none if the variant does not have it, because only tensors that
/// are absent use it.
std::vector<int64_t> GenericValues(const ir::Function& variant, Name generic);

// calls.cpp
/// Adds the functions that take pointers. `c_names` contains the C names that the module already uses.
void AddCalls(ModuleFace& face, CppNames& c_names);
void DeclareCalls(Writer& writer, const FaceCalls& calls);
void DeclareCallsClass(Writer& writer, const FaceCalls& calls);

// launchers.cpp
void PrintLaunchers(Writer& writer, const ModuleFace& face);
void PrintCPrograms(Writer& writer, const ModuleFace& face);

/// The language in which a program is printed.
enum class Language : uint8_t { Cpp, C };

// program.cpp
void PrintProgram(Writer& writer, Language language, const ir::Module& module,
                  const ModuleFace& face, const FaceFunction& program);

}  // namespace kdl::codegen
