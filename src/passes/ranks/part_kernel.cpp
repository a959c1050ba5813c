#include "passes/ranks/part_kernel.h"

#include <fmt/format.h>

#include <string>

#include "ir/builder.h"
#include "ir/packs.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"

namespace kdl::passes {

namespace {

/// Asserts that first .. end is a part of the dimension. So the proofs know that indices computed from it do not wrap.
void AssertPart(ir::Module& module, ir::Function& kernel, const Value* hi, Value* first,
                Value* end) {
  ir::Builder b(module, kernel.body->first());
  b.set_loc(kernel.loc);
  Value* size = hi->def() ? b.Make(OpKind::SizeOf, {}, b.I64Type(),
                                   {ir::MakeAttr<AttrKey::Size>(hi->def()->attr<AttrKey::Size>())})
                          : const_cast<Value*>(hi);
  Value* inside = b.Le(end, size);
  inside = b.And(inside, b.Ge(first, b.I64(0)));
  inside = b.And(inside, b.Le(first, end));
  b.Create(OpKind::Assert, {{inside}, {}}, {},
           {ir::MakeAttr<AttrKey::Text>(module.context().names.Intern("the part of a rank"))});
}

}  // namespace

bool CanLimit(const Op* loop, size_t binder) {
  const Value* lo = loop->operand(2 * binder);
  const Value* hi = loop->operand(2 * binder + 1);
  bool is_size = !hi->def() || hi->def()->kind() == OpKind::SizeOf;
  return ConstantOf(lo) == 0 && is_size;
}

proofs::KernelPart LimitBinder(ir::Module& module, ir::Function& kernel, Op* loop, size_t binder) {
  Value* first = AddNumber(module, kernel, "first");
  Value* end = AddNumber(module, kernel, "end");
  Value* from = first;
  Value* to = end;
  if (CanLimit(loop, binder)) {
    AssertPart(module, kernel, loop->operand(2 * binder + 1), first, end);
  } else {
    ir::Builder b(module, loop);
    from = b.Max(loop->operand(2 * binder), first);
    to = b.Min(loop->operand(2 * binder + 1), end);
  }
  auto at = static_cast<uint32_t>(2 * binder);
  loop->SetOperand(at, from);
  loop->SetOperand(at + 1, to);
  const Value* param = loop->region()->param(binder);
  if (param->type()->kind == ir::TypeKind::Block)
    kernel.axes[param->type()->axes[0].value].domain = nullptr;
  return {first, end};
}

Name DerivedName(const ir::Module& module, const ir::Function& kernel, std::string_view ending) {
  std::string base(kernel.base_name());
  std::string types(kernel.name.text().substr(base.size()));
  auto is_taken = [&](const std::string& name) {
    for (const ir::Function* function : module.functions()) {
      if (function->base_name() == name) return true;
    }
    return false;
  };
  std::string unique = fmt::format("{}_{}", base, ending);
  for (int number = 2; is_taken(unique); ++number)
    unique = fmt::format("{}_{}{}", base, ending, number);
  return module.context().names.Intern(unique + types);
}

Value* AddNumber(ir::Module& module, ir::Function& kernel, std::string_view name) {
  ir::Builder b(module);
  Value* value = b.AddParam(kernel.body, b.I64Type(), module.context().names.Intern(name));
  kernel.params.push_back({value, ir::Direction::In});
  return value;
}

PartKernel MakePartKernel(ir::Module& module, const ir::Function& kernel,
                          const std::vector<size_t>& binders, std::string_view ending) {
  std::string full(ending);
  for (size_t binder : binders)
    full += fmt::format("_{}",
                        OpsOfKind(kernel, OpKind::Spmd)[0]->region()->param(binder)->name().text());
  PartKernel made{ir::CloneFunction(kernel, module, DerivedName(module, kernel, full)), {}};
  made.kernel->exported = false;
  ir::DropStrideMarks(*made.kernel);
  for (ir::Param& param : made.kernel->params) {
    if (param.direction == ir::Direction::Out) param.direction = ir::Direction::InOut;
  }
  Op* spmd = OpsOfKind(*made.kernel, OpKind::Spmd)[0];
  for (size_t binder : binders)
    made.parts.push_back(LimitBinder(module, *made.kernel, spmd, binder));
  return made;
}

}  // namespace kdl::passes
