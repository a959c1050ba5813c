#include <fmt/format.h>

#include "irgen/function_gen.h"

namespace kdl::irgen {

namespace {

using ir::AttrKey;
using ir::Value;

/// `BM = 64, BN = 32`: the constants that the call names.
std::string ConstantsText(const sema::LaunchInfo& launch) {
  std::string text;
  for (const sema::GenericBinding& binding : launch.generics) {
    if (!binding.value) continue;
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", binding.generic->name.text(),
                        ToString(binding.value));
  }
  return text;
}

/// A tensor argument is the tensor; a scalar one is of the parameter's type already.
Value* GenArgument(FunctionGen& gen, const syntax::Expr* arg) {
  const sema::ExprInfo& info = gen.Info(arg);
  if (info.type.is_tensor()) return gen.values.at(info.entity);
  return GenRounded(gen, arg);
}

}  // namespace

void GenLaunch(FunctionGen& gen, const syntax::LaunchStmt& statement) {
  const sema::LaunchInfo& launch = *gen.checked.Info(&statement).launch;
  Names& names = gen.module.context().names;
  std::vector<Value*> cores;
  if (launch.core_num) cores.push_back(GenIndex(gen, launch.core_num));
  std::vector<Value*> args;
  for (const syntax::Expr* arg : launch.args) args.push_back(GenArgument(gen, arg));
  int64_t queue = 0;
  if (!launch.queues.empty())
    queue = static_cast<int64_t>(gen.Info(launch.queues[0]).constant->bits);
  std::vector<ir::Attr> attrs = {
      ir::MakeAttr<AttrKey::Callee>(names.Intern(launch.kernel->InstanceName())),
      ir::MakeAttr<AttrKey::Device>(launch.device ? launch.device->name : Name()),
      ir::MakeAttr<AttrKey::Queue>(queue),
  };
  std::string constants = ConstantsText(launch);
  if (!constants.empty())
    attrs.push_back(ir::MakeAttr<AttrKey::Constants>(names.Intern(constants)));
  gen.builder.Create(ir::OpKind::Launch, {cores, args, {}}, {gen.builder.types().Event()},
                     std::move(attrs));
}

void GenLocalTensor(FunctionGen& gen, const sema::Entity* tensor, Span span) {
  LocScope loc(gen, span);
  ir::Type type = gen.builder.types().Tensor(tensor->type.scalar, tensor->type.dims);
  Value* value =
      gen.builder.Make(ir::OpKind::Alloc, {}, type,
                       {ir::MakeAttr<AttrKey::Device>(tensor->on ? tensor->on->name : Name()),
                        ir::MakeAttr<AttrKey::Name>(tensor->name)});
  value->set_name(tensor->name);
  gen.values[tensor] = value;
}

}  // namespace kdl::irgen
