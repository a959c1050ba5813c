#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>

#include "codegen/orchestration/interface.h"
#include "codegen/orchestration/orchestration.h"
#include "codegen/orchestration/writer.h"
#include "ir/module.h"

namespace kdl::codegen {

namespace {

/// Prints a function's doc comment from the source, its note, and one line for each parameter.
void Describe(Writer& writer, std::string_view prefix, const FaceFunction& function) {
  writer.Doc(prefix, function.doc);
  if (!function.note.empty()) writer.Line(fmt::format("{} {}", prefix, function.note));
  for (const FaceParam& param : function.params) {
    std::string owner = param.owner.empty() ? "" : ", first used on " + param.owner;
    writer.Line(fmt::format("{}   {}: {}{}", prefix, param.name, param.declared, owner));
  }
}

/// Says who must call a program over ranks.
void DescribeRanks(Writer& writer, const FaceFunction& program) {
  if (!UsesRanks(*program.functions[0])) return;
  writer.Line(
      "/// Collective: after kdl_use_mpi, all processes must call it, with the same arguments. If "
      "it");
  writer.Line("/// fails in one of them, it fails in all with the same error, and they can go on.");
}

/// Prints a reference to the symbol, so that users of the header link the object that defines it.
void ReferTo(Writer& writer, const std::string& symbol) {
  writer.Line();
  writer.Line(fmt::format("KDL_REFERS_TO({});", symbol));
}

std::string SpecComment(const FaceDevice& device) {
  return device.spec.empty() ? "not bound: the caller must bind it" : device.spec;
}

void PrintC(Writer& writer, const ModuleFace& face) {
  writer.Line("#ifdef __cplusplus");
  writer.Line("extern \"C\" {");
  writer.Line("#endif");
  writer.Line();
  writer.Line(
      "// The compiled kernels: pass them to kdl_context_register_all or Context::Register.");
  writer.Line(
      "// The symbol depends on the contents, so a program can link libraries with files of the "
      "same name.");
  writer.Line(fmt::format("extern const kdl_image* const {}[] __asm__({});", face.images,
                          Quoted(face.images_symbol)));
  if (!face.programs.empty() && !face.devices.empty()) {
    writer.Line();
    writer.Line(
        "// Where programs run, as device specs. NULL, for a field or the whole struct: the spec "
        "in the comment.");
    writer.Line(fmt::format("typedef struct {} {{", face.c_devices));
    for (const FaceDevice& device : face.devices) {
      writer.Line(fmt::format("  const char* {};  // {}", device.name, SpecComment(device)));
    }
    writer.Line(fmt::format("}} {};", face.c_devices));
  }
  for (const FaceFunction& program : face.programs) {
    writer.Line();
    Describe(writer, "///", program);
    DescribeRanks(writer, program);
    writer.Line("/// Returns when everything has completed.");
    DeclareCProgram(writer, face, program, ");");
  }
  if (!face.programs.empty()) ReferTo(writer, face.orch_symbol);
  if (!face.calls.calls.empty()) {
    DeclareCalls(writer, face.calls);
    ReferTo(writer, face.calls_symbol);
  }
  writer.Line();
  writer.Line("#ifdef __cplusplus");
  writer.Line("}  // extern \"C\"");
}

void PrintCallsClass(Writer& writer, const ModuleFace& face) {
  if (face.calls.calls.empty()) return;
  writer.Line();
  writer.Line("#include \"kdl/calls.hpp\"");
  writer.Line();
  writer.Line(fmt::format("namespace {} {{", face.name_space));
  DeclareCallsClass(writer, face.calls);
  writer.Line();
  writer.Line(fmt::format("}}  // namespace {}", face.name_space));
}

void PrintCpp(Writer& writer, const ModuleFace& face) {
  writer.Line();
  writer.Line("#if __cplusplus >= 202002L && defined(__cpp_exceptions)");
  writer.Line("#include \"kdl/runtime.hpp\"");
  writer.Line();
  writer.Line(fmt::format("namespace {} {{", face.name_space));
  if (!face.programs.empty() && !face.devices.empty()) {
    writer.Line();
    writer.Line("// Where programs run, as device specs: `{." + face.devices[0].name +
                " = \"debug\"}` moves one.");
    writer.Line(fmt::format("struct {} {{", kDevicesType));
    for (const FaceDevice& device : face.devices) {
      std::string comment = device.spec.empty() ? "  // " + SpecComment(device) : "";
      writer.Line(
          fmt::format("  const char* {} = {};{}", device.name, Quoted(device.spec), comment));
    }
    writer.Line("};");
  }
  for (const FaceFunction& program : face.programs) {
    writer.Line();
    Describe(writer, "///", program);
    DescribeRanks(writer, program);
    writer.Line("/// Returns when everything has completed; throws kdl::Error.");
    DeclareProgram(writer, face, program, Defaults::Given, ");");
  }
  for (const FaceFunction& kernel : face.kernels) {
    writer.Line();
    Describe(writer, "///", kernel);
    writer.Line("/// Runs the kernel and returns when it has completed; throws kdl::Error.");
    writer.Line("/// KDL_CORES_AUTO: as many cores as the device runs at once.");
    DeclareKernel(writer, kernel, Way::Run, Defaults::Given, ");");
    writer.Line("/// Launches the kernel without waiting for it.");
    DeclareKernel(writer, kernel, Way::Launch, Defaults::Given, ");");
  }
  writer.Line();
  writer.Line(fmt::format("}}  // namespace {}", face.name_space));
  if (face.programs.empty() && !face.kernels.empty()) ReferTo(writer, face.orch_symbol);
  writer.Line("#endif");
  writer.Line("#endif");
}

}  // namespace

std::string PrintHeader(const ir::Module& module, const std::string& runtime_name,
                        const std::map<std::string, std::string>& specs) {
  ModuleFace face = MakeFace(module, runtime_name, specs);
  Writer writer;
  writer.Line(fmt::format(
      "// {}.kdl for C11 and, in namespace {}, for C++17 and C++20. Generated by kernelc.",
      face.module_name, face.name_space));
  writer.Line("#pragma once");
  writer.Line();
  writer.Line("#include <stdbool.h>");
  writer.Line("#include <stdint.h>");
  writer.Line();
  writer.Line("#include \"kdl/runtime.h\"");
  writer.Line();
  PrintC(writer, face);
  PrintCallsClass(writer, face);
  PrintCpp(writer, face);
  return writer.Take();
}

}  // namespace kdl::codegen
