#include <fmt/format.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "codegen/llvm/ops/vector_mma.h"
#include "ir/views.h"
#include "support/check.h"

// Emits x86's AMX instructions, which multiply whole tiles. A tile is a register of up to 16 rows of 64
// bytes. LDTILECFG sets the size of each tile and zeroes all tiles. Tiles are loaded and stored with a stride
// in bytes. They contain the rows of one factor, the columns of the other, or accumulators. At the end the
// tiles are released, so that thread switches need not save them.
//
//   ldtilecfg · tileloadd accumulators ·
//   for each 16 steps: tileloadd rows; for each vector of columns: tileloadd, tdpbusd ·
//   tilestored accumulators · tilerelease

namespace kdl::codegen {

int64_t BytesApart(const ir::Value* buffer, size_t dim) {
  ir::Type type = buffer->type();
  int64_t apart = Bytes(type->scalar);
  for (size_t d = dim + 1; d < type->dims.size(); ++d) apart *= type->dims[d]->value;
  return apart;
}

namespace {

constexpr int64_t kRowBytes = 64;
constexpr size_t kTiles = 8;
constexpr int64_t kTileMma = 16;  // number of rows of the tiles that contain columns
// Numbers of the tiles for rows and for columns. The accumulators have lower numbers.
constexpr uint64_t kRows = 4;
constexpr uint64_t kColumns = 5;

/// Returns the operand of LDTILECFG. Byte 0 is the palette. From byte 16 on, there are two bytes for each
/// tile: the number of bytes in a row. From byte 48 on, there is one byte for each tile: the number of rows.
llvm::Constant* ConfigurationOf(Emitter& emitter, int64_t rows, int64_t columns) {
  std::array<uint8_t, kRowBytes> bytes{};
  bytes[0] = 1;
  auto set = [&](uint64_t tile, int64_t tile_rows) {
    bytes[16 + 2 * tile] = static_cast<uint8_t>(kRowBytes);
    bytes[48 + tile] = static_cast<uint8_t>(tile_rows);
  };
  for (int64_t column = 0; column < columns; ++column) {
    set(static_cast<uint64_t>(column), rows);
    set(kColumns + static_cast<uint64_t>(column), kTileMma);
  }
  set(kRows, rows);
  return llvm::ConstantDataArray::get(emitter.context(), bytes);
}

class TileProduct {
 public:
  TileProduct(Emitter& emitter, ir::Op* op)
      : emitter_(emitter),
        b_(emitter.builder),
        op_(op),
        step_(op),
        instruction_(InstructionOf(emitter, op)),
        rows_(op->attr<ir::AttrKey::Sizes>()[0]),
        columns_(op->attr<ir::AttrKey::Sizes>()[1]) {}

  void EmitProduct() {
    llvm::Type* line = emitter_.Get(step_.accs()[0])->getType();
    auto* block = llvm::ArrayType::get(line, static_cast<uint64_t>(rows_ * columns_));
    llvm::Value* memory = InEntry(block, "accumulators");
    auto at = [&](size_t n) { return b_.CreateConstInBoundsGEP1_64(line, memory, n); };
    for (size_t n = 0; n < step_.accs().size(); ++n)
      b_.CreateAlignedStore(emitter_.Get(step_.accs()[n]), at(n), llvm::Align(kRowBytes));
    Configure();
    llvm::Value* apart = b_.getInt64(static_cast<uint64_t>(columns_ * kRowBytes));
    for (int64_t c = 0; c < columns_; ++c)
      Move(llvm::Intrinsic::x86_tileloadd64, static_cast<uint64_t>(c), at(static_cast<size_t>(c)),
           apart);
    MakeLoop();
    for (int64_t c = 0; c < columns_; ++c)
      Move(llvm::Intrinsic::x86_tilestored64, static_cast<uint64_t>(c), at(static_cast<size_t>(c)),
           apart);
    b_.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, {});
    for (size_t n = 0; n < step_.accs().size(); ++n)
      emitter_.Set(op_->result(n), b_.CreateAlignedLoad(line, at(n), llvm::Align(kRowBytes)));
  }

 private:
  llvm::AllocaInst* InEntry(llvm::Type* type, const char* name) {
    llvm::BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
    llvm::IRBuilder<> first(&entry, entry.begin());
    llvm::AllocaInst* memory = first.CreateAlloca(type, nullptr, name);
    memory->setAlignment(llvm::Align(kRowBytes));
    return memory;
  }

  void Configure() {
    llvm::Constant* bytes = ConfigurationOf(emitter_, rows_, columns_);
    std::string name = fmt::format("tiles.{}x{}", rows_, columns_);
    auto* global =
        llvm::cast<llvm::GlobalVariable>(emitter_.module.getOrInsertGlobal(name, bytes->getType()));
    global->setConstant(true);
    global->setLinkage(llvm::GlobalValue::PrivateLinkage);
    global->setInitializer(bytes);
    global->setAlignment(llvm::Align(kRowBytes));
    b_.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {global});
  }

  void Move(llvm::Intrinsic::ID id, uint64_t tile, llvm::Value* address, llvm::Value* apart) {
    b_.CreateIntrinsic(id, {}, {b_.getInt8(static_cast<uint8_t>(tile)), address, apart});
  }

  void MakeLoop() {
    std::span<ir::Value* const> place = op_->Segment(ir::TileMmaOp::at_place);
    size_t of_rows = step_.rows()->type()->dims.size();
    size_t of_columns = step_.columns()->type()->dims.size();
    llvm::Value* row = PlaceAddress(emitter_, step_.rows(), place.first(of_rows));
    llvm::Value* column =
        PlaceAddress(emitter_, step_.columns(), place.subspan(of_rows, of_columns));
    auto along = static_cast<size_t>(op_->attr<ir::AttrKey::Along>()[0]);
    auto rows_apart = b_.getInt64(static_cast<uint64_t>(BytesApart(step_.rows(), along)));
    int64_t steps_apart = BytesApart(step_.columns(), of_columns - 2);
    llvm::Value* count = emitter_.Get(place.back());

    llvm::BasicBlock* before = b_.GetInsertBlock();
    auto* body = llvm::BasicBlock::Create(emitter_.context(), "tiles", before->getParent());
    auto* after = llvm::BasicBlock::Create(emitter_.context(), "tiles.end", before->getParent());
    b_.CreateCondBr(b_.CreateICmpSGT(count, b_.getInt64(0)), body, after);
    b_.SetInsertPoint(body);
    llvm::PHINode* step = b_.CreatePHI(b_.getInt64Ty(), 2, "step");
    llvm::PHINode* from_row = b_.CreatePHI(b_.getPtrTy(), 2, "rows");
    llvm::PHINode* from_column = b_.CreatePHI(b_.getPtrTy(), 2, "columns");
    Multiply(from_row, rows_apart, from_column, b_.getInt64(static_cast<uint64_t>(steps_apart)));
    llvm::Value* next = b_.CreateAdd(step, b_.getInt64(kTileMma));
    auto further = [&](llvm::Value* pointer, int64_t bytes) {
      return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), pointer, static_cast<uint64_t>(bytes));
    };
    llvm::Value* next_row = further(from_row, kRowBytes);
    llvm::Value* next_column = further(from_column, kTileMma * steps_apart);
    for (auto [phi, first, later] :
         {std::tuple{step, static_cast<llvm::Value*>(b_.getInt64(0)), next},
          {from_row, row, next_row},
          {from_column, column, next_column}}) {
      phi->addIncoming(first, before);
      phi->addIncoming(later, body);
    }
    b_.CreateCondBr(b_.CreateICmpSLT(next, count), body, after);
    b_.SetInsertPoint(after);
  }

  void Multiply(llvm::Value* row, llvm::Value* rows_apart, llvm::Value* column,
                llvm::Value* steps_apart) {
    bool is_a = step_.rows()->type()->scalar == instruction_.a;
    std::string_view name = instruction_.tiles[is_a ? 0 : 1];
    llvm::Intrinsic::ID id = llvm::Function::lookupIntrinsicID(name);
    KDL_CHECK(id != llvm::Intrinsic::not_intrinsic, "LLVM has no intrinsic '{}'", name);
    Move(llvm::Intrinsic::x86_tileloadd64, kRows, row, rows_apart);
    for (int64_t c = 0; c < columns_; ++c) {
      auto tile = static_cast<uint64_t>(c);
      llvm::Value* from = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), column, tile * kRowBytes);
      Move(llvm::Intrinsic::x86_tileloadd64, kColumns + tile, from, steps_apart);
      b_.CreateIntrinsic(id, {},
                         {b_.getInt8(static_cast<uint8_t>(tile)), b_.getInt8(kRows),
                          b_.getInt8(static_cast<uint8_t>(kColumns + tile))});
    }
  }

  Emitter& emitter_;
  llvm::IRBuilder<>& b_;
  ir::Op* op_;
  ir::TileMmaOp step_;
  const StepInstruction& instruction_;
  int64_t rows_;
  int64_t columns_;
};

void EmitTileMma(Emitter& emitter, ir::Op* op) {
  if (InstructionOf(emitter, op).of_types) return EmitSmallMatrices(emitter, op);
  TileProduct(emitter, op).EmitProduct();
}

}  // namespace

KDL_EMIT(TileMma, EmitTileMma)

}  // namespace kdl::codegen
