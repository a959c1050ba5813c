#include <fmt/format.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codegen/ptx/emitter.h"
#include "ir/lane_map.h"
#include "ir/op_kind.h"
#include "ir/workgroup_memory.h"
#include "kdl/kernel_abi.h"

// The parameters of a kernel's function are the numbers of the launch, the memories `memory`, `shared`,
// `record` and `prints`, the memory of each tensor, and the tensor maps. `include/kdl/workgroup_abi.h`
// describes them.

namespace kdl::codegen::ptx {

namespace {

/// LLVM's address spaces.
enum Space : unsigned { kGlobal = 1, kShared = 3 };

constexpr unsigned kFixedParams = 5;  // parameters before the tensors
constexpr int64_t kSmallWorkgroup = 128;
constexpr int64_t kWorkgroupOfText = 48 << 10;   // limit on static shared memory
constexpr int64_t kWorkgroupOfDriver = 1 << 10;  // reserved by the driver for each workgroup
constexpr int64_t kWorkgroupAlignment = 1024;    // alignment of dynamic shared memory
constexpr uint64_t kMostBlocks = (uint64_t{1} << 31) - 1;  // limit on a grid's first dimension

/// Adds a property of the function that only metadata can express: that it is a kernel, or its block size.
void Annotate(WorkgroupEmitter& emitter, const char* what, int64_t value) {
  auto& builder = emitter.builder;
  auto* node = llvm::MDNode::get(
      emitter.context(),
      {llvm::ValueAsMetadata::get(emitter.function), llvm::MDString::get(emitter.context(), what),
       llvm::ConstantAsMetadata::get(builder.getInt32(static_cast<uint32_t>(value)))});
  emitter.module.getOrInsertNamedMetadata("nvvm.annotations")->addOperand(node);
}

/// Reads a special register, whose value is known to be less than `end`.
llvm::Value* Register(WorkgroupEmitter& emitter, llvm::Intrinsic::ID id, uint64_t end,
                      const char* name) {
  llvm::CallInst* value = emitter.builder.CreateIntrinsic(id, {}, {});
  llvm::MDBuilder metadata(emitter.context());
  value->setMetadata(llvm::LLVMContext::MD_range,
                     metadata.createRange(llvm::APInt(32, 0), llvm::APInt(32, end)));
  return emitter.builder.CreateZExt(value, emitter.builder.getInt64Ty(), name);
}

/// Makes a global variable. If `value` is null, the launch provides the memory of the variable. Static shared
/// memory has internal linkage. Constants that the runtime reads have external linkage.
llvm::GlobalVariable* NewGlobal(WorkgroupEmitter& emitter, const std::string& name,
                                llvm::Type* type, Space space, uint64_t alignment,
                                llvm::Constant* value) {
  bool is_own = space == kShared && value;
  auto* global = new llvm::GlobalVariable(
      emitter.module, type, /*isConstant=*/space == kGlobal,
      is_own ? llvm::GlobalValue::InternalLinkage : llvm::GlobalValue::ExternalLinkage, value, name,
      nullptr, llvm::GlobalValue::NotThreadLocal, space);
  global->setAlignment(llvm::Align(alignment));
  return global;
}

bool IsHeld(const ir::Op& op) {
  return op.kind() == ir::OpKind::BufferNew && op.result()->type()->space == ir::Space::Scratch;
}

/// Returns the number of registers for the tiles that a thread keeps at the same time. Tiles of one region
/// are not live at the same time, but those of nested regions are.
int64_t TileRegisters(const ir::Region* region) {
  constexpr int64_t kRegisterBytes = 4;
  int64_t here = 0;
  int64_t within = 0;
  for (const ir::Op* op : *region) {
    if (IsHeld(*op)) here = std::max(here, SizeInBytes(op->result()->type()) / kRegisterBytes);
    for (const ir::Region* nested : op->regions()) within = std::max(within, TileRegisters(nested));
  }
  return here + within;
}

/// Returns the number of ops on the longest path, since a kernel has several versions of a loop, for aligned tensors and
/// whole blocks, and only one of them needs registers at a time.
int64_t OpsOnPath(const ir::Region* region) {
  int64_t ops = 0;
  for (const ir::Op* op : *region) {
    int64_t within = 0;
    for (const ir::Region* nested : op->regions()) {
      int64_t path = OpsOnPath(nested);
      within = op->kind() == ir::OpKind::If ? std::max(within, path) : within + path;
    }
    ops += 1 + within;
  }
  return ops;
}

/// Returns whether some threads take no part in a matrix product. If so, the product is in a branch, and all
/// threads keep its result in registers across that branch.
bool HasIdleThreads(const ir::Function& kernel) {
  bool idle = false;
  ir::Walk(kernel.body, [&](const ir::Op* op) {
    idle |= op->kind() == ir::OpKind::Mma && ir::ThreadsOf(ir::MapOf(*op)) < kernel.workgroup;
  });
  return idle;
}

}  // namespace

void PtxEmitter::Declare() {
  maps_ = TensorMapsOf(kernel);
  auto* numbers = llvm::ArrayType::get(llvm::Type::getInt64Ty(context()),
                                       CountLaunchNumbers(kernel) + maps_.size());
  llvm::Type* global = llvm::PointerType::get(context(), kGlobal);
  std::vector<llvm::Type*> params(kFixedParams + TensorParams(kernel).size(), global);
  params[0] = llvm::PointerType::get(context(), 0);
  params.insert(params.end(), maps_.size(), params[0]);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context()), params, false);
  function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, code.entry, module);
  function->setCallingConv(llvm::CallingConv::PTX_Kernel);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addParamAttr(0, llvm::Attribute::getWithByValType(context(), numbers));
  function->addParamAttr(0, llvm::Attribute::getWithAlignment(context(), llvm::Align(8)));
  AddMaps();
  launch = function->getArg(0);
  scratch = function->getArg(1);
  shared = function->getArg(2);
  record = function->getArg(3);
  prints = function->getArg(4);
  Annotate(*this, "kernel", 1);
  Annotate(*this, "maxntidx", kernel.workgroup);  // a limit that the driver can report
}

/// Returns the number of workgroups whose registers should fit into a multiprocessor at the same time, or 0
/// if the assembler should decide. A workgroup has `bytes` of shared memory. For long kernels, the assembler would spill registers to make room for
/// more workgroups than shared memory allows, or than are needed to hide latency.
int64_t PtxEmitter::WorkgroupsAtOnce(int64_t bytes) const {
  constexpr int64_t kLong = 256;         // ops; a shorter kernel without f64 has enough registers
  constexpr int64_t kWithRegisters = 3;  // workgroups, if each thread keeps a block of a product
  constexpr int64_t kMost = 4;           // workgroups, with 128 registers for each of 128 threads
  // Kernels with so many ops, such as a softmax, wait less for memory than for their own results, and these need more
  // threads rather than more registers for loads (tests/gpu/NOTES.md). 96 registers are left.
  constexpr int64_t kVeryLong = 1024;
  constexpr int64_t kMostOfVeryLong = 5;
  // The maximum number of registers for tiles. Each thread has 128 registers if two large workgroups run at
  // the same time.
  constexpr int64_t kMostOfTiles = 64;
  bool steps = false;
  bool keeps = false;
  bool wide = false;
  ir::Walk(kernel.body, [&](const ir::Op* op) {
    wide |= std::ranges::any_of(op->results(), [](const ir::Value* result) {
      return ir::IsScalar(result->type()) && result->type()->scalar == Scalar::F64;
    });
    steps |= op->kind() == ir::OpKind::Mma;
    keeps |= IsHeld(*op);
  });
  int64_t in_workgroup = of_multiprocessor / (bytes + kWorkgroupOfDriver);
  if (in_workgroup < 2) return 1;
  // Two large workgroups fit on a multiprocessor at the same time, with 128 registers for each thread. One
  // workgroup computes while the other one waits.
  if (kernel.workgroup > kSmallWorkgroup)
    return TileRegisters(kernel.body) <= kMostOfTiles && !HasIdleThreads(kernel) ? 2 : 1;
  int64_t ops = OpsOnPath(kernel.body);
  if (steps || (ops < kLong && !wide)) return 0;
  int64_t most = ops < kVeryLong ? kMost : kMostOfVeryLong;
  return std::min(in_workgroup, keeps ? kWithRegisters : most);
}

/// Adds the tensor maps as parameters. They are passed by value, and the kernel uses them in place, without a
/// copy.
void PtxEmitter::AddMaps() {
  constexpr uint64_t kMapBytes = 128;
  constexpr uint64_t kMapAlignment = 64;
  if (maps_.empty()) return;
  llvm::Type* map = llvm::ArrayType::get(builder.getInt8Ty(), kMapBytes);
  auto first = static_cast<unsigned>(function->arg_size() - maps_.size());
  std::vector<llvm::Metadata*> numbers;
  for (unsigned i = first; i < function->arg_size(); ++i) {
    function->addParamAttr(i, llvm::Attribute::getWithByValType(context(), map));
    function->addParamAttr(
        i, llvm::Attribute::getWithAlignment(context(), llvm::Align(kMapAlignment)));
    numbers.push_back(llvm::ConstantAsMetadata::get(builder.getInt32(i + 1)));
  }
  auto* node = llvm::MDNode::get(context(), {llvm::ValueAsMetadata::get(function),
                                             llvm::MDString::get(context(), "grid_constant"),
                                             llvm::MDNode::get(context(), numbers)});
  module.getOrInsertNamedMetadata("nvvm.annotations")->addOperand(node);
}

llvm::Value* PtxEmitter::FindThread() {
  llvm::Value* block =
      Register(*this, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, kMostBlocks, "block");
  thread = Register(*this, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x,
                    static_cast<uint64_t>(kernel.workgroup), "thread");
  return block;
}

llvm::Value* PtxEmitter::TensorMemory(unsigned number) {
  return function->getArg(kFixedParams + number);
}

bool PtxEmitter::NeedsWorkgroupMemoryOfLaunch() const {
  return !maps_.empty() || ir::WorkgroupBytes(kernel) > kWorkgroupOfText;
}

/// Returns the shared memory that the launch provides.
llvm::Value* PtxEmitter::WorkgroupMemoryOfLaunch() {
  if (workgroup_) return workgroup_;
  int64_t alignment =
      NeedsWorkgroupMemoryOfLaunch() ? kWorkgroupAlignment : int64_t{KDL_SCRATCH_ALIGNMENT};
  workgroup_ =
      NewGlobal(*this, code.entry + "_workgroup", llvm::ArrayType::get(builder.getInt8Ty(), 0),
                kShared, static_cast<uint64_t>(alignment), nullptr);
  return workgroup_;
}

/// Allocates a buffer in shared memory. If the kernel uses tensor maps, or needs more shared memory than it
/// may declare statically, the launch provides all of its shared memory as one block. The launch also provides the memory
/// of buffers that only launches of some sizes use, and of those that can share memory with them.
llvm::Value* PtxEmitter::InWorkgroupMemory(const ir::Value* buffer) {
  int64_t bytes = ir::WorkgroupBytes(buffer->type());
  Conditions conditions = ConditionsAround(kernel, buffer->def());
  if (!conditions.ranges.empty() || launch_memory_.CanShare(conditions)) {
    auto* place = llvm::GetElementPtrInst::CreateInBounds(
        builder.getInt8Ty(), WorkgroupMemoryOfLaunch(), {builder.getInt64(0)});
    launch_memory_.Add(place, bytes, conditions);
    return builder.Insert(place, buffer->name().str());
  }
  if (!NeedsWorkgroupMemoryOfLaunch()) {
    llvm::Type* type = llvm::ArrayType::get(builder.getInt8Ty(), static_cast<uint64_t>(bytes));
    // No kernel has a name with this prefix.
    std::string name = fmt::format("near_{}_{}", code.entry, buffer->name().text());
    static_bytes_ += bytes;
    return NewGlobal(*this, name, type, kShared, KDL_SCRATCH_ALIGNMENT,
                     llvm::PoisonValue::get(type));
  }
  bool is_swizzled = buffer->def()->HasAttr(ir::AttrKey::Swizzle);
  int64_t offset = launch_memory_.Reserve(bytes, is_swizzled ? kWorkgroupAlignment : 1);
  return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), WorkgroupMemoryOfLaunch(),
                                            static_cast<uint64_t>(offset), buffer->name().str());
}

void PtxEmitter::Finish() {
  std::vector<LaunchMemory::Need> needs = launch_memory_.Finish();
  // If launches of some sizes need more, those that need the least of it run the most workgroups at once.
  std::span more = std::span(needs).subspan(needs.size() > 1 ? 1 : 0);
  int64_t least = std::ranges::min(more, {}, &LaunchMemory::Need::bytes).bytes;
  int64_t bytes = launch_memory_.empty() ? ir::WorkgroupBytes(kernel) : static_bytes_ + least;
  if (int64_t workgroups = WorkgroupsAtOnce(bytes); workgroups > 0)
    Annotate(*this, "minctasm", workgroups);
  if (!workgroup_ && code.scratch_bytes == 0) return;
  std::vector<uint64_t> numbers;
  auto add = [&](int64_t number) { numbers.push_back(static_cast<uint64_t>(number)); };
  add(needs[0].bytes);
  numbers.push_back(maps_.size());
  for (const TensorMap& map : maps_) {
    for (int64_t number : {map.tensor, map.row_dimension, map.rows, map.panel, map.swizzle})
      add(number);
  }
  add(code.scratch_bytes);
  for (const LaunchMemory::Need& need : std::span(needs).subspan(1)) {
    add(need.bytes);
    numbers.push_back(need.ranges.size());
    for (const SizeRange& range : need.ranges) {
      for (int64_t number : {range.size, range.least, range.most}) add(number);
    }
  }
  auto* values = llvm::ConstantDataArray::get(context(), numbers);
  NewGlobal(*this, code.entry + "_launch", values->getType(), kGlobal, sizeof numbers[0], values);
}

llvm::Value* WorkgroupAddress(PtxEmitter& emitter, llvm::Value* pointer) {
  return emitter.builder.CreatePtrToInt(pointer, emitter.builder.getInt32Ty());
}

llvm::CallInst* EmitAsm(PtxEmitter& emitter, std::string_view text, std::string_view constraints,
                        llvm::ArrayRef<llvm::Value*> operands, llvm::Type* result) {
  std::vector<llvm::Type*> types;
  for (llvm::Value* operand : operands) types.push_back(operand->getType());
  if (!result) result = emitter.builder.getVoidTy();
  auto* assembly = llvm::InlineAsm::get(llvm::FunctionType::get(result, types, false), text,
                                        constraints, /*hasSideEffects=*/true);
  llvm::CallInst* call = emitter.builder.CreateCall(assembly, operands);
  call->addFnAttr(llvm::Attribute::Convergent);
  call->addFnAttr(llvm::Attribute::NoUnwind);
  return call;
}

unsigned PtxEmitter::TableSpace() const { return kGlobal; }

void PtxEmitter::Wait() { builder.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {}); }

llvm::Value* PtxEmitter::WaitForAny(llvm::Value* told) {
  return builder.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0_or, {}, {told});
}

}  // namespace kdl::codegen::ptx
