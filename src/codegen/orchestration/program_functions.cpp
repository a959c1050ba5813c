#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "codegen/orchestration/program_printer.h"
#include "ir/views.h"
#include "support/check.h"

// Prints the `fn`s that programs call, and the calls. In C++ they are in the namespace `fn`. No user's name
// clashes with it, since `fn` is a keyword of the language.

namespace kdl::codegen {

using ir::AttrKey;
using ir::Function;
using ir::Op;
using ir::OpKind;
using ir::Value;

namespace {

/// Returns a C identifier for a `fn`, such as `std_math_exp_f32` for `std::math::exp_f32`.
std::string FunctionName(const Function& fn) {
  std::string name;
  for (char ch : fn.name.text()) {
    bool is_part = std::isalnum(static_cast<unsigned char>(ch)) != 0 || ch == '_';
    if (is_part) name += ch;
    if (!is_part && !name.empty() && name.back() != '_') name += '_';
  }
  return name;
}

/// Returns whether the `fn` may fail or contains a loop. (A loop ends early if something has failed.)
bool MayStop(const ir::Module& module, const Function& fn) {
  bool stops = false;
  ir::Walk(fn.body, [&](const Op* op) {
    switch (op->kind()) {
      case OpKind::Assert:
      case OpKind::Loop:
      case OpKind::While:
        stops = true;
        break;
      case OpKind::Load:
        stops = stops || op->attr<AttrKey::BoundsMode>() == ir::BoundsMode::Guard;
        break;
      case OpKind::Call:
        stops = stops || MayStop(module, *module.FindFunction(op->attr<AttrKey::Callee>()));
        break;
      default:
        stops = stops || !DivisionTrap(op).empty();
        break;
    }
  });
  return stops;
}

/// Adds all `fn`s that the ops call, each one after the `fn`s that it calls itself.
void AddCalled(const ir::Module& module, const ir::Region* body,
               std::vector<const Function*>& fns) {
  ir::Walk(body, [&](const Op* op) {
    if (op->kind() != OpKind::Call) return;
    const Function* fn = module.FindFunction(op->attr<AttrKey::Callee>());
    KDL_CHECK(fn, "'{}' is called, but is not in the module", op->attr<AttrKey::Callee>().text());
    if (std::find(fns.begin(), fns.end(), fn) != fns.end()) return;
    AddCalled(module, fn->body, fns);
    fns.push_back(fn);
  });
}

}  // namespace

void PrintFunctions(Writer& writer, Language language, const ir::Module& module,
                    const ModuleFace& face) {
  std::vector<const Function*> fns;
  for (const FaceFunction& program : face.programs) {
    for (const Function* function : program.functions) AddCalled(module, function->body, fns);
  }
  if (fns.empty()) return;
  bool is_cpp = language == Language::Cpp;
  if (is_cpp) writer.Line("\nnamespace fn {");
  for (const Function* fn : fns) {
    writer.Line();
    FaceFunction alone;
    alone.functions = {fn};
    ProgramPrinter(writer, language, module, face, alone).PrintFunction();
  }
  if (is_cpp) writer.Line("\n}  // namespace fn");
}

FnFace ProgramPrinter::FaceOf(const Function& fn) const {
  FnFace face;
  face.name = syntax_->FnName(FunctionName(fn));
  for (ir::Type type : fn.results) face.results.push_back(type->scalar);
  face.stops = MayStop(module_, fn);
  return face;
}

void ProgramPrinter::PrintFunction() {
  std::vector<Syntax::FnParam> params;
  for (const Value* param : function_.body->params()) {
    const std::string& name = NewVariable(param, param->name().text());
    params.push_back({param->type()->scalar, name, needs_.Uses(param) > 0});
  }
  syntax_->OpenFn(writer_, FaceOf(function_), params, names_);
  for (size_t i = 0; i < function_.dims.size(); ++i)
    dims_[function_.dims[i]] = variables_.at(function_.dim_value(i));
  writer_.Indent();
  PrintRegion(function_.body);
  writer_.Outdent();
  writer_.Line("}");
}

void ProgramPrinter::PrintReturn(const Op* op) {
  if (function_.kind != ir::FunctionKind::Fn) return;
  std::vector<std::string> values;
  for (const Value* value : op->operands())
    values.push_back(Unwrapped(Text(value, LiteralStyle::Typed)));
  syntax_->Return(writer_, FaceOf(function_), values);
}

void ProgramPrinter::PrintCall(const Op* op) {
  const Function* fn = module_.FindFunction(op->attr<AttrKey::Callee>());
  Syntax::FnCall call;
  for (const Value* argument : op->Segment(ir::CallOp::at_arguments))
    call.args.push_back(Unwrapped(Text(argument, LiteralStyle::Typed)));
  call.place = Place(op);
  for (const Value* mask : op->Segment(ir::CallOp::at_mask))
    call.mask = Text(mask, LiteralStyle::Typed);
  std::string_view name = fn->base_name();
  std::string wanted = std::string(name.substr(name.rfind(':') + 1)) + "_value";
  call.is_used = false;
  for (const Value* result : op->results()) {
    call.names.push_back(NewVariable(result, Wanted(result, wanted)));
    call.is_used = call.is_used || needs_.Uses(result) > 0;
  }
  syntax_->CallFn(writer_, FaceOf(*fn), call, names_);
}

}  // namespace kdl::codegen
