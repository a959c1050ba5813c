#include <fmt/format.h>

#include <string>
#include <vector>

#include "codegen/llvm/ops/vector_mma.h"
#include "codegen/ptx/emitter.h"
#include "ir/lane_map.h"
#include "ir/views.h"
#include "support/check.h"
#include "support/scalar.h"

// Emits the matrix instructions of four warps (`wgmma.mma_async`), which read their factors from shared
// memory. A factor is laid out in swizzled panels with rows of 128 bytes, and a descriptor states its
// location. In the result, lane l of warp w has rows r = 16 w + l / 4 and r + 8. Of each group of 8 columns,
// the lane has columns c = 2 (l % 4) and c + 1. The thread layout of the product has the same order.

namespace kdl::codegen::ptx {

namespace {

using ir::AttrKey;

constexpr int64_t kGroup = 128;     // threads in four warps
constexpr int64_t kGroupRows = 64;  // rows of one instruction
constexpr int64_t kSwizzle = 128;   // bytes in a row of a panel
constexpr int64_t kSwizzledRows = 8;
constexpr uint64_t kSwizzle128 = uint64_t{1} << 62;
constexpr int64_t kUnit = 16;      // the unit of a descriptor's addresses and distances, in bytes
constexpr unsigned kStride = 32;   // bit position of the distance between groups of 8 rows
constexpr unsigned kLeading = 16;  // bit position of the distance between panels

/// Returns the inline assembly constraint for an accumulator register.
char RegisterOf(kdl::Scalar acc) { return IsFloat(acc) ? 'f' : 'r'; }

class GroupStep {
 public:
  GroupStep(PtxEmitter& emitter, ir::Op* op)
      : emitter_(emitter), b_(emitter.builder), step_(op), map_(ir::MapOf(*op)) {}

  void EmitProduct(bool opens) {
    for (size_t i = 0; i < step_.accs().size(); ++i)
      accs_.push_back(emitter_.Get(step_.accs()[AccumulatorIndex(i)]));
    if (opens) accs_ = EmitFence();
    llvm::Value* thread = emitter_.Get(step_.place()[0]);
    llvm::Value* group = b_.CreateUDiv(thread, Number(kGroup));
    llvm::Value* first_row = b_.CreateMul(group, Number(kGroupRows));
    Multiply(Describe(0, first_row), Describe(1, Number(0)));
  }

 private:
  llvm::Value* Number(int64_t value) { return b_.getInt64(static_cast<uint64_t>(value)); }
  bool HasTermsInRows(size_t factor) const {
    return step_.op->attr<AttrKey::Folded>()[factor] == 1;
  }

  /// Returns the descriptor for the part of a factor that one instruction reads. This part begins at row or
  /// column `kept`, and at the first term of the instruction.
  llvm::Value* Describe(size_t factor, llvm::Value* kept) {
    const ir::Value* buffer = step_.op->operand(factor);
    int64_t bytes = Bytes(buffer->type()->scalar);
    int64_t panel = kSwizzle / bytes;
    int64_t panel_bytes = buffer->type()->dims[1]->value * kSwizzle;
    llvm::Value* term = emitter_.Get(step_.place()[1]);
    bool in_rows = HasTermsInRows(factor);
    llvm::Value* row = in_rows ? kept : term;
    llvm::Value* column = in_rows ? term : kept;
    llvm::Value* offset = b_.CreateMul(b_.CreateUDiv(column, Number(panel)), Number(panel_bytes));
    offset = b_.CreateAdd(offset, b_.CreateMul(row, Number(kSwizzle)));
    offset =
        b_.CreateAdd(offset, b_.CreateMul(b_.CreateURem(column, Number(panel)), Number(bytes)));
    llvm::Value* slot =
        WorkgroupAddress(emitter_, SlotAddress(emitter_, buffer, step_.slots()[factor]));
    llvm::Value* address = b_.CreateAdd(b_.CreateZExt(slot, b_.getInt64Ty()), offset);
    constexpr uint64_t kAddressBits = (1 << 14) - 1;
    address = b_.CreateAnd(b_.CreateUDiv(address, Number(kUnit)), kAddressBits);
    // If terms run along rows, one instruction never reaches the next panel, so this distance does not
    // matter.
    uint64_t leading = in_rows ? 1 : static_cast<uint64_t>(panel_bytes / kUnit);
    uint64_t stride = static_cast<uint64_t>(kSwizzledRows * kSwizzle / kUnit);
    return b_.CreateOr(address, kSwizzle128 | stride << kStride | leading << kLeading);
  }

  /// Returns the index, in the thread layout's order, of the accumulator in the instruction's register `i`.
  size_t AccumulatorIndex(size_t i) const {
    auto columns = static_cast<size_t>(map_[1].held());
    return (i >> 1 & 1) * columns + 2 * (i >> 2) + (i & 1);
  }

  /// Emits a fence, after which the instruction may use the registers. The accumulators pass through the
  /// fence, so that LLVM cannot set a register after it.
  std::vector<llvm::Value*> EmitFence() {
    std::string outputs;
    std::string inputs;
    for (size_t i = 0; i < accs_.size(); ++i) {
      outputs += fmt::format("={},", RegisterOf(step_.accs()[0]->type()->scalar));
      inputs += fmt::format("{},", i);
    }
    std::vector<llvm::Type*> types(accs_.size(), accs_[0]->getType());
    llvm::Value* fenced =
        EmitAsm(emitter_, "wgmma.fence.sync.aligned;", outputs + inputs + "~{memory}", accs_,
                llvm::StructType::get(emitter_.context(), types));
    std::vector<llvm::Value*> accs;
    for (unsigned i = 0; i < accs_.size(); ++i) accs.push_back(b_.CreateExtractValue(fenced, i));
    return accs;
  }

  /// Returns the operands after the descriptors. The first is 1, which means that products are added to the
  /// accumulators. For floats, the signs of both factors follow. For two-byte floats, two more operands state
  /// whether each factor is transposed. A factor is transposed if its terms do not run along rows.
  std::string Modifiers() const {
    if (!IsFloat(step_.accs()[0]->type()->scalar)) return "1";
    if (Bytes(step_.op->operand(0)->type()->scalar) != 2) return "1, 1, 1";
    return fmt::format("1, 1, 1, {}, {}", HasTermsInRows(0) ? 0 : 1, HasTermsInRows(1) ? 0 : 1);
  }

  void Multiply(llvm::Value* a, llvm::Value* b) {
    size_t count = step_.accs().size();
    kdl::Scalar scalar = step_.accs()[0]->type()->scalar;
    std::string registers;
    std::string constraints;
    std::string tied;
    std::vector<llvm::Value*> operands = {a, b};
    for (size_t i = 0; i < count; ++i) {
      registers += fmt::format("{}${}", i > 0 ? ", " : "", i);
      constraints += fmt::format("={},", RegisterOf(scalar));
      tied += fmt::format(",{}", i);
      operands.push_back(accs_[i]);
    }
    std::string name = fmt::format(
        fmt::runtime(std::string(InstructionOf(emitter_, step_.op).intrinsic)), 2 * count);
    std::string text =
        fmt::format("{} {{{}}}, ${}, ${}, {};", name, registers, count, count + 1, Modifiers());
    std::vector<llvm::Type*> types(count, MemoryType(emitter_.context(), scalar));
    llvm::Value* sums = EmitAsm(emitter_, text, constraints + "l,l" + tied + ",~{memory}", operands,
                                llvm::StructType::get(emitter_.context(), types));
    for (size_t i = 0; i < count; ++i)
      emitter_.Set(step_.op->result(AccumulatorIndex(i)),
                   b_.CreateExtractValue(sums, static_cast<unsigned>(i)));
  }

  PtxEmitter& emitter_;
  llvm::IRBuilder<>& b_;
  ir::MmaOp step_;
  ir::LaneMap map_;
  std::vector<llvm::Value*> accs_;  ///< in the order of the instruction's registers
};

}  // namespace

void PtxEmitter::EmitGroupStep(ir::Op* op) {
  GroupStep(*this, op).EmitProduct(!steps_open_);
  steps_open_ = true;
}

void PtxEmitter::MmaCommit() {
  EmitAsm(*this, "wgmma.commit_group.sync.aligned;", "~{memory}", {});
  steps_open_ = false;
}

/// Waits for groups of matrix instructions. If all groups are awaited, the accumulators in the thread's
/// buffers pass through the wait, so that LLVM cannot read them earlier.
void PtxEmitter::MmaWait(ir::Op* op) {
  auto ahead = op->attr<AttrKey::Ahead>();
  std::string text = fmt::format("wgmma.wait_group.sync.aligned {};", ahead);
  if (ahead > 0) {
    EmitAsm(*this, text, "~{memory}", {});
    return;
  }
  std::vector<llvm::Value*> places;
  std::vector<llvm::Value*> values;
  std::vector<llvm::Type*> types;
  std::string outputs;
  std::string inputs;
  for (const ir::Value* buffer : op->operands()) {
    llvm::Type* element = MemoryType(context(), buffer->type()->scalar);
    int64_t count = SizeInBytes(buffer->type()) / Bytes(buffer->type()->scalar);
    for (int64_t i = 0; i < count; ++i) {
      places.push_back(builder.CreateConstInBoundsGEP1_64(element, memories.at(buffer).base,
                                                          static_cast<uint64_t>(i)));
      outputs +=
          fmt::format("{}={}", values.empty() ? "" : ",", RegisterOf(buffer->type()->scalar));
      inputs += fmt::format(",{}", values.size());
      values.push_back(builder.CreateLoad(element, places.back()));
      types.push_back(element);
    }
  }
  llvm::Value* awaited = EmitAsm(*this, text, outputs + inputs + ",~{memory}", values,
                                 llvm::StructType::get(context(), types));
  for (size_t i = 0; i < places.size(); ++i)
    builder.CreateStore(builder.CreateExtractValue(awaited, static_cast<unsigned>(i)), places[i]);
}

}  // namespace kdl::codegen::ptx
