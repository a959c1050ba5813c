// Interprets PTX on the host, one GPU thread at a time. Only supports the instructions that LLVM generates
// for our kernels. Reports errors that a GPU would ignore: threads of a block that wait at different
// barriers, or after others have exited; data races in shared memory between two barriers; threads of a warp
// that reach different warp-wide instructions.
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

// Returns the register that a lane uses for an operand of a warp-wide instruction.
using WarpRegister = std::function<std::uint64_t&(unsigned lane, const Operand& operand)>;
// Returns the eight 2-byte elements of shared memory at the address that a lane provides.
using WarpRow = std::function<std::vector<std::uint16_t>(unsigned lane)>;
void LoadMatrices(const Instruction& instruction, const WarpRegister& at, const WarpRow& row);
void MultiplyMatrices(const Instruction& instruction, const WarpRegister& at);

// `type` is a type name as in PTX instructions: bf16, f16, tf32, e4m3, e5m2.
float WidenedElement(std::string_view type, std::uint64_t bits);
float MatrixStep(float sum, const float* a, const float* b, unsigned terms);

// A tensor map as the fake driver's cuTensorMapEncodeTiled creates it. The innermost dimension is first.
struct alignas(64) TensorMap {
  std::uint64_t address;
  std::uint64_t strides[4];  // in bytes
  std::uint32_t sizes[5];
  std::uint32_t box[5];
  std::uint32_t rank;
  std::uint32_t element_bytes;
};
static_assert(sizeof(TensorMap) == 128);

// SharedElement reads an element of `bytes` bytes from shared memory. GroupRegister returns the bits of an
// accumulator of a thread of a warpgroup.
using SharedElement = std::function<std::uint32_t(std::uint64_t address, unsigned bytes)>;
using GroupRegister = std::function<std::uint32_t&(unsigned thread, unsigned number)>;
void MultiplyOfGroup(const Instruction& instruction, std::uint64_t a, std::uint64_t b,
                     const SharedElement& element, const GroupRegister& accs);

// If the instruction only computes a value, finds the function that computes this value.
void Resolve(Instruction& instruction);

// Returns the host memory for a device address. The caller of RunBlock provides this function.
using HostOf = std::function<char*(std::uint64_t address, std::size_t bytes)>;

std::uint64_t TileBytes(const TensorMap& map);
void TileCopy(const TensorMap& map, const std::int32_t* at, std::uint64_t to, char* shared,
              const HostOf& host_of);

class Module {
 public:
  // `allocate` returns device memory for a constant. Throws std::runtime_error if the text is not supported.
  Module(std::string text, const std::function<std::uint64_t(const std::string& bytes)>& allocate);
  const Kernel* Find(const std::string& name) const;
  // Returns the address of a constant, or null if there is no constant with that name.
  const std::uint64_t* FindConstant(const std::string& name) const;

 private:
  std::string text_;
  std::map<std::string, std::uint64_t> constants_;
  std::map<std::string, Kernel> kernels_;
};

struct BlockSize {
  unsigned threads;
  std::size_t workgroup_bytes;  // dynamic shared memory of the launch
};

// Runs one block. Throws std::runtime_error on error.
void RunBlock(const Kernel& kernel, const std::vector<char>& params, unsigned block,
              const BlockSize& size, const HostOf& host_of);

}  // namespace ptx
