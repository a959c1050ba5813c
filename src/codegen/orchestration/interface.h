#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/orchestration/cpp_names.h"
#include "codegen/orchestration/writer.h"
#include "ir/module.h"

namespace kdl::codegen {

/// A parameter in the C and C++ interface.
struct FaceParam {
  const ir::Param* param = nullptr;
  std::string name;      ///< a valid identifier in C++
  std::string declared;  ///< as in the source: "in T[M, K]", "f32"
  std::string
      owner;  ///< for a program's tensor that may be anywhere: the device that first uses it
  bool is_tensor = false;
  bool any_scalar = false;  ///< a scalar whose type depends on the variant

  std::string CppType() const;
  std::string CType() const;
};

/// Returns the C type: `int64_t`, `uint16_t` for f16 …
std::string CType(Scalar scalar);

/// An integer parameter of a kernel that the caller passes, since the tensors do not determine it.
struct FaceConstant {
  std::string source_name;
  std::string name;  ///< a valid identifier in C++
};

/// An exported kernel with all its variants, or an exported program.
struct FaceFunction {
  std::string source_name;
  std::string name;  ///< name in its C++ namespace
  std::string c_name;
  std::string launch_name;  ///< for a kernel: the function that only puts it into a queue
  std::string doc;
  std::string note;  ///< an addition to the doc: the types that T may be, the values of constants
  std::vector<const ir::Function*> functions;
  std::vector<FaceParam> params;
  std::vector<FaceConstant> constants;
  bool is_variant =
      false;  ///< one of several functions of an interface, for use in its own file only
};

/// One instance of an exported kernel, as a function of pointers and sizes.
struct FaceCall {
  std::string name;  ///< a member of the C++ class
  std::string c_name;
  std::string c_async_name;
  std::string looked_up;  ///< its name in the runtime: "mlp#1f2e3d4c.scale<T=f32>"
  std::string doc;
  std::vector<FaceParam> params;
  std::vector<FaceConstant> sizes;  ///< sizes on which the tensors' dimensions depend
};

/// The kernels of a module on a device, for callers with pointers.
struct FaceCalls {
  std::string c_type;
  std::string c_open;
  std::string c_close;
  std::vector<FaceCall> calls;
};

struct FaceDevice {
  std::string source_name;
  std::string name;  ///< name in C++
  std::string spec;  ///< empty: the caller binds the device
};

/// The names of two C++ classes: one says where programs run, the other wraps the functions with pointers.
constexpr std::string_view kDevicesType = "Devices";
constexpr std::string_view kKernelsType = "Kernels";

/// What NAME.h declares.
struct ModuleFace {
  std::string module_name;
  std::string runtime_name;   ///< its name in the runtime: "mlp#1f2e3d4c"
  std::string name_space;     ///< namespace in C++
  std::string c_prefix;       ///< prefix of C names: "mlp_"
  std::string c_devices;      ///< the C struct that says where programs run
  std::string images;         ///< name of the images in C and C++
  std::string images_symbol;  ///< name of the images for the linker
  std::string calls_symbol;   ///< defined in NAME.c, named after the module's contents (kdl/link.h)
  std::string orch_symbol;    ///< defined in NAME.orch.cpp, named in the same way
  std::vector<FaceDevice> devices;
  std::vector<FaceFunction> kernels;
  std::vector<FaceFunction> programs;
  FaceCalls calls;
};

/// Returns the interface of a module. `specs` are the specs that the runtime reads, by device name; other
/// devices have those of the source.
ModuleFace MakeFace(const ir::Module& module, const std::string& runtime_name,
                    const std::map<std::string, std::string>& specs = {});

/// Returns one of the functions of an interface under a name of its own.
FaceFunction OnlyFunction(const FaceFunction& face, size_t index);

/// Returns the C++ type: `std::int64_t`, `kdl::F16` …
std::string CppType(Scalar scalar);

/// Whether a declaration has default arguments. Only the declarations in the header do.
enum class Defaults : uint8_t { Given, Absent };
/// Whether a function runs a kernel to its end, or only puts it into the queue. The functions below print
/// declarations up to the closing parenthesis.
enum class Way : uint8_t { Run, Launch };
void DeclareKernel(Writer& writer, const FaceFunction& kernel, Way way, Defaults defaults,
                   std::string_view tail);
void DeclareProgram(Writer& writer, const ModuleFace& face, const FaceFunction& program,
                    Defaults defaults, std::string_view tail);
void DeclareCProgram(Writer& writer, const ModuleFace& face, const FaceFunction& program,
                     std::string_view tail);

/// Names of parameters and local variables of generated functions. They differ from the user's parameters.
struct OwnNames {
  std::string context;
  std::string devices;
  std::string queue;
  std::string core_num;
  std::string after;
  std::string after_count;
  std::string done;
  std::string kernels;
  std::string sizes;
  std::string values;
  std::string run;
};
OwnNames OtherNames(const std::vector<FaceParam>& params,
                    const std::vector<FaceConstant>& constants);

/// Returns the parameters of variants, named for C++.
std::vector<FaceParam> FaceParamsOf(const std::vector<const ir::Function*>& variants);

// calls.cpp
/// Adds the functions with pointers. `c_names` are the module's names so far.
void AddCalls(ModuleFace& face, CppNames& c_names);
void DeclareCalls(Writer& writer, const FaceCalls& calls);
void DeclareCallsClass(Writer& writer, const FaceCalls& calls);

// launchers.cpp
void PrintLaunchers(Writer& writer, const ModuleFace& face);
void PrintCPrograms(Writer& writer, const ModuleFace& face);

/// The language that a program is printed in.
enum class Language : uint8_t { Cpp, C };

// program.cpp
void PrintProgram(Writer& writer, Language language, const ir::Module& module,
                  const ModuleFace& face, const FaceFunction& program);

}  // namespace kdl::codegen
