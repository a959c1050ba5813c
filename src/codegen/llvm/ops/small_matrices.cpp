#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "codegen/llvm/ops/vector_mma.h"
#include "ir/views.h"
#include "support/check.h"

// Matrix instructions of AArch64 for small matrices. A register contains two rows and two columns of
// accumulators. A factor's register contains two rows or two columns, with a group of terms for each. Outside
// of the loop, a register contains four columns of one accumulator row; inside, it contains a two-by-two
// matrix.
//
//   before the loop, from rows r and r + 1 of columns 0 … 3: the matrices of columns 0, 1 and columns 2, 3
//   for each group: load 8 bytes of each of two rows of a; load columns of b as they are; smmla a, b

namespace kdl::codegen {

namespace {

constexpr int64_t kBytes = 16;      // bytes of a register
constexpr int64_t kGroupBytes = 8;  // bytes of one group of terms
constexpr size_t kHalves = 2;       // two-by-two matrices that cover four columns

using Mask = std::array<int, 4>;

class SmallMatrices {
 public:
  SmallMatrices(Emitter& emitter, ir::Op* op)
      : emitter_(emitter),
        b_(emitter.builder),
        op_(op),
        step_(op),
        instruction_(InstructionOf(emitter, op)),
        rows_(static_cast<size_t>(op->attr<ir::AttrKey::Sizes>()[0])),
        columns_(static_cast<size_t>(op->attr<ir::AttrKey::Sizes>()[1])),
        rows_are_first_(step_.rows()->type()->scalar == instruction_.a) {
    auto* accumulators = llvm::cast<llvm::FixedVectorType>(emitter.Get(step_.accs()[0])->getType());
    KDL_CHECK(accumulators->getNumElements() == 4, "an accumulator row must have four columns");
    FindIntrinsic(accumulators);
  }

  void EmitProducts() {
    std::vector<llvm::Value*> matrices;
    for (size_t row = 0; row < rows_; row += 2) {
      for (size_t column = 0; column < columns_; ++column) {
        llvm::Value* first = Acc(row, column);
        llvm::Value* second =
            row + 1 < rows_ ? Acc(row + 1, column) : llvm::Constant::getNullValue(first->getType());
        for (const Mask& mask : rows_are_first_ ? kIn : kTransposedIn)
          matrices.push_back(b_.CreateShuffleVector(first, second, mask));
      }
    }
    matrices = AfterLoop(matrices);
    for (size_t row = 0; row < rows_; ++row) {
      const Mask& mask = rows_are_first_ ? kIn[row % 2] : kTransposedOut[row % 2];
      for (size_t column = 0; column < columns_; ++column) {
        size_t at = (row / 2 * columns_ + column) * kHalves;
        emitter_.Set(op_->result(row * columns_ + column),
                     b_.CreateShuffleVector(matrices[at], matrices[at + 1], mask));
      }
    }
  }

 private:
  // These shuffles turn two rows into their left and right matrices. The same shuffles convert back. If the
  // instruction's first factor contains the columns of the result, the matrices are transposed.
  static constexpr std::array<Mask, 2> kIn = {{{0, 1, 4, 5}, {2, 3, 6, 7}}};
  static constexpr std::array<Mask, 2> kTransposedIn = {{{0, 4, 1, 5}, {2, 6, 3, 7}}};
  static constexpr std::array<Mask, 2> kTransposedOut = {{{0, 2, 4, 6}, {1, 3, 5, 7}}};

  void FindIntrinsic(llvm::FixedVectorType* accumulators) {
    std::string_view name = instruction_.tiles[0];
    id_ = llvm::Function::lookupIntrinsicID(name);
    KDL_CHECK(id_ != llvm::Intrinsic::not_intrinsic, "LLVM has no intrinsic '{}'", name);
    bool is_float = IsFloat(instruction_.a);
    llvm::Type* element = is_float ? b_.getBFloatTy() : b_.getInt8Ty();
    factor_ = llvm::FixedVectorType::get(element, is_float ? 8 : 16);
    if (llvm::Intrinsic::isOverloaded(id_)) types_ = {accumulators, factor_};
  }

  llvm::Value* Acc(size_t row, size_t column) {
    return emitter_.Get(step_.accs()[row * columns_ + column]);
  }

  llvm::Value* Further(llvm::Value* pointer, int64_t bytes) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), pointer, static_cast<uint64_t>(bytes));
  }

  std::vector<llvm::Value*> AfterLoop(const std::vector<llvm::Value*>& starts) {
    std::span<ir::Value* const> place = op_->Segment(ir::TileMmaOp::at_place);
    size_t of_rows = step_.rows()->type()->dims.size();
    size_t of_columns = step_.columns()->type()->dims.size();
    llvm::Value* row = PlaceAddress(emitter_, step_.rows(), place.first(of_rows));
    llvm::Value* column =
        PlaceAddress(emitter_, step_.columns(), place.subspan(of_rows, of_columns));
    int64_t groups_apart = BytesApart(step_.columns(), of_columns - 2);
    llvm::Value* count = emitter_.Get(place.back());

    llvm::BasicBlock* before = b_.GetInsertBlock();
    auto* body = llvm::BasicBlock::Create(emitter_.context(), "matrices", before->getParent());
    auto* after = llvm::BasicBlock::Create(emitter_.context(), "matrices.end", before->getParent());
    b_.CreateBr(body);  // there is at least one group
    b_.SetInsertPoint(body);
    std::vector<llvm::PHINode*> carried;
    auto carry = [&](llvm::Value* start) {
      llvm::PHINode* phi = b_.CreatePHI(start->getType(), 2);
      phi->addIncoming(start, before);
      carried.push_back(phi);
      return phi;
    };
    llvm::PHINode* group = carry(b_.getInt64(0));
    llvm::PHINode* from_row = carry(row);
    llvm::PHINode* from_column = carry(column);
    std::vector<llvm::Value*> matrices;
    for (llvm::Value* start : starts) matrices.push_back(carry(start));
    Multiply(from_row, from_column, matrices);
    llvm::Value* next = b_.CreateAdd(group, b_.getInt64(1));
    std::vector<llvm::Value*> later = {next, Further(from_row, kGroupBytes),
                                       Further(from_column, groups_apart)};
    later.insert(later.end(), matrices.begin(), matrices.end());
    for (size_t i = 0; i < carried.size(); ++i) carried[i]->addIncoming(later[i], body);
    b_.CreateCondBr(b_.CreateICmpSLT(next, count), body, after);
    b_.SetInsertPoint(after);
    return matrices;
  }

  /// Multiplies a group of terms and adds the products to the accumulators.
  void Multiply(llvm::Value* row, llvm::Value* column, std::vector<llvm::Value*>& matrices) {
    std::vector<llvm::Value*> pairs;
    for (size_t c = 0; c < columns_ * kHalves; ++c) {
      llvm::Value* at = Further(column, static_cast<int64_t>(c) * kBytes);
      pairs.push_back(b_.CreateAlignedLoad(factor_, at, llvm::Align(1)));
    }
    for (size_t r = 0; r < rows_; r += 2) {
      llvm::Value* two_rows = TwoRows(row, r);
      for (size_t c = 0; c < pairs.size(); ++c)
        MultiplyOne(matrices[r / 2 * pairs.size() + c], two_rows, pairs[c]);
    }
  }

  /// Loads a group of terms of a row and of the next row. If the number of rows is odd, loads the last row
  /// twice.
  llvm::Value* TwoRows(llvm::Value* rows, size_t first) {
    auto along = static_cast<size_t>(op_->attr<ir::AttrKey::Along>()[0]);
    int64_t apart = BytesApart(step_.rows(), along);
    llvm::Value* both = llvm::PoisonValue::get(llvm::FixedVectorType::get(b_.getInt64Ty(), 2));
    for (size_t i = 0; i < 2; ++i) {
      auto row = static_cast<int64_t>(std::min(first + i, rows_ - 1));
      llvm::Value* group =
          b_.CreateAlignedLoad(b_.getInt64Ty(), Further(rows, row * apart), llvm::Align(1));
      both = b_.CreateInsertElement(both, group, i);
    }
    return b_.CreateBitCast(both, factor_);
  }

  void MultiplyOne(llvm::Value*& matrix, llvm::Value* rows, llvm::Value* columns) {
    llvm::Value* a = rows_are_first_ ? rows : columns;
    llvm::Value* b = rows_are_first_ ? columns : rows;
    matrix = b_.CreateIntrinsic(id_, types_, {matrix, a, b});
  }

  Emitter& emitter_;
  llvm::IRBuilder<>& b_;
  ir::Op* op_;
  ir::TileMmaOp step_;
  const StepInstruction& instruction_;
  size_t rows_;
  size_t columns_;
  bool rows_are_first_;
  llvm::Intrinsic::ID id_ = llvm::Intrinsic::not_intrinsic;
  llvm::FixedVectorType* factor_ = nullptr;
  llvm::SmallVector<llvm::Type*, 2> types_;
};

}  // namespace

void EmitSmallMatrices(Emitter& emitter, ir::Op* op) { SmallMatrices(emitter, op).EmitProducts(); }

}  // namespace kdl::codegen
