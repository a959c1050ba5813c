#include "drivers/ptx_machine.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <type_traits>

#include "drivers/ptx_values.h"

namespace ptx {

namespace {

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

constexpr std::size_t kCopyBytes = 16;
constexpr std::uint32_t kComing = 0x7fc05a5a;  // marks a register that waits for a result

enum class State : std::uint8_t { Runs, Gathers, AtGate, Waits, Left };

struct Thread {
  std::vector<std::uint64_t> registers;
  std::vector<char> local;
  struct Copy {
    Instruction instruction;
    std::uint64_t from;
    std::uint64_t group;
  };
  std::vector<Copy> copies;  // copies that have been started
  std::uint64_t groups = 0;  // number of committed groups
  // Results of asynchronous matrix instructions. The upper 32 bits of a register that waits for a result are
  // the result's index in this vector. The register's value is undefined until the result arrives.
  std::vector<std::uint32_t> coming;
  std::vector<std::size_t> ends;  // the size of `coming` when each group was committed
  // ranges of shared memory to which the thread has stored since the last fence
  std::vector<std::size_t> stored;
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
        shared_(kernel.SharedOfLaunch() + size.workgroup_bytes, '\x5a'),
        touched_(shared_.size()) {}

  void RunThreads(unsigned block, unsigned threads) {
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
        while (thread.state == State::Runs) ExecuteInstruction(thread);
      }
    } while (Gather() || PassGates() || Deliver() || Meet());
  }

 private:
  // Runs warp-wide instructions that all threads of a warp have reached. Returns false if there are none.
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
      // If some threads of the warp have just passed an mbarrier and still run, the others wait for them.
      if (here == 0 || alike != kWarp) continue;
      if (kernel_.code[threads_[first].at].op == Op::GroupStep) {
        any |= TakeGroupStep(first);
        continue;
      }
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

  // -- Mbarriers and asynchronous operations

  struct Gate {
    std::uint64_t arrivals;
    std::uint64_t missing;
    std::uint64_t bytes;
    std::uint64_t phase;
    std::uint64_t maker;
    std::uint64_t barrier;  // number of the block barrier after which the mbarrier was initialized
  };
  struct Box {
    TensorMap map;
    std::vector<std::int32_t> at;
    std::uint64_t to;
    std::uint64_t gate;
  };

  Gate& GateAt(std::uint64_t address) {
    const auto found = gates_.find(address);
    if (found == gates_.end()) throw std::runtime_error("a gate that is none");
    return found->second;
  }
  Gate& GateOf(const Thread& thread, std::uint64_t address) {
    Gate& gate = GateAt(address);
    if (gate.maker != thread.registers[0] && gate.barrier == barriers_)
      throw std::runtime_error("a gate that another thread makes, with no barrier between");
    return gate;
  }

  static void Turn(Gate& gate) {
    if (gate.missing > 0 || gate.bytes > 0) return;
    gate.missing = gate.arrivals;
    ++gate.phase;
  }

  void UseGate(Thread& thread, const Instruction& i) {
    const std::uint64_t address = Value(thread, i.a) + static_cast<std::uint64_t>(i.offset);
    if (i.op == Op::GateInit) {
      const std::uint64_t arrivals = Value(thread, i.b);
      if (!gates_.emplace(address, Gate{arrivals, arrivals, 0, 0, thread.registers[0], barriers_})
               .second)
        throw std::runtime_error("a gate is made where one is");
    } else if (i.op == Op::GateEnd) {
      if (gates_.erase(address) == 0) throw std::runtime_error("a gate that is none");
    } else {
      Gate& gate = GateOf(thread, address);
      gate.bytes += Value(thread, i.b);
      --gate.missing;
      Turn(gate);
    }
  }

  // Returns whether the phase that the thread waits for has completed. The instruction gives the parity of
  // this phase.
  bool IsOver(const Thread& thread) {
    const Instruction& i = kernel_.code[thread.at];
    const Gate& gate = GateOf(thread, Value(thread, i.a) + static_cast<std::uint64_t>(i.offset));
    return (gate.phase & 1) != (Value(thread, i.b) & 1);
  }

  bool PassGates() {
    bool any = false;
    for (Thread& thread : threads_) {
      if (thread.state != State::AtGate || !IsOver(thread)) continue;
      Set(thread, kernel_.code[thread.at].to, 1);
      ++thread.at;
      thread.state = State::Runs;
      any = true;
    }
    return any;
  }

  void BeginBox(const Thread& thread, const Instruction& i) {
    Box box{};
    const std::uint64_t map = Value(thread, i.b);
    if (map + sizeof box.map > params_.size() || map % 64 != 0)
      throw std::runtime_error("a map that is none of the launch's");
    std::memcpy(&box.map, params_.data() + map, sizeof box.map);
    for (const Operand& place : i.many)
      box.at.push_back(static_cast<std::int32_t>(Value(thread, place)));
    box.to = Value(thread, i.a) + static_cast<std::uint64_t>(i.offset);
    box.gate = Value(thread, i.c);
    constexpr std::uint64_t kAligned = 1024;
    if (box.map.rank != box.at.size() || box.to % kAligned != 0 ||
        box.to + TileBytes(box.map) > shared_.size())
      throw std::runtime_error("a box that does not fit");
    std::memset(shared_.data() + box.to, '\x5a', TileBytes(box.map));
    boxes_.push_back(std::move(box));
  }

  // Completes the tile copy that was started last. Called when all threads only wait for such copies.
  bool Deliver() {
    if (boxes_.empty()) return false;
    const Box box = std::move(boxes_.back());
    boxes_.pop_back();
    TileCopy(box.map, box.at.data(), box.to, shared_.data(), host_of_);
    Gate& gate = GateAt(box.gate);
    if (gate.bytes < TileBytes(box.map))
      throw std::runtime_error("bytes that nobody has announced");
    gate.bytes -= TileBytes(box.map);
    Turn(gate);
    return true;
  }

  // If a register waits for a result, returns the result's index in `coming`, otherwise 0. The upper half of
  // an integer's register may contain sign bits.
  static std::size_t ComingIn(const Thread& thread, std::uint64_t bits) {
    const std::uint64_t number = bits >> 32;
    return (bits & 0xffffffff) == kComing && number <= thread.coming.size() ? number : 0;
  }

  // Runs an instruction of a warpgroup. Returns false if some of the warpgroup's four warps have not reached
  // it.
  bool TakeGroupStep(std::size_t any) {
    constexpr std::size_t kGroup = 128;
    const std::size_t first = any / kGroup * kGroup;
    if (first + kGroup > threads_.size()) throw std::runtime_error("a step of less than a group");
    for (std::size_t t = first; t < first + kGroup; ++t) {
      if (threads_[t].state != State::Gathers || threads_[t].at != threads_[first].at) return false;
    }
    const Instruction& i = kernel_.code[threads_[first].at];
    const SharedElement element = [&](std::uint64_t address, unsigned bytes) {
      if (address + bytes > shared_.size())
        throw std::runtime_error("an access outside of its memory");
      if (hidden_[address]) throw std::runtime_error("a step reads what nobody has shown");
      std::uint32_t bits = 0;
      std::memcpy(&bits, shared_.data() + address, bytes);
      return bits;
    };
    for (std::size_t t = first; t < first + kGroup; ++t) {
      for (const Operand& operand : i.many) {
        Thread& thread = threads_[t];
        std::uint64_t& bits = thread.registers[static_cast<std::size_t>(operand.reg)];
        const std::size_t number = ComingIn(thread, bits);
        thread.coming.push_back(number > 0 ? thread.coming[number - 1]
                                           : static_cast<std::uint32_t>(bits));
        bits = static_cast<std::uint64_t>(thread.coming.size()) << 32 | kComing;
      }
    }
    const GroupRegister accs = [&](unsigned thread, unsigned number) -> std::uint32_t& {
      std::vector<std::uint32_t>& coming = threads_[first + thread].coming;
      return coming[coming.size() - i.many.size() + number];
    };
    MultiplyOfGroup(i, Value(threads_[first], i.a), Value(threads_[first], i.b), element, accs);
    for (std::size_t t = first; t < first + kGroup; ++t) {
      ++threads_[t].at;
      threads_[t].state = State::Runs;
    }
    return true;
  }

  // Moves the results of completed groups to their registers.
  static void MmaWait(Thread& thread, std::uint64_t ahead) {
    if (thread.ends.size() <= ahead) return;
    const std::size_t end = thread.ends[thread.ends.size() - 1 - ahead];
    for (std::uint64_t& bits : thread.registers) {
      const std::size_t number = ComingIn(thread, bits);
      if (number > 0 && number <= end) bits = thread.coming[number - 1];
    }
    thread.ends.erase(thread.ends.begin(), thread.ends.end() - static_cast<std::ptrdiff_t>(ahead));
  }

  // Marks a thread's store as not visible to asynchronous operations until the next fence.
  void Hide(Thread& thread, const Instruction& i) {
    const std::uint64_t first = Value(thread, i.a) + static_cast<std::uint64_t>(i.offset);
    for (std::size_t byte = first; byte < first + static_cast<std::size_t>(i.type.bits) / 8;
         ++byte) {
      if (byte >= hidden_.size()) return;
      hidden_[byte] = true;
      thread.stored.push_back(byte);
    }
  }

  void ProxyFence(Thread& thread) {
    for (const std::size_t byte : thread.stored) hidden_[byte] = false;
    thread.stored.clear();
  }

  // Lets all threads continue after the barrier that they have reached. Returns false if all threads have
  // exited. Throws if they are at different barriers.
  bool Meet() {
    std::uint64_t any = 0;
    for (const Thread& thread : threads_) {
      if (thread.state == State::AtGate)
        throw std::runtime_error("threads of a block wait at a gate for ever");
      if (thread.state == State::Gathers)
        throw std::runtime_error("threads of a warp come to different instructions");
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

  // The threads that have accessed a byte of shared memory since the last barrier.
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
    if (i.space == Space::Global && address >= kLocalWindow) {
      if (address - kLocalWindow + bytes > thread.local.size())
        throw std::runtime_error("an access outside of its memory");
      return thread.local.data() + (address - kLocalWindow);
    }
    if (i.space == Space::Global) return host_of_(address, bytes);
    std::vector<char>& space = i.space == Space::Shared  ? shared_
                               : i.space == Space::Local ? thread.local
                                                         : const_cast<std::vector<char>&>(params_);
    if (address + bytes > space.size()) throw std::runtime_error("an access outside of its memory");
    if (i.space == Space::Shared) {
      for (std::size_t b = 0; b < bytes; ++b)
        Touch(touched_[address + b], thread, i.op == Op::St || i.op == Op::AsyncCopy);
    }
    return space.data() + address;
  }

  // Completes the copies of all groups except the last N, where N is given by the instruction. If it gives no
  // number, completes all copies.
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

  void ExecuteInstruction(Thread& thread) {
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
      case Op::GroupStep:
        thread.state = State::Gathers;
        return;
      case Op::MbarrierWait:
        thread.state = State::AtGate;
        return;
      case Op::GateInit:
      case Op::GateEnd:
      case Op::MbarrierArrive:
        UseGate(thread, i);
        break;
      case Op::TileCopy:
        BeginBox(thread, i);
        break;
      case Op::ProxyFence:
        ProxyFence(thread);
        break;
      case Op::GroupClose:
        thread.ends.push_back(thread.coming.size());
        break;
      case Op::GroupAwait:
        MmaWait(thread, Value(thread, i.b));
        break;
      case Op::Nothing:
        break;
      case Op::Bar:
      case Op::BarRed:
        thread.state = State::Waits;
        return;
      case Op::AsyncCopy: {
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
        if (i.space == Space::Shared && !gates_.empty()) Hide(thread, i);
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
  std::vector<bool> hidden_ = std::vector<bool>(shared_.size());
  std::map<std::uint64_t, Gate> gates_;
  std::vector<Box> boxes_;  // copies in progress
  std::uint64_t barriers_ = 1;
  std::vector<Thread> threads_;
};

}  // namespace

void RunBlock(const Kernel& kernel, const std::vector<char>& params, unsigned block,
              const BlockSize& size, const HostOf& host_of) {
  BlockRun(kernel, params, size, host_of).RunThreads(block, size.threads);
}

}  // namespace ptx
