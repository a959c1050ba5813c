#include <llvm/IR/Function.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <array>
#include <vector>

#include "codegen/llvm/ops/vector_mma.h"
#include "codegen/ptx/emitter.h"
#include "ir/lane_map.h"
#include "ir/views.h"
#include "support/check.h"
#include "support/scalar.h"

// Emits the matrix instructions of one warp: `mma.m16n8k16`, with factors that `ldmatrix` loads from shared
// memory, four 8 x 8 matrices at a time. In the result, lane l has rows r = l / 4 and r + 8, and columns c =
// 2 (l % 4) and c + 1. The corresponding thread layouts are in targets/simt/analysis/mma_shapes.h. In a
// thread layout, these are the first elements of a thread, and the repeats of the layout add more blocks of 8
// rows and 8 columns. A row of an 8 x 8 matrix has 16 bytes: 8 terms for two-byte floats, 16 for bytes
// (`mma.m16n8k32`), and 4 for tf32 (`mma.m16n8k8`).

namespace kdl::codegen::ptx {

namespace {

using ir::AttrKey;

constexpr uint64_t kWarp = 32;
constexpr int64_t kSide = 8;  // rows and columns of the matrices that ldmatrix loads
constexpr int64_t kRowBytes = 16;
constexpr int64_t kRegisterBytes = 4;
constexpr size_t kRegisters = 4;

class StepEmitter {
 public:
  StepEmitter(PtxEmitter& emitter, ir::Op* op)
      : emitter_(emitter),
        builder_(emitter.builder),
        step_(op),
        map_(ir::MapOf(*op)),
        element_bytes_(Bytes(op->operand(0)->type()->scalar)),
        thread_(emitter.Get(step_.place()[0])),
        term_(emitter.Get(step_.place()[1])) {}

  void EmitProducts() {
    std::vector<Fragment> rows;
    for (int64_t block = 0; block < map_[0].repeats; block += 2) rows.push_back(RowsAt(block));
    auto index_of = [&](int64_t row, int64_t column) {
      return static_cast<size_t>(row * map_[1].held() + column);
    };
    for (int64_t block = 0; block < map_[1].repeats; block += 2) {
      Fragment columns = ColumnsAt(block);
      for (size_t i = 0; i < rows.size(); ++i) {
        for (int64_t half = 0; half < 2; ++half) {
          auto row = static_cast<int64_t>(2 * i);
          int64_t column = 2 * (block + half);
          Multiply(rows[i], columns[static_cast<size_t>(2 * half)],
                   columns[static_cast<size_t>(2 * half + 1)],
                   {index_of(row, column), index_of(row, column + 1), index_of(row + 1, column),
                    index_of(row + 1, column + 1)});
        }
      }
    }
  }

 private:
  using Fragment = std::array<llvm::Value*, kRegisters>;

  const StepInstruction& instruction() const { return InstructionOf(emitter_, step_.op); }
  llvm::Value* Number(int64_t number) { return builder_.getInt64(static_cast<uint64_t>(number)); }
  llvm::Value* Plus(llvm::Value* a, llvm::Value* b) { return builder_.CreateAdd(a, b); }
  llvm::Value* Times(llvm::Value* a, int64_t by) { return builder_.CreateMul(a, Number(by)); }

  llvm::Value* Lane() { return builder_.CreateURem(thread_, Number(kWarp), "lane"); }

  /// Four 8 x 8 matrices: two along rows or columns, with the distance `apart`, times two along terms. Bit
  /// `half` of a matrix's number (0 to 3) is its position along terms. The other bit is its position along
  /// rows or columns.
  struct Submatrices {
    size_t factor;
    llvm::Value* first;
    int64_t apart;
    unsigned half;
  };

  Fragment RowsAt(int64_t block) {
    llvm::Value* warp = builder_.CreateURem(builder_.CreateUDiv(thread_, Number(kWarp)),
                                            Number(map_[0].threads / kSide));
    llvm::Value* first = Plus(Times(warp, kSide), Number(block * map_[0].threads));
    return Bring({0, first, map_[0].threads, 1});
  }
  Fragment ColumnsAt(int64_t block) { return Bring({1, Number(block * kSide), kSide, 0}); }

  Fragment Bring(const Submatrices& submatrices) {
    const Memory& memory = emitter_.memories.at(step_.op->operand(submatrices.factor));
    bool is_workgroup = memory.base->getType()->getPointerAddressSpace() == kWorkgroup;
    return is_workgroup ? BringTogether(submatrices) : BringAlone(submatrices);
  }

  /// Returns the address of an element of an 8 x 8 matrix.
  llvm::Value* AddressIn(const Submatrices& submatrices, llvm::Value* submatrix, llvm::Value* kept,
                         llvm::Value* term) {
    const Memory& memory = emitter_.memories.at(step_.op->operand(submatrices.factor));
    auto bit = [&](unsigned number) {
      return builder_.CreateAnd(builder_.CreateLShr(submatrix, number), Number(1));
    };
    llvm::Value* at_kept =
        Plus(submatrices.first, Times(bit(1 - submatrices.half), submatrices.apart));
    llvm::Value* at_term = Plus(term_, Times(bit(submatrices.half), TermsOfSubmatrix()));
    at_kept = Plus(at_kept, kept);
    at_term = Plus(at_term, term);
    bool by_terms = HasTermsSideBySide(submatrices);
    llvm::Value* row = by_terms ? at_kept : at_term;
    llvm::Value* column = by_terms ? at_term : at_kept;
    size_t first = memory.strides.size() - 2;
    llvm::Value* offset = Plus(builder_.CreateMul(row, memory.strides[first]), column);
    if (first > 0)
      offset = Plus(offset, builder_.CreateMul(FactorSlot(submatrices.factor), memory.strides[0]));
    return builder_.CreateInBoundsGEP(ElementType(), memory.base, offset);
  }

  llvm::Type* ElementType() {
    return builder_.getIntNTy(static_cast<unsigned>(8 * element_bytes_));
  }
  int64_t TermsOfSubmatrix() const { return kRowBytes / element_bytes_; }

  llvm::Value* FactorSlot(size_t factor) {
    bool is_second = factor == 1 && step_.op->operand(0)->type()->dims.size() == 3;
    return emitter_.Get(step_.slots()[is_second ? 1 : 0]);
  }

  bool HasTermsSideBySide(const Submatrices& submatrices) const {
    return step_.op->attr<AttrKey::Folded>()[submatrices.factor] == 1;
  }

  /// Loads all four matrices with one instruction. Lane l provides the address of row l % 8 of matrix l / 8.
  Fragment BringTogether(const Submatrices& submatrices) {
    bool by_terms = HasTermsSideBySide(submatrices);
    KDL_CHECK(by_terms || element_bytes_ == 2,
              "only matrices of 2-byte elements can be transposed");
    llvm::Value* row = builder_.CreateURem(Lane(), Number(kSide));
    llvm::Value* submatrix = builder_.CreateUDiv(Lane(), Number(kSide));
    llvm::Value* address =
        AddressIn(submatrices, submatrix, by_terms ? row : Number(0), by_terms ? Number(0) : row);
    llvm::Intrinsic::ID id = by_terms
                                 ? llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16
                                 : llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16;
    llvm::Value* brought = builder_.CreateIntrinsic(id, {address->getType()}, {address});
    Fragment fragment;
    for (unsigned i = 0; i < kRegisters; ++i) fragment[i] = builder_.CreateExtractValue(brought, i);
    return fragment;
  }

  /// Loads the terms of each register one by one. Used if shared memory is full, so that the factor is in
  /// global memory.
  Fragment BringAlone(const Submatrices& submatrices) {
    llvm::Value* kept = builder_.CreateUDiv(Lane(), Number(4));
    llvm::Value* group = builder_.CreateURem(Lane(), Number(4));
    Fragment fragment;
    for (int64_t i = 0; i < int64_t{kRegisters}; ++i) {
      fragment[static_cast<size_t>(i)] = builder_.getInt32(0);
      int64_t parts = kRegisterBytes / element_bytes_;
      for (int64_t part = 0; part < parts; ++part) {
        llvm::Value* term = Plus(Times(group, parts), Number(part));
        llvm::Value* address = AddressIn(submatrices, Number(i), kept, term);
        llvm::Value* bits =
            builder_.CreateZExt(builder_.CreateLoad(ElementType(), address), builder_.getInt32Ty());
        auto shift = static_cast<uint64_t>(8 * element_bytes_ * part);
        fragment[static_cast<size_t>(i)] =
            builder_.CreateOr(fragment[static_cast<size_t>(i)], builder_.CreateShl(bits, shift));
      }
    }
    return fragment;
  }

  void Multiply(const Fragment& a, llvm::Value* b0, llvm::Value* b1,
                const std::array<size_t, kRegisters>& points) {
    std::string name(instruction().intrinsic);
    llvm::Intrinsic::ID id = llvm::Function::lookupIntrinsicID(name);
    KDL_CHECK(id != llvm::Intrinsic::not_intrinsic, "LLVM has no intrinsic '{}'", name);
    llvm::Type* pair = llvm::Intrinsic::getType(emitter_.context(), id)->getParamType(0);
    std::vector<llvm::Value*> arguments;
    for (llvm::Value* factor : {a[0], a[1], a[2], a[3], b0, b1})
      arguments.push_back(builder_.CreateBitCast(factor, pair));
    for (size_t point : points) arguments.push_back(emitter_.Get(step_.accs()[point]));
    llvm::Value* sums = builder_.CreateIntrinsic(id, {}, arguments);
    for (unsigned i = 0; i < kRegisters; ++i)
      emitter_.Set(step_.op->result(points[i]), builder_.CreateExtractValue(sums, i));
  }

  PtxEmitter& emitter_;
  llvm::IRBuilder<>& builder_;
  ir::MmaOp step_;
  ir::LaneMap map_;
  int64_t element_bytes_;  ///< size of a factor's element
  llvm::Value* thread_;
  llvm::Value* term_;
};

}  // namespace

void PtxEmitter::EmitMma(ir::Op* op) {
  bool of_group = InstructionOf(*this, op).intrinsic.starts_with("wgmma");
  of_group ? EmitGroupStep(op) : StepEmitter(*this, op).EmitProducts();
}

}  // namespace kdl::codegen::ptx
