#pragma once

// Emulates AMX on processors without it. A SIGILL handler decodes the instruction, executes it according to
// Intel's manual, and resumes after the instruction. Violations of the manual are counted.

#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace kdl::tiles {

struct Machine {
  bool configured = false;
  uint16_t row_bytes[8] = {};
  uint8_t rows[8] = {};
  uint8_t data[8][16][64] = {};
  int64_t products = 0;
  int64_t of_signs[4] = {};  ///< counts of TDPBUUD, TDPBUSD, TDPBSUD, TDPBSSD
  int64_t of_floats = 0;
  int64_t loads = 0;
  int64_t releases = 0;
  int64_t faults = 0;
};

inline Machine machine;

/// The registers and the memory that an instruction with a three-byte VEX prefix names.
struct Decoded {
  uint8_t prefix;  ///< 0: none, 1: 66, 2: F3, 3: F2
  uint8_t opcode;
  int mod;
  int reg;
  int rm;
  int vvvv;
  int64_t length;
  int64_t address;
  int64_t stride;
};

inline int64_t RegisterOf(const ucontext_t& context, int number) {
  constexpr int kPlaces[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                             REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                             REG_R12, REG_R13, REG_R14, REG_R15};
  return context.uc_mcontext.gregs[kPlaces[number]];
}

inline Decoded Decode(const ucontext_t& context, const uint8_t* code) {
  int x = (code[1] & 0x40) != 0 ? 0 : 8;
  int b = (code[1] & 0x20) != 0 ? 0 : 8;
  Decoded found{static_cast<uint8_t>(code[2] & 3),
                code[3],
                code[4] >> 6,
                code[4] >> 3 & 7,
                code[4] & 7,
                ~(code[2] >> 3) & 15,
                5,
                0,
                0};
  if (found.mod == 3) return found;
  const uint8_t* next = code + 5;
  bool relative = found.mod == 0 && found.rm == 5;
  if (found.rm == 4) {
    uint8_t sib = *next++;
    int index = (sib >> 3 & 7) + x;
    int base = (sib & 7) + b;
    if (index != 4) found.stride = RegisterOf(context, index) << (sib >> 6);
    if (found.mod != 0 || (sib & 7) != 5) {
      found.address = RegisterOf(context, base);
    } else {
      found.mod = 2;
    }
  } else if (!relative) {
    found.address = RegisterOf(context, found.rm + b);
  }
  if (found.mod == 1) found.address += static_cast<int8_t>(*next++);
  if (found.mod == 2 || relative) {
    int32_t displacement = 0;
    std::memcpy(&displacement, next, sizeof displacement);
    next += sizeof displacement;
    found.address += displacement;
  }
  found.length = next - code;
  if (relative) found.address += context.uc_mcontext.gregs[REG_RIP] + found.length;
  return found;
}

inline void Configure(const Decoded& op) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(op.address);
  machine.faults += bytes[0] != 1;
  machine.configured = true;
  std::memset(machine.data, 0, sizeof machine.data);
  std::memcpy(machine.row_bytes, bytes + 16, sizeof machine.row_bytes);
  std::memcpy(machine.rows, bytes + 48, sizeof machine.rows);
  for (int tile = 0; tile < 8; ++tile)
    machine.faults += machine.rows[tile] > 16 || machine.row_bytes[tile] > 64;
}

inline void Move(const Decoded& op, bool stores) {
  machine.faults += !machine.configured || machine.rows[op.reg] == 0;
  ++machine.loads;
  for (int row = 0; row < machine.rows[op.reg]; ++row) {
    auto* memory = reinterpret_cast<uint8_t*>(op.address + row * op.stride);
    uint8_t* tile = machine.data[op.reg][row];
    if (stores) std::memcpy(memory, tile, machine.row_bytes[op.reg]);
    if (!stores) std::memcpy(tile, memory, machine.row_bytes[op.reg]);
  }
}

inline void NoteProduct(int sums, int a, int b) {
  bool fit = machine.configured && machine.rows[sums] == machine.rows[a] &&
             machine.row_bytes[a] / 4 == machine.rows[b] &&
             machine.row_bytes[sums] == machine.row_bytes[b] && sums != a && a != b && sums != b;
  machine.faults += !fit;
  ++machine.products;
}

/// Executes TDPBUUD, TDPBUSD, TDPBSUD or TDPBSSD, depending on the prefix. They differ in the signedness of
/// their factors.
inline void Multiply(const Decoded& op) {
  int sums = op.reg;
  int a = op.rm;
  int b = op.vvvv;
  NoteProduct(sums, a, b);
  ++machine.of_signs[op.prefix];
  auto value = [](uint8_t byte, bool is_signed) {
    return is_signed ? static_cast<int8_t>(byte) : static_cast<int>(byte);
  };
  for (int m = 0; m < machine.rows[sums]; ++m) {
    for (int n = 0; n < machine.row_bytes[sums] / 4; ++n) {
      uint32_t sum = 0;
      std::memcpy(&sum, &machine.data[sums][m][4 * n], 4);
      for (int k = 0; k < machine.row_bytes[a]; ++k) {
        int x = value(machine.data[a][m][k], op.prefix >= 2);
        int y = value(machine.data[b][k / 4][4 * n + k % 4], op.prefix % 2 == 1);
        sum += static_cast<uint32_t>(x * y);
      }
      std::memcpy(&machine.data[sums][m][4 * n], &sum, 4);
    }
  }
}

/// Returns a * b + c as TDPBF16PS computes it: fused, and with subnormal values treated as zero. If a factor
/// is 1, this is the sum of two numbers.
inline float FlushedFma(float a, float b, float c) {
  constexpr unsigned kFlushBoth = 1u << 6 | 1u << 15;
  unsigned before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before | kFlushBoth);
  float sum = 0;
  __asm__ volatile("vmovaps %1, %0\n\tvfmadd231ss %3, %2, %0"
                   : "=&x"(sum)
                   : "x"(c), "x"(a), "x"(b));
  __builtin_ia32_ldmxcsr(before);
  return sum;
}

/// Executes TDPBF16PS: adds the even terms, then the odd terms, then both sums.
inline void MultiplyFloats(const Decoded& op) {
  int sums = op.reg;
  int a = op.rm;
  int b = op.vvvv;
  NoteProduct(sums, a, b);
  auto value = [](const uint8_t* row, int n) {
    uint16_t bits = 0;
    std::memcpy(&bits, row + 2 * n, sizeof bits);
    return std::bit_cast<float>(uint32_t{bits} << 16);
  };
  for (int m = 0; m < machine.rows[sums]; ++m) {
    for (int n = 0; n < machine.row_bytes[sums] / 4; ++n) {
      float chains[2] = {};
      for (int k = 0; k < machine.row_bytes[a] / 2; ++k) {
        float x = value(machine.data[a][m], k);
        float y = value(machine.data[b][k / 2], 2 * n + k % 2);
        chains[k % 2] = FlushedFma(x, y, chains[k % 2]);
      }
      float sum = 0;
      std::memcpy(&sum, &machine.data[sums][m][4 * n], 4);
      sum = FlushedFma(FlushedFma(chains[0], 1, chains[1]), 1, sum);
      std::memcpy(&machine.data[sums][m][4 * n], &sum, 4);
    }
  }
}

inline void Handle(int, siginfo_t*, void* state) {
  auto* context = static_cast<ucontext_t*>(state);
  const auto* code = reinterpret_cast<const uint8_t*>(context->uc_mcontext.gregs[REG_RIP]);
  bool is_vex = code[0] == 0xC4 && (code[1] & 0x1F) == 2;
  Decoded op = is_vex ? Decode(*context, code) : Decoded{};
  if (is_vex && op.opcode == 0x49 && op.prefix == 0 && op.mod == 3) {
    machine.configured = false;
    ++machine.releases;
  } else if (is_vex && op.opcode == 0x49 && op.prefix == 0) {
    Configure(op);
  } else if (is_vex && op.opcode == 0x4B && op.mod != 3) {
    Move(op, op.prefix == 2);
  } else if (is_vex && op.opcode == 0x5E && op.mod == 3) {
    Multiply(op);
  } else if (is_vex && op.opcode == 0x5C && op.prefix == 2 && op.mod == 3) {
    MultiplyFloats(op);
    ++machine.of_floats;
  } else {
    signal(SIGILL, SIG_DFL);  // an invalid instruction: terminate
    return;
  }
  context->uc_mcontext.gregs[REG_RIP] += op.length;
}

/// Requests the processor's own tiles from the system. On a processor that has tiles, the emulation cannot
/// replace them, because their instructions raise no signal.
inline bool HasTiles() {
  constexpr long kAskForState = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;         // XFEATURE_XTILE_DATA
  return syscall(SYS_arch_prctl, kAskForState, kTileData) == 0;
}

/// While this object exists, the process has tiles: the processor's tiles if there are any, otherwise
/// emulated tiles.
class Emulation {
 public:
  Emulation() : counts_(!HasTiles()) {
    machine = {};
    if (!counts_) return;
    struct sigaction action = {};
    action.sa_sigaction = Handle;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, &before_);
  }
  ~Emulation() {
    if (counts_) sigaction(SIGILL, &before_, nullptr);
  }
  Emulation(const Emulation&) = delete;
  Emulation& operator=(const Emulation&) = delete;

  /// Returns whether `machine` counts the executed instructions, which it only does with emulated tiles.
  bool counts() const { return counts_; }

 private:
  bool counts_;
  struct sigaction before_ = {};
};

}  // namespace kdl::tiles
