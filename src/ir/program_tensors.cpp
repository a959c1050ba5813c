#include "ir/program_tensors.h"

#include "ir/tensor_view.h"

namespace kdl::ir {

std::string_view SourceName(const Value* tensor) {
  tensor = MemoryOf(tensor);
  bool is_moved = tensor->def() && tensor->def()->kind() == OpKind::Transfer;
  return is_moved ? SourceName(tensor->def()->operand(0)) : tensor->name().text();
}

}  // namespace kdl::ir
