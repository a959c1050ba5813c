#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "codegen/ptx/emitter.h"
#include "ir/views.h"
#include "support/check.h"
#include "support/scalar.h"

// Emits asynchronous copies of tensor tiles to shared memory (`cp.async.bulk.tensor`), which use the tensor
// maps that the launch provides. Mbarriers signal that copies are complete.

namespace kdl::codegen::ptx {

namespace {

using ir::AttrKey;
using ir::OpKind;

constexpr int64_t kMbarrierBytes = 8;

/// Returns the number of elements in one slot of a ring buffer.
int64_t SlotElements(const ir::Value* buffer) {
  int64_t elements = 1;
  for (size_t d = 1; d < buffer->type()->dims.size(); ++d)
    elements *= buffer->type()->dims[d]->value;
  return elements;
}

}  // namespace

TensorMap TensorMapOf(const ir::Function& kernel, const ir::Op* op) {
  const ir::Value* tensor = op->operand(0);  // the tensor is the first operand of both kinds of op
  const ir::Value* buffer = op->operand(1);
  TensorMap map;
  for (const ir::Param* param : TensorParams(kernel)) {
    if (param->value == tensor) break;
    ++map.tensor;
  }
  map.row_dimension = op->attr<AttrKey::Along>()[0];
  map.rows = buffer->type()->dims[1]->value;
  map.swizzle = buffer->def()->attr<AttrKey::Swizzle>();
  map.panel = map.swizzle / Bytes(buffer->type()->scalar);
  return map;
}

std::vector<TensorMap> TensorMapsOf(const ir::Function& kernel) {
  std::vector<TensorMap> maps;
  ir::Walk(kernel.body, [&](ir::Op* op) {
    bool fills_slot = op->kind() == OpKind::AsyncCopy && ir::AsyncCopyOp(op).mbarriers();
    if (!fills_slot && op->kind() != OpKind::TileCopyFits) return;
    TensorMap map = TensorMapOf(kernel, op);
    if (std::ranges::find(maps, map) == maps.end()) maps.push_back(map);
  });
  return maps;
}

unsigned PtxEmitter::TensorMapIndex(const ir::Op* op) const {
  auto found = std::ranges::find(maps_, TensorMapOf(kernel, op));
  return static_cast<unsigned>(found - maps_.begin());
}

llvm::Value* SlotAddress(PtxEmitter& emitter, const ir::Value* buffer, const ir::Value* slot) {
  auto& builder = emitter.builder;
  llvm::Type* element = MemoryType(emitter.context(), buffer->type()->scalar);
  llvm::Value* offset = builder.CreateMul(
      emitter.Get(slot), builder.getInt64(static_cast<uint64_t>(SlotElements(buffer))));
  const Memory& memory = emitter.memories.at(buffer);
  KDL_CHECK(memory.base->getType()->getPointerAddressSpace() == kWorkgroup,
            "'{}' is not in workgroup memory", buffer->name().text());
  return builder.CreateInBoundsGEP(element, memory.base, offset);
}

/// Loads whether the launch could create the op's tensor map. The last numbers in the launch's arguments
/// state this for each map.
void PtxEmitter::EmitTileCopyFits(ir::Op* op) {
  llvm::Value* made = LaunchNumber(*this, CountLaunchNumbers(kernel) + TensorMapIndex(op), "fits");
  Set(op->result(), builder.CreateIsNotNull(made));
}

/// Announces the number of bytes in the tile to the mbarrier, and starts copying the tile panel by panel.
void PtxEmitter::EmitSlotCopy(ir::Op* op) {
  ir::AsyncCopyOp copy(op);
  const ir::Value* buffer = copy.to();
  const ir::Value* number = copy.place()[0];
  TensorMap map = TensorMapOf(kernel, op);
  int64_t element_bytes = Bytes(buffer->type()->scalar);
  llvm::Value* mbarrier = WorkgroupAddress(*this, SlotAddress(*this, copy.mbarriers(), number));
  EmitAsm(
      *this, "mbarrier.arrive.expect_tx.shared.b64 _, [$0], $1;", "r,r,~{memory}",
      {mbarrier, builder.getInt32(static_cast<uint32_t>(SlotElements(buffer) * element_bytes))});
  llvm::Value* slot = WorkgroupAddress(*this, SlotAddress(*this, buffer, number));
  std::vector<llvm::Value*> place = AccessIndex(*this, op, copy.index());
  size_t rank = place.size();
  std::string names;
  std::string constraints = "r,l,r";
  for (size_t d = 0; d < rank; ++d) {
    names += fmt::format("{}${}", d > 0 ? ", " : "", 3 + d);
    constraints += ",r";
  }
  std::string text = fmt::format(
      "cp.async.bulk.tensor.{}d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, "
      "{{{}}}], [$2];",
      rank, names);
  int64_t panels = buffer->type()->dims[2]->value / map.panel;
  for (int64_t panel = 0; panel < panels; ++panel) {
    auto bytes = static_cast<uint32_t>(panel * map.rows * map.swizzle);
    llvm::Value* argument =
        function->getArg(function->arg_size() - maps_.size() + TensorMapIndex(op));
    std::vector<llvm::Value*> operands = {builder.CreateAdd(slot, builder.getInt32(bytes)),
                                          argument, mbarrier};
    for (size_t d = rank; d-- > 0;) {  // the instruction needs the last dimension first
      llvm::Value* at = builder.CreateTrunc(place[d], builder.getInt32Ty());
      if (d + 1 == rank)
        at = builder.CreateAdd(at, builder.getInt32(static_cast<uint32_t>(panel * map.panel)));
      operands.push_back(at);
    }
    EmitAsm(*this, text, constraints + ",~{memory}", operands);
  }
}

bool PtxEmitter::EmitMbarrierOrdered(ir::Op* op) {
  auto mbarrier = [&](const ir::Value* slot) {
    return WorkgroupAddress(*this, SlotAddress(*this, op->operand(0), slot));
  };
  auto each_mbarrier = [&](std::string_view text, std::string_view constraints, int64_t arrivals) {
    llvm::Value* first = WorkgroupAddress(*this, memories.at(op->operand(0)).base);
    for (int64_t i = 0; i < op->operand(0)->type()->dims[0]->value; ++i) {
      std::vector<llvm::Value*> operands = {
          builder.CreateAdd(first, builder.getInt32(static_cast<uint32_t>(i * kMbarrierBytes)))};
      if (arrivals > 0) operands.push_back(builder.getInt32(static_cast<uint32_t>(arrivals)));
      EmitAsm(*this, text, constraints, operands);
    }
  };
  switch (op->kind()) {
    case OpKind::MbarrierInit:
      each_mbarrier("mbarrier.init.shared.b64 [$0], $1;", "r,r,~{memory}",
                    op->attr<AttrKey::Arrivals>());
      EmitAsm(*this, "fence.mbarrier_init.release.cluster;", "~{memory}", {});
      return true;
    case OpKind::MbarrierInvalidate:
      each_mbarrier("mbarrier.inval.shared.b64 [$0];", "r,~{memory}", 0);
      return true;
    case OpKind::MbarrierArrive:
      EmitAsm(*this, "mbarrier.arrive.shared.b64 _, [$0];", "r,~{memory}",
              {mbarrier(op->operand(1))});
      return true;
    case OpKind::MbarrierWait: {
      llvm::Value* parity =
          builder.CreateTrunc(builder.CreateAnd(Get(op->operand(2)), 1), builder.getInt32Ty());
      EmitAsm(*this,
              "{\n\t.reg .pred done;\nawait_${:uid}:\n\t"
              "mbarrier.try_wait.parity.shared.b64 done, [$0], $1;\n\t"
              "@!done bra await_${:uid};\n\t}",
              "r,r,~{memory}", {mbarrier(op->operand(1)), parity});
      return true;
    }
    case OpKind::Load:
    case OpKind::Store:
      return EmitVector(op);
    case OpKind::TileCopyFits:
      EmitTileCopyFits(op);
      return true;
    case OpKind::ProxyFence:
      EmitAsm(*this, "fence.proxy.async.shared::cta;", "~{memory}", {});
      return true;
    case OpKind::MmaCommit:
      MmaCommit();
      return true;
    case OpKind::MmaWait:
      MmaWait(op);
      return true;
    default:
      return false;
  }
}

}  // namespace kdl::codegen::ptx
