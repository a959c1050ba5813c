#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/orchestration/cpp_names.h"
#include "codegen/orchestration/writer.h"
#include "ir/module.h"

namespace kdl::codegen {

/// A parameter as C and C++ see it.
struct FaceParam {
  const ir::Param* param = nullptr;
  std::string name;      ///< an identifier in C++
  std::string declared;  ///< as in the source: "in T[M, K]", "f32"
  std::string owner;  ///< of a program's tensor that may be anywhere: the device that first uses it
  bool is_tensor = false;
  bool any_scalar = false;  ///< a scalar whose type depends on the variant

  std::string CppType() const;
  std::string CType() const;
};

/// `int64_t`, `uint16_t` of f16 …
std::string CType(Scalar scalar);

/// An integer parameter of a kernel that its tensors do not tell: the caller gives it.
struct FaceConstant {
  std::string source_name;
  std::string name;  ///< an identifier in C++
};

/// An exported kernel, all its variants together, or an exported program.
struct FaceFunction {
  std::string source_name;
  std::string name;  ///< in its C++ namespace
  std::string c_name;
  std::string launch_name;  ///< of a kernel: what gives it to a queue, besides what runs it
  std::string doc;
  std::string
      note;  ///< what the doc cannot say: the types that T stands for, the values of constants
  std::vector<const ir::Function*> functions;
  std::vector<FaceParam> params;
  std::vector<FaceConstant> constants;
  bool is_variant = false;  ///< one of several behind a face, which its file alone sees
};

/// One instance of an exported kernel, as a function over pointers and sizes.
struct FaceCall {
  std::string name;  ///< a member of the class of C++
  std::string c_name;
  std::string c_async_name;
  std::string looked_up;  ///< what the runtime knows it as: "mlp#1f2e3d4c.scale<T=f32>"
  std::string doc;
  std::vector<FaceParam> params;
  std::vector<FaceConstant> sizes;  ///< those that the tensors' dimensions are made of
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
  std::string name;  ///< in C++
  std::string spec;  ///< empty: a promise
};

/// The classes of C++: of what says where programs run, and over the functions with pointers.
constexpr std::string_view kDevicesType = "Devices";
constexpr std::string_view kKernelsType = "Kernels";

/// What NAME.h declares.
struct ModuleFace {
  std::string module_name;
  std::string runtime_name;   ///< what the runtime knows it as: "mlp#1f2e3d4c"
  std::string name_space;     ///< of C++
  std::string c_prefix;       ///< of C names: "mlp_"
  std::string c_devices;      ///< the struct of C that says where programs run
  std::string images;         ///< the images in C and C++
  std::string images_symbol;  ///< and for the linker
  std::string
      calls_symbol;  ///< that NAME.c defines, named by the module's contents; kdl/link.h says why
  std::string orch_symbol;  ///< and NAME.orch.cpp
  std::vector<FaceDevice> devices;
  std::vector<FaceFunction> kernels;
  std::vector<FaceFunction> programs;
  FaceCalls calls;
};

/// `specs`: what the runtime is to read for each device, by its name; without, what the source says.
ModuleFace MakeFace(const ir::Module& module, const std::string& runtime_name,
                    const std::map<std::string, std::string>& specs = {});

/// One of the functions behind a face, under a name of its own.
FaceFunction OnlyFunction(const FaceFunction& face, size_t index);

/// `std::int64_t`, `kdl::F16` …
std::string CppType(Scalar scalar);

/// The C++ and C declarations of a function, up to their closing parenthesis. Defaults belong into the header only.
enum class Defaults : uint8_t { Given, Absent };
/// What a function does with a kernel: runs it to its end, or gives it to the queue.
enum class Way : uint8_t { Run, Launch };
void DeclareKernel(Writer& writer, const FaceFunction& kernel, Way way, Defaults defaults,
                   std::string_view tail);
void DeclareProgram(Writer& writer, const ModuleFace& face, const FaceFunction& program,
                    Defaults defaults, std::string_view tail);
void DeclareCProgram(Writer& writer, const ModuleFace& face, const FaceFunction& program,
                     std::string_view tail);

/// Names of parameters and locals of generated functions, clear of the user's parameters.
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
OwnNames NamesBeside(const std::vector<FaceParam>& params,
                     const std::vector<FaceConstant>& constants);

/// The parameters of variants, named for C++.
std::vector<FaceParam> ParamsOf(const std::vector<const ir::Function*>& variants);

// calls.cpp
/// `c_names`: those of the module so far.
void AddCalls(ModuleFace& face, CppNames& c_names);
void DeclareCalls(Writer& writer, const FaceCalls& calls);
void DeclareCallsClass(Writer& writer, const FaceCalls& calls);

// launchers.cpp
void PrintLaunchers(Writer& writer, const ModuleFace& face);
void PrintCPrograms(Writer& writer, const ModuleFace& face);

/// What a program becomes.
enum class Language : uint8_t { Cpp, C };

// program.cpp
void PrintProgram(Writer& writer, Language language, const ir::Module& module,
                  const ModuleFace& face, const FaceFunction& program);

}  // namespace kdl::codegen
