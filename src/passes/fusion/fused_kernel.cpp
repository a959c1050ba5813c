#include "passes/fusion/fused_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "ir/views.h"
#include "passes/fusion/copier.h"
#include "passes/fusion/inlined_reads.h"
#include "passes/fusion/reads.h"
#include "passes/rewriting/drop_unused.h"
#include "passes/rewriting/rewrite.h"
#include "support/check.h"

namespace kdl::passes {

namespace {

std::span<Value* const> ArgumentsOf(const FusedMember& member) {
  return ir::LaunchOp(member.launch).arguments();
}

class FusedKernelBuilder {
 public:
  FusedKernelBuilder(ir::Module& module, const FusedGroup& group, Obstacle& obstacle)
      : module_(module), group_(group), obstacle_(obstacle), sizes_(module.types().sizes()) {}

  std::optional<FusedLaunch> Build() {
    kernel_ = module_.AddFunction(ir::FunctionKind::Kernel, KernelName());
    const FusedMember& last = group_.members.back();
    kernel_->loc = last.kernel->loc;
    NameSizes();
    symbols_.resize(group_.members.size());
    for (size_t m = 0; m < group_.members.size(); ++m) {
      if (!NameSymbols(m)) return Failed();
    }
    AddGenerics();
    AddParams();
    for (size_t m = 0; m < group_.members.size(); ++m) RequireSizes(m);
    CopyLast();
    for (size_t m = group_.members.size() - 1; m-- > 0;) {
      if (!StoreOutputs(m) || !Inline(m)) return Failed();
    }
    DropUnused(kernel_->body);
    DropInternal();
    return FusedLaunch{kernel_, arguments_};
  }

 private:
  std::optional<FusedLaunch> Failed() {
    std::erase(module_.functions(), kernel_);
    return std::nullopt;
  }

  bool Refuse(size_t member, Obstacle::Kind kind, std::string name, const ir::Loc& loc,
              std::string reason, std::string help) {
    obstacle_ = {kind, member, std::move(name), loc, std::move(reason), std::move(help)};
    return false;
  }

  Name Intern(std::string_view text) const { return module_.context().names.Intern(text); }

  /// Returns the text, with a number at the end if the kernel already uses it for something else.
  Name Unique(std::string_view text) {
    std::string unique(text);
    for (int number = 2; !taken_.insert(unique).second; ++number)
      unique = fmt::format("{}_{}", text, number);
    return Intern(unique);
  }

  Name KernelName() const {
    std::string text;
    for (const FusedMember& member : group_.members)
      text += (text.empty() ? "" : "_") + std::string(member.kernel->base_name());
    std::string unique = text;
    for (int number = 2; module_.FindFunction(Intern(unique)); ++number)
      unique = fmt::format("{}_{}", text, number);
    return Intern(unique);
  }

  // -- Sizes ------------------------------------------------------------------------------------------

  template <class Visit>
  void ForDims(Visit&& visit) {
    for (const FusedMember& member : group_.members) {
      for (const Value* argument : ArgumentsOf(member)) {
        if (!IsTensor(argument) || group_.internal.contains(argument)) continue;
        for (Size dim : argument->type()->dims) visit(dim);
      }
    }
  }

  /// Chooses names for the sizes of the program on which the arguments of the kernel depend.
  void NameSizes() {
    ForDims([&](Size dim) {
      if (dim->kind == SizeKind::Symbol) AddDim(dim, dim->symbol.text());
    });
    ForDims([&](Size dim) {
      if (!Named(dim)) AddDim(dim, "D");
    });
  }

  void AddDim(Size dim, std::string_view text) {
    if (names_.contains(dim)) return;
    Name name = Unique(text);
    kernel_->dims.push_back(name);
    names_[dim] = sizes_.Symbol(name);
  }

  /// Returns a size of the program in the sizes of the kernel. Returns null if no argument determines it.
  Size Named(Size size) {
    if (IsConstant(size)) return size;
    auto known = names_.find(size);
    if (known != names_.end()) return known->second;
    if (!size->lhs) return nullptr;
    Size lhs = Named(size->lhs);
    Size rhs = Named(size->rhs);
    return lhs && rhs ? sizes_.Binary(size->kind, lhs, rhs) : nullptr;
  }

  /// Finds out what the size names of a launched kernel are in the fused kernel.
  bool NameSymbols(size_t m) {
    const FusedMember& member = group_.members[m];
    std::map<Name, Size>& symbols = symbols_[m];
    for (size_t p = 0; p < member.kernel->params.size(); ++p) {
      const Value* argument = ArgumentsOf(member)[p];
      if (!IsTensor(argument)) continue;
      const std::vector<Size>& dims = member.kernel->params[p].value->type()->dims;
      for (size_t d = 0; d < dims.size(); ++d) {
        Size size = Named(argument->type()->dims[d]);
        if (!size) {
          return Refuse(
              m, Obstacle::Kind::Tensor, std::string(argument->name().text()), member.launch->loc(),
              fmt::format("no other argument has its size {}", ToString(argument->type()->dims[d])),
              "declare the tensor with sizes of the tensors that the launches read or write");
        }
        if (dims[d]->kind == SizeKind::Symbol) symbols.emplace(dims[d]->symbol, size);
      }
    }
    for (Name dim : member.kernel->dims) {  // sizes that `where` defines
      if (symbols.contains(dim)) continue;
      kernel_->dims.push_back(Unique(dim.text()));
      symbols[dim] = sizes_.Symbol(kernel_->dims.back());
    }
    return true;
  }

  /// Adds the integer parameters without a value. Those that are only the sizes of a producer's blocks are left out.
  void AddGenerics() {
    for (size_t m = group_.members.size(); m-- > 0;) {
      const FusedMember& member = group_.members[m];
      for (const ir::Generic& generic : member.kernel->generics) {
        if (generic.values.size() == 1 || (member.producer && !IsNeeded(*member.producer, generic)))
          continue;
        ir::Generic copy = generic;
        copy.name = Unique(generic.name.text());
        kernel_->generics.push_back(copy);
        symbols_[m][generic.name] = sizes_.Symbol(copy.name);
      }
    }
  }

  static bool Mentions(Size size, Name name) {
    if (!size) return false;
    if (size->kind == SizeKind::Symbol) return size->symbol == name;
    return Mentions(size->lhs, name) || Mentions(size->rhs, name);
  }

  static bool IsNeeded(const Producer& producer, const ir::Generic& generic) {
    const ir::Function& kernel = *producer.kernel;
    for (uint32_t a = 0; a < kernel.axes.size(); ++a) {
      bool is_block = false;
      for (size_t n = 0; n < producer.spmd->region()->params().size(); ++n)
        is_block |= producer.AxisOf(n) == AxisId(a);
      if (!is_block && Mentions(kernel.axes[a].extent, generic.name)) return true;
    }
    return ir::AnyBelow(kernel.body, [&](const Op* op) { return op->kind() == OpKind::SizeOf; });
  }

  // -- Parameters ------------------------------------------------------------------------------------

  void AddParams() {
    ir::Builder b(module_, kernel_->body);
    for (Name dim : kernel_->dims) b.AddParam(kernel_->body, b.I64Type(), dim);
    for (bool is_internal : {false, true}) {
      for (const FusedMember& member : group_.members) {
        for (size_t p = 0; p < member.kernel->params.size(); ++p)
          AddParam(b, ArgumentsOf(member)[p], member.kernel->params[p], is_internal);
      }
    }
  }

  void AddParam(ir::Builder& b, Value* argument, const ir::Param& like, bool is_internal) {
    if (group_.internal.contains(argument) != is_internal) return;
    auto known = params_.find(argument);
    if (known != params_.end()) {
      // A tensor that one kernel writes and a later one reads.
      if (like.direction != ir::Direction::In)
        kernel_->params[known->second].direction = like.direction;
      return;
    }
    ir::Type type = argument->type();
    if (IsTensor(argument)) {
      std::vector<Size> dims;
      for (Size dim : type->dims) dims.push_back(Named(dim));
      type = b.types().Tensor(type->scalar, dims);
    }
    params_[argument] = kernel_->params.size();
    Value* value = b.AddParam(kernel_->body, type, Unique(like.value->name().text()));
    kernel_->params.push_back({value, like.direction});
    if (!is_internal) arguments_.push_back(argument);
  }

  Value* ParamFor(const Value* argument) { return kernel_->params[params_.at(argument)].value; }

  Copier CopierFor(size_t m) {
    const FusedMember& member = group_.members[m];
    const std::map<Name, Size>& symbols = symbols_[m];
    Copier copier(module_, *member.kernel, *kernel_, [&symbols](Name name) -> Size {
      auto found = symbols.find(name);
      return found == symbols.end() ? nullptr : found->second;
    });
    for (size_t p = 0; p < member.kernel->params.size(); ++p)
      copier.values[member.kernel->params[p].value] = ParamFor(ArgumentsOf(member)[p]);
    return copier;
  }

  void SetDims(size_t m, Copier& copier, ir::Builder& b) {
    const ir::Function& kernel = *group_.members[m].kernel;
    for (size_t d = 0; d < kernel.dims.size(); ++d)
      copier.values[kernel.dim_value(d)] = b.SizeValue(symbols_[m].at(kernel.dims[d]));
  }

  /// Adds the launch checks that the arguments of a launch have the sizes of its kernel's parameters.
  void RequireSizes(size_t m) {
    const FusedMember& member = group_.members[m];
    ir::Builder b(module_, kernel_->body);
    b.set_loc(member.launch->loc());
    Copier copier = CopierFor(m);
    for (size_t p = 0; p < member.kernel->params.size(); ++p) {
      const Value* argument = ArgumentsOf(member)[p];
      const Value* param = member.kernel->params[p].value;
      for (size_t d = 0; IsTensor(param) && d < param->type()->dims.size(); ++d) {
        Size given = Named(argument->type()->dims[d]);
        Size wanted = copier.Sized(param->type()->dims[d]);
        if (given == wanted) continue;
        std::string text = fmt::format("dimension {} of {} is {}", d, param->name().text(),
                                       ToString(param->type()->dims[d]));
        b.Create(OpKind::Require, {}, {},
                 {ir::MakeAttr<AttrKey::Left>(given),
                  ir::MakeAttr<AttrKey::Compare>(ir::CompareKind::Eq),
                  ir::MakeAttr<AttrKey::Right>(wanted), ir::MakeAttr<AttrKey::Text>(Intern(text))});
      }
    }
  }

  // -- Bodies ----------------------------------------------------------------------------------------

  void CopyLast() {
    size_t m = group_.members.size() - 1;
    const ir::Function& last = *group_.members[m].kernel;
    ir::Builder b(module_, kernel_->body);
    Copier copier = CopierFor(m);
    for (uint32_t a = 0; a < last.axes.size(); ++a) copier.AxisFor(AxisId(a));
    SetDims(m, copier, b);
    for (const Op* op : *last.body) copier.Copy(op, b);
    for (Op* op : *kernel_->body) {
      if (op->kind() == OpKind::Spmd) spmds_.push_back(op);
    }
  }

  /// Copies what a producer computes before its loop to the start of the kernel.
  Copier CopyPrologue(size_t m) {
    Op* first = kernel_->body->first();
    while (first->kind() == OpKind::Require) first = first->next();
    ir::Builder b(module_, kernel_->body, first);
    Copier copier = CopierFor(m);
    SetDims(m, copier, b);
    const Producer& producer = *group_.members[m].producer;
    for (const Op* op : *producer.kernel->body) {
      if (op != producer.spmd && op->kind() != OpKind::Return) copier.Copy(op, b);
    }
    return copier;
  }

  bool Inline(size_t m) {
    const FusedMember& member = group_.members[m];
    std::vector<InlinedTensor> tensors;
    for (const ProducedTensor& tensor : member.producer->tensors)
      tensors.push_back({&tensor, ParamFor(ArgumentsOf(member)[tensor.param])});
    Copier copier = CopyPrologue(m);
    bool done = InlineReads(module_, *kernel_, *member.producer, tensors, copier, obstacle_);
    if (!done) obstacle_.member = m;
    return done;
  }

  // -- Outputs that are stored -----------------------------------------------------------------------

  /// Stores what a producer writes into a tensor that is also used elsewhere. Each block stores its own part.
  bool StoreOutputs(size_t m) {
    const FusedMember& member = group_.members[m];
    for (const ProducedTensor& tensor : member.producer->tensors) {
      Value* argument = ArgumentsOf(member)[tensor.param];
      if (group_.internal.contains(argument)) continue;
      std::vector<Value*> index = BlocksOver(ParamFor(argument)->type()->dims);
      if (index.empty()) {
        return Refuse(
            m, Obstacle::Kind::Tensor, std::string(argument->name().text()), member.launch->loc(),
            fmt::format(
                "it is also used elsewhere, so it must be stored, but the blocks of '{}' do "
                "not have its sizes",
                group_.members.back().kernel->base_name()),
            "use the tensor only in the `fuse`, or launch the kernel that writes it before the "
            "`fuse`");
      }
      if (!AreSingleWhereProduced(m, tensor, index)) return false;
      StoreOwnPart(ParamFor(argument), index);
    }
    return true;
  }

  /// Returns whether a dimension over which the producer has a single index also has a single index in the blocks
  /// of the last kernel, which store what it writes.
  bool AreSingleWhereProduced(size_t m, const ProducedTensor& tensor,
                              const std::vector<Value*>& index) {
    const FusedMember& member = group_.members[m];
    for (size_t d = 0; d < index.size(); ++d) {
      const Value* binder = member.producer->spmd->region()->param(tensor.binders[d]);
      if (IsIndexBlock(binder) || !IsIndexBlock(index[d])) continue;
      std::string_view name = binder->name().text();
      std::string_view producer = member.kernel->base_name();
      return Refuse(
          m, Obstacle::Kind::Tensor, std::string(ArgumentsOf(member)[tensor.param]->name().text()),
          member.launch->loc(),
          fmt::format("it is also used elsewhere, so it must be stored, but '{}' is a single "
                      "index in '{}' and a range in '{}'",
                      name, producer, group_.members.back().kernel->base_name()),
          fmt::format("write `{} in … by 1` in '{}'", name, producer));
    }
    return true;
  }

  void StoreOwnPart(Value* tensor, const std::vector<Value*>& index) {
    ir::Region* region = spmds_[0]->region();
    ir::Builder b(module_, region, region->terminator());
    b.set_loc(spmds_[0]->loc());
    ir::Access access;
    AxisList axes;
    for (uint32_t d = 0; d < index.size(); ++d) {
      access.dims.push_back({{{sizes_.Constant(1), d}}, sizes_.Constant(0)});
      axes = ir::UnionAxes(axes, index[d]->type()->axes);
    }
    Name text = Intern(tensor->name().text());
    std::vector<ir::Attr> attrs = {ir::MakeAttr<AttrKey::Access>(access),
                                   ir::MakeAttr<AttrKey::BoundsMode>(ir::BoundsMode::Clip),
                                   ir::MakeAttr<AttrKey::Text>(text)};
    Value* part = b.Create(OpKind::Load, {{tensor}, index, {}, {}},
                           {b.types().Tile(tensor->type()->scalar, axes)}, attrs)
                      ->result();
    b.Create(OpKind::Store, {{part}, {tensor}, index, {}}, {}, attrs);
  }

  /// Returns for each dimension the binder of the last kernel's loop that runs over it. Returns nothing if there is
  /// no such binder, or if the loop has other binders.
  std::vector<Value*> BlocksOver(const std::vector<Size>& dims) {
    if (spmds_.size() != 1) return {};
    const std::vector<Value*>& binders = spmds_[0]->region()->params();
    if (binders.size() != dims.size()) return {};
    std::vector<Value*> chosen;
    for (Size dim : dims) {
      for (size_t n = 0; n < binders.size(); ++n) {
        if (Contains(chosen, binders[n]) || !IsWhole(*kernel_, spmds_[0], n, dim)) continue;
        chosen.push_back(binders[n]);
        break;
      }
    }
    return chosen.size() == dims.size() ? chosen : std::vector<Value*>();
  }

  void DropInternal() {
    size_t kept = arguments_.size();
    while (kernel_->params.size() > kept) {
      const Value* param = kernel_->params.back().value;
      KDL_CHECK(param->uses().empty(), "'{}' is still used in a fused kernel",
                param->name().text());
      kernel_->body->EraseParam(kernel_->body->params().size() - 1);
      kernel_->params.pop_back();
    }
  }

  ir::Module& module_;
  const FusedGroup& group_;
  Obstacle& obstacle_;
  SizeTable& sizes_;
  ir::Function* kernel_ = nullptr;
  std::set<std::string> taken_;  ///< the names of sizes, integer parameters and parameters
  std::map<Size, Size> names_;   ///< sizes of the program -> sizes of the kernel
  std::vector<std::map<Name, Size>> symbols_;  ///< for each launch: the size names of its kernel
  std::map<const Value*, size_t> params_;      ///< arguments of launches -> numbers of parameters
  std::vector<Value*> arguments_;
  std::vector<Op*> spmds_;  ///< the loops of the last kernel
};

}  // namespace

std::optional<FusedLaunch> BuildFusedKernel(ir::Module& module, const FusedGroup& group,
                                            Obstacle& obstacle) {
  return FusedKernelBuilder(module, group, obstacle).Build();
}

}  // namespace kdl::passes
