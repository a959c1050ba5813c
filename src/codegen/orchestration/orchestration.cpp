#include "codegen/orchestration/orchestration.h"

#include <fmt/format.h>

#include <map>
#include <string>

#include "codegen/orchestration/interface.h"
#include "codegen/orchestration/program_printer.h"
#include "codegen/orchestration/writer.h"
#include "ir/module.h"

namespace kdl::codegen {

std::string PrintOrchestration(const ir::Module& module, const std::string& runtime_name) {
  ModuleFace face = MakeFace(module, runtime_name);
  Writer writer;
  writer.Line(
      fmt::format("// {}.kdl as C++: what `kernelc run` does, step by step. Written by kernelc.",
                  face.module_name));
  writer.Line(fmt::format("#include {}", Quoted(face.module_name + ".h")));
  writer.Line();
  writer.Line("#include \"kdl/runtime.hpp\"");
  writer.Line();
  writer.Line(fmt::format("namespace {} {{", face.name_space));
  PrintFunctions(writer, Language::Cpp, module, face);
  for (const FaceFunction& program : face.programs) {
    writer.Line();
    PrintProgram(writer, Language::Cpp, module, face, program);
  }
  PrintLaunchers(writer, face);
  writer.Line();
  writer.Line(fmt::format("}}  // namespace {}", face.name_space));
  PrintCPrograms(writer, face);
  writer.Line();
  writer.Line(fmt::format("KDL_DEFINES({})", face.orch_symbol));
  return writer.Take();
}

std::string PrintCOrchestration(const ir::Module& module, const std::string& runtime_name,
                                const std::map<std::string, std::string>& specs) {
  ModuleFace face = MakeFace(module, runtime_name, specs);
  Writer writer;
  writer.Line(
      fmt::format("// {}.kdl as C11: what `kernelc run` does, step by step. Written by kernelc.",
                  face.module_name));
  writer.Line(fmt::format("#include {}", Quoted(face.module_name + ".h")));
  writer.Line();
  writer.Line("#include \"kdl/program_moves.h\"");
  PrintFunctions(writer, Language::C, module, face);
  for (const FaceFunction& program : face.programs) {
    writer.Line();
    PrintProgram(writer, Language::C, module, face, program);
  }
  writer.Line();
  writer.Line(fmt::format("KDL_DEFINES({})", face.orch_symbol));
  return writer.Take();
}

}  // namespace kdl::codegen
