#include "codegen/llvm/abi.h"

#include <cstdint>
#include <string_view>
#include <vector>

#include "support/check.h"

namespace kdl::codegen {

AbiTypes::AbiTypes(llvm::LLVMContext& context) {
  llvm::Type* i8 = llvm::Type::getInt8Ty(context);
  llvm::Type* i16 = llvm::Type::getInt16Ty(context);
  llvm::Type* i32 = llvm::Type::getInt32Ty(context);
  llvm::Type* i64 = llvm::Type::getInt64Ty(context);
  llvm::Type* ptr = llvm::PointerType::get(context, 0);
  std::vector<llvm::Type*> fields;
#define KDL_FIELD(owner, ctype, kind, field, comment) fields.push_back(kind);
#define KDL_ARRAY(owner, ctype, kind, count, field, comment) \
  fields.push_back(llvm::ArrayType::get(kind, count));
#define KDL_NESTED(owner, type, field, comment) fields.push_back(type);
#define KDL_STRUCT_END(name)                               \
  name = llvm::StructType::create(context, fields, #name); \
  fields.clear();
#include "kdl/abi.def"
}

Record::Record(llvm::StructType* type) : type_(type) {
  fields_.reserve(type->getNumElements());
  for (llvm::Type* field : type->elements()) fields_.push_back(llvm::Constant::getNullValue(field));
}

Record& Record::Set(unsigned field, llvm::Constant* value) {
  KDL_CHECK(value->getType() == fields_[field]->getType(), "field {} of {} has another type", field,
            std::string_view(type_->getName()));
  fields_[field] = value;
  return *this;
}

Record& Record::Set(unsigned field, int64_t value) {
  return Set(field, llvm::ConstantInt::get(type_->getElementType(field),
                                           static_cast<uint64_t>(value), true));
}

Record& Record::Set(unsigned field, const std::vector<int64_t>& values) {
  auto* array = llvm::cast<llvm::ArrayType>(type_->getElementType(field));
  std::vector<llvm::Constant*> elements;
  elements.reserve(array->getNumElements());
  for (int64_t value : values) {
    elements.push_back(
        llvm::ConstantInt::get(array->getElementType(), static_cast<uint64_t>(value), true));
  }
  elements.resize(array->getNumElements(), llvm::Constant::getNullValue(array->getElementType()));
  return Set(field, llvm::ConstantArray::get(array, elements));
}

}  // namespace kdl::codegen
