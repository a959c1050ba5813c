#include "interp/locate/oracle_memory.h"

#include "interp/tensor_memory.h"
#include "interp/tile.h"
#include "support/float_bits.h"

namespace kdl::interp {

std::vector<double> OracleMemory::ElementsOf(const TensorValue& tensor) const {
  std::vector<double> elements;
  for (PointWalk walk(tensor.sizes, {tensor.strides}); !walk.done(); walk.Next()) {
    const std::byte* address = tensor.data + walk.offset(0) * Bytes(tensor.scalar);
    uint64_t bits = ReadElement(address, tensor.scalar);
    auto known = elements_.find(address);
    bool is_same = known != elements_.end() && known->second.bits == bits;
    elements.push_back(is_same ? known->second.exact : FloatValue(tensor.scalar, bits));
  }
  return elements;
}

void OracleMemory::Remember(const TensorValue& tensor, const std::vector<double>& elements) {
  size_t next = 0;
  for (PointWalk walk(tensor.sizes, {tensor.strides}); !walk.done(); walk.Next()) {
    const std::byte* address = tensor.data + walk.offset(0) * Bytes(tensor.scalar);
    elements_[address] = {ReadElement(address, tensor.scalar), elements[next++]};
  }
}

}  // namespace kdl::interp
