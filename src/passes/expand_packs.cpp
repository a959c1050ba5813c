#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/op_kind.h"
#include "ir/packs.h"
#include "passes/analysis/pack_loops.h"
#include "passes/passes.h"
#include "passes/rewriting/bind_constants.h"
#include "passes/rewriting/drop_unused.h"
#include "passes/rewriting/rewrite.h"

// expand-packs: adds a kernel for tensors with any strides to each kernel that has `strided` parameters. In it, a pack is
// several dimensions, and a `strided` tensor has one more dimension, of size 1, because neighbours in its last dimension
// may be apart. The runtime merges the dimensions of a launch's tensors to this number.
//
//   kernel @f dims(%A) (%x: tensor<f32,[A]> in, …) { spmd (%a: block<a> in 0 .. %A) { … load %x[%a] … } }
//   ->  kernel @f.strided dims(%A_1, %A_2) (%x: tensor<f32,[A_1,A_2,1]> in, …) {
//         spmd (%a_1: i64 in 0 .. %A_1, %a: block<a> in 0 .. %A_2) { … load %x[%a_1, %a, 0] … } }
//
// The proofs of the original kernel hold for it, because it treats each element of a pack by itself (check-strides).

namespace kdl::passes {

namespace {

using ir::Builder;
using ir::Function;
using ir::MakeAttr;

constexpr size_t kMostDims = 8;  ///< of a tensor (KDL_MAX_RANK)
/// More dimensions cost time in each block, and few tensors have more groups of adjacent dimensions.
constexpr size_t kMostPackDims = 6;

/// Returns the number of dimensions that each pack gets, so that all tensors have at most kMostDims.
size_t PackDims(const Function& kernel) {
  size_t most = kMostPackDims;
  for (const ir::Param& param : kernel.params) {
    const std::vector<Size>& dims = param.value->type()->dims;
    auto is_pack = [&](Size dim) { return ir::IsPack(kernel, dim); };
    auto packs = static_cast<size_t>(std::ranges::count_if(dims, is_pack));
    size_t others = dims.size() - packs + 1;  // with the dimension of size 1
    if (packs > 0) most = std::min(most, kMostDims > others ? (kMostDims - others) / packs : 0);
  }
  return most;
}

/// Makes the packs of a kernel, which is a copy of another one, several dimensions.
class Expander {
 public:
  Expander(ir::Module& module, Function& kernel)
      : module_(module), kernel_(kernel), count_(PackDims(kernel)) {}

  void Expand() {
    PackLoops loops = FindPackLoops(kernel_);
    NameDims();
    ReplaceParams();
    for (Op* op : OpsOfKind(kernel_, OpKind::Spmd)) SplitSpmd(op, loops);
    for (OpKind kind : {OpKind::For, OpKind::Loop})
      for (Op* op : OpsOfKind(kernel_, kind)) SplitLoop(op, loops);
    ir::Walk(kernel_.body, [&](Op* op) {
      if (op->HasAttr(AttrKey::Access)) SplitIndex(op);
    });
    for (const auto& [binder, split] : splits_) UseNumbers(binder, split);
    for (const auto& [binder, split] : splits_) {
      if (binder->type()->kind != ir::TypeKind::Block) continue;
      Name last = packs_.at(split.pack->symbol).back();
      kernel_.axes[binder->type()->axes[0].value].domain = sizes().Symbol(last);
    }
    ReplaceSizes(kernel_, module_, [&](Name name) { return Product(name); });
    Mark();
    DropUnused(kernel_.body);
  }

 private:
  using Dims = std::vector<Name>;
  using Outer = std::vector<Value*>;
  /// A loop over a pack, after it was split.
  struct Split {
    Size pack = nullptr;
    Outer
        outer;  ///< the indices of all dimensions but the last one, whose index is the loop variable
  };
  /// The type of a tensor before packs became several dimensions.
  struct OldTensor {
    std::vector<Size> dims;
    bool has_last = false;  ///< whether it has got a last dimension of size 1
  };

  Name Intern(const std::string& text) { return module_.context().names.Intern(text); }
  SizeTable& sizes() { return module_.types().sizes(); }
  Value* DimValue(Name dim) const { return kernel_.FindDim(dim); }
  const Dims* DimsOf(Size size) const {
    auto found = size->kind == SizeKind::Symbol ? packs_.find(size->symbol) : packs_.end();
    return found == packs_.end() ? nullptr : &found->second;
  }

  /// Returns the number of elements of a pack, or null for another name.
  Size Product(Name name) {
    auto found = packs_.find(name);
    if (found == packs_.end()) return nullptr;
    Size product = sizes().Constant(1);
    for (Name dim : found->second)
      product = sizes().Binary(SizeKind::Mul, product, sizes().Symbol(dim));
    return product;
  }

  void NameDims() {
    for (Name dim : kernel_.dims) {
      if (!ir::IsPack(kernel_, sizes().Symbol(dim))) continue;
      for (const std::string& text : ir::ExpandedNames(kernel_, dim, count_))
        packs_[dim].push_back(Intern(text));
    }
  }

  ir::Type Expanded(const ir::Param& param) {
    ir::Type type = param.value->type();
    if (type->kind != ir::TypeKind::Tensor) return type;
    std::vector<Size> dims;
    for (Size size : type->dims) {
      const Dims* pack = DimsOf(size);
      if (pack == nullptr) dims.push_back(size);
      for (Name dim : pack != nullptr ? *pack : Dims{}) dims.push_back(sizes().Symbol(dim));
    }
    if (ir::IsStrided(kernel_, param)) dims.push_back(sizes().Constant(1));
    return module_.types().Tensor(type->scalar, dims);
  }

  /// Replaces the parameters of the body by those of the new dims and types.
  void ReplaceParams() {
    std::vector<Value*> old = kernel_.body->params();
    std::vector<Name> old_dims = std::exchange(kernel_.dims, {});
    Builder b(module_, kernel_.body, kernel_.body->first());
    for (size_t d = 0; d < old_dims.size(); ++d) {
      Value* number = nullptr;  // of the pack's elements
      for (Name dim : packs_.contains(old_dims[d]) ? packs_[old_dims[d]] : Dims{old_dims[d]}) {
        kernel_.dims.push_back(dim);
        Value* size = b.AddParam(kernel_.body, b.I64Type(), dim);
        number = number == nullptr ? size : b.Mul(number, size);
      }
      old[d]->ReplaceAllUsesWith(number);
    }
    for (ir::Param& param : kernel_.params) {
      Value* made = b.AddParam(kernel_.body, Expanded(param), param.value->name());
      if (made->type()->kind == ir::TypeKind::Tensor)
        tensors_[made] = {param.value->type()->dims, ir::IsStrided(kernel_, param)};
      param.value->ReplaceAllUsesWith(made);
      param.value = made;
    }
    for (size_t i = 0; i < old.size(); ++i) kernel_.body->EraseParam(0);
  }

  Name OuterName(const Value* binder, size_t i) {
    return Intern(fmt::format("{}_{}", binder->name().text(), i + 1));
  }

  /// Gives an spmd a loop variable for each outer dimension of its packs.
  void SplitSpmd(Op* op, const PackLoops& loops) {
    const std::vector<Value*> binders = op->region()->params();
    auto is_pack = [&](const Value* binder) { return loops.contains(binder); };
    if (std::ranges::none_of(binders, is_pack)) return;
    Builder b(module_, op);
    struct Made {
      Value* lo;
      Value* hi;
      ir::Type type;
      Name name;
    };
    std::vector<Made> made;
    for (size_t i = 0; i < binders.size(); ++i) {
      Value* binder = binders[i];
      Made last{op->operand(2 * i), op->operand(2 * i + 1), binder->type(), binder->name()};
      if (is_pack(binder)) {
        const Dims& dims = packs_.at(loops.at(binder)->symbol);
        for (size_t d = 0; d + 1 < dims.size(); ++d)
          made.push_back({last.lo, DimValue(dims[d]), b.I64Type(), OuterName(binder, d)});
        last.hi = DimValue(dims.back());
      }
      made.push_back(last);
    }
    std::vector<Value*> bounds;
    for (const Made& one : made) bounds.insert(bounds.end(), {one.lo, one.hi});
    Op* split = b.Create(OpKind::Spmd, {bounds}, {}, op->attrs());
    std::vector<Value*> params;
    for (const Made& one : made) params.push_back(b.AddParam(split->region(), one.type, one.name));
    size_t next = 0;
    for (Value* binder : binders) {
      size_t outer = is_pack(binder) ? count_ - 1 : 0;
      if (is_pack(binder))
        splits_[params[next + outer]] = {loops.at(binder), {&params[next], &params[next] + outer}};
      next += outer;
      binder->ReplaceAllUsesWith(params[next++]);
    }
    MoveOps(op->region(), split->region());
    ir::Erase(op);
  }

  static void MoveOps(ir::Region* from, ir::Region* into) {
    for (Op* op : *from) {
      from->Remove(op);
      into->InsertBefore(op, nullptr);
    }
  }

  /// Puts a sequential loop over the last dimension of a pack into loops over the other ones.
  void SplitLoop(Op* op, const PackLoops& all) {
    Value* binder = op->region()->param(0);
    auto found = all.find(binder);
    if (found == all.end()) return;
    const Dims& dims = packs_.at(found->second->symbol);
    Builder b(module_, op);
    size_t first_init = op->kind() == OpKind::For ? 2 : 3;
    std::vector<Value*> carried(op->operands().begin() + static_cast<std::ptrdiff_t>(first_init),
                                op->operands().end());
    Outer outer;
    std::vector<Op*> loops;
    for (size_t d = 0; d + 1 < dims.size(); ++d) {
      Op* loop = b.Create(OpKind::Loop, {{b.I64(0)}, {DimValue(dims[d])}, {b.I64(1)}, carried},
                          TypesOf(carried));
      outer.push_back(b.AddParam(loop->region(), b.I64Type(), OuterName(binder, d)));
      for (Value*& value : carried)
        value = b.AddParam(loop->region(), value->type(), value->name());
      loops.push_back(loop);
      b.SetInsertionPoint(loop->region());
    }
    splits_[binder] = {found->second, outer};
    if (loops.empty()) return;
    for (size_t r = 0; r < op->results().size(); ++r)
      op->result(r)->ReplaceAllUsesWith(loops[0]->result(r));
    op->parent_region()->Remove(op);
    loops.back()->region()->InsertBefore(op, nullptr);
    op->SetOperand(1, DimValue(dims.back()));
    for (size_t i = 0; i < carried.size(); ++i) op->SetOperand(first_init + i, carried[i]);
    for (size_t l = loops.size(); l-- > 0;) {
      b.SetInsertionPoint(loops[l]->region());
      const Op* inner = l + 1 < loops.size() ? loops[l + 1] : op;
      b.Create(OpKind::Yield, {inner->results()}, {});
    }
  }

  /// Replaces the index of each pack in an access by indices of its dimensions.
  void SplitIndex(Op* op) {
    auto tensor = tensors_.find(TensorOf(op));
    if (tensor == tensors_.end()) return;
    std::span<Value* const> old_index = IndexOf(op);
    const ir::Access old = op->attr<AttrKey::Access>();
    std::vector<Value*> index;
    ir::Access access;
    auto term = [&](Value* value, Size coefficient) {
      index.push_back(value);
      return ir::AccessTerm{coefficient, static_cast<uint32_t>(index.size() - 1)};
    };
    for (size_t d = 0; d < old.dims.size(); ++d) {
      if (DimsOf(tensor->second.dims[d]) != nullptr) {
        Value* binder = old_index[old.dims[d].terms.at(0).operand];
        for (Value* outer : splits_.at(binder).outer)
          access.dims.push_back({{term(outer, sizes().Constant(1))}, sizes().Constant(0)});
      }
      ir::AccessDim& dim = access.dims.emplace_back(ir::AccessDim{{}, old.dims[d].offset});
      for (const ir::AccessTerm& one : old.dims[d].terms)
        dim.terms.push_back(term(old_index[one.operand], one.coefficient));
    }
    if (tensor->second.has_last) access.dims.push_back({{}, sizes().Constant(0)});
    op->SetSegment(IndexSegment(op), index);
    op->SetAttr(MakeAttr<AttrKey::Access>(std::move(access)));
  }

  static size_t IndexSegment(const Op* op) {
    size_t segment = 0;
    while (op->Segment(segment).data() != IndexOf(op).data() ||
           op->Segment(segment).size() != IndexOf(op).size())
      ++segment;
    return segment;
  }

  /// Returns the number of the first element of the last dimension, or null if the pack has only this dimension.
  Value* FirstNumber(Builder& b, const Split& split) {
    const Dims& dims = packs_.at(split.pack->symbol);
    Value* number = nullptr;
    for (size_t d = 0; d < split.outer.size(); ++d) {
      number = number == nullptr ? split.outer[d] : b.Add(number, split.outer[d]);
      number = b.Mul(number, DimValue(dims[d + 1]));
    }
    return number;
  }

  /// Where the kernel uses the number of an element in its pack, adds the number at which the last dimension begins.
  void UseNumbers(Value* binder, const Split& split) {
    std::vector<Value*> numbers;
    if (binder->type()->kind != ir::TypeKind::Block) {
      numbers.push_back(binder);
    } else {
      for (const ir::Use& use : binder->uses()) {
        OpKind kind = use.user->kind();
        if (kind == OpKind::BlockStart || kind == OpKind::Iota)
          numbers.push_back(use.user->result());
      }
    }
    for (Value* number : numbers) {
      std::vector<ir::Use> uses;
      std::ranges::copy_if(number->uses(), std::back_inserter(uses),
                           [&](const ir::Use& use) { return number != binder || !IsIndex(use); });
      if (uses.empty()) continue;
      ir::Region* region = binder->parent_region();
      Op* before = number == binder ? region->first() : number->def()->next();
      Builder b(module_, before);
      if (Value* first = FirstNumber(b, split)) {
        Value* sum = b.Add(number, first);
        for (const ir::Use& use : uses) use.user->SetOperand(use.operand, sum);
      }
    }
  }

  /// Whether a use of a number is the index of an access. Loop variables index only their pack.
  static bool IsIndex(const ir::Use& use) {
    if (!use.user->HasAttr(AttrKey::Access)) return false;
    size_t segment = IndexSegment(use.user);
    size_t begin = use.user->SegmentBegin(segment);
    return use.operand >= begin && use.operand < begin + use.user->Segment(segment).size();
  }

  /// Says in the kernel's constants how many dimensions its packs have, and that tensors may have any strides.
  void Mark() {
    for (ir::Generic& generic : kernel_.generics) {
      for (const auto& [pack, dims] : packs_)
        if (generic.name.text() == ir::PackMark(pack)) generic.values = {std::ssize(dims)};
      for (const ir::Param& param : kernel_.params)
        if (generic.name.text() == ir::StrideMark(param.value->name())) generic.values = {1};
    }
  }

  ir::Module& module_;
  Function& kernel_;
  size_t count_;
  std::map<Name, Dims> packs_;
  std::map<const Value*, OldTensor> tensors_;
  std::map<Value*, Split> splits_;
};

void AddKernel(ir::Module& module, const Function& kernel) {
  Name name = module.context().names.Intern(fmt::format("{}.strided", kernel.name.text()));
  Expander(module, *ir::CloneFunction(kernel, module, name)).Expand();
}

}  // namespace

void RunExpandPacks(PassContext& context) {
  const std::vector<Function*> functions = context.module.functions();
  for (const Function* function : functions) {
    bool is_marked = function->kind == ir::FunctionKind::Kernel && ir::HasStrided(*function);
    if (is_marked && PackDims(*function) > 0) AddKernel(context.module, *function);
  }
}

}  // namespace kdl::passes
