// PTX kernels after parsing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace ptx {

struct Type {
  char kind = 'b';  // 'u', 's', 'b', 'f', 'h' for one or two bf16, or 'p' for a predicate
  int bits = 64;
};

// A register or a constant.
struct Operand {
  int reg = -1;
  std::uint64_t value = 0;
};

enum class Op : std::uint8_t {
  Abs,
  Add,
  And,
  Atom,
  Bar,
  BarRed,
  AsyncCopy,
  CopyAwait,
  CopyClose,
  Bfe,
  Bfi,  // the number of bits is in `offset`
  Bra,
  Cvt,
  Div,
  Fma,
  Ld,
  LdMatrix,
  Mad,
  Max,
  MaxNan,
  Min,
  MinNan,
  Mma,
  Mov,
  Mul,
  MulHi,
  MulWide,
  Neg,
  Not,
  Or,
  Pack,
  Prmt,
  Rcp,
  Rem,
  Ret,
  Selp,
  Setp,
  Shf,
  Shl,
  Shr,
  Sqrt,
  St,
  Sub,
  Upper,
  Xor,
  // Mbarriers, tile copies, and asynchronous matrix instructions.
  MbarrierArrive,
  MbarrierWait,
  GateEnd,
  GateInit,
  TileCopy,
  ProxyFence,
  GroupStep,
  GroupClose,
  GroupAwait,
  Nothing
};

enum class Space : std::uint8_t { Global, Shared, Local, Param };
// The generic address at which a thread's local memory starts. The other memories are at lower addresses.
inline constexpr std::uint64_t kLocalWindow = std::uint64_t{1} << 63;

enum class Compare : std::uint8_t { None, Eq, Ne, Lt, Le, Gt, Ge, Nan, Num };

struct Instruction;
// Computes the result of an op from its operands.
using Compute = std::uint64_t (*)(const Instruction&, std::uint64_t, std::uint64_t, std::uint64_t);

struct Instruction {
  Op op = Op::Ret;
  Type type;             // the type of the operands
  Type result;           // the type of the result, if it differs
  std::string_view how;  // a rounding mode or an update; in warpgroup ops, factor types: `s8.u8`
  Space space = Space::Global;
  Compare compare = Compare::None;
  bool unordered = false;     // the comparison is true if an operand is NaN
  Compute compute = nullptr;  // set for ops that only compute a value
  Operand to;                 // the destination; for a store, the value
  Operand a, b, c;
  std::int64_t offset = 0;    // offset from the address in `a`
  std::size_t aligned = 1;    // required alignment; that of the whole vector for its first element
  std::vector<Operand> many;  // the registers of a warp-wide instruction
  bool transposed = false;
  int guard = -1;  // number of a predicate register; -1: none
  bool unless = false;
  std::size_t target = 0;
};

// Returns a mask for the lower half of a register.
inline std::uint64_t LowerHalf(const Instruction& i) {
  return (std::uint64_t{1} << i.type.bits / 2) - 1;
}

struct Param {
  std::size_t at;
  std::size_t bytes;
};

struct Kernel {
  std::vector<Instruction> code;
  std::vector<Param> params;
  std::size_t param_bytes = 0;
  std::size_t shared_bytes = 0;
  std::size_t local_bytes = 0;
  std::size_t registers = 0;
  unsigned threads = 1024;  // maximum number of threads in a block

  // Returns the address of the shared memory that a launch provides, which is after the kernel's own.
  std::size_t SharedOfLaunch() const { return (shared_bytes + 63) / 64 * 64; }
};

constexpr unsigned kWarp = 32;

}  // namespace ptx
