// Runs PTX on the host, thread by thread, as far as LLVM writes it for kernels of teams. Faults are what a GPU would take without
// a word: that threads of a block wait at different barriers, or where others have left, that they meet in shared memory
// between two barriers, and that those of a warp come to different instructions that it takes together.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/ptx_code.h"

namespace ptx {

// What a warp does together: of the registers that the instruction names those of each of its threads.
using WarpRegister = std::function<std::uint64_t&(unsigned lane, const Operand& operand)>;
// Eight elements of two bytes of shared memory, whose address the lane has.
using WarpRow = std::function<std::vector<std::uint16_t>(unsigned lane)>;
void LoadMatrices(const Instruction& instruction, const WarpRegister& at, const WarpRow& row);
void MultiplyMatrices(const Instruction& instruction, const WarpRegister& at);

// Of a type as instructions name it: bf16, f16, tf32, e4m3, e5m2.
float WidenedElement(std::string_view type, std::uint64_t bits);
float MatrixStep(float sum, const float* a, const float* b, unsigned terms);

// What cuTensorMapEncodeTiled of the tests makes of a tensor; dimensions from the last one on.
struct alignas(64) TensorMap {
  std::uint64_t address;
  std::uint64_t strides[4];  // bytes
  std::uint32_t sizes[5];
  std::uint32_t box[5];
  std::uint32_t rank;
  std::uint32_t element_bytes;
};
static_assert(sizeof(TensorMap) == 128);

// An element of so many bytes of shared memory, and the bits that a thread of the group has of a step's.
using SharedElement = std::function<std::uint32_t(std::uint64_t address, unsigned bytes)>;
using GroupRegister = std::function<std::uint32_t&(unsigned thread, unsigned number)>;
void MultiplyOfGroup(const Instruction& instruction, std::uint64_t a, std::uint64_t b,
                     const SharedElement& element, const GroupRegister& accs);

// Finds what computes the instruction, where it only computes.
void Resolve(Instruction& instruction);

// What it needs of the machine around: host memory for an address of the device's.
using HostOf = std::function<char*(std::uint64_t address, std::size_t bytes)>;

std::uint64_t BytesOf(const TensorMap& map);
void TileCopy(const TensorMap& map, const std::int32_t* at, std::uint64_t to, char* shared,
              const HostOf& host_of);

class Module {
 public:
  // `allocate` gives device memory for a constant. Throws std::runtime_error where the text is not understood.
  Module(std::string text, const std::function<std::uint64_t(const std::string& bytes)>& allocate);
  const Kernel* Find(const std::string& name) const;
  // Its address; null: there is none of that name.
  const std::uint64_t* FindConstant(const std::string& name) const;

 private:
  std::string text_;
  std::map<std::string, std::uint64_t> constants_;
  std::map<std::string, Kernel> kernels_;
};

struct BlockSize {
  unsigned threads;
  std::size_t workgroup_bytes;  // of shared memory that the launch brings
};

// One block. Throws std::runtime_error at a fault.
void Run(const Kernel& kernel, const std::vector<char>& params, unsigned block,
         const BlockSize& size, const HostOf& host_of);

}  // namespace ptx
