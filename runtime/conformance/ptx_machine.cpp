#include "conformance/ptx_machine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>

namespace ptx {

namespace {

template <class T>
T As(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T>
std::uint64_t Bits(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

[[noreturn]] void Unknown(const Instruction& i) {
  throw std::runtime_error("PTX that is not understood: op " +
                           std::to_string(static_cast<int>(i.op)) + " ." + std::string(i.how) +
                           " ." + i.type.kind + std::to_string(i.type.bits));
}

// Calls f(T{}) with the type's own; bits are unsigned.
template <class F>
auto With(const Instruction& i, Type type, const F& f) -> decltype(f(std::uint64_t{})) {
  const bool is_signed = type.kind == 's';
  if (type.kind == 'f') {
    if (type.bits == 32) return f(float{});
    if (type.bits == 64) return f(double{});
    Unknown(i);
  }
  switch (type.bits) {
    case 8:
      return is_signed ? f(std::int8_t{}) : f(std::uint8_t{});
    case 16:
      return is_signed ? f(std::int16_t{}) : f(std::uint16_t{});
    case 32:
      return is_signed ? f(std::int32_t{}) : f(std::uint32_t{});
    case 64:
      return is_signed ? f(std::int64_t{}) : f(std::uint64_t{});
    default:
      Unknown(i);
  }
}

// A narrower integer in a register keeps its sign or is filled with zeros.
template <class T>
std::uint64_t Extended(T value) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  else
    return Bits(value);
}

template <class T>
using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;

template <class T>
T Least(T a, T b, bool nan) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return nan ? a : b;
    if (std::isnan(b)) return nan ? b : a;
    if (a == b) return std::signbit(a) ? a : b;
  }
  return a < b ? a : b;
}
template <class T>
T Most(T a, T b, bool nan) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return nan ? a : b;
    if (std::isnan(b)) return nan ? b : a;
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a > b ? a : b;
}

template <class T>
std::uint64_t Arithmetic(const Instruction& i, std::uint64_t x, std::uint64_t y, std::uint64_t z) {
  const T a = As<T>(x);
  const T b = As<T>(y);
  if constexpr (std::is_floating_point_v<T>) {
    switch (i.op) {
      case Op::Add:
        return Bits<T>(a + b);
      case Op::Sub:
        return Bits<T>(a - b);
      case Op::Mul:
        return Bits<T>(a * b);
      case Op::Div:
        return Bits<T>(a / b);
      case Op::Rcp:
        return Bits<T>(T{1} / a);
      case Op::Sqrt:
        return Bits<T>(std::sqrt(a));
      case Op::Fma:
        return Bits<T>(std::fma(a, b, As<T>(z)));
      case Op::Neg:
        return Bits<T>(-a);
      case Op::Abs:
        return Bits<T>(std::fabs(a));
      default:
        break;
    }
  } else {
    using U = std::make_unsigned_t<T>;
    const auto c = As<T>(z);
    switch (i.op) {
      case Op::Add:
        return Extended(static_cast<T>(static_cast<Wide<U>>(x) + y));
      case Op::Sub:
        return Extended(static_cast<T>(static_cast<Wide<U>>(x) - y));
      case Op::Mul:
        return Extended(static_cast<T>(static_cast<Wide<T>>(a) * b));
      case Op::MulHi:
        return Extended(static_cast<T>((static_cast<Wide<T>>(a) * b) >> (8 * sizeof(T))));
      case Op::MulWide:
        return static_cast<std::uint64_t>(static_cast<Wide<T>>(a) * b);
      case Op::Mad:
        return Extended(static_cast<T>(static_cast<Wide<T>>(a) * b + c));
      case Op::Div:
        return b == 0 ? ~std::uint64_t{0} : Extended(static_cast<T>(static_cast<Wide<T>>(a) / b));
      case Op::Rem:
        return b == 0 ? x : Extended(static_cast<T>(static_cast<Wide<T>>(a) % b));
      case Op::Neg:
        return Extended(static_cast<T>(0 - static_cast<Wide<U>>(x)));
      case Op::Abs:
        return Extended(static_cast<T>(a < 0 ? 0 - static_cast<Wide<U>>(x) : x));
      case Op::And:
        return Extended(static_cast<T>(x & y));
      case Op::Or:
        return Extended(static_cast<T>(x | y));
      case Op::Xor:
        return Extended(static_cast<T>(x ^ y));
      case Op::Not:
        return Extended(static_cast<T>(~x));
      case Op::Shl: {
        const auto by = static_cast<std::uint32_t>(y);
        return by >= 8 * sizeof(T) ? 0 : Extended(static_cast<T>(x << by));
      }
      case Op::Shr: {
        const auto by = std::min<std::uint32_t>(static_cast<std::uint32_t>(y), 8 * sizeof(T));
        return Extended(static_cast<T>(static_cast<Wide<T>>(a) >> by));
      }
      case Op::Bfe: {
        const auto from = static_cast<std::uint32_t>(y) & 255;
        const auto bits = static_cast<std::uint32_t>(z) & 255;
        if (bits == 0) return 0;
        const int over = static_cast<int>(8 * sizeof(T)) - static_cast<int>(bits);
        if (from + bits > 8 * sizeof(T)) Unknown(i);
        return Extended(static_cast<T>(static_cast<T>(static_cast<U>(x >> from) << over) >> over));
      }
      default:
        break;
    }
  }
  switch (i.op) {
    case Op::Min:
    case Op::MinNan:
      return Extended(Least(a, b, i.op == Op::MinNan));
    case Op::Max:
    case Op::MaxNan:
      return Extended(Most(a, b, i.op == Op::MaxNan));
    default:
      Unknown(i);
  }
}

template <class T>
bool Compared(const Instruction& i, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool unordered = std::isnan(a) || std::isnan(b);
    if (i.compare == Compare::Nan) return unordered;
    if (i.compare == Compare::Num) return !unordered;
    if (unordered) return i.unordered;
  }
  switch (i.compare) {
    case Compare::Eq:
      return a == b;
    case Compare::Ne:
      return a != b;
    case Compare::Lt:
      return a < b;
    case Compare::Le:
      return a <= b;
    case Compare::Gt:
      return a > b;
    case Compare::Ge:
      return a >= b;
    default:
      Unknown(i);
  }
}

// Of the `how` of a conversion to an integer, or to a float of the same width.
double Rounded(const Instruction& i, double value) {
  if (i.how == "rni") return std::nearbyint(value);
  if (i.how == "rzi") return std::trunc(value);
  if (i.how == "rmi") return std::floor(value);
  if (i.how == "rpi") return std::ceil(value);
  Unknown(i);
}

template <class T>
std::uint64_t Saturated(double value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(std::numeric_limits<T>::min()))
    return Extended(std::numeric_limits<T>::min());
  if (value >= static_cast<double>(std::numeric_limits<T>::max()))
    return Extended(std::numeric_limits<T>::max());
  return Extended(static_cast<T>(value));
}

std::uint64_t Converted(const Instruction& i, std::uint64_t x) {
  const bool of_float = i.type.kind == 'f';
  if (i.result.kind == 'f') {
    if (of_float && i.type.bits == i.result.bits)
      return i.type.bits == 32 ? Bits(static_cast<float>(Rounded(i, As<float>(x))))
                               : Bits(Rounded(i, As<double>(x)));
    if (of_float && i.type.bits == 16)
      return i.result.bits == 32 ? Bits(static_cast<float>(As<_Float16>(x)))
                                 : Bits(static_cast<double>(As<_Float16>(x)));
    if (i.result.bits == 16) {
      if (of_float || i.type.bits > 32)
        return i.type.bits == 32 ? Bits(static_cast<_Float16>(As<float>(x))) : (Unknown(i), 0);
      return With(i, i.type, [&](auto of) {  // a double holds it
        return Bits(static_cast<_Float16>(static_cast<double>(As<decltype(of)>(x))));
      });
    }
    return With(i, i.type, [&](auto of) {
      const auto value = As<decltype(of)>(x);
      return i.result.bits == 32 ? Bits(static_cast<float>(value))
                                 : Bits(static_cast<double>(value));
    });
  }
  if (of_float) {
    const double value = Rounded(i, i.type.bits == 32 ? As<float>(x) : As<double>(x));
    Type to = i.result;
    return With(i, to, [&](auto of) {
      if constexpr (std::is_integral_v<decltype(of)>)
        return Saturated<decltype(of)>(value);
      else
        return std::uint64_t{0};
    });
  }
  const std::uint64_t wide =
      With(i, i.type, [&](auto of) { return Extended(As<decltype(of)>(x)); });
  return With(i, i.result, [&](auto of) { return Extended(As<decltype(of)>(wide)); });
}

template <class T>
std::uint64_t Updated(const Instruction& i, char* memory, std::uint64_t b, std::uint64_t c) {
  auto* place = reinterpret_cast<T*>(memory);
  T seen = __atomic_load_n(place, __ATOMIC_RELAXED);
  for (;;) {
    T next = As<T>(b);
    if (i.how == "add")
      next = static_cast<T>(static_cast<std::make_unsigned_t<T>>(seen) +
                            static_cast<std::make_unsigned_t<T>>(next));
    else if (i.how == "and")
      next &= seen;
    else if (i.how == "or")
      next |= seen;
    else if (i.how == "xor")
      next ^= seen;
    else if (i.how == "min")
      next = std::min(next, seen);
    else if (i.how == "max")
      next = std::max(next, seen);
    else if (i.how == "cas")
      next = seen == next ? As<T>(c) : seen;
    else if (i.how != "exch")
      Unknown(i);
    if (__atomic_compare_exchange_n(place, &seen, next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return Extended(seen);
  }
}

std::uint64_t Logic(const Instruction& i, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  switch (i.op) {
    case Op::Mov:
      return a & 1;
    case Op::And:
      return a & b & 1;
    case Op::Or:
      return (a | b) & 1;
    case Op::Xor:
      return (a ^ b) & 1;
    case Op::Not:
      return ~a & 1;
    case Op::Selp:
      return (c & 1) != 0 ? a : b;
    default:
      Unknown(i);
  }
}

std::uint64_t Moved(const Instruction&, std::uint64_t a, std::uint64_t, std::uint64_t) { return a; }
std::uint64_t UpperHalf(const Instruction&, std::uint64_t a, std::uint64_t, std::uint64_t) {
  return a >> 16 & 0xffff;
}
std::uint64_t Packed(const Instruction&, std::uint64_t a, std::uint64_t b, std::uint64_t) {
  return (b & 0xffff) << 16 | (a & 0xffff);
}
std::uint64_t Selected(const Instruction&, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return (c & 1) != 0 ? a : b;
}
std::uint64_t Cast(const Instruction& i, std::uint64_t a, std::uint64_t, std::uint64_t) {
  return Converted(i, a);
}
template <class T>
std::uint64_t Predicate(const Instruction& i, std::uint64_t a, std::uint64_t b, std::uint64_t) {
  return Compared(i, As<T>(a), As<T>(b)) ? 1 : 0;
}

constexpr std::size_t kCopyBytes = 16;

enum class State : std::uint8_t { Runs, Gathers, Waits, Left };

struct Thread {
  std::vector<std::uint64_t> registers;
  std::vector<char> local;
  struct Copy {
    Instruction instruction;
    std::uint64_t from;
    std::uint64_t group;
  };
  std::vector<Copy> copies;  // that have begun
  std::uint64_t groups = 0;  // that are closed
  std::size_t at = 0;
  State state = State::Runs;
};

class BlockRun {
 public:
  BlockRun(const Kernel& kernel, const std::vector<char>& params, const BlockSize& size,
           const HostOf& host_of)
      : kernel_(kernel),
        params_(params),
        host_of_(host_of),
        shared_(kernel.shared_bytes + size.near_bytes, '\x5a'),
        touched_(shared_.size()) {}

  void Run(unsigned block, unsigned threads) {
    threads_.resize(threads);
    for (unsigned t = 0; t < threads; ++t) {
      threads_[t].registers.assign(kernel_.registers, 0);
      threads_[t].registers[0] = t;
      threads_[t].registers[1] = block;
      threads_[t].registers[2] = threads;
      threads_[t].local.assign(kernel_.local_bytes, '\x5a');
    }
    do {
      for (Thread& thread : threads_) {
        while (thread.state == State::Runs) Step(thread);
      }
    } while (Gather() || Meet());
  }

 private:
  // Warps whose threads have come to what they do together do it; false: there is none.
  bool Gather() {
    bool any = false;
    for (std::size_t first = 0; first < threads_.size(); first += kWarp) {
      std::size_t here = 0;
      std::size_t alike = 0;
      for (std::size_t t = first; t < std::min(first + kWarp, threads_.size()); ++t) {
        here += threads_[t].state == State::Gathers ? 1 : 0;
        alike +=
            threads_[t].state == State::Gathers && threads_[t].at == threads_[first].at ? 1 : 0;
      }
      if (here == 0) continue;
      if (alike != kWarp)
        throw std::runtime_error("threads of a warp come to different instructions");
      TakeTogether(first);
      any = true;
    }
    return any;
  }

  void TakeTogether(std::size_t first) {
    const Instruction& i = kernel_.code[threads_[first].at];
    const WarpRegister at = [&](unsigned lane, const Operand& operand) -> std::uint64_t& {
      return threads_[first + lane].registers[static_cast<std::size_t>(operand.reg)];
    };
    const WarpRow row = [&](unsigned lane) {
      std::vector<std::uint16_t> elements(8);
      const std::size_t bytes = elements.size() * sizeof elements[0];
      std::memcpy(elements.data(), Memory(threads_[first + lane], i), bytes);
      return elements;
    };
    i.op == Op::Mma ? MultiplyMatrices(i, at) : LoadMatrices(i, at, row);
    for (std::size_t t = first; t < first + kWarp; ++t) {
      ++threads_[t].at;
      threads_[t].state = State::Runs;
    }
  }

  // All threads are at one barrier, or all have left: then false.
  bool Meet() {
    std::uint64_t any = 0;
    for (const Thread& thread : threads_) {
      if (thread.state != threads_[0].state || thread.at != threads_[0].at)
        throw std::runtime_error("threads of a block wait at different barriers");
      const Instruction& i = kernel_.code[thread.at];
      if (thread.state == State::Waits && i.op == Op::BarRed) any |= Value(thread, i.a);
    }
    if (threads_[0].state == State::Left) return false;
    ++barriers_;
    for (Thread& thread : threads_) {
      const Instruction& i = kernel_.code[thread.at++];
      if (i.op == Op::BarRed) Set(thread, i.to, any);
      thread.state = State::Runs;
    }
    return true;
  }

  static std::uint64_t Value(const Thread& thread, const Operand& operand) {
    return operand.reg < 0 ? operand.value
                           : thread.registers[static_cast<std::size_t>(operand.reg)];
  }
  static void Set(Thread& thread, const Operand& to, std::uint64_t value) {
    thread.registers[static_cast<std::size_t>(to.reg)] = value;
  }

  // Who has touched a byte of shared memory since the last barrier.
  struct Touched {
    std::uint64_t barrier = 0;
    std::uint64_t thread = 0;
    bool written = false;
    bool by_several = false;
  };

  void Touch(Touched& byte, const Thread& thread, bool writes) const {
    const std::uint64_t self = thread.registers[0];
    if (byte.barrier != barriers_) byte = {barriers_, self, false, false};
    const bool others = byte.by_several || byte.thread != self;
    if (others && (writes || byte.written))
      throw std::runtime_error("threads of a block meet in shared memory with no barrier between");
    byte.by_several = others;
    byte.written |= writes;
  }

  char* Memory(Thread& thread, const Instruction& i) {
    const std::uint64_t address = Value(thread, i.a) + static_cast<std::uint64_t>(i.offset);
    const std::size_t bytes = static_cast<std::size_t>(i.type.bits) / 8;
    if (address % std::max(bytes, i.aligned) != 0)
      throw std::runtime_error("an access that is not aligned");
    if (i.space == Space::Global) return host_of_(address, bytes);
    std::vector<char>& space = i.space == Space::Shared  ? shared_
                               : i.space == Space::Local ? thread.local
                                                         : const_cast<std::vector<char>&>(params_);
    if (address + bytes > space.size()) throw std::runtime_error("an access outside of its memory");
    if (i.space == Space::Shared) {
      for (std::size_t b = 0; b < bytes; ++b)
        Touch(touched_[address + b], thread, i.op == Op::St || i.op == Op::CopyAhead);
    }
    return space.data() + address;
  }

  // The copies of all groups but the last ones, of which the instruction says how many; of all that have begun, where it says none.
  void AwaitCopies(Thread& thread, const Instruction& i) {
    auto ends = [&](const Thread::Copy& copy) {
      return i.many.empty() || copy.group + i.many[0].value < thread.groups;
    };
    for (const Thread::Copy& copy : thread.copies) {
      if (!ends(copy)) continue;
      if (copy.from % kCopyBytes != 0) throw std::runtime_error("an access that is not aligned");
      std::memcpy(Memory(thread, copy.instruction), host_of_(copy.from, kCopyBytes), kCopyBytes);
    }
    std::erase_if(thread.copies, ends);
  }

  void Step(Thread& thread) {
    const Instruction& i = kernel_.code[thread.at];
    if (i.guard >= 0 && (thread.registers[static_cast<std::size_t>(i.guard)] & 1) ==
                            static_cast<std::uint64_t>(i.unless)) {
      ++thread.at;
      return;
    }
    switch (i.op) {
      case Op::Bra:
        thread.at = i.target;
        return;
      case Op::Ret:
        thread.state = State::Left;
        thread.at = 0;
        return;
      case Op::LdMatrix:
      case Op::Mma:
        thread.state = State::Gathers;
        return;
      case Op::Bar:
      case Op::BarRed:
        thread.state = State::Waits;
        return;
      case Op::CopyAhead: {
        Instruction to = i;
        to.a = {-1, Value(thread, i.a)};
        std::memset(Memory(thread, to), '\x5a', kCopyBytes);
        thread.copies.push_back({to, Value(thread, i.b) + i.c.value, thread.groups});
        break;
      }
      case Op::CopyClose:
        ++thread.groups;
        break;
      case Op::CopyAwait:
        AwaitCopies(thread, i);
        break;
      case Op::Ld: {
        const char* memory = Memory(thread, i);
        std::uint64_t bits = 0;
        std::memcpy(&bits, memory, static_cast<std::size_t>(i.type.bits) / 8);
        if (i.type.kind == 's')
          bits = With(i, i.type, [&](auto of) { return Extended(As<decltype(of)>(bits)); });
        Set(thread, i.to, bits);
        break;
      }
      case Op::St: {
        const std::uint64_t bits = Value(thread, i.to);
        std::memcpy(Memory(thread, i), &bits, static_cast<std::size_t>(i.type.bits) / 8);
        break;
      }
      case Op::Atom:
        Set(thread, i.to, With(i, i.type, [&](auto of) {
              using T = decltype(of);
              if constexpr (std::is_integral_v<T>)
                return Updated<T>(i, Memory(thread, i), Value(thread, i.b), Value(thread, i.c));
              else
                return std::uint64_t{0};
            }));
        break;
      default:
        Set(thread, i.to, i.compute(i, Value(thread, i.a), Value(thread, i.b), Value(thread, i.c)));
    }
    ++thread.at;
  }

  const Kernel& kernel_;
  const std::vector<char>& params_;
  const HostOf& host_of_;
  std::vector<char> shared_;
  std::vector<Touched> touched_;
  std::uint64_t barriers_ = 1;
  std::vector<Thread> threads_;
};

}  // namespace

void Resolve(Instruction& i) {
  switch (i.op) {
    case Op::Ld:
    case Op::St:
    case Op::Atom:
      return;
    case Op::Upper:
      i.compute = UpperHalf;
      return;
    case Op::Pack:
      i.compute = Packed;
      return;
    case Op::Cvt:
      i.compute = Cast;
      return;
    case Op::Setp:
      i.compute = With(i, i.type, [](auto of) -> Compute { return Predicate<decltype(of)>; });
      return;
    default:
      break;
  }
  if (i.type.kind == 'p')
    i.compute = Logic;
  else if (i.op == Op::Mov)
    i.compute = Moved;
  else if (i.op == Op::Selp)
    i.compute = Selected;
  else
    i.compute = With(i, i.type, [](auto of) -> Compute { return Arithmetic<decltype(of)>; });
}

void Run(const Kernel& kernel, const std::vector<char>& params, unsigned block,
         const BlockSize& size, const HostOf& host_of) {
  BlockRun(kernel, params, size, host_of).Run(block, size.threads);
}

}  // namespace ptx
