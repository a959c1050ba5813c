#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "codegen/orchestration/program_printer.h"
#include "support/scalar.h"

// A program of several element types: a function for each, and one that picks.

namespace kdl::codegen {

namespace {

/// The condition under which arguments are those of `function` and not of another one of the face.
std::string FitsText(const FaceFunction& face, const FaceFunction& function) {
  std::string text;
  for (size_t p = 0; p < face.params.size(); ++p) {
    Scalar scalar = function.params[p].param->value->type()->scalar;
    bool same = std::all_of(
        face.functions.begin(), face.functions.end(),
        [&](const ir::Function* f) { return f->params[p].value->type()->scalar == scalar; });
    if (same) continue;
    std::string element =
        face.params[p].name + (face.params[p].is_tensor ? ".element()" : ".get().element");
    text += fmt::format("{}{} == {}", text.empty() ? "" : " && ", element, ElementText(scalar));
  }
  return text;
}

/// Calls the one of several functions that the element types of the arguments name.
void PrintDispatch(Writer& writer, const ModuleFace& face, const FaceFunction& program,
                   const std::vector<FaceFunction>& functions) {
  OwnNames own = NamesBeside(program.params, program.constants);
  DeclareProgram(writer, face, program, Defaults::Absent, ") {");
  writer.Indent();
  for (const FaceFunction& function : functions) {
    std::vector<std::string> args = {own.context};
    for (const FaceParam& param : program.params) {
      Scalar scalar = function.params[args.size() - 1].param->value->type()->scalar;
      args.push_back(param.any_scalar ? fmt::format("{}.As<{}>()", param.name, CppType(scalar))
                                      : param.name);
    }
    if (!face.devices.empty()) args.push_back(own.devices);
    writer.Line(fmt::format("if ({}) {{", FitsText(program, function)));
    writer.Indent();
    writer.List(fmt::format("return {}(", function.name), args, ");");
    writer.Outdent();
    writer.Line("}");
  }
  std::string message = fmt::format("'{}' has no variant for these element types. {}",
                                    program.source_name, program.note);
  writer.List("throw kdl::Error(", {"KDL_ERROR_INVALID_ARGUMENT", Quoted(message)}, ");");
  writer.Outdent();
  writer.Line("}");
}

}  // namespace

void PrintProgram(Writer& writer, const ir::Module& module, const ModuleFace& face,
                  const FaceFunction& program) {
  if (program.functions.size() == 1) {
    return ProgramPrinter(writer, module, face, program).Print();
  }
  std::vector<FaceFunction> functions;
  writer.Line("namespace {");
  for (size_t f = 0; f < program.functions.size(); ++f) {
    functions.push_back(OnlyFunction(program, f));
    writer.Line();
    ProgramPrinter(writer, module, face, functions.back()).Print();
  }
  writer.Line();
  writer.Line("}  // namespace");
  writer.Line();
  PrintDispatch(writer, face, program, functions);
}

}  // namespace kdl::codegen
