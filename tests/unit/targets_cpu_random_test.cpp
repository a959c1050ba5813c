#include <algorithm>
#include <memory>

#include "drawn_count.h"
#include "ir/builder.h"
#include "ir/op_kind.h"
#include "lowering_run.h"

namespace kdl::cpu {

namespace {

/// Writes kernels of random ops over the axes i (of M), j and k (of N), to cover combinations that no other
/// test contains. Stores are injective in their axes, as in the language.
class RandomKernel {
 public:
  explicit RandomKernel(uint64_t seed) : random_(seed), read_("") {
    ir::Module& module = *read_.module;
    kernel_ = module.AddFunction(ir::FunctionKind::Kernel, Intern("random"));
    builder_ = std::make_unique<ir::Builder>(module, kernel_->body);
  }

  std::string Text() {
    Declare();
    ir::Builder& b = *builder_;
    zero_ = b.I64(0);
    one_ = b.I64(1);
    values_ = {b.Bits(Scalar::F32, 0x3f800000), b.Bits(Scalar::F32, 0xbe99999a)};
    for (ir::Value* scalar : scalars_) values_.push_back(scalar);
    ir::Op* spmd = b.Create(ir::OpKind::Spmd, {{zero_, dims_[0]}}, {},
                            {ir::MakeAttr<ir::AttrKey::Distribute>(ir::DistributionKind::Static)});
    Enter(spmd, 0);
    Statements(0);
    b.Create(ir::OpKind::Yield, {{}}, {});
    b.SetInsertionPoint(kernel_->body);
    b.Create(ir::OpKind::Return, {{}}, {});
    return ir::Print(*read_.module);
  }

 private:
  size_t Below(size_t n) { return random_() % n; }
  bool Once(size_t in) { return Below(in) == 0; }
  Name Intern(std::string_view text) { return read_.names.Intern(text); }
  ir::Value* Pick(const std::vector<ir::Value*>& list) { return list[Below(list.size())]; }
  /// Returns an f32 value in scope; recent values are more likely.
  ir::Value* Any() {
    size_t last = std::min<size_t>(values_.size(), 5);
    return Once(3) ? Pick(values_) : values_[values_.size() - 1 - Below(last)];
  }

  void Declare() {
    ir::TypeTable& types = builder_->types();
    std::vector<Size> sizes;
    for (std::string_view name : {"M", "N"}) {
      kernel_->dims.push_back(Intern(name));
      dims_.push_back(builder_->AddParam(kernel_->body, types.ScalarOf(Scalar::I64), Intern(name)));
      sizes.push_back(types.sizes().Symbol(Intern(name)));
    }
    static constexpr int64_t kExtents[] = {1, 3, 4, 8, 70};
    for (std::string_view name : {"i", "j", "k"}) {
      Size domain = name == "i" ? sizes[0] : sizes[1];
      kernel_->AddAxis({Intern(name), types.sizes().Constant(kExtents[Below(5)]), domain, {}});
    }
    auto add = [&](std::string_view name, ir::Type type, ir::Direction direction) {
      ir::Value* value = builder_->AddParam(kernel_->body, type, Intern(name));
      kernel_->params.push_back({value, direction});
      return value;
    };
    ir::Type rows = types.Tensor(Scalar::F32, {sizes[0], sizes[1]});
    ir::Type columns = types.Tensor(Scalar::F32, {sizes[1], sizes[0]});
    tensors_ = {add("x", rows, ir::Direction::In), add("z", columns, ir::Direction::In),
                add("y", rows, ir::Direction::InOut), add("w", columns, ir::Direction::InOut)};
    table_ = add("t", types.Tensor(Scalar::I32, {sizes[1]}), ir::Direction::In);
    scalars_ = {add("a", types.ScalarOf(Scalar::F32), ir::Direction::In)};
  }

  /// Enters the region of a loop over blocks of an axis.
  void Enter(ir::Op* op, uint32_t axis) {
    ir::AxisId id(axis);
    blocks_.push_back(
        builder_->AddParam(op->region(), builder_->types().Block(id), kernel_->axis(id).name));
    builder_->SetInsertionPoint(op->region());
  }

  ir::Value* BlockOf(ir::AxisId axis) {
    for (ir::Value* block : blocks_) {
      if (block->type()->axes[0] == axis) return block;
    }
    return nullptr;
  }

  void Statements(int depth) {
    size_t before = values_.size();
    for (size_t n = 3 + Below(8); n > 0; --n) Statement(depth);
    if (Once(2)) Store();
    values_.resize(before);
  }

  void Statement(int depth) {
    switch (Below(12)) {
      case 0:
      case 1:
        values_.push_back(Load());
        break;
      case 2:
        Store();
        break;
      case 3:
        Reduce();
        break;
      case 4:
        Contraction();
        break;
      case 5:
        if (depth < 2) Loop(depth);
        break;
      case 6:
        if (depth < 3) Branch(depth);
        break;
      default:
        values_.push_back(Elementwise());
        break;
    }
  }

  ir::Value* Elementwise() {
    ir::Builder& b = *builder_;
    static constexpr ir::OpKind kBinary[] = {ir::OpKind::Add, ir::OpKind::Sub, ir::OpKind::Mul,
                                             ir::OpKind::Max, ir::OpKind::Min};
    ir::Value* x = Any();
    ir::Value* y = Any();
    switch (Below(6)) {
      case 0:
        return b.Fma(x, y, Any());
      case 1:
        return b.Select(b.Binary(ir::OpKind::Lt, x, y), x, Any());
      case 2:
        return b.Unary(ir::OpKind::Neg, x);
      case 3: {
        ir::Value* block = Pick(blocks_);
        ir::Value* iota =
            b.Make(ir::OpKind::Iota, {block}, b.types().Tile(Scalar::I64, block->type()->axes));
        return b.Cast(iota, Scalar::F32);
      }
      default:
        return b.Binary(kBinary[Below(5)], x, y);
    }
  }

  /// Returns the index of one dimension: a block plus a small number, a number, or, where elements may repeat,
  /// a gathered index.
  ir::AccessDim Dimension(std::vector<ir::Value*>& index, ir::Value* operand, bool plain) {
    SizeTable& sizes = builder_->types().sizes();
    index.push_back(operand);
    int64_t offset = plain ? 0 : static_cast<int64_t>(Below(4)) - 1;
    int64_t factor = plain || !Once(8) ? 1 : 2;
    return {{{sizes.Constant(factor), static_cast<uint32_t>(index.size() - 1)}},
            sizes.Constant(offset)};
  }

  ir::Value* Load() {
    ir::Builder& b = *builder_;
    ir::Value* tensor = Pick(tensors_);
    std::vector<ir::Value*> index;
    ir::Access access;
    bool gathered = Once(5);
    for (size_t d = 0; d < 2; ++d) {
      ir::Value* operand = Once(5) ? zero_ : Pick(blocks_);
      if (gathered && d == 1) operand = Gathered();
      access.dims.push_back(Dimension(index, operand, false));
    }
    ir::BoundsMode bounds_mode = Once(12) ? ir::BoundsMode::Guard : ir::BoundsMode::Else;
    std::vector<ir::AxisId> axes;
    for (ir::Value* operand : index) axes = ir::UnionAxes(axes, operand->type()->axes);
    std::vector<ir::Value*> otherwise;
    if (bounds_mode == ir::BoundsMode::Else) otherwise.push_back(Any());
    for (ir::Value* value : otherwise) axes = ir::UnionAxes(axes, value->type()->axes);
    std::vector<ir::Value*> mask;
    if (bounds_mode == ir::BoundsMode::Guard && Once(2))
      mask.push_back(b.Binary(ir::OpKind::Lt, Any(), Any()));
    for (ir::Value* value : mask) axes = ir::UnionAxes(axes, value->type()->axes);
    ir::Value* loaded =
        b.Create(ir::OpKind::Load, {{tensor}, index, otherwise, mask},
                 {b.types().Tile(Scalar::F32, axes)}, Attrs(std::move(access), bounds_mode))
            ->result();
    return mask.empty() ? loaded : b.Select(mask[0], loaded, values_[0]);
  }

  std::vector<ir::Attr> Attrs(ir::Access access, ir::BoundsMode bounds_mode) {
    return {ir::MakeAttr<ir::AttrKey::Access>(std::move(access)),
            ir::MakeAttr<ir::AttrKey::BoundsMode>(bounds_mode),
            ir::MakeAttr<ir::AttrKey::Text>(Intern("access " + std::to_string(++accesses_)))};
  }

  /// Returns elements of the table at the indices of one of the blocks, with 2 in place of elements that are
  /// out of bounds.
  ir::Value* Gathered() {
    ir::Builder& b = *builder_;
    std::vector<ir::Value*> index;
    ir::Access access{{Dimension(index, Pick(blocks_), true)}};
    return b
        .Create(ir::OpKind::Load, {{table_}, index, {b.Int(Scalar::I32, 2)}, {}},
                {b.types().Tile(Scalar::I32, index[0]->type()->axes)},
                Attrs(std::move(access), ir::BoundsMode::Else))
        ->result();
  }

  /// Stores a value over at most two axes, each of which indexes one dimension. The remaining dimensions are
  /// indexed by a number or a block.
  void Store() {
    ir::Builder& b = *builder_;
    ir::Value* value = Any();
    std::vector<ir::AxisId> axes = value->type()->axes;
    if (axes.size() > 2) return;
    ir::Value* tensor = tensors_[2 + Below(2)];
    std::vector<ir::Value*> operands;
    for (ir::AxisId axis : axes) operands.push_back(BlockOf(axis));
    while (operands.size() < 2) {
      ir::Value* more = Once(2) ? zero_ : Pick(blocks_);
      bool repeats = std::find(operands.begin(), operands.end(), more) != operands.end();
      if (!repeats || more == zero_) operands.push_back(more);
    }
    if (Once(2)) std::swap(operands[0], operands[1]);
    std::vector<ir::Value*> index;
    ir::Access access;
    for (ir::Value* operand : operands) {
      access.dims.push_back(Dimension(index, operand, true));
      axes = ir::UnionAxes(axes, operand->type()->axes);
    }
    // Elements that may be out of bounds are masked out. A few stores have a guard instead, which traps.
    std::vector<ir::Value*> mask;
    if (!Once(10)) mask.push_back(Inside(tensor, index));
    b.Create(ir::OpKind::Store, {{value}, {tensor}, index, mask}, {},
             Attrs(std::move(access), ir::BoundsMode::Guard));
  }

  ir::Value* Inside(ir::Value* tensor, const std::vector<ir::Value*>& index) {
    ir::Builder& b = *builder_;
    ir::Value* inside = b.Bool(true);
    for (size_t d = 0; d < index.size(); ++d) {
      ir::Value* at = index[d];
      if (at->type()->kind == ir::TypeKind::Block) {
        at = b.Make(ir::OpKind::Iota, {at}, b.types().Tile(Scalar::I64, at->type()->axes));
      }
      ir::Value* fits = b.Binary(ir::OpKind::Lt, at, b.SizeValue(tensor->type()->dims[d]));
      inside = b.Binary(ir::OpKind::And, inside, fits);
    }
    return inside;
  }

  ir::OrderKind Order() { return Once(2) ? ir::OrderKind::Sequential : ir::OrderKind::Lanes64; }

  /// Returns one or two of the axes in any order, and stores the remaining axes in `left`.
  ir::AxisList Reduced(const std::vector<ir::AxisId>& axes, std::vector<ir::AxisId>& left) {
    ir::AxisList over;
    left = axes;
    for (size_t n = 1 + Below(2); n > 0 && !left.empty(); --n) {
      size_t at = Below(left.size());
      over.push_back(left[at]);
      left.erase(left.begin() + static_cast<ptrdiff_t>(at));
    }
    return over;
  }

  void Reduce() {
    ir::Value* value = Any();
    std::vector<ir::AxisId> left;
    ir::AxisList over = Reduced(value->type()->axes, left);
    if (over.empty()) return;
    static constexpr ir::ReductionKind kFolds[] = {ir::ReductionKind::Sum, ir::ReductionKind::Prod,
                                                   ir::ReductionKind::Max, ir::ReductionKind::Min};
    values_.push_back(builder_->Make(
        ir::OpKind::Reduce, {value}, builder_->types().Tile(Scalar::F32, left),
        {ir::MakeAttr<ir::AttrKey::Reduction>(kFolds[Below(4)]),
         ir::MakeAttr<ir::AttrKey::Axes>(over), ir::MakeAttr<ir::AttrKey::Acc>(Scalar::F32),
         ir::MakeAttr<ir::AttrKey::Order>(Order())}));
  }

  void Contraction() {
    ir::Builder& b = *builder_;
    ir::Value* x = Any();
    ir::Value* y = Any();
    std::vector<ir::AxisId> left;
    ir::AxisList over = Reduced(ir::UnionAxes(x->type()->axes, y->type()->axes), left);
    if (over.empty()) return;
    ir::Value* into = Any();
    for (ir::AxisId axis : over) {
      const auto& axes = into->type()->axes;
      if (std::find(axes.begin(), axes.end(), axis) != axes.end()) into = values_[0];
    }
    into = b.Broadcast(into, ir::UnionAxes(left, into->type()->axes));
    values_.push_back(
        b.Make(ir::OpKind::Contraction, {x, y, into}, into->type(),
               {ir::MakeAttr<ir::AttrKey::Axes>(over), ir::MakeAttr<ir::AttrKey::Acc>(Scalar::F32),
                ir::MakeAttr<ir::AttrKey::Order>(Order())}));
  }

  /// Returns a value of this type, made from a value whose axes are all axes of the type.
  ir::Value* OfType(ir::Type type) {
    for (int tries = 0; tries < 20; ++tries) {
      ir::Value* value = Any();
      if (ir::UnionAxes(value->type()->axes, type->axes) == type->axes)
        return builder_->Broadcast(value, type->axes);
    }
    return builder_->Broadcast(values_[0], type->axes);
  }

  std::vector<ir::Value*> Carried() {
    std::vector<ir::Value*> carried;
    for (size_t n = Below(4); n > 0; --n) carried.push_back(Any());
    return carried;
  }

  static std::vector<ir::Type> TypesOf(const std::vector<ir::Value*>& values) {
    std::vector<ir::Type> types;
    for (ir::Value* value : values) types.push_back(value->type());
    return types;
  }

  void YieldTypes(const std::vector<ir::Type>& types) {
    std::vector<ir::Value*> yielded;
    for (ir::Type type : types) yielded.push_back(OfType(type));
    builder_->Create(ir::OpKind::Yield, {yielded}, {});
  }

  /// Writes a loop over blocks of j or k if neither is in scope yet, or a loop of a few iterations.
  void Loop(int depth) {
    ir::Builder& b = *builder_;
    ir::Region* outer = b.region();
    std::vector<ir::Value*> inits = Carried();
    uint32_t axis = 1 + static_cast<uint32_t>(Below(2));
    bool over_blocks = !BlockOf(ir::AxisId(axis)) && !Once(4);
    ir::Op* op;
    size_t values = values_.size();
    size_t blocks = blocks_.size();
    if (over_blocks) {
      op = b.Create(ir::OpKind::For, {{zero_}, {dims_[1]}, inits}, TypesOf(inits));
      Enter(op, axis);
    } else {
      op = b.Create(ir::OpKind::Loop,
                    {{zero_}, {b.I64(static_cast<int64_t>(Below(4)))}, {one_}, inits},
                    TypesOf(inits));
      b.AddParam(op->region(), b.types().ScalarOf(Scalar::I64), {});
      b.SetInsertionPoint(op->region());
    }
    for (ir::Value* init : inits) values_.push_back(b.AddParam(op->region(), init->type(), {}));
    for (size_t n = 2 + Below(6); n > 0; --n) Statement(depth + 1);
    YieldTypes(TypesOf(inits));
    values_.resize(values);
    blocks_.resize(blocks);
    b.SetInsertionPoint(outer);
    for (ir::Value* result : op->results()) values_.push_back(result);
  }

  void Branch(int depth) {
    ir::Builder& b = *builder_;
    ir::Region* outer = b.region();
    ir::Value* index =
        b.Make(ir::OpKind::BlockIndex, {Pick(blocks_)}, b.types().ScalarOf(Scalar::I64));
    ir::Value* condition = b.Binary(ir::OpKind::Eq, index, zero_);
    std::vector<ir::Type> types = TypesOf(Carried());
    ir::Op* op = b.Create(ir::OpKind::If, {{condition}}, types);
    size_t values = values_.size();
    for (ir::Region* region : op->regions()) {
      b.SetInsertionPoint(region);
      for (size_t n = Below(4); n > 0; --n) Statement(depth + 1);
      YieldTypes(types);
      values_.resize(values);
    }
    b.SetInsertionPoint(outer);
    for (ir::Value* result : op->results()) values_.push_back(result);
  }

  std::mt19937_64 random_;
  ir::ReadText read_;
  ir::Function* kernel_ = nullptr;
  std::unique_ptr<ir::Builder> builder_;
  std::vector<ir::Value*> dims_;
  std::vector<ir::Value*> tensors_;
  std::vector<ir::Value*> scalars_;
  ir::Value* table_ = nullptr;
  ir::Value* zero_ = nullptr;
  ir::Value* one_ = nullptr;
  std::vector<ir::Value*> values_;  ///< f32 values in scope
  std::vector<ir::Value*> blocks_;  ///< blocks in scope
  int accesses_ = 0;
};

}  // namespace

TEST_CASE("random kernels give the same results before and after every pass of the lowering") {
  uint64_t trapped = 0;
  uint64_t ended = 0;
  const uint64_t kernels = test::DrawnCount(60);
  for (uint64_t seed = 1; seed <= kernels; ++seed) {
    INFO("seed ", seed);
    std::string text = RandomKernel(seed).Text();
    LoweringRuns runs =
        CheckLowering(text, {{{"M", 5}, {"N", 9}}, {{"M", 1}, {"N", 0}}, {{"M", 9}, {"N", 75}}});
    trapped += static_cast<uint64_t>(runs.trapped);
    ended += static_cast<uint64_t>(runs.ended);
  }
  CHECK(trapped > kernels / 3);
  CHECK(ended > 3 * kernels);
}

}  // namespace kdl::cpu
