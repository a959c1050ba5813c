#include <fmt/format.h>

#include <string>
#include <vector>

#include "codegen/orchestration/interface.h"
#include "codegen/orchestration/writer.h"
#include "support/scalar.h"

namespace kdl::codegen {

namespace {

/// Returns an expression for the kernel's name, such as `"m.scale"` or `("m.scale<B=" + std::to_string(B) +
/// ">").c_str()`.
std::string KernelName(const ModuleFace& face, const FaceFunction& kernel) {
  std::string name = face.runtime_name + "." + kernel.source_name;
  std::string text;
  for (const FaceConstant& constant : kernel.constants) {
    name += fmt::format("{}{}=", text.empty() ? "<" : ", ", constant.source_name);
    text += fmt::format("{} + std::to_string({}) + ", Quoted(name), constant.name);
    name.clear();
  }
  return text.empty() ? Quoted(name) : fmt::format("({}\">\").c_str()", text);
}

/// Returns the argument with which the C function passes a parameter on to the C++ function.
std::string Forwarded(const FaceParam& param) {
  if (param.is_tensor) {
    return fmt::format("kdl::Tensor::Share({}, {})", param.name,
                       Quoted(param.param->value->name().text()));
  }
  if (param.any_scalar) return fmt::format("kdl::Argument({})", param.name);
  Scalar scalar = param.param->value->type()->scalar;
  return IsNarrowFloat(scalar) ? fmt::format("{}{{{}}}", CppType(scalar), param.name) : param.name;
}

void PrintCProgram(Writer& writer, const ModuleFace& face, const FaceFunction& program) {
  OwnNames own = OtherNames(program.params, program.constants);
  std::vector<std::string> args = {fmt::format("kdl::Context::Borrow({})", own.context)};
  for (const FaceParam& param : program.params) args.push_back(Forwarded(param));
  if (!face.devices.empty()) args.push_back(fmt::format("kdl_with_defaults({})", own.devices));
  DeclareCProgram(writer, face, program, ") {");
  writer.Indent();
  writer.Line("return kdl::Try([&] {");
  writer.Indent();
  writer.List(fmt::format("{}::{}(", face.name_space, program.name), args, ");");
  writer.Outdent();
  writer.Line("});");
  writer.Outdent();
  writer.Line("}");
}

void PrintDefaults(Writer& writer, const ModuleFace& face) {
  writer.Line();
  writer.Line("namespace {");
  writer.Line();
  writer.Line(fmt::format("{}::{} kdl_with_defaults(const {}* given) {{", face.name_space,
                          kDevicesType, face.c_devices));
  writer.Indent();
  writer.Line(fmt::format("{}::{} devices;", face.name_space, kDevicesType));
  writer.Line("if (given == nullptr) return devices;");
  for (const FaceDevice& device : face.devices) {
    writer.Line(fmt::format("if (given->{0} != nullptr) devices.{0} = given->{0};", device.name));
  }
  writer.Line("return devices;");
  writer.Outdent();
  writer.Line("}");
  writer.Line();
  writer.Line("}  // namespace");
}

}  // namespace

void PrintLaunchers(Writer& writer, const ModuleFace& face) {
  for (const FaceFunction& kernel : face.kernels) {
    OwnNames own = OtherNames(kernel.params, kernel.constants);
    std::vector<std::string> args;
    args.reserve(kernel.params.size());
    for (const FaceParam& param : kernel.params) args.push_back(param.name);
    std::vector<std::string> items = {KernelName(face, kernel), own.core_num};
    AddBraced(items, args);
    for (Way way : {Way::Run, Way::Launch}) {
      writer.Line();
      DeclareKernel(writer, kernel, way, Defaults::Absent, ") {");
      writer.Indent();
      if (way == Way::Launch) items.push_back(own.after);
      std::string call = way == Way::Run ? own.queue + ".Run(" : "return " + own.queue + ".Launch(";
      writer.List(call, items, ");");
      writer.Outdent();
      writer.Line("}");
    }
  }
}

void PrintCPrograms(Writer& writer, const ModuleFace& face) {
  if (!face.programs.empty() && !face.devices.empty()) PrintDefaults(writer, face);
  for (const FaceFunction& program : face.programs) {
    writer.Line();
    PrintCProgram(writer, face, program);
  }
}

}  // namespace kdl::codegen
