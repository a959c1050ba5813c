#include "driver/run/wrap_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "ir/builder.h"
#include "ir/optional_params.h"
#include "ir/packs.h"
#include "ir/views.h"

namespace kdl::driver {

namespace {

/// Replaces each generic that has a single value with that value.
Size Bound(Size size, const ir::Function& kernel, ir::TypeTable& types) {
  return types.sizes().Substitute(size, [&](Name name) -> Size {
    for (const ir::Generic& generic : kernel.generics) {
      if (generic.name == name && generic.values.size() == 1)
        return types.sizes().Constant(generic.values[0]);
    }
    return nullptr;
  });
}

ir::Type Bound(ir::Type type, const ir::Function& kernel, ir::TypeTable& types) {
  if (type->kind != ir::TypeKind::Tensor) return type;
  std::vector<Size> dims;
  for (Size dim : type->dims) dims.push_back(Bound(dim, kernel, types));
  return types.Tensor(type->scalar, std::move(dims));
}

/// Returns whether the size contains a constant that the compiler chooses for each target.
bool HasAuto(Size size, const ir::Function& kernel) {
  if (size->kind == SizeKind::Symbol) {
    return std::ranges::any_of(kernel.generics, [&](const ir::Generic& generic) {
      return generic.name == size->symbol && generic.is_auto && generic.values.empty();
    });
  }
  return size->lhs != nullptr && (HasAuto(size->lhs, kernel) || HasAuto(size->rhs, kernel));
}

/// Copies the kernel's requirements on its sizes to the program, because equations among them
/// determine sizes of the run. Those on `auto` constants determine none.
void CopyRequirements(const ir::Function& kernel, ir::Builder& builder, ir::TypeTable& types) {
  for (const ir::Op* op : *kernel.body) {
    bool asks = op->kind() == ir::OpKind::Require && !op->HasAttr(ir::AttrKey::Dimension);
    if (!asks) continue;  // the launch itself checks the requirements of accesses
    if (HasAuto(op->attr<ir::AttrKey::Left>(), kernel) ||
        HasAuto(op->attr<ir::AttrKey::Right>(), kernel))
      continue;
    builder.set_loc(op->loc());
    builder.Create(
        ir::OpKind::Require, {}, {},
        {ir::MakeAttr<ir::AttrKey::Left>(Bound(op->attr<ir::AttrKey::Left>(), kernel, types)),
         ir::MakeAttr<ir::AttrKey::Compare>(op->attr<ir::AttrKey::Compare>()),
         ir::MakeAttr<ir::AttrKey::Right>(Bound(op->attr<ir::AttrKey::Right>(), kernel, types)),
         ir::MakeAttr<ir::AttrKey::Text>(op->attr<ir::AttrKey::Text>())});
  }
  builder.set_loc(kernel.loc);
}

/// Makes the program's parameters optional as those of the kernel are. Returns the constants that select this instance of
/// the kernel, or an empty string if it has no optional parameters.
std::string CopyOptionals(const ir::Function& kernel, ir::Function& program) {
  std::string constants;
  for (const ir::Param& param : kernel.params) {
    std::optional<bool> is_present = ir::Presence(kernel, param);
    if (!is_present) continue;
    Name name = param.value->name();
    program.generics.push_back({name, {*is_present ? 1 : 0}, false, {}});
    constants +=
        fmt::format("{}{}={}", constants.empty() ? "" : ", ", name.text(), *is_present ? 1 : 0);
  }
  return constants;
}

/// Makes the program's outputs counted as those of the kernel are.
void CopyCounts(const ir::Function& kernel, ir::Function& program) {
  for (const ir::Param& param : kernel.params) {
    const std::string mark = ir::CountMark(param.value->name());
    auto found = std::ranges::find_if(
        kernel.generics, [&](const ir::Generic& generic) { return generic.name.text() == mark; });
    if (found != kernel.generics.end()) program.generics.push_back(*found);
  }
}

}  // namespace

ir::Function* WrapKernel(ir::Module& module, const ir::Function& kernel, Name device,
                         WrapCores cores) {
  Names& names = module.context().names;
  std::string_view ending = cores == WrapCores::Auto ? "run" : "cores";
  ir::Function* program = module.AddFunction(
      ir::FunctionKind::Program, names.Intern(fmt::format("{}.{}", kernel.name.text(), ending)));
  program->loc = kernel.loc;
  program->exported = kernel.exported;
  program->bindings = kernel.bindings;
  program->dims = kernel.dims;
  ir::Builder builder(module, program->body);
  builder.set_loc(kernel.loc);
  for (Name dim : kernel.dims)
    builder.AddParam(program->body, module.types().ScalarOf(Scalar::I64), dim);
  CopyRequirements(kernel, builder, module.types());
  std::vector<ir::Value*> arguments;
  for (const ir::Param& param : kernel.params) {
    // The program needs no parameter for the workspace, because the launch provides it.
    if (param.value->type()->kind == ir::TypeKind::Workspace) continue;
    ir::Type type = Bound(param.value->type(), kernel, module.types());
    arguments.push_back(builder.AddParam(program->body, type, param.value->name()));
    program->params.push_back({arguments.back(), param.direction});
  }
  CopyCounts(kernel, *program);
  std::vector<ir::Value*> core_num;
  if (cores == WrapCores::Parameter) {
    ir::Type i64 = module.types().ScalarOf(Scalar::I64);
    core_num.push_back(builder.AddParam(program->body, i64, names.Intern("core_num")));
    program->params.push_back({core_num[0], ir::Direction::In});
  }
  std::vector<ir::Attr> attrs = {ir::MakeAttr<ir::AttrKey::Callee>(kernel.name),
                                 ir::MakeAttr<ir::AttrKey::Device>(device),
                                 ir::MakeAttr<ir::AttrKey::Queue>(0)};
  if (std::string constants = CopyOptionals(kernel, *program); !constants.empty())
    attrs.push_back(ir::MakeAttr<ir::AttrKey::Constants>(names.Intern(constants)));
  builder.Create(ir::OpKind::Launch, {core_num, {}, arguments, {}}, {module.types().Event()},
                 std::move(attrs));
  builder.Create(ir::OpKind::Return, {{}}, {});
  return program;
}

void SetCoreNum(ir::Module& module, ir::Function& program, int64_t core_num) {
  ir::Walk(program.body, [&](ir::Op* op) {
    // The size of a launch's workspace also depends on the number of cores.
    static_assert(size_t{ir::LaunchOp::at_cores} == size_t{ir::InstancesOp::at_cores});
    bool has_cores = op->kind() == ir::OpKind::Launch || op->kind() == ir::OpKind::Instances;
    if (!has_cores || !op->Segment(ir::LaunchOp::at_cores).empty()) return;
    ir::Builder builder(module, op);
    ir::Value* cores[] = {builder.I64(core_num)};
    op->SetSegment(ir::LaunchOp::at_cores, cores);
  });
}

void KeepOnly(ir::Module& module, const std::vector<const ir::Function*>& programs) {
  std::set<Name> launched;
  for (const ir::Function* program : programs) {
    ir::Walk(program->body, [&](ir::Op* op) {
      if (op->kind() == ir::OpKind::Launch) launched.insert(op->attr<ir::AttrKey::Callee>());
    });
  }
  std::erase_if(module.functions(), [&](const ir::Function* function) {
    bool other_program = function->kind == ir::FunctionKind::Program &&
                         std::find(programs.begin(), programs.end(), function) == programs.end();
    return other_program ||
           (function->kind == ir::FunctionKind::Kernel && !launched.contains(function->name));
  });
}

}  // namespace kdl::driver
