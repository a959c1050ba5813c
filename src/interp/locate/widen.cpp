#include "interp/locate/widen.h"

#include <optional>
#include <string_view>
#include <vector>

#include "ir/builder.h"
#include "ir/op_info.h"
#include "ir/views.h"
#include "support/float_bits.h"

namespace kdl::interp {

namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;

Scalar WideScalar(Scalar scalar) { return IsFloat(scalar) ? Scalar::F64 : scalar; }

ir::Type WideType(ir::TypeTable& types, ir::Type type) {
  if (!IsFloat(type->scalar)) return type;
  switch (type->kind) {
    case ir::TypeKind::Tile:
      return types.Tile(Scalar::F64, type->axes);
    case ir::TypeKind::Tensor:
      return types.Tensor(Scalar::F64, type->dims);
    case ir::TypeKind::Pipe:
      return types.Pipe(Scalar::F64, type->dims);
    default:
      return type;
  }
}

uint64_t WideBits(Scalar scalar, uint64_t bits) {
  return IsFloat(scalar) ? FloatBits(Scalar::F64, FloatValue(scalar, bits)) : bits;
}

/// Returns the op on f64 values that computes a function of the language, such as `exp_f32`. Returns nothing for other
/// fns.
std::optional<OpKind> MathOp(std::string_view callee) {
  for (std::string_view suffix : {"_f32", "_f64"}) {
    if (!callee.ends_with(suffix)) continue;
    callee.remove_suffix(suffix.size());
    if (size_t at = callee.rfind(':'); at != std::string_view::npos) callee.remove_prefix(at + 1);
    std::optional<OpKind> kind = ir::OpFromSpelling(callee);
    bool is_math =
        kind && ir::Info(*kind).is_computed() && ir::Info(*kind).places == ir::kContracts;
    return is_math ? kind : std::nullopt;
  }
  return std::nullopt;
}

/// Replaces the floats of one function.
class FunctionWidener {
 public:
  FunctionWidener(ir::Module& module, ir::Function& function)
      : module_(module), function_(function) {}

  void WidenFunction() {
    for (ir::Type& result : function_.results) result = WideType(module_.types(), result);
    WidenRegion(*function_.body);
  }

 private:
  void WidenRegion(const ir::Region& region) {
    for (ir::Value* param : region.params()) WidenValue(*param);
    for (Op* op : region) {
      // Attributes say how the bits of a result are stored, so they change before its type does.
      WidenAttrs(*op);
      for (ir::Value* result : op->results()) WidenValue(*result);
      for (const ir::Region* inner : op->regions()) WidenRegion(*inner);
      Replace(*op);
    }
  }

  void WidenValue(ir::Value& value) { value.set_type(WideType(module_.types(), value.type())); }

  void WidenAttrs(Op& op) {
    if (op.kind() == OpKind::Const) {
      auto bits = static_cast<uint64_t>(op.attr<AttrKey::Bits>());
      uint64_t wide = WideBits(op.result()->type()->scalar, bits);
      op.SetAttr(ir::MakeAttr<AttrKey::Bits>(static_cast<int64_t>(wide)));
    } else if (op.kind() == OpKind::Table) {
      ir::ElementBits elements = op.attr<AttrKey::Elements>();
      for (uint64_t& bits : elements) bits = WideBits(op.result()->type()->scalar, bits);
      op.SetAttr(ir::MakeAttr<AttrKey::Elements>(std::move(elements)));
    } else if (op.kind() == OpKind::Pipe) {
      // The layout of the kernel's workspace is for the original types, so the pipe gets memory of its own.
      op.SetSegment(0, {});
      for (AttrKey key : {AttrKey::Slot, AttrKey::Offset, AttrKey::Header}) op.RemoveAttr(key);
    }
    if (op.HasAttr(AttrKey::Acc))
      op.SetAttr(ir::MakeAttr<AttrKey::Acc>(WideScalar(op.attr<AttrKey::Acc>())));
    op.RemoveAttr(AttrKey::Instruction);
  }

  /// Replaces ops that are not defined on f64 by those that compute the same without rounding.
  void Replace(Op& op) {
    if (op.kind() == OpKind::Flush || op.kind() == OpKind::Tf32)
      return ReplaceBy(op, OpKind::Snapshot, op.operands());
    if (op.kind() == OpKind::FmaFlush) return ReplaceBy(op, OpKind::Fma, op.operands());
    if (op.kind() == OpKind::Call && CallsMath(op))
      ReplaceBy(op, *MathOp(op.attr<AttrKey::Callee>().text()), op.operands());
  }

  void ReplaceBy(Op& op, OpKind kind, const std::vector<ir::Value*>& operands) {
    ir::Builder builder(module_, &op);
    ir::Builder::Segments segments;
    for (ir::Value* operand : operands) segments.push_back({operand});
    const Op* made = builder.Create(kind, segments, {op.result()->type()});
    op.result()->ReplaceAllUsesWith(made->result());
    ir::Erase(&op);
  }

  ir::Module& module_;
  ir::Function& function_;
};

/// Copies a function and the fns that it calls.
void CopyWithCallees(const ir::Module& from, const ir::Function& function, ir::Module& to) {
  if (to.FindFunction(function.name)) return;
  ir::CloneFunction(function, to, function.name);
  ir::Walk(function.body, [&](const Op* op) {
    if (op->kind() != OpKind::Call) return;
    if (const ir::Function* callee = from.FindFunction(op->attr<AttrKey::Callee>()))
      CopyWithCallees(from, *callee, to);
  });
}

}  // namespace

bool CallsMath(const Op& op) {
  return op.kind() == OpKind::Call && op.Segment(ir::CallOp::at_mask).empty() &&
         op.results().size() == 1 && MathOp(op.attr<AttrKey::Callee>().text());
}

std::unique_ptr<ir::Module> Widen(const ir::Module& module, const ir::Function& kernel) {
  auto wide = std::make_unique<ir::Module>(module.context());
  wide->name = module.name;
  CopyWithCallees(module, kernel, *wide);
  for (ir::Function* function : wide->functions())
    FunctionWidener(*wide, *function).WidenFunction();
  return wide;
}

}  // namespace kdl::interp
