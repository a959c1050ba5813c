#include "passes/ranks/combine_kernels.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "ir/element_walk.h"
#include "ir/eval/eval.h"
#include "ir/groups.h"
#include "passes/groups/group_parts.h"
#include "passes/ranks/segment_tree.h"
#include "passes/rewriting/structured.h"

namespace kdl::passes {

namespace {

/// Makes a kernel whose blocks each combine the partial results of some elements of a tensor. Its first parameter contains them.
class CombineKernelMaker {
 public:
  CombineKernelMaker(ir::Module& module, const ir::Function& of, size_t param, ir::UpdateKind how,
                     Scalar acc, std::string_view ending)
      : module_(module),
        sizes_(module.types().sizes()),
        original_(of.params[param]),
        how_(how),
        acc_(acc),
        kernel_(*module.AddFunction(ir::FunctionKind::Kernel, DerivedName(module, of, ending))),
        b_(module, kernel_.body) {
    kernel_.loc = of.loc;
    kernel_.bindings = of.bindings;
    b_.set_loc(of.loc);
    kernel_.dims = {module.context().names.Intern("segments")};
    type_ = Named(original_.value->type(), "size");
    for (Name dim : kernel_.dims) b_.AddParam(kernel_.body, b_.I64Type(), dim);
    Size segments = sizes_.Symbol(kernel_.dims[0]);
    parts_ = b_.AddParam(kernel_.body, PartsType(module, type_, acc, segments),
                         PartsName(module, original_.value));
  }

  /// The kernel with a pair of parameters for the segments of a rank.
  ir::Function* MakeSubtotals() {
    kernel_.params = {{parts_, ir::Direction::InOut}};
    PartValues owned{AddNumber(module_, kernel_, "first"), AddNumber(module_, kernel_, "end")};
    ForElements([&](const Place&) {
      CombineIf(parts_, [&](const SlotPair& pair) {
        return IsCombinedByOwner(b_, pair, segments(), owned);
      });
    });
    return &kernel_;
  }

  /// The kernel with the tensor and the number of ranks as parameters.
  ir::Function* MakeCombine() {
    Value* tensor = b_.AddParam(kernel_.body, type_, original_.value->name());
    kernel_.params = {{parts_, ir::Direction::In}, {tensor, original_.direction}};
    Value* ranks = AddNumber(module_, kernel_, "ranks");
    Value* slots = b_.Make(OpKind::LaunchTensor, {}, parts_->type(),
                           {ir::MakeAttr<AttrKey::Name>(original_.value->name())});
    ForElements([&](const Place& place) {
      Value* start = Start(tensor, place);
      MakeLoop(b_, {b_.I64(0), segments()}, [&](Value* segment) {
        MakeIf(b_, HasSubtotal(b_, segment, segments(), ranks), [&] {
          Place slot = InSegment(segment);
          StoreAt(b_, LoadAt(b_, parts_, slot, walk_.axes), slots, slot);
        });
      });
      CombineIf(slots, [&](const SlotPair& pair) {
        return b_.Eq(IsCombinedByOwner(b_, pair, segments(), ranks), b_.Bool(false));
      });
      LoopBounds any{b_.I64(0), b_.Min(segments(), b_.I64(1))};
      Value* all = MakeLoop(b_, any, {start}, [&](Value* segment, const Values& old) -> Values {
        Value* value = LoadAt(b_, slots, InSegment(segment), walk_.axes);
        return {b_.Binary(ir::CombineOf(how_), old[0], value)};
      })[0];
      StoreAt(b_, all, tensor, place);
    });
    return &kernel_;
  }

 private:
  Value* segments() const { return kernel_.dim_value(0); }

  /// Returns the type of a tensor whose dimensions have names of their own, and adds these to the kernel. Constants remain.
  ir::Type Named(ir::Type type, std::string_view name) {
    std::vector<Size> dims;
    for (Size dim : type->dims) {
      if (!IsConstant(dim)) {
        Name symbol = module_.context().names.Intern(fmt::format("{}{}", name, dims.size()));
        kernel_.dims.push_back(symbol);
        dim = sizes_.Symbol(symbol);
      }
      dims.push_back(dim);
    }
    return module_.types().Tensor(type->scalar, std::move(dims));
  }

  /// Makes an spmd over the elements of the tensor, with what `body` creates.
  void ForElements(const std::function<void(const Place&)>& body) {
    walk_ = ir::MakeElementSpmd(b_, kernel_, type_);
    body({walk_.access, walk_.index});
    b_.Create(OpKind::Yield, {{}}, {});
    b_.SetInsertionPoint(kernel_.body);
    b_.Create(OpKind::Return, {{}}, {});
  }

  void CombineIf(Value* memory, const std::function<Value*(const SlotPair&)>& condition) {
    CombineSlots(
        b_, memory, how_, segments(), walk_.axes,
        [&](Value* segment) { return InSegment(segment); }, condition);
  }

  /// Returns what is combined with the result of all segments: the old value, or that of an `out` tensor before anything is reduced
  /// into it.
  Value* Start(Value* tensor, const Place& place) {
    if (original_.direction == ir::Direction::InOut)
      return b_.Cast(LoadAt(b_, tensor, place, walk_.axes), acc_);
    Scalar scalar = type_->scalar;
    uint64_t in_memory = ir::EvaluateCast(acc_, scalar, ir::UpdateIdentity(how_, acc_));
    Value* identity = b_.Bits(acc_, ir::EvaluateCast(scalar, acc_, in_memory));
    return walk_.axes.empty() ? identity : b_.Broadcast(identity, walk_.axes);
  }

  /// Returns the place of the current element in the partial result of a segment.
  Place InSegment(Value* segment) const {
    Place place{{}, {segment}};
    place.access.dims.push_back({{{sizes_.Constant(1), 0}}, sizes_.Constant(0)});
    place.index.insert(place.index.end(), walk_.index.begin(), walk_.index.end());
    for (ir::AccessDim dim : walk_.access.dims) {
      for (ir::AccessTerm& term : dim.terms) ++term.operand;
      place.access.dims.push_back(std::move(dim));
    }
    return place;
  }

  ir::Module& module_;
  SizeTable& sizes_;
  const ir::Param& original_;  ///< the reduced tensor
  ir::UpdateKind how_;
  Scalar acc_;
  ir::Function& kernel_;
  ir::Builder b_;
  ir::Type type_ = nullptr;  ///< of the tensor
  Value* parts_ = nullptr;
  ir::ElementWalk walk_ = {};
};

}  // namespace

Name PartsName(const ir::Module& module, const Value* tensor) {
  return module.context().names.Intern(fmt::format("{}_parts", tensor->name().text()));
}

ir::Type PartsType(ir::Module& module, ir::Type tensor, Scalar acc, Size segments) {
  std::vector<Size> dims = tensor->dims;
  dims.insert(dims.begin(), segments);
  return module.types().Tensor(acc, std::move(dims));
}

void MakeCombineKernels(ir::Module& module, const ir::Function& kernel, ir::UpdateKind how,
                        ReducedTensor& reduced) {
  auto maker = [&](std::string_view ending) {
    return CombineKernelMaker(module, kernel, reduced.param, how, reduced.acc, ending);
  };
  reduced.subtotals = maker("subtotals").MakeSubtotals();
  reduced.combine = maker("combine").MakeCombine();
}

}  // namespace kdl::passes
