#include "codegen/llvm/before_launch/host_module.h"
#include "codegen/llvm/emitter.h"
#include "ir/views.h"
#include "kdl/kernel_abi.h"

// A `print` passes its values to the runtime as tensors on the core's stack. A scalar becomes a tensor
// without dimensions. For a buffer, the sizes of its dimensions are operands of the op.

namespace kdl::codegen {

namespace {

using ir::TypeKind;

class PrintCall {
 public:
  PrintCall(Emitter& emitter, const ir::Op* op) : emitter_(emitter), op_(op) {}

  void Emit() {
    auto values = op_->Segment(ir::PrintOp::at_values);
    auto* type = llvm::ArrayType::get(emitter_.abi.kdl_tensor, values.size());
    llvm::Value* tensors = StackPlace(emitter_, type, "printed");
    for (size_t i = 0; i < values.size(); ++i)
      Fill(emitter_.builder.CreateConstInBoundsGEP2_32(type, tensors, 0, static_cast<unsigned>(i)),
           values[i]);
    Call(tensors, values.size());
  }

 private:
  void Set(llvm::Value* tensor, unsigned field, llvm::Value* value) {
    emitter_.builder.CreateStore(value,
                                 FieldAddress(emitter_, emitter_.abi.kdl_tensor, tensor, field));
  }

  void SetAt(llvm::Value* tensor, unsigned field, size_t place, llvm::Value* value) {
    auto& builder = emitter_.builder;
    llvm::Value* array = FieldAddress(emitter_, emitter_.abi.kdl_tensor, tensor, field);
    builder.CreateStore(value,
                        builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), array, place));
  }

  void Fill(llvm::Value* tensor, const ir::Value* value) {
    using Fields = kdl_tensor_fields;
    auto& builder = emitter_.builder;
    ir::Type type = value->type();
    builder.CreateStore(llvm::Constant::getNullValue(emitter_.abi.kdl_tensor), tensor);
    bool is_buffer = type->kind == TypeKind::Buffer;
    Set(tensor, Fields::data, is_buffer ? emitter_.memories.at(value).base : InMemory(value));
    auto rank = static_cast<uint32_t>(type->dims.size());
    Set(tensor, Fields::rank, builder.getInt32(rank));
    auto code = static_cast<uint8_t>(ElementCode(type->scalar));
    Set(tensor, Fields::element, builder.getInt8(code));
    auto bits = static_cast<uint16_t>(8 * Bytes(type->scalar));
    Set(tensor, Fields::element_bits, builder.getInt16(bits));
    int64_t stride = 1;
    for (size_t d = rank; d-- > 0;) {
      SetAt(tensor, Fields::stride, d, builder.getInt64(static_cast<uint64_t>(stride)));
      stride *= type->dims[d]->value;
    }
    auto sizes = op_->Segment(ir::PrintOp::at_sizes);
    for (size_t d = 0; d < rank; ++d) SetAt(tensor, Fields::size, d, emitter_.Get(sizes[next_++]));
  }

  /// Stores the scalar in memory and returns its address.
  llvm::Value* InMemory(const ir::Value* value) {
    llvm::Type* type = MemoryType(emitter_.context(), value->type()->scalar);
    llvm::Value* place = StackPlace(emitter_, type, "scalar");
    llvm::Value* held = emitter_.Get(value);
    if (held->getType() != type) held = emitter_.builder.CreateZExt(held, type);
    emitter_.builder.CreateStore(held, place);
    return place;
  }

  void Call(llvm::Value* tensors, size_t count) {
    auto& builder = emitter_.builder;
    const AbiTypes& abi = emitter_.abi;
    llvm::Value* core = PresentCore(emitter_);
    llvm::Value* launch =
        LoadField(emitter_, abi.kdl_core, core, kdl_core_fields::launch, "launch");
    llvm::Value* host =
        LoadField(emitter_, abi.kdl_launch, launch, kdl_launch_fields::host, "launch_host");
    llvm::Value* print = LoadField(emitter_, abi.kdl_host, host, kdl_host_fields::print, "print");
    llvm::Type* address = core->getType();
    auto* type = llvm::FunctionType::get(
        builder.getVoidTy(), {address, builder.getInt32Ty(), builder.getInt32Ty(), address}, false);
    auto location = static_cast<uint32_t>(LocationIndex(emitter_.code, LocationOf(op_, 0)));
    builder.CreateCall(type, print,
                       {core, builder.getInt32(location),
                        builder.getInt32(static_cast<uint32_t>(count)), tensors});
  }

  Emitter& emitter_;
  const ir::Op* op_;
  size_t next_ = 0;  ///< index of the next size operand
};

}  // namespace

void EmitPrint(Emitter& emitter, ir::Op* op) { PrintCall(emitter, op).Emit(); }

}  // namespace kdl::codegen
