#include "codegen/llvm/before_launch/call_functions.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "codegen/llvm/end_without_memory.h"
#include "codegen/llvm/machine.h"
#include "codegen/llvm/optimize/optimize.h"
#include "support/scalar.h"
#include "support/size.h"

// For each kernel, NAME.c has a function that puts sizes and values into arrays, and passes these to a function
// of the runtime. This file makes the same functions without a C compiler.

namespace kdl::codegen {

namespace {

using Values = std::vector<llvm::Value*>;

class CallBuilder {
 public:
  CallBuilder(llvm::Module& module, const CallTable& table)
      : module_(module), table_(table), builder_(module.getContext()) {}

  void Build() {
    DefineOpen();
    Define(table_.close, builder_.getVoidTy(), {Pointer()}, [&](const Values& given) {
      Runtime(builder_.getVoidTy(), "kdl_kernels_close", given);
      builder_.CreateRetVoid();
    });
    for (size_t k = 0; k < table_.entries.size(); ++k) {
      const CallEntry& entry = table_.entries[k];
      auto number = static_cast<uint32_t>(k);
      DefineCall(entry, number, entry.call, "kdl_kernels_call", {});
      DefineCall(entry, number, entry.async, "kdl_kernels_call_async",
                 {Pointer(), builder_.getInt32Ty(), Pointer()});
      // The struct of a bound call has one field, so its address is that of the field.
      DefineCall(entry, number, entry.bind, "kdl_kernels_bind", {Pointer()});
      DefineBound(entry);
    }
  }

 private:
  llvm::Type* Pointer() { return llvm::PointerType::get(module_.getContext(), 0); }
  llvm::Constant* Null() {
    return llvm::ConstantPointerNull::get(llvm::PointerType::get(module_.getContext(), 0));
  }

  /// The C type of a scalar: narrow floats and bool are passed as integers.
  llvm::Type* TypeOf(Scalar scalar) {
    if (scalar == Scalar::F32) return builder_.getFloatTy();
    if (scalar == Scalar::F64) return builder_.getDoubleTy();
    return builder_.getIntNTy(static_cast<unsigned>(std::max(Bytes(scalar), 1)) * 8);
  }

  template <typename Body>
  void Define(const std::string& name, llvm::Type* result, std::vector<llvm::Type*> params,
              const Body& body) {
    auto* type = llvm::FunctionType::get(result, params, false);
    auto* function =
        llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module_);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    builder_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", function));
    Values given;
    for (llvm::Argument& argument : function->args()) given.push_back(&argument);
    body(given);
  }

  llvm::Value* Runtime(llvm::Type* result, const char* name, const Values& values) {
    std::vector<llvm::Type*> types;
    for (llvm::Value* value : values) types.push_back(value->getType());
    auto* type = llvm::FunctionType::get(result, types, false);
    return builder_.CreateCall(module_.getOrInsertFunction(name, type), values);
  }

  void DefineOpen() {
    std::vector<llvm::Constant*> names;
    for (const CallEntry& entry : table_.entries)
      names.push_back(builder_.CreateGlobalString(entry.looked_up, "", 0, &module_));
    auto* type = llvm::ArrayType::get(Pointer(), names.size());
    auto* all = new llvm::GlobalVariable(module_, type, true, llvm::GlobalValue::PrivateLinkage,
                                         llvm::ConstantArray::get(type, names));
    llvm::Constant* images = module_.getOrInsertGlobal(table_.images, Pointer());
    Define(table_.open, Pointer(), {Pointer(), Pointer(), Pointer()}, [&](const Values& given) {
      llvm::Value* count = builder_.getInt32(static_cast<uint32_t>(names.size()));
      builder_.CreateRet(Runtime(Pointer(), "kdl_kernels_open",
                                 {given[0], images, given[1], all, count, given[2]}));
    });
  }

  void DefineCall(const CallEntry& entry, uint32_t number, const std::string& name,
                  const char* function, const std::vector<llvm::Type*>& more) {
    std::vector<llvm::Type*> types = {Pointer()};
    types.insert(types.end(), entry.sizes.size(), builder_.getInt64Ty());
    for (const CallParam& param : entry.params) {
      if (param.is_absent) continue;
      types.push_back(param.is_tensor ? Pointer() : TypeOf(param.scalar));
    }
    types.insert(types.end(), more.begin(), more.end());
    Define(name, Pointer(), types, [&](const Values& given) {
      sizes_.clear();
      for (size_t s = 0; s < entry.sizes.size(); ++s) sizes_[entry.sizes[s]] = given[1 + s];
      Values dims;
      Values values;
      size_t next = 1 + entry.sizes.size();
      for (size_t p = 0; p < entry.params.size(); ++p) {
        for (Size dim : entry.params[p].dims) dims.push_back(Evaluate(dim));
        values.push_back(entry.params[p].is_absent ? Null() : given[next++]);
      }
      Values passed = {given[0], builder_.getInt32(number), Stored(dims), Stored(values)};
      passed.insert(passed.end(), given.end() - static_cast<std::ptrdiff_t>(more.size()),
                    given.end());
      builder_.CreateRet(Runtime(Pointer(), function, passed));
    });
  }

  void DefineBound(const CallEntry& entry) {
    auto call = [&](const Values& bound) { return builder_.CreateLoad(Pointer(), bound[0]); };
    Define(entry.run, Pointer(), {Pointer()}, [&](const Values& bound) {
      builder_.CreateRet(Runtime(Pointer(), "kdl_bound_call_run", {call(bound)}));
    });
    Define(entry.unbind, builder_.getVoidTy(), {Pointer()}, [&](const Values& bound) {
      Runtime(builder_.getVoidTy(), "kdl_bound_call_free", {call(bound)});
      builder_.CreateStore(Null(), bound[0]);
      builder_.CreateRetVoid();
    });
  }

  /// Stores values in an array of 8-byte elements (kdl_value, int64_t), with zeros after narrower values. Returns its
  /// address, or null if there are no values.
  llvm::Value* Stored(const Values& values) {
    if (values.empty()) return Null();
    llvm::Type* element = builder_.getInt64Ty();
    llvm::Value* array =
        builder_.CreateAlloca(element, builder_.getInt64(static_cast<uint64_t>(values.size())));
    for (size_t v = 0; v < values.size(); ++v) {
      llvm::Value* place = builder_.CreateConstInBoundsGEP1_64(element, array, v);
      builder_.CreateStore(builder_.getInt64(0), place);
      builder_.CreateStore(values[v], place);
    }
    return array;
  }

  /// Returns the value of a size as the functions in kdl/sizes.h compute it: an operation that has no result, or
  /// that has KDL_NO_SIZE as an operand, results in KDL_NO_SIZE.
  llvm::Value* Evaluate(Size size) {
    if (size->kind == SizeKind::Constant)
      return builder_.getInt64(static_cast<uint64_t>(size->value));
    if (size->kind == SizeKind::Symbol) return sizes_.at(size->symbol.str());
    llvm::Value* a = Evaluate(size->lhs);
    llvm::Value* b = Evaluate(size->rhs);
    if (size->kind == SizeKind::Min)
      return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
    llvm::Value* none = builder_.getInt64(static_cast<uint64_t>(INT64_MIN));
    llvm::Value* wrong =
        builder_.CreateOr(builder_.CreateICmpEQ(a, none), builder_.CreateICmpEQ(b, none));
    llvm::Value* value = size->kind == SizeKind::FloorDiv || size->kind == SizeKind::Mod
                             ? Divided(size->kind, a, b, wrong)
                             : Combined(size->kind, a, b, wrong);
    return builder_.CreateSelect(wrong, none, value);
  }

  llvm::Value* Combined(SizeKind kind, llvm::Value* a, llvm::Value* b, llvm::Value*& wrong) {
    auto id = kind == SizeKind::Add   ? llvm::Intrinsic::sadd_with_overflow
              : kind == SizeKind::Sub ? llvm::Intrinsic::ssub_with_overflow
                                      : llvm::Intrinsic::smul_with_overflow;
    llvm::Value* pair = builder_.CreateBinaryIntrinsic(id, a, b);
    wrong = builder_.CreateOr(wrong, builder_.CreateExtractValue(pair, 1));
    return builder_.CreateExtractValue(pair, 0);
  }

  llvm::Value* Divided(SizeKind kind, llvm::Value* a, llvm::Value* b, llvm::Value*& wrong) {
    wrong = builder_.CreateOr(wrong, builder_.CreateIsNull(b));
    llvm::Value* divisor = builder_.CreateSelect(wrong, builder_.getInt64(1), b);
    llvm::Value* quotient = builder_.CreateSDiv(a, divisor);
    llvm::Value* rest = builder_.CreateSRem(a, divisor);
    llvm::Value* zero = builder_.getInt64(0);
    llvm::Value* signs = builder_.CreateICmpSLT(builder_.CreateXor(a, divisor), zero);
    llvm::Value* rounds = builder_.CreateAnd(builder_.CreateICmpNE(rest, zero), signs);
    if (kind == SizeKind::Mod)
      return builder_.CreateAdd(rest, builder_.CreateSelect(rounds, divisor, zero));
    return builder_.CreateSub(quotient, builder_.CreateZExt(rounds, builder_.getInt64Ty()));
  }

  llvm::Module& module_;
  const CallTable& table_;
  llvm::IRBuilder<> builder_;
  std::map<std::string, llvm::Value*> sizes_;
};

}  // namespace

std::string CompileCalls(const Backend& host, const CallTable& table) {
  const EndWithoutMemory no_memory;
  llvm::LLVMContext context;
  auto module = host.machine().MakeModule(context, "calls");
  CallBuilder(*module, table).Build();
  Optimize(&host.machine(), host.machine().opt_level(), *module, {});
  return host.machine().Emit(*module, FileType::Object);
}

}  // namespace kdl::codegen
