#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "codegen/orchestration/program_printer.h"
#include "support/scalar.h"

// For a program with several element types, prints one function for each type, and a function that selects
// one of them.

namespace kdl::codegen {

namespace {

/// Returns an expression for the element type of an argument.
std::string ElementTypeText(Language language, const FaceParam& param) {
  if (language == Language::Cpp)
    return param.name + (param.is_tensor ? ".element()" : ".get().element");
  return param.name + (param.is_tensor ? "->view.element" : ".element");
}

/// Returns the condition that the arguments are for `function` rather than for another function of the
/// program.
std::string FitsText(Language language, const Syntax& syntax, const FaceFunction& face,
                     const FaceFunction& function) {
  std::string text;
  for (size_t p = 0; p < face.params.size(); ++p) {
    Scalar scalar = function.params[p].param->value->type()->scalar;
    bool same = std::all_of(
        face.functions.begin(), face.functions.end(),
        [&](const ir::Function* f) { return f->params[p].value->type()->scalar == scalar; });
    if (same) continue;
    text += fmt::format("{}{} == {}", text.empty() ? "" : " && ",
                        ElementTypeText(language, face.params[p]), syntax.Element(scalar));
  }
  return text;
}

/// Returns the expression that converts a scalar argument to the type of the variant.
std::string GivenScalar(Language language, const std::string& name, Scalar scalar) {
  return language == Language::Cpp ? fmt::format("{}.As<{}>()", name, CppType(scalar))
                                   : fmt::format("kdl_given_{}({})", Spelling(scalar), name);
}

/// Prints the start of the dispatching function, up to its body. In C, tensors may be NULL.
void OpenDispatch(Writer& writer, Language language, const ModuleFace& face,
                  const FaceFunction& program, const OwnNames& own) {
  if (language == Language::Cpp) {
    DeclareProgram(writer, face, program, Defaults::Absent, ") {");
    return writer.Indent();
  }
  DeclareCProgram(writer, face, program, ") {");
  writer.Indent();
  writer.Line(fmt::format("kdl_program {} = {{{}, NULL, 0}};", own.run, own.context));
  for (const FaceParam& param : program.params) {
    if (param.is_tensor)
      writer.Line(fmt::format("kdl_given(&{}, {}, {});", own.run, param.name,
                              Quoted(param.param->value->name().text())));
  }
  writer.Line(fmt::format("if (!kdl_goes(&{0})) return {0}.error;", own.run));
}

/// Prints the dispatching function, which calls one of several functions according to the element types of
/// the arguments.
void PrintDispatch(Writer& writer, Language language, const ModuleFace& face,
                   const FaceFunction& program, const std::vector<FaceFunction>& functions) {
  OwnNames own = OtherNames(program.params, program.constants);
  bool is_cpp = language == Language::Cpp;
  std::unique_ptr<Syntax> syntax = is_cpp ? MakeCppSyntax() : MakeCSyntax();
  OpenDispatch(writer, language, face, program, own);
  for (const FaceFunction& function : functions) {
    std::vector<std::string> args = {own.context};
    for (const FaceParam& param : program.params) {
      Scalar scalar = function.params[args.size() - 1].param->value->type()->scalar;
      args.push_back(param.any_scalar ? GivenScalar(language, param.name, scalar) : param.name);
    }
    if (!face.devices.empty()) args.push_back(own.devices);
    writer.Line(fmt::format("if ({}) {{", FitsText(language, *syntax, program, function)));
    writer.Indent();
    writer.List(fmt::format("return {}(", is_cpp ? function.name : function.c_name), args, ");");
    writer.Outdent();
    writer.Line("}");
  }
  std::string message = fmt::format("'{}' has no variant for these element types. {}",
                                    program.source_name, program.note);
  writer.List(is_cpp ? "throw kdl::Error(" : "return kdl_error_create(",
              {"KDL_ERROR_INVALID_ARGUMENT", Quoted(message)}, ");");
  writer.Outdent();
  writer.Line("}");
}

}  // namespace

void PrintProgram(Writer& writer, Language language, const ir::Module& module,
                  const ModuleFace& face, const FaceFunction& program) {
  if (program.functions.size() == 1) {
    return ProgramPrinter(writer, language, module, face, program).Print();
  }
  bool is_cpp = language == Language::Cpp;
  std::vector<FaceFunction> functions;
  if (is_cpp) writer.Line("namespace {");
  for (size_t f = 0; f < program.functions.size(); ++f) {
    functions.push_back(OnlyFunction(program, f));
    if (is_cpp || f > 0) writer.Line();
    ProgramPrinter(writer, language, module, face, functions.back()).Print();
  }
  writer.Line();
  if (is_cpp) writer.Line("}  // namespace\n");
  PrintDispatch(writer, language, face, program, functions);
}

}  // namespace kdl::codegen
