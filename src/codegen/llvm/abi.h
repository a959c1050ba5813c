#pragma once

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Module.h>

#include <vector>

namespace kdl::codegen {

// The indices of the fields of each struct in abi.def, such as `kdl_core_fields::core_id`.
#define KDL_STRUCT(name, comment) \
  struct name##_fields {          \
    enum : unsigned {
#define KDL_FIELD(owner, ctype, kind, name, comment) name,
#define KDL_ARRAY(owner, ctype, kind, count, name, comment) name,
#define KDL_NESTED(owner, type, name, comment) name,
#define KDL_STRUCT_END(name) \
  field_count                \
  }                          \
  ;                          \
  }                          \
  ;
#include "kdl/abi.def"

/// The structs of abi.def as LLVM types, under the same names.
struct AbiTypes {
  explicit AbiTypes(llvm::LLVMContext& context);
#define KDL_STRUCT(name, comment) llvm::StructType* name;
#include "kdl/abi.def"
};

/// Builds a constant struct field by field. Fields that are not set are zero.
class Record {
 public:
  explicit Record(llvm::StructType* type);
  Record& Set(unsigned field, llvm::Constant* value);
  Record& Set(unsigned field, int64_t value);
  /// Sets the first elements of an array field.
  Record& Set(unsigned field, const std::vector<int64_t>& values);
  llvm::Constant* Get() const { return llvm::ConstantStruct::get(type_, fields_); }

 private:
  llvm::StructType* type_;
  std::vector<llvm::Constant*> fields_;
};

}  // namespace kdl::codegen
