#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/orchestration/interface.h"
#include "codegen/orchestration/orchestration.h"
#include "codegen/orchestration/syntax.h"
#include "codegen/orchestration/writer.h"
#include "ir/module.h"
#include "ir/packs.h"
#include "support/names.h"
#include "support/scalar.h"
#include "support/size.h"

// Prints kernels as C functions that take pointers and sizes, in NAME.h and NAME.c, and as member functions
// of a C++ class, which never throw.

namespace kdl::codegen {

namespace {

enum class Kind : uint8_t { Call, Async, Bind };

/// Adds the names of sizes that a dimension contains, in order of occurrence.
void AddSizes(Size size, std::vector<Name>& names) {
  if (size->kind == SizeKind::Symbol) {
    if (std::ranges::find(names, size->symbol) == names.end()) names.push_back(size->symbol);
    return;
  }
  if (!size->lhs) return;
  AddSizes(size->lhs, names);
  AddSizes(size->rhs, names);
}

/// Returns the part of an instance's name that distinguishes it from other instances of its kernel: "<T=f32,
/// S=3>".
std::string InstanceText(const FaceFunction& kernel, const ir::Function& instance) {
  if (kernel.functions.size() == 1) return "";
  std::string text;
  auto add = [&](Name name, const auto& value) {
    text += fmt::format("{}{}={}", text.empty() ? "<" : ", ", name.text(), value);
  };
  for (const ir::TypeBinding& binding : instance.bindings)
    add(binding.name, Spelling(binding.scalar));
  for (const ir::Generic& generic : instance.generics) {
    if (ir::IsShapeMark(instance, generic.name)) continue;
    bool differs = std::ranges::any_of(kernel.functions, [&](const ir::Function* other) {
      return GenericValues(*other, generic.name) != generic.values;
    });
    if (differs && generic.values.size() == 1) add(generic.name, generic.values[0]);
  }
  return text.empty() ? text : text + ">";
}

FaceCall MakeCall(const ModuleFace& face, const FaceFunction& kernel, const ir::Function& instance,
                  CppNames& names, CppNames& c_names) {
  FaceCall call;
  std::string name =
      kernel.functions.size() == 1 ? kernel.source_name : CIdentifier(instance.name.text());
  call.name = names.Pick(name);
  call.c_name = c_names.PickGlobal(face.c_prefix + name);
  call.looked_up =
      fmt::format("{}.{}{}", face.runtime_name, kernel.source_name, InstanceText(kernel, instance));
  call.doc = kernel.doc;
  call.params = FaceParamsOf({&instance});
  CppNames locals;
  for (const FaceParam& param : call.params) locals.Pick(param.name);
  std::vector<Name> sizes;
  for (const FaceParam& param : call.params)
    for (Size size : param.param->value->type()->dims) AddSizes(size, sizes);
  for (Name size : sizes) call.sizes.push_back({size.str(), locals.Pick(size.text())});
  return call;
}

std::string PointerType(const FaceParam& param) {
  bool is_read = param.param->direction == ir::Direction::In;
  return fmt::format("{}{}*", is_read ? "const " : "", CType(param.param->value->type()->scalar));
}

/// Adds the names of the parameters in the source that the caller passes.
void AddNames(const FaceCall& call, std::vector<std::string>& names) {
  for (const FaceParam& param : call.params)
    if (!param.is_absent) names.push_back(param.name);
}

/// Returns the parameters that the caller passes: first the sizes, then the parameters in the source.
std::vector<std::string> Parameters(const FaceCall& call) {
  std::vector<std::string> items;
  for (const FaceConstant& size : call.sizes) items.push_back("int64_t " + size.name);
  for (const FaceParam& param : call.params) {
    if (param.is_absent) continue;
    Scalar scalar = param.param->value->type()->scalar;
    items.push_back((param.is_tensor ? PointerType(param) : CType(scalar)) + " " + param.name);
  }
  return items;
}

void Declare(Writer& writer, const FaceCalls& calls, const FaceCall& call, Kind kind,
             std::string_view tail) {
  OwnNames own = OtherNames(call.params, call.sizes);
  std::vector<std::string> items = {fmt::format("const {}* {}", calls.c_type, own.kernels)};
  for (std::string& item : Parameters(call)) items.push_back(std::move(item));
  if (kind == Kind::Async) {
    items.push_back("kdl_event* const* " + own.after);
    items.push_back("int32_t " + own.after_count);
    items.push_back("kdl_event** " + own.done);
  }
  // `struct` is needed, since a parameter with the same name as the type would hide the type.
  if (kind == Kind::Bind)
    items.push_back(fmt::format("struct {}* {}", call.c_bound_type, own.bound));
  const std::string* names[] = {&call.c_name, &call.c_async_name, &call.c_bind_name};
  writer.List("kdl_error* " + *names[static_cast<size_t>(kind)] + "(", items, tail);
}

void DeclareRun(Writer& writer, const FaceCall& call, std::string_view tail) {
  writer.Line(
      fmt::format("kdl_error* {}(const {}* bound){}", call.c_call_name, call.c_bound_type, tail));
}

void DeclareUnbind(Writer& writer, const FaceCall& call, std::string_view tail) {
  writer.Line(fmt::format("void {}({}* bound){}", call.c_unbind_name, call.c_bound_type, tail));
}

void DeclareOpen(Writer& writer, const FaceCalls& calls, std::string_view tail) {
  writer.List("kdl_error* " + calls.c_open + "(",
              {"kdl_context* context", "const char* device", calls.c_type + "** kernels"}, tail);
}

std::string SizeText(Size size, const FaceCall& call) {
  return CSizeText(size, [&](Name name) {
    return std::ranges::find(call.sizes, name.text(), &FaceConstant::source_name)->name;
  });
}

std::string ValueText(const FaceParam& param) {
  if (param.is_absent) return "{.data = NULL}";
  if (param.is_tensor) return fmt::format("{{.data = {}}}", param.name);
  Scalar scalar = param.param->value->type()->scalar;
  return fmt::format("{{.{} = {}}}", scalar == Scalar::Bool ? "u8" : Spelling(scalar), param.name);
}

void Define(Writer& writer, const FaceCalls& calls, size_t number, Kind kind) {
  const FaceCall& call = calls.calls[number];
  OwnNames own = OtherNames(call.params, call.sizes);
  std::vector<std::string> sizes;
  std::vector<std::string> values;
  for (const FaceParam& param : call.params) {
    for (Size size : param.param->value->type()->dims) sizes.push_back(SizeText(size, call));
    values.push_back(ValueText(param));
  }
  writer.Line();
  Declare(writer, calls, call, kind, ") {");
  writer.Indent();
  if (!sizes.empty()) writer.List(fmt::format("const int64_t {}[] = {{", own.sizes), sizes, "};");
  if (!values.empty())
    writer.List(fmt::format("const kdl_value {}[] = {{", own.values), values, "};");
  std::vector<std::string> items = {fmt::format("(const kdl_kernels*){}", own.kernels),
                                    fmt::format("{}", number), sizes.empty() ? "NULL" : own.sizes,
                                    values.empty() ? "NULL" : own.values};
  if (kind == Kind::Async) items.insert(items.end(), {own.after, own.after_count, own.done});
  if (kind == Kind::Bind) items.push_back(fmt::format("(kdl_bound_call**){}", own.bound));
  static constexpr std::string_view kFunctions[] = {"call", "call_async", "bind"};
  writer.List(fmt::format("return kdl_kernels_{}(", kFunctions[static_cast<size_t>(kind)]), items,
              ");");
  writer.Outdent();
  writer.Line("}");
}

void DefineBound(Writer& writer, const FaceCalls& calls, size_t number) {
  const FaceCall& call = calls.calls[number];
  Define(writer, calls, number, Kind::Bind);
  writer.Line();
  DeclareRun(writer, call, " {");
  writer.Line("  return kdl_bound_call_run(bound->call);");
  writer.Line("}");
  writer.Line();
  DeclareUnbind(writer, call, " {");
  writer.Line("  kdl_bound_call_free(bound->call);");
  writer.Line("  bound->call = NULL;");
  writer.Line("}");
}

void DefineOpen(Writer& writer, const ModuleFace& face) {
  writer.Line();
  DeclareOpen(writer, face.calls, ") {");
  writer.Indent();
  writer.Line("static const char* const names[] = {");
  for (const FaceCall& call : face.calls.calls)
    writer.Line(fmt::format("    {},", Quoted(call.looked_up)));
  writer.Line("};");
  writer.List("return kdl_kernels_open(",
              {"context", face.images, "device", "names",
               fmt::format("{}", face.calls.calls.size()), "(kdl_kernels**)kernels"},
              ");");
  writer.Outdent();
  writer.Line("}");
  writer.Line();
  writer.Line(fmt::format("void {}({}* kernels) {{", face.calls.c_close, face.calls.c_type));
  writer.Line("  kdl_kernels_close((kdl_kernels*)kernels);");
  writer.Line("}");
}

void Describe(Writer& writer, const FaceCall& call) {
  writer.Doc("///", call.doc);
  for (const FaceParam& param : call.params)
    if (!param.is_absent) writer.Line(fmt::format("///   {}: {}", param.name, param.declared));
}

/// Defines the member function of the C++ class that binds the kernel's arguments.
void DefineBindMember(Writer& writer, const FaceCall& call) {
  OwnNames own = OtherNames(call.params, call.sizes);
  std::vector<std::string> params = Parameters(call);
  params.push_back("kdl::BoundCall& " + own.bound);
  std::vector<std::string> items = {"kdl_handle.get()"};
  for (const FaceConstant& size : call.sizes) items.push_back(size.name);
  AddNames(call, items);
  items.push_back("&" + own.made);
  writer.List("kdl::Status " + call.bind_name + "(", params, ") const {");
  writer.Line(fmt::format("  ::{} {} = {{nullptr}};", call.c_bound_type, own.made));
  writer.List(fmt::format("  kdl::Status {}(::{}(", own.status, call.c_bind_name), items, "));");
  writer.Line(
      fmt::format("  if ({}.ok()) {} = kdl::BoundCall({}.call);", own.status, own.bound, own.made));
  writer.Line(fmt::format("  return {};", own.status));
  writer.Line("}");
}

constexpr std::string_view kHandleComment =
    R"(The kernels on one device, called with pointers like functions. Any number of threads may call them at once.

Sizes count elements. A tensor is in the caller's memory, row-major without gaps, aligned to the size of its
elements, and stays the property of the caller; NULL is allowed only if it has no elements. A written tensor, out or
inout, must not overlap another parameter. Sizes and pointers are checked before any effect.

A call uses all cores of the device and returns when it has completed: NULL, or an error that the caller frees with
kdl_error_free. A function that ends in _async returns at once; its call begins when the events `after` have completed
(NULL and 0 for none), and `done`, which the caller frees with kdl_event_free, completes when everything is written: until
then the caller must not touch the memory. If a device has its own memory, inputs are copied to it and outputs back.
For tensors that stay on a device, or have gaps, use kdl_run_kernel.

To call a kernel many times with the same arguments, bind them once: the function that ends in _bind checks them, the
one that ends in _call runs the kernel on the current contents of the tensors, and the one that ends in _unbind frees the
bound call. The memory must stay valid until then. Only one thread at a time may run a bound call. See "kdl/call.h".
)";

}  // namespace

void AddCalls(ModuleFace& face, CppNames& c_names) {
  FaceCalls& calls = face.calls;
  CppNames members;
  for (std::string_view own : {kKernelsType, std::string_view("Open"), std::string_view("get")})
    members.Pick(own);
  for (const FaceFunction& kernel : face.kernels)
    for (const ir::Function* instance : kernel.functions)
      calls.calls.push_back(MakeCall(face, kernel, *instance, members, c_names));
  for (FaceCall& call : calls.calls) {
    call.c_async_name = c_names.PickGlobal(call.c_name + "_async");
    call.c_bound_type = c_names.PickGlobal(call.c_name + "_bound");
    call.c_bind_name = c_names.PickGlobal(call.c_name + "_bind");
    call.c_call_name = c_names.PickGlobal(call.c_name + "_call");
    call.c_unbind_name = c_names.PickGlobal(call.c_name + "_unbind");
    call.bind_name = members.Pick(call.name + "_bind");
  }
}

void DeclareCalls(Writer& writer, const FaceCalls& calls) {
  writer.Line();
  writer.Doc("///", kHandleComment);
  writer.Line(fmt::format("typedef struct {0} {0};", calls.c_type));
  writer.Line();
  writer.Line(
      "/// Opens the kernels on the device of a spec, \"host?threads=4\", or of a list, "
      "\"cuda,host\": on the first one that exists, even");
  writer.Line(
      "/// if it does not start or has no code for them. If `context` is NULL, they get a context "
      "of their own. They are closed once none");
  writer.Line(
      "/// of their calls runs any more; after the context is destroyed, they can only be closed.");
  DeclareOpen(writer, calls, ");");
  writer.Line(fmt::format("void {}({}* kernels);", calls.c_close, calls.c_type));
  for (const FaceCall& call : calls.calls) {
    writer.Line();
    Describe(writer, call);
    Declare(writer, calls, call, Kind::Call, ");");
    Declare(writer, calls, call, Kind::Async, ");");
    writer.Line(
        fmt::format("typedef struct {0} {{ kdl_bound_call* call; }} {0};", call.c_bound_type));
    Declare(writer, calls, call, Kind::Bind, ");");
    DeclareRun(writer, call, ";");
    DeclareUnbind(writer, call, ";");
  }
}

void DeclareCallsClass(Writer& writer, const FaceCalls& calls) {
  writer.Line();
  writer.Line(
      fmt::format("/// Owns a {}, for C++17: closes the kernels, returns errors, and never throws.",
                  calls.c_type));
  writer.Line(fmt::format("class {} {{", kKernelsType));
  writer.Line(" public:");
  writer.Indent();
  writer.Line("kdl::Status Open(const char* device, kdl_context* context = nullptr) {");
  writer.Line(fmt::format("  return kdl_handle.Replace(::{}, context, device);", calls.c_open));
  writer.Line("}");
  writer.Line("/// For the C functions, such as those that end in _async.");
  writer.Line(fmt::format("const ::{}* get() const {{ return kdl_handle.get(); }}", calls.c_type));
  for (const FaceCall& call : calls.calls) {
    std::vector<std::string> items = {"kdl_handle.get()"};
    for (const FaceConstant& size : call.sizes) items.push_back(size.name);
    AddNames(call, items);
    writer.Line();
    writer.List("kdl::Status " + call.name + "(", Parameters(call), ") const {");
    writer.List(fmt::format("  return kdl::Status(::{}(", call.c_name), items, "));");
    writer.Line("}");
    DefineBindMember(writer, call);
  }
  writer.Outdent();
  writer.Line();
  writer.Line(" private:");
  writer.Line(fmt::format("  kdl::Owned<::{}, ::{}> kdl_handle;", calls.c_type, calls.c_close));
  writer.Line("};");
}

std::string PrintCalls(const ir::Module& module, const std::string& runtime_name) {
  ModuleFace face = MakeFace(module, runtime_name);
  bool has_derived = false;
  for (const FaceCall& call : face.calls.calls) {
    for (const FaceParam& param : call.params)
      has_derived |= std::ranges::any_of(param.param->value->type()->dims,
                                         [](Size size) { return size->lhs != nullptr; });
  }
  Writer writer;
  writer.Line(fmt::format(
      "// The kernels of {}.kdl as functions in C11 that is also C++20. Generated by kernelc.",
      face.module_name));
  writer.Line(fmt::format("#include {}", Quoted(face.module_name + ".h")));
  if (has_derived) writer.Line("\n#include \"kdl/sizes.h\"");
  if (face.calls.calls.empty()) return writer.Take();
  DefineOpen(writer, face);
  for (size_t number = 0; number < face.calls.calls.size(); ++number) {
    Define(writer, face.calls, number, Kind::Call);
    Define(writer, face.calls, number, Kind::Async);
    DefineBound(writer, face.calls, number);
  }
  writer.Line();
  writer.Line(fmt::format("KDL_DEFINES({})", face.calls_symbol));
  return writer.Take();
}

}  // namespace kdl::codegen
