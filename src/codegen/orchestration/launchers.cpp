#include <fmt/format.h>

#include <string>
#include <vector>

#include "codegen/orchestration/interface.h"
#include "codegen/orchestration/writer.h"
#include "support/scalar.h"

namespace kdl::codegen {

namespace {

/// `"m.scale"`, or `("m.scale<B=" + std::to_string(B) + ">").c_str()`.
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

/// A parameter of a C function as an argument of the C++ one.
std::string Forwarded(const FaceParam& param) {
  if (param.is_tensor) {
    return fmt::format("kdl::Tensor::Share({}, {})", param.name,
                       Quoted(param.param->value->name().text()));
  }
  if (param.any_scalar) return fmt::format("kdl::Argument({})", param.name);
  Scalar scalar = param.param->value->type()->scalar;
  return IsNarrowFloat(scalar) ? fmt::format("{}{{{}}}", CppType(scalar), param.name) : param.name;
}

/// A parameter of a C function as a kdl_arg.
std::string AsArg(const FaceParam& param) {
  if (param.is_tensor) return fmt::format("{{{}, 0, 0, {{}}}}", param.name);
  if (param.any_scalar) return param.name;
  return fmt::format("kdl::Argument({}).get()", Forwarded(param));
}

void PrintCKernel(Writer& writer, const FaceFunction& kernel, Way way) {
  OwnNames own = NamesBeside(kernel);
  DeclareCKernel(writer, kernel, way, ") {");
  writer.Indent();
  if (!kernel.params.empty()) {
    std::vector<std::string> args;
    args.reserve(kernel.params.size());
    for (const FaceParam& param : kernel.params) args.push_back(AsArg(param));
    writer.List(fmt::format("const kdl_arg {}[] = {{", own.args), args, "};");
  }
  std::vector<std::string> items = {own.queue,
                                    own.kernel,
                                    own.core_num,
                                    kernel.params.empty() ? "nullptr" : own.args,
                                    std::to_string(kernel.params.size()),
                                    "nullptr"};
  if (way == Way::Run) {
    items.insert(items.end(), {"nullptr", "0"});
  } else {
    items.insert(items.end(), {own.after, own.after_count, own.done});
  }
  writer.List(way == Way::Run ? "return kdl_run_kernel(" : "return kdl_launch_kernel(", items,
              ");");
  writer.Outdent();
  writer.Line("}");
}

void PrintCFind(Writer& writer, const ModuleFace& face, const FaceFunction& kernel) {
  OwnNames own = NamesBeside(kernel);
  DeclareCFind(writer, kernel, ") {");
  writer.Indent();
  bool throws = !kernel.constants.empty();  // its name is put together
  writer.List(throws ? "return kdl::Try([&] { kdl::Check(kdl_context_find_kernel("
                     : "return kdl_context_find_kernel(",
              {own.context, KernelName(face, kernel), own.kernel}, throws ? ")); });" : ");");
  writer.Outdent();
  writer.Line("}");
}

void PrintCProgram(Writer& writer, const ModuleFace& face, const FaceFunction& program) {
  OwnNames own = NamesBeside(program);
  std::vector<std::string> args = {fmt::format("kdl::Context::Borrow({})", own.context)};
  for (const FaceParam& param : program.params) args.push_back(Forwarded(param));
  if (!face.devices.empty()) args.push_back(fmt::format("WithDefaults({})", own.devices));
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
  writer.Line(
      fmt::format("{0}::Devices WithDefaults(const {0}_devices* given) {{", face.name_space));
  writer.Indent();
  writer.Line(fmt::format("{}::Devices devices;", face.name_space));
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
    OwnNames own = NamesBeside(kernel);
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

void PrintCFunctions(Writer& writer, const ModuleFace& face) {
  if (!face.programs.empty() && !face.devices.empty()) PrintDefaults(writer, face);
  for (const FaceFunction& program : face.programs) {
    writer.Line();
    PrintCProgram(writer, face, program);
  }
  for (const FaceFunction& kernel : face.kernels) {
    writer.Line();
    PrintCKernel(writer, kernel, Way::Run);
    writer.Line();
    PrintCFind(writer, face, kernel);
    writer.Line();
    PrintCKernel(writer, kernel, Way::Launch);
  }
}

}  // namespace kdl::codegen
