#include "codegen/orchestration/interface.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/orchestration/cpp_names.h"
#include "codegen/orchestration/writer.h"
#include "ir/module.h"
#include "ir/op_kind.h"
#include "ir/optional_params.h"
#include "ir/packs.h"
#include "ir/program_tensors.h"
#include "ir/type.h"
#include "support/check.h"
#include "support/names.h"
#include "support/scalar.h"
#include "support/size.h"

namespace kdl::codegen {

namespace {

Scalar ParamScalar(const ir::Function& function, size_t param) {
  return function.params[param].value->type()->scalar;
}

/// Returns the element type of a parameter as written in the source: the type parameter that equals it in all
/// variants, or the name of the type.
std::string TypeText(const std::vector<const ir::Function*>& variants, size_t param) {
  const ir::Function& first = *variants[0];
  bool same = std::all_of(variants.begin(), variants.end(), [&](const ir::Function* f) {
    return ParamScalar(*f, param) == ParamScalar(first, param);
  });
  for (size_t b = 0; b < first.bindings.size() && !same; ++b) {
    bool follows = std::all_of(variants.begin(), variants.end(), [&](const ir::Function* f) {
      return f->bindings[b].scalar == ParamScalar(*f, param);
    });
    if (follows) return first.bindings[b].name.str();
  }
  return std::string(Spelling(ParamScalar(first, param)));
}

/// Returns text like "M" or "4", or "4 or 8" if the variants differ.
std::string DimText(const std::vector<const ir::Function*>& variants, size_t param, size_t dim) {
  std::string text;
  std::set<Size> seen;
  for (const ir::Function* variant : variants) {
    if (ir::IsAbsent(*variant, variant->params[param]) && variants.size() > 1) continue;
    Size size = variant->params[param].value->type()->dims[dim];
    if (seen.insert(size).second)
      text += (text.empty() ? "" : " or ") + ir::DimText(*variant, size);
  }
  return text;
}

/// Returns text like " by (M, _)" if the tensor is distributed, otherwise an empty string.
std::string DistributionText(const ir::Value* param) {
  std::string entries;
  ir::RankDistribution distribution = ir::DistributionOfParam(param);
  for (size_t d = 0; d < distribution.size(); ++d) {
    entries += d == 0 ? "" : ", ";
    entries += distribution[d].is_distributed() ? ToString(param->type()->dims[d]) : "_";
    if (distribution[d].block > 0) entries += fmt::format(": {}", distribution[d].block);
  }
  return entries.empty() ? "" : fmt::format(" by ({})", entries);
}

/// Returns text like " on npu" if the tensor must be on a particular device, otherwise an empty string.
std::string OwnerText(const ir::Value* param) {
  for (const ir::Use& use : param->uses()) {
    if (use.user->kind() == ir::OpKind::Lives)
      return fmt::format(" on {}{}", use.user->attr<ir::AttrKey::Device>().text(),
                         DistributionText(param));
  }
  return "";
}

std::string DeclaredText(const std::vector<const ir::Function*>& variants, size_t param) {
  static constexpr std::string_view kDirections[] = {"in ", "out ", "inout "};
  const ir::Param& first = variants[0]->params[param];
  ir::Type type = first.value->type();
  std::string text = TypeText(variants, param);
  if (type->kind != ir::TypeKind::Tensor) return text;
  std::string sizes;
  for (size_t d = 0; d < type->dims.size(); ++d)
    sizes += (sizes.empty() ? "" : ", ") + DimText(variants, param, d);
  if (const ir::Param* count = ir::FindCount(*variants[0], first))
    sizes = fmt::format("{} <= {}", count->value->name().text(), sizes);
  bool is_optional = variants.size() > 1 && ir::Presence(*variants[0], first);
  return fmt::format("{}{}[{}]{}{}", kDirections[static_cast<size_t>(first.direction)], text, sizes,
                     is_optional ? "?" : "", OwnerText(first.value));
}

/// Returns text like "T is f16, bf16 or f32."
std::string TypesNote(const std::vector<const ir::Function*>& variants) {
  std::string note;
  for (size_t b = 0; b < variants[0]->bindings.size(); ++b) {
    std::vector<std::string_view> kinds;
    for (const ir::Function* variant : variants) {
      std::string_view kind = Spelling(variant->bindings[b].scalar);
      if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
    }
    if (kinds.size() < 2) continue;
    std::string text(kinds[0]);
    for (size_t k = 1; k < kinds.size(); ++k) {
      text += fmt::format("{}{}", k + 1 == kinds.size() ? " or " : ", ", kinds[k]);
    }
    note += fmt::format("{}{} is {}.", note.empty() ? "" : " ",
                        variants[0]->bindings[b].name.text(), text);
  }
  return note;
}

bool TakeTheSame(const ir::Function& a, const ir::Function& b) {
  return std::ranges::equal(a.params, b.params, [](const ir::Param& x, const ir::Param& y) {
    return x.value->type() == y.value->type();
  });
}

/// Returns whether the caller must pass this integer parameter, because it differs between variants that
/// accept the same arguments.
bool IsOpen(const std::vector<const ir::Function*>& variants, Name generic) {
  for (const ir::Function* a : variants) {
    for (const ir::Function* b : variants) {
      if (GenericValues(*a, generic) != GenericValues(*b, generic) && TakeTheSame(*a, *b))
        return true;
    }
  }
  return false;
}

/// Picks names for the ranks of packs that the caller passes, because the tensors do not determine them.
void AddRanks(FaceFunction& kernel, CppNames& names) {
  for (const ir::Function* function : kernel.functions) {
    for (Name pack : ir::OpenPacks(*function)) {
      std::string source_name = ir::PackMark(pack);
      if (std::ranges::count(kernel.constants, source_name, &FaceConstant::source_name) > 0)
        continue;
      kernel.constants.push_back({source_name, names.Pick(source_name)});
      kernel.note += fmt::format("{}{} is how many dimensions the pack {} has.",
                                 kernel.note.empty() ? "" : " ", source_name, pack.text());
    }
  }
}

/// Picks names for the integer parameters that the caller passes, and adds their possible values to the note.
void AddConstants(FaceFunction& kernel) {
  const ir::Function& first = *kernel.functions[0];
  CppNames names;
  for (const FaceParam& param : kernel.params) names.Pick(param.name);
  for (const ir::Generic& generic : first.generics) {
    if (ir::IsShapeMark(first, generic.name) || !IsOpen(kernel.functions, generic.name)) continue;
    std::set<int64_t> values;
    for (const ir::Function* variant : kernel.functions)
      std::ranges::copy(GenericValues(*variant, generic.name), std::inserter(values, values.end()));
    std::string_view name = generic.name.text();
    kernel.constants.push_back({std::string(name), names.Pick(name)});
    kernel.note +=
        fmt::format("{}{} is {}.", kernel.note.empty() ? "" : " ", name, fmt::join(values, " or "));
  }
  AddRanks(kernel, names);
}

FaceFunction* FindBySourceName(std::vector<FaceFunction>& functions, std::string_view name) {
  auto found = std::find_if(functions.begin(), functions.end(),
                            [&](const FaceFunction& f) { return f.source_name == name; });
  return found == functions.end() ? nullptr : &*found;
}

}  // namespace

std::vector<int64_t> GenericValues(const ir::Function& variant, Name generic) {
  auto found = std::ranges::find(variant.generics, generic, &ir::Generic::name);
  return found == variant.generics.end() ? std::vector<int64_t>() : found->values;
}

std::vector<FaceParam> FaceParamsOf(const std::vector<const ir::Function*>& variants) {
  std::vector<FaceParam> params;
  CppNames names;
  names.Pick(
      kDevicesType);  // reserved for the type of the last parameter, which chooses the devices
  for (size_t p = 0; p < variants[0]->params.size(); ++p) {
    FaceParam face;
    face.param = &variants[0]->params[p];
    face.name = names.Pick(face.param->value->name().text());
    face.declared = DeclaredText(variants, p);
    face.is_tensor = face.param->value->type()->kind == ir::TypeKind::Tensor;
    face.is_absent = variants.size() == 1 && ir::IsAbsent(*variants[0], *face.param);
    face.any_scalar = !face.is_tensor && face.declared != Spelling(ParamScalar(*variants[0], p));
    params.push_back(std::move(face));
  }
  return params;
}

namespace {

void Complete(FaceFunction& function, CppNames& names) {
  function.name = names.Pick(function.source_name);
  function.doc = function.functions[0]->doc;
  function.note = TypesNote(function.functions);
  function.params = FaceParamsOf(function.functions);
}

/// If there are several devices, sets the owner of each tensor, that is, the device that uses the tensor
/// first.
void NameOwners(const ir::Module& module, FaceFunction& program) {
  if (module.devices.size() < 2) return;
  for (FaceParam& param : program.params) {
    const ir::Value* tensor = param.param->value;
    if (!param.is_tensor || !OwnerText(tensor).empty()) continue;
    param.owner = ir::CallersDevice(module, *program.functions[0], tensor).str();
  }
}

/// Picks names for the C functions of a module. Names that every module has are picked first, so that they
/// are the same in all modules.
void NameCFunctions(ModuleFace& face) {
  CppNames c_names;
  face.c_devices = c_names.PickGlobal(face.c_prefix + "devices");
  face.calls.c_type = c_names.PickGlobal(face.c_prefix + "kernels");
  face.calls.c_open = c_names.PickGlobal(face.c_prefix + "open");
  face.calls.c_close = c_names.PickGlobal(face.c_prefix + "close");
  for (FaceFunction& program : face.programs)
    program.c_name = c_names.PickGlobal(face.c_prefix + program.source_name);
  AddCalls(face, c_names);
}

void NameCppFunctions(const ir::Module& module, ModuleFace& face) {
  CppNames names;
  for (std::string_view own : {kDevicesType, kKernelsType}) names.Pick(own);
  for (FaceFunction& program : face.programs) {
    Complete(program, names);
    NameOwners(module, program);
  }
  for (FaceFunction& kernel : face.kernels) {
    Complete(kernel, names);
    AddConstants(kernel);
  }
  for (FaceFunction& kernel : face.kernels)
    kernel.launch_name = names.Pick(kernel.source_name + "_launch");
}

/// Returns an identifier for a module: `m2d` for 2d.kdl.
std::string ModuleIdentifier(std::string_view module_name) {
  std::string name = CIdentifier(module_name);
  bool has_start = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0;
  return has_start ? name : "m" + name;
}

}  // namespace

std::string CppType(Scalar scalar) {
  if (IsNarrowFloat(scalar)) return fmt::format("kdl::{}", Info(scalar).cpp_name);
  return (IsInteger(scalar) ? "std::" : "") + CType(scalar);
}

std::string CType(Scalar scalar) { return std::string(Info(scalar).c_type); }

std::string FaceParam::CppType() const {
  if (is_tensor) return "const kdl::Tensor&";
  if (any_scalar) return "const kdl::Argument&";
  return codegen::CppType(param->value->type()->scalar);
}

std::string FaceParam::CType() const {
  if (is_tensor) return "const kdl_array*";
  if (any_scalar) return "kdl_arg";
  return codegen::CType(param->value->type()->scalar);
}

bool UsesRanks(const ir::Op* op) {
  return op->kind() == ir::OpKind::Ranks ||
         (op->kind() == ir::OpKind::Alloc && op->HasAttr(ir::AttrKey::RankAxes));
}

bool UsesRanks(const ir::Function& program) {
  bool uses_ranks = false;
  ir::Walk(program.body, [&](const ir::Op* op) { uses_ranks = uses_ranks || UsesRanks(op); });
  return uses_ranks;
}

ModuleFace MakeFace(const ir::Module& module, const std::string& runtime_name,
                    const std::map<std::string, std::string>& specs) {
  ModuleFace face;
  face.module_name = module.name.str();
  std::string identifier = ModuleIdentifier(face.module_name);
  face.name_space = CppNames().PickGlobal(identifier);
  face.c_prefix = identifier + "_";
  face.runtime_name = runtime_name;
  face.images = "kdl_images_" + CIdentifier(face.module_name);
  face.images_symbol = "kdl_images_" + CIdentifier(runtime_name);
  face.calls_symbol = "kdl_calls_" + CIdentifier(runtime_name);
  face.orch_symbol = "kdl_orch_" + CIdentifier(runtime_name);
  for (const ir::Function* function : module.functions()) {
    if (!function->exported || function->kind == ir::FunctionKind::Fn) continue;
    auto& list = function->kind == ir::FunctionKind::Kernel ? face.kernels : face.programs;
    FaceFunction* known = FindBySourceName(list, function->base_name());
    if (!known) {
      known = &list.emplace_back();
      known->source_name = std::string(function->base_name());
    }
    known->functions.push_back(function);
  }
  NameCppFunctions(module, face);
  NameCFunctions(face);
  CppNames device_names;
  device_names.Pick(kDevicesType);  // a member cannot have the name of its class
  for (const ir::Device& device : module.devices) {
    auto spec = specs.find(device.name.str());
    face.devices.push_back({device.name.str(), device_names.Pick(CIdentifier(device.name.text())),
                            spec == specs.end() ? device.spec : spec->second});
  }
  return face;
}

FaceFunction OnlyFunction(const FaceFunction& face, size_t index) {
  FaceFunction only = face;
  only.functions = {face.functions[index]};
  only.name = "kdl_variant_" + CIdentifier(only.functions[0]->name.text());
  only.params = FaceParamsOf(only.functions);
  only.is_variant = true;
  only.c_name = only.name;
  return only;
}

OwnNames OtherNames(const std::vector<FaceParam>& params,
                    const std::vector<FaceConstant>& constants) {
  CppNames names;
  for (const FaceParam& param : params) names.Pick(param.name);
  for (const FaceConstant& constant : constants) names.Pick(constant.name);
  OwnNames own;
  own.context = names.Pick("context");
  own.devices = names.Pick("devices");
  own.queue = names.Pick("queue");
  own.core_num = names.Pick("core_num");
  own.after = names.Pick("after");
  own.after_count = names.Pick("after_count");
  own.done = names.Pick("done");
  own.kernels = names.Pick("kernels");
  own.bound = names.Pick("bound");
  own.made = names.Pick("made");
  own.status = names.Pick("status");
  own.sizes = names.Pick("sizes");
  own.values = names.Pick("values");
  own.run = names.Pick("run");
  return own;
}

void DeclareKernel(Writer& writer, const FaceFunction& kernel, Way way, Defaults defaults,
                   std::string_view tail) {
  OwnNames own = OtherNames(kernel.params, kernel.constants);
  std::vector<std::string> items = {"const kdl::Queue& " + own.queue,
                                    "std::int64_t " + own.core_num};
  for (const FaceConstant& constant : kernel.constants)
    items.push_back("std::int64_t " + constant.name);
  for (const FaceParam& param : kernel.params) items.push_back(param.CppType() + " " + param.name);
  if (way == Way::Run) return writer.List("void " + kernel.name + "(", items, tail);
  items.push_back("const kdl::Queue::After& " + own.after +
                  (defaults == Defaults::Given ? " = {}" : ""));
  writer.List("kdl::Event " + kernel.launch_name + "(", items, tail);
}

void DeclareProgram(Writer& writer, const ModuleFace& face, const FaceFunction& program,
                    Defaults defaults, std::string_view tail) {
  OwnNames own = OtherNames(program.params, program.constants);
  std::vector<std::string> items = {"const kdl::Context& " + own.context};
  for (const FaceParam& param : program.params) items.push_back(param.CppType() + " " + param.name);
  if (!face.devices.empty()) {
    items.push_back(fmt::format("const {}& {}", kDevicesType, own.devices) +
                    (defaults == Defaults::Given ? " = {}" : ""));
  }
  writer.List("void " + program.name + "(", items, tail);
}

void DeclareCProgram(Writer& writer, const ModuleFace& face, const FaceFunction& program,
                     std::string_view tail) {
  OwnNames own = OtherNames(program.params, program.constants);
  std::vector<std::string> items = {"kdl_context* " + own.context};
  for (const FaceParam& param : program.params) items.push_back(param.CType() + " " + param.name);
  if (!face.devices.empty()) {
    // `struct` is needed, since a parameter with the same name as the type would hide the type.
    items.push_back(fmt::format("const struct {}* {}", face.c_devices, own.devices));
  }
  writer.List(fmt::format("{}kdl_error* {}(", program.is_variant ? "static " : "", program.c_name),
              items, tail);
}

}  // namespace kdl::codegen
