#include "ir/module.h"

#include <algorithm>

#include "ir/op_kind.h"
#include "support/check.h"

namespace kdl::ir {

Value* Function::FindDim(Name dim) const {
  auto found = std::find(dims.begin(), dims.end(), dim);
  if (found != dims.end()) return body->param(static_cast<size_t>(found - dims.begin()));
  Value* bound = nullptr;
  if (kind == FunctionKind::Program) {
    Walk(body, [&](const Op* op) {
      if (op->kind() == OpKind::BindSize && op->attr<AttrKey::Name>() == dim) bound = op->result();
    });
  }
  return bound;
}

Name Function::UngivenDim() const {
  auto gives = [](const Param& param, Name dim) {
    return std::ranges::any_of(param.value->type()->dims, [&](Size size) {
      return size->kind == SizeKind::Symbol && size->symbol == dim;
    });
  };
  auto is_ungiven = [&](Name dim) {
    bool is_constant = std::ranges::count(generics, dim, &Generic::name) != 0;
    return !is_constant &&
           std::ranges::none_of(params, [&](const Param& param) { return gives(param, dim); });
  };
  auto found = std::ranges::find_if(dims, is_ungiven);
  return found == dims.end() ? Name() : *found;
}

Loc Context::Inlined(const Loc& loc, Name function, const Loc& call) {
  if (loc.call) {
    Loc around = Inlined(loc.call->at, function, call);
    return Inlined({loc.file, loc.line, loc.column, loc.length}, loc.call->function, around);
  }
  // Ops of one fn are inlined one after another, so that the call is usually the newest.
  auto known = std::find_if(calls_.rbegin(), calls_.rend(), [&](const CallSite& site) {
    return site.function == function && site.at == call;
  });
  Loc inlined = loc;
  inlined.call = known == calls_.rend() ? &calls_.emplace_back(function, call) : &*known;
  return inlined;
}

AxisId Function::AddAxis(Axis axis) {
  axes.push_back(axis);
  return AxisId(static_cast<uint32_t>(axes.size() - 1));
}

Function* Module::AddFunction(FunctionKind kind, Name function_name) {
  auto* function = arena_.Make<Function>();
  function->kind = kind;
  function->name = function_name;
  function->body = arena_.Make<Region>();
  function->body->set_function(function);
  functions_.push_back(function);
  return function;
}

Function* Module::FindFunction(Name function_name) const {
  auto found = std::find_if(functions_.begin(), functions_.end(), [&](const Function* function) {
    return function->name == function_name;
  });
  return found == functions_.end() ? nullptr : *found;
}

const MatrixInstruction* FindInstruction(const Context& context, Name name) {
  auto found = std::ranges::find_if(
      context.instructions, [&](const MatrixInstruction* u) { return u->name == name.text(); });
  return found == context.instructions.end() ? nullptr : *found;
}

const MatrixInstruction* InstructionOf(const Op& op, const Context& context) {
  if (!op.HasAttr(AttrKey::Instruction)) return nullptr;
  Name name = op.attr<AttrKey::Instruction>();
  const MatrixInstruction* instruction = FindInstruction(context, name);
  KDL_CHECK(instruction, "there is no matrix instruction '{}'", name.text());
  return instruction;
}

std::optional<AxisList> SubtileAxes(const Function& function, Type tile_buffer, Type tile) {
  const AxisList& wholes = tile_buffer->axes;
  if (tile->axes.size() != wholes.size()) return std::nullopt;
  AxisList part(wholes.size());
  for (AxisId axis : tile->axes) {
    // Find the innermost axis of the tile buffer that contains `axis`: if the tile buffer has both a range
    // and a subrange of that range, axes within the subrange belong to the subrange.
    AxisId whole = axis;
    while (whole.valid() && std::ranges::find(wholes, whole) == wholes.end())
      whole = function.axis(whole).parent;
    if (!whole.valid()) return std::nullopt;
    AxisId& place = part[static_cast<size_t>(std::ranges::find(wholes, whole) - wholes.begin())];
    if (place.valid()) return std::nullopt;
    place = axis;
  }
  return part;
}

Value* FindBlock(const Op* op, AxisId axis) {
  auto is_block = [&](Value* value) {
    return value->type()->kind == TypeKind::Block && value->type()->axes[0] == axis;
  };
  std::vector<const Op*> around;  // the op, followed by the ops that contain it
  for (; op; op = op->parent_region()->parent()) {
    around.push_back(op);
    for (Value* param : op->parent_region()->params()) {
      if (is_block(param)) return param;
    }
  }
  // At most one block of the axis is in scope. The make_block ops of ranges are at the start of their
  // regions, and outer regions are short, so the search starts in the outermost region.
  for (; !around.empty(); around.pop_back()) {
    for (const Op* before = around.back()->parent_region()->first(); before != around.back();
         before = before->next()) {
      if (before->kind() == OpKind::MakeBlock && is_block(before->result()))
        return before->result();
    }
  }
  return nullptr;
}

}  // namespace kdl::ir
