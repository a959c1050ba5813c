#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "codegen/orchestration/program_printer.h"
#include "ir/views.h"
#include "support/check.h"

// The fns that programs call, and the calls. Their namespace is `fn`, a word of the language, which no name of a user is.

namespace kdl::codegen {

using ir::AttrKey;
using ir::Function;
using ir::Op;
using ir::OpKind;
using ir::Value;

namespace {

/// `std::math::exp_f32` as `std_math_exp_f32`.
std::string FunctionName(const Function& fn) {
  std::string name;
  for (char ch : fn.name.text()) {
    bool is_part = std::isalnum(static_cast<unsigned char>(ch)) != 0 || ch == '_';
    if (is_part) name += ch;
    if (!is_part && !name.empty() && name.back() != '_') name += '_';
  }
  return CppNames().Pick(name);
}

/// Those that the ops call, each behind what it calls itself.
void AddCalled(const ir::Module& module, const ir::Block* body, std::vector<const Function*>& fns) {
  ir::Walk(body, [&](const Op* op) {
    if (op->kind() != OpKind::Call) return;
    const Function* fn = module.FindFunction(op->attr<AttrKey::Callee>());
    KDL_CHECK(fn, "a call of '{}'", op->attr<AttrKey::Callee>().text());
    if (std::find(fns.begin(), fns.end(), fn) != fns.end()) return;
    AddCalled(module, fn->body, fns);
    fns.push_back(fn);
  });
}

/// The type of the values that a fn gives; several are a tuple.
std::string ResultType(const std::vector<ir::Type>& results) {
  if (results.size() == 1) return CppType(results[0]->scalar);
  std::string types;
  for (ir::Type type : results)
    types += fmt::format("{}{}", types.empty() ? "" : ", ", CppType(type->scalar));
  return fmt::format("std::tuple<{}>", types);
}

}  // namespace

void PrintFunctions(Writer& writer, const ir::Module& module, const ModuleFace& face) {
  std::vector<const Function*> fns;
  for (const FaceFunction& program : face.programs) {
    for (const Function* function : program.functions) AddCalled(module, function->body, fns);
  }
  if (fns.empty()) return;
  writer.Line();
  writer.Line("namespace fn {");
  for (const Function* fn : fns) {
    writer.Line();
    FaceFunction alone;
    alone.functions = {fn};
    ProgramPrinter(writer, module, face, alone).PrintFunction();
  }
  writer.Line();
  writer.Line("}  // namespace fn");
}

void ProgramPrinter::PrintFunction() {
  std::vector<std::string> params;
  for (const Value* param : function_.body->params()) {
    const std::string& name = NameOf(param, param->name().text());
    params.push_back(Declaration(param, name, needs_.Uses(param) > 0));
  }
  writer_.List(fmt::format("static {} {}(", ResultType(function_.results), FunctionName(function_)),
               params, ") {");
  for (size_t i = 0; i < function_.dims.size(); ++i)
    dims_[function_.dims[i]] = variables_.at(function_.dim_value(i));
  writer_.Indent();
  PrintBlock(function_.body);
  writer_.Outdent();
  writer_.Line("}");
}

void ProgramPrinter::PrintReturn(const Op* op) {
  if (function_.kind != ir::FunctionKind::Fn) return;
  std::vector<std::string> values;
  for (const Value* value : op->operands())
    values.push_back(Unwrapped(Text(value, LiteralStyle::Typed)));
  if (values.size() == 1) return writer_.Line(fmt::format("return {};", values[0]));
  writer_.List("return {", values, "};");
}

void ProgramPrinter::PrintCall(const Op* op) {
  const Function* fn = module_.FindFunction(op->attr<AttrKey::Callee>());
  std::vector<std::string> args;
  for (const Value* argument : op->Segment(ir::CallOp::at_arguments))
    args.push_back(Unwrapped(Text(argument, LiteralStyle::Typed)));
  std::string place = Place(op);
  std::string head = fmt::format("fn::{}(", FunctionName(*fn));
  std::string tail = ")";
  for (const Value* mask : op->Segment(ir::CallOp::at_mask)) {
    head = fmt::format("{} ? {}", Text(mask, LiteralStyle::Typed), head);
    tail = fmt::format(") : {}{{}}", ResultType(fn->results));
  }
  std::string_view name = fn->base_name();
  std::string wanted = std::string(name.substr(name.rfind(':') + 1)) + "_value";
  std::vector<std::string> names;
  bool used = false;
  for (const Value* result : op->results()) {
    names.push_back(NameOf(result, Wanted(result, wanted)));
    used = used || needs_.Uses(result) > 0;
  }
  std::string unused = used ? "" : "[[maybe_unused]] ";
  std::string declared =
      names.size() == 1
          ? fmt::format("{}const {} {}", unused, CppType(op->result()->type()->scalar), names[0])
          : fmt::format("[[maybe_unused]] const auto [{}]", fmt::join(names, ", "));
  writer_.List(fmt::format("{} = {}", declared, head), args, tail + ";" + place);
}

}  // namespace kdl::codegen
