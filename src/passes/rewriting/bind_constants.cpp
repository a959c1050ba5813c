#include "passes/rewriting/bind_constants.h"

#include "ir/builder.h"
#include "ir/op_kind.h"

namespace kdl::passes {

namespace {

/// Replaces names in sizes and types.
class Binder {
 public:
  Binder(const ir::Function& function, ir::Module& module, const SizeOfName& replace)
      : function_(function), module_(module), types_(module.types()), replace_(replace) {}

  Size Bound(Size size) const { return size ? types_.sizes().Substitute(size, replace_) : size; }

  ir::Type Bound(ir::Type type) const {
    bool is_pipe = type->kind == ir::TypeKind::Pipe;
    if (!is_pipe && type->kind != ir::TypeKind::Tensor) return type;
    std::vector<Size> dims;
    for (Size dim : type->dims) dims.push_back(Bound(dim));
    return is_pipe ? types_.Pipe(type->scalar, std::move(dims))
                   : types_.Tensor(type->scalar, std::move(dims));
  }

  /// Replaces a size without unbound generics by i64 arithmetic on dimensions.
  void BindSize(ir::Op* op) {
    Size size = Bound(op->attr<ir::AttrKey::Size>());
    op->SetAttr(ir::MakeAttr<ir::AttrKey::Size>(size));
    if (MentionsGeneric(size)) return;
    ir::Builder builder(module_, op);
    op->result()->ReplaceAllUsesWith(builder.SizeValue(size));
    ir::Erase(op);
  }

  void Bind(ir::Op* op) {
    for (ir::Value* result : op->results()) result->set_type(Bound(result->type()));
    if (op->kind() == ir::OpKind::SizeOf) return BindSize(op);
    if (op->kind() == ir::OpKind::Require) {
      op->SetAttr(ir::MakeAttr<ir::AttrKey::Left>(Bound(op->attr<ir::AttrKey::Left>())));
      op->SetAttr(ir::MakeAttr<ir::AttrKey::Right>(Bound(op->attr<ir::AttrKey::Right>())));
    }
    if (!op->HasAttr(ir::AttrKey::Access)) return;
    ir::Access access = op->attr<ir::AttrKey::Access>();
    for (ir::AccessDim& dim : access.dims) {
      dim.offset = Bound(dim.offset);
      for (ir::AccessTerm& term : dim.terms) term.coefficient = Bound(term.coefficient);
    }
    op->SetAttr(ir::MakeAttr<ir::AttrKey::Access>(std::move(access)));
  }

 private:
  bool MentionsGeneric(Size size) const {
    if (size->kind == SizeKind::Symbol) return function_.FindDim(size->symbol) == nullptr;
    return size->lhs && (MentionsGeneric(size->lhs) || MentionsGeneric(size->rhs));
  }

  const ir::Function& function_;
  ir::Module& module_;
  ir::TypeTable& types_;
  const SizeOfName& replace_;
};

}  // namespace

void ReplaceSizes(ir::Function& function, ir::Module& module, const SizeOfName& replace) {
  Binder binder(function, module, replace);
  for (ir::Axis& axis : function.axes) {
    axis.extent = binder.Bound(axis.extent);
    axis.domain = binder.Bound(axis.domain);
  }
  for (ir::Value* param : function.body->params()) param->set_type(binder.Bound(param->type()));
  ir::Walk(function.body, [&](ir::Op* op) { binder.Bind(op); });
}

void BindConstants(ir::Function& function, ir::Module& module) {
  ReplaceSizes(function, module, [&](Name name) -> Size {
    for (const ir::Generic& generic : function.generics) {
      if (generic.name == name && generic.values.size() == 1)
        return module.types().sizes().Constant(generic.values[0]);
    }
    return nullptr;
  });
}

}  // namespace kdl::passes
