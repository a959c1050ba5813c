#include "irgen/irgen.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/op_kind.h"
#include "ir/packs.h"
#include "irgen/programs/devices.h"
#include "irgen/programs/programs.h"
#include "irgen/programs/reduced_outputs.h"
#include "irgen/walk/generate.h"
#include "irgen/walk/sizes.h"
#include "sema/model/element_name.h"
#include "support/check.h"
#include "syntax/counted_outputs.h"

namespace kdl::irgen {

namespace {

ir::FunctionKind FunctionKindOf(syntax::FunctionKind kind) {
  switch (kind) {
    case syntax::FunctionKind::Fn:
      return ir::FunctionKind::Fn;
    case syntax::FunctionKind::Kernel:
      return ir::FunctionKind::Kernel;
    case syntax::FunctionKind::Program:
      return ir::FunctionKind::Program;
  }
  KDL_UNREACHABLE();
}

ir::Direction DirectionOf(syntax::Direction direction) {
  switch (direction) {
    case syntax::Direction::In:
      return ir::Direction::In;
    case syntax::Direction::Out:
      return ir::Direction::Out;
    case syntax::Direction::InOut:
      return ir::Direction::InOut;
    case syntax::Direction::Push:
      return ir::Direction::Out;
    case syntax::Direction::Pop:
      return ir::Direction::In;
  }
  KDL_UNREACHABLE();
}

/// Generates each function once, and each fn before the first function that calls it.
class ModuleGen {
 public:
  ModuleGen(const sema::CheckedModule& checked, const SourceManager& sources, ir::Module& module,
            ir::Contracts* contracts)
      : checked_(checked), sources_(sources), module_(module), contracts_(contracts) {
    for (const sema::CheckedFunction* function : checked.functions)
      order_.emplace(function, order_.size());
  }

  void GenerateModule() {
    for (const sema::Entity* device : checked_.devices) NameOfDevice(module_, *device);
    for (const sema::CheckedFunction* function : checked_.functions) {
      bool left_out = function->imported || (function->item->test && !contracts_);
      if (!left_out) Generate(*function);
    }
  }

 private:
  void Generate(const sema::CheckedFunction& checked) {
    if (!generated_.insert(&checked).second) return;
    std::vector<const sema::CheckedFunction*> callees;
    AddCallees(checked, callees);
    // Sort in source order, so that the output does not depend on hashing.
    std::sort(callees.begin(), callees.end(),
              [&](auto* a, auto* b) { return order_.at(a) < order_.at(b); });
    for (const sema::CheckedFunction* callee : callees) Generate(*callee);
    GenerateBody(checked);
  }

  /// Adds the functions that `checked` calls. A called program is inlined, so its callees become callees of
  /// the caller.
  static void AddCallees(const sema::CheckedFunction& checked,
                         std::vector<const sema::CheckedFunction*>& callees) {
    for (const auto& [expr, info] : checked.exprs) {
      if (info.callee) callees.push_back(info.callee);
    }
    for (const auto& [stmt, info] : checked.stmts) {
      if (!info.launch) continue;
      const sema::CheckedFunction* called = info.launch->kernel;
      if (called->item->function_kind == syntax::FunctionKind::Program) {
        AddCallees(*called, callees);
      } else if (called->imported) {
        callees.push_back(called);
      }
    }
  }

  void GenerateBody(const sema::CheckedFunction& checked);
  void DeclareParams(const sema::CheckedFunction& checked, FunctionGen& gen);

  const sema::CheckedModule& checked_;
  const SourceManager& sources_;
  ir::Module& module_;
  ir::Contracts* contracts_;
  std::unordered_map<const sema::CheckedFunction*, size_t> order_;
  std::unordered_set<const sema::CheckedFunction*> generated_;
};

ir::Type ParamType(FunctionGen& gen, const sema::Type& type) {
  ir::TypeTable& types = gen.builder.types();
  if (type.is_tensor()) return types.Tensor(type.scalar, type.dims);
  if (type.kind == sema::TypeKind::Pipe) return types.Pipe(type.scalar, type.dims);
  return types.Tile(type.scalar, gen.RangeAxes(type.ranges));
}

void ModuleGen::DeclareParams(const sema::CheckedFunction& checked, FunctionGen& gen) {
  ir::TypeTable& types = module_.types();
  auto add_dim = [&](const sema::Entity* dim) {
    gen.function.dims.push_back(dim->name);
    gen.values[dim] =
        gen.builder.AddParam(gen.function.body, types.ScalarOf(Scalar::I64), dim->name);
  };
  // Fns receive their integer parameters as sizes.
  bool is_fn = gen.function.kind == ir::FunctionKind::Fn;
  for (const sema::IntGenericInfo& generic : checked.generics) {
    bool of_data = gen.function.kind == ir::FunctionKind::Program && generic.in_type &&
                   generic.values.size() != 1;
    if (is_fn || of_data) add_dim(generic.entity);
  }
  for (const sema::DimInfo& dim : checked.dims) add_dim(dim.entity);
  for (const sema::Entity* range : checked.ranges) {
    ir::Value* block =
        gen.builder.AddParam(gen.function.body, types.Block(gen.RangeAxis(range)), range->name);
    gen.blocks[range] = block;
    gen.function.params.push_back({block, ir::Direction::In});
  }
  for (const sema::ParamInfo& param : checked.params) {
    for (const sema::Type& part : PartTypes(param.entity->type)) {
      ir::Type type = ParamType(gen, part);
      ir::Value* value = gen.builder.AddParam(gen.function.body, type, param.entity->name);
      if (param.entity->type.is_tuple()) {
        std::vector<ir::Value*>& elements = gen.tuples[param.entity];
        Names& names = module_.context().names;
        value->set_name(sema::ElementName(param.entity->name, elements.size(), names));
        elements.push_back(value);
      } else {
        gen.values[param.entity] = value;
      }
      gen.function.params.push_back({value, DirectionOf(param.direction)});
    }
  }
}

void ModuleGen::GenerateBody(const sema::CheckedFunction& checked) {
  Name name = module_.context().names.Intern(checked.InstanceName());
  DoingScope doing(fmt::format("generating KIR of '{}'", name.text()));
  ir::Function& function = *module_.AddFunction(FunctionKindOf(checked.item->function_kind), name);
  FunctionGen gen{checked, sources_, module_, function, ir::Builder(module_, function.body), {}, {},
                  {},      {},       {},      {}};
  function.loc = gen.LocOf(checked.item->name.span);
  function.exported = checked.item->exported && !checked.imported && !checked.left_out;
  function.doc = checked.item->test ? checked.item->test->title : checked.item->doc;
  gen.contracts = contracts_;
  for (const sema::TypeBinding& binding : checked.types) {
    function.bindings.push_back({binding.generic->name, binding.scalar});
  }
  for (const sema::IntGenericInfo& generic : checked.generics) {
    if (function.kind == ir::FunctionKind::Fn) break;
    function.generics.push_back(
        {generic.entity->name, generic.values, generic.is_auto, generic.choices});
  }
  for (const sema::OptionalInfo& optional : checked.optionals)
    function.generics.push_back({optional.name, {optional.is_present ? 1 : 0}, false, {}});
  for (const sema::DimInfo& dim : checked.dims) {
    if (!dim.entity->is_pack) continue;
    Name mark = module_.context().names.Intern(ir::PackMark(dim.entity->name));
    function.generics.push_back({mark, {0}, false, {}});
  }
  for (const sema::ParamInfo& param : checked.params) {
    if (param.strides == syntax::ParamStrides::Dense || param.entity->is_absent) continue;
    auto mark = [&](const std::string& text) {
      function.generics.push_back({module_.context().names.Intern(text), {0}, false, {}});
    };
    mark(ir::StrideMark(param.entity->name));
    if (param.strides == syntax::ParamStrides::Broadcast)
      mark(ir::BroadcastMark(param.entity->name));
  }
  for (const sema::ParamInfo& param : checked.params) {
    Name count = syntax::CountOf(*checked.item, param.entity->name);
    auto counts = [&](const sema::ParamInfo& other) { return other.entity->name == count; };
    auto found = std::ranges::find_if(checked.params, counts);
    if (count.empty() || found == checked.params.end()) continue;
    Name mark = module_.context().names.Intern(ir::CountMark(param.entity->name));
    function.generics.push_back({mark, {found - checked.params.begin()}, false, {}});
  }
  DeclareParams(checked, gen);
  GenRequirements(gen);
  for (const sema::ParamInfo& param : checked.params) {
    GenSizeName(gen, param.entity);
    if (param.entity->on != nullptr) GenLives(gen, param.entity);
    if (!param.entity->distribution.empty()) GenDistributedParam(gen, param);
  }
  bool returns = function.kind == ir::FunctionKind::Fn &&
                 (checked.result.is_value() || checked.result.is_tuple());
  if (returns) {
    for (const sema::Type& part : PartTypes(checked.result))
      function.results.push_back(ParamType(gen, part));
  }
  GenBlock(gen, *checked.item->body);
  for (const sema::ParamInfo& param : checked.params)
    if (!param.entity->distribution.empty()) GenCopyToCaller(gen, param);
  if (gen.function.kind == ir::FunctionKind::Kernel) {
    ir::Region* end = gen.builder.region();
    FillReducedOutputs(gen);
    gen.builder.SetInsertionPoint(end);
  }
  if (!returns) gen.builder.Create(ir::OpKind::Return, {{}}, {});
  DropUnused(function.body);
}

}  // namespace

std::unique_ptr<ir::Module> Generate(const sema::CheckedModule& checked,
                                     const SourceManager& sources, ir::Context& context,
                                     Name module_name, ir::Contracts* contracts) {
  auto module = std::make_unique<ir::Module>(context);
  module->name = module_name;
  ModuleGen(checked, sources, *module, contracts).GenerateModule();
  return module;
}

}  // namespace kdl::irgen
