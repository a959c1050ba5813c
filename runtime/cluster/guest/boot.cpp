// The code, other than kernels, that runs on a cluster. It is freestanding, uses a dozen Linux system calls,
// and is linked into each image.
//
// One thread runs a core's workers in turn from barrier to barrier, each on its own stack. Every run
// therefore gives the same bits, and a barrier only switches between stacks, not between threads.

#include "kdl/cluster_abi.hpp"

extern "C" const kdl_cluster_entry kdl_cluster_entries[];

// The hash of the ABI for which the image was compiled. The host reads it from the image.
extern "C" const volatile uint64_t kdl_cluster_image_abi = kdl_cluster_abi_hash;

// Compilers emit calls to these functions even though no library is linked.
extern "C" {
[[gnu::weak, clang::no_builtin]] void* memset(void* to, int byte, unsigned long bytes) {
  for (unsigned long at = 0; at < bytes; ++at) static_cast<char*>(to)[at] = static_cast<char>(byte);
  return to;
}
[[gnu::weak, clang::no_builtin]] void* memcpy(void* to, const void* from, unsigned long bytes) {
  for (unsigned long at = 0; at < bytes; ++at)
    static_cast<char*>(to)[at] = static_cast<const char*>(from)[at];
  return to;
}
[[gnu::weak, clang::no_builtin]] void* memmove(void* to, const void* from, unsigned long bytes) {
  if (to <= from) return memcpy(to, from, bytes);
  for (unsigned long at = bytes; at > 0; --at)
    static_cast<char*>(to)[at - 1] = static_cast<const char*>(from)[at - 1];
  return to;
}
}

// -- the system ---------------------------------------------------------------------------------------

namespace {

enum : long {
  kRead = 63,
  kWrite = 64,
  kExit = 93,
  kSigaltstack = 132,
  kSigaction = 134,
  kNanosleep = 101,
  kClockGettime = 113,
  kSetRlimit = 164,
  kMmap = 222,
  kMprotect = 226
};

long System(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  register long a0 asm("a0") = a;
  register long a1 asm("a1") = b;
  register long a2 asm("a2") = c;
  register long a3 asm("a3") = d;
  register long a4 asm("a4") = e;
  register long a5 asm("a5") = f;
  register long a7 asm("a7") = number;
  asm volatile("ecall"
               : "+r"(a0)
               : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a7)
               : "memory");
  return a0;
}

constexpr long kDoorbell = 0;  // a file descriptor, like the next constant
constexpr long kMemory = 3;
constexpr long kReadWrite = 3;  // PROT_READ | PROT_WRITE, for mmap
constexpr long kShared = 1;     // MAP_SHARED
constexpr long kOwn = 0x4022;   // MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
constexpr uint64_t kPage = 4096;
constexpr uint64_t kGuard = 1 << 20;  // larger than the stack frame of any function

[[noreturn]] void Exit(long code) {
  for (;;) System(kExit, code);
}

char* Map(long bytes, long access, long flags, long file) {
  const long address = System(kMmap, 0, bytes, access, flags, file, 0);
  if (address < 0 && address > -4096) Exit(3);
  return reinterpret_cast<char*>(address);
}

uint64_t Pages(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// Allocates memory with inaccessible pages before and after it.
char* MapGuarded(uint64_t bytes) {
  const uint64_t inside = Pages(bytes);
  char* all = Map(static_cast<long>(inside + 2 * kGuard), 0, kOwn, -1);
  System(kMprotect, reinterpret_cast<long>(all + kGuard), static_cast<long>(inside), kReadWrite);
  // The end is next to a guard page, so that a write beyond it faults immediately.
  return all + kGuard + inside - bytes;
}

__attribute__((no_builtin("memcpy"))) void CopyRow(char* to, const char* from, uint64_t bytes) {
  constexpr uint64_t kWord = sizeof(uint64_t);
  const uint64_t apart = reinterpret_cast<uint64_t>(to) | reinterpret_cast<uint64_t>(from);
  uint64_t at = 0;
  for (; apart % kWord == 0 && at + kWord <= bytes; at += kWord)
    *reinterpret_cast<uint64_t*>(to + at) = *reinterpret_cast<const uint64_t*>(from + at);
  for (; at < bytes; ++at) to[at] = from[at];
}

// Returns the time in nanoseconds of CLOCK_MONOTONIC, or 0 if it is not known. In the emulator, it is the clock of the host.
uint64_t Now() {
  constexpr long kMonotonic = 1;
  constexpr uint64_t kSecond = 1000000000;
  uint64_t time[2] = {0, 0};  // seconds and nanoseconds
  const bool is_known = System(kClockGettime, kMonotonic, reinterpret_cast<long>(time)) == 0;
  return is_known ? time[0] * kSecond + time[1] : 0;
}

void Fence() { asm volatile("fence rw, rw" ::: "memory"); }

// -- block copies -------------------------------------------------------------------------------------

// Block copies in progress. They advance in the order in which they were started: a little whenever a worker
// stops at a barrier, and until a copy is done when a worker waits for that copy.
class Copies {
 public:
  void Open(char* memory, volatile kdl_cluster_mailbox* mailbox) {
    memory_ = memory;
    mailbox_ = mailbox;
  }

  void Note(kdl_cluster_event_kind kind, uint64_t number, uint64_t bytes = 0) {
    const uint64_t at = mailbox_->event_count;
    mailbox_->event_count = at + 1;
    if (mailbox_->events == 0 || at >= mailbox_->most_events) return;
    auto* events = reinterpret_cast<kdl_cluster_event*>(memory_ + mailbox_->events);
    events[at] = {kind, core_, number, bytes, Now()};
  }

  void BeginCore(uint64_t core) {
    core_ = core;
    begun_ = ended_ = barriers_ = 0;
    Note(kdl_cluster_core_begins, 0);
  }
  void EndCore() {
    while (ended_ < begun_) CopyRows(kAll);
    Note(kdl_cluster_core_ends, 0);
  }
  void Barrier() {
    mailbox_->barriers = mailbox_->barriers + 1;
    Note(kdl_cluster_barrier, barriers_++);
  }

  void Begin(char* to, const char* from, uint64_t row_bytes, uint64_t rows, int64_t to_stride,
             int64_t from_stride) {
    if (begun_ - ended_ == kMost) CopyRows(kAll);
    waiting_[begun_ % kMost] = {to, from, row_bytes, rows, to_stride, from_stride};
    Note(kdl_cluster_copy_begins, begun_++, row_bytes * rows);
    mailbox_->copies = mailbox_->copies + 1;
    mailbox_->copied_bytes = mailbox_->copied_bytes + row_bytes * rows;
  }

  void Await(const char* scratchpad, uint64_t bytes) {
    uint64_t last = ended_;
    for (uint64_t n = ended_; n < begun_; ++n) {
      const Copy& copy = waiting_[n % kMost];
      if (IsIn(copy.to, scratchpad, bytes) || IsIn(copy.from, scratchpad, bytes)) last = n + 1;
    }
    if (last == ended_) return;
    Note(kdl_cluster_copy_awaited, last - 1);
    while (ended_ < last) CopyRows(kAll);
  }

  // Advances the copies a little, to imitate hardware that copies while workers compute.
  void GoOn() {
    if (ended_ < begun_) CopyRows(kRows);
  }

 private:
  struct Copy {
    char* to;
    const char* from;
    uint64_t row_bytes;
    uint64_t rows;
    int64_t to_stride;
    int64_t from_stride;
  };

  static bool IsIn(const char* place, const char* scratchpad, uint64_t bytes) {
    return place >= scratchpad && place < scratchpad + bytes;
  }

  // Copies up to `rows` rows of the oldest copy in progress.
  void CopyRows(uint64_t rows) {
    Copy& copy = waiting_[ended_ % kMost];
    for (; rows > 0 && copy.rows > 0; --rows, --copy.rows) {
      CopyRow(copy.to, copy.from, copy.row_bytes);
      copy.to += copy.to_stride;
      copy.from += copy.from_stride;
    }
    if (copy.rows == 0) Note(kdl_cluster_copy_ends, ended_++);
  }

  static constexpr uint64_t kMost = 64;  // limit on the number of copies in progress
  static constexpr uint64_t kRows = 1;   // number of rows copied when a worker stops at a barrier
  static constexpr uint64_t kAll = ~uint64_t{0};
  char* memory_ = nullptr;
  volatile kdl_cluster_mailbox* mailbox_ = nullptr;
  Copy waiting_[kMost];
  uint64_t core_ = 0;
  uint64_t begun_ = 0;
  uint64_t ended_ = 0;
  uint64_t barriers_ = 0;
};
Copies copies;

// -- threads ------------------------------------------------------------------------------------------

struct Fiber {
  kdl_cluster_worker worker;  // must be the first member: kernels get its address
  uint64_t sp = 0;
  char* stack = nullptr;
  bool done = false;
};

// The callee-saved registers, in the order in which they are stored above the saved stack pointer.
struct Saved {
  uint64_t ra;
  uint64_t s[12];
  double fs[12];
  uint64_t unused;
};

constexpr uint64_t kMostWorkers = 256;
Fiber fibers[kMostWorkers];
Fiber* running = nullptr;
uint64_t main_sp = 0;
uint32_t told_now = 0;   // `or` of the values passed to the next barrier so far
uint32_t told_last = 0;  // `or` of the values passed to the last barrier

const kdl_cluster_entry* entry = nullptr;
const int64_t* numbers = nullptr;
const int64_t* memories = nullptr;

}  // namespace

extern "C" void kdl_switch(uint64_t* from, const uint64_t* to);
extern "C" void kdl_fiber_start();
asm(R"(
  .text
  .globl kdl_switch
kdl_switch:
  addi sp, sp, -208
  sd ra, 0(sp)
  sd s0, 8(sp)
  sd s1, 16(sp)
  sd s2, 24(sp)
  sd s3, 32(sp)
  sd s4, 40(sp)
  sd s5, 48(sp)
  sd s6, 56(sp)
  sd s7, 64(sp)
  sd s8, 72(sp)
  sd s9, 80(sp)
  sd s10, 88(sp)
  sd s11, 96(sp)
  fsd fs0, 104(sp)
  fsd fs1, 112(sp)
  fsd fs2, 120(sp)
  fsd fs3, 128(sp)
  fsd fs4, 136(sp)
  fsd fs5, 144(sp)
  fsd fs6, 152(sp)
  fsd fs7, 160(sp)
  fsd fs8, 168(sp)
  fsd fs9, 176(sp)
  fsd fs10, 184(sp)
  fsd fs11, 192(sp)
  sd sp, 0(a0)
  ld sp, 0(a1)
  ld ra, 0(sp)
  ld s0, 8(sp)
  ld s1, 16(sp)
  ld s2, 24(sp)
  ld s3, 32(sp)
  ld s4, 40(sp)
  ld s5, 48(sp)
  ld s6, 56(sp)
  ld s7, 64(sp)
  ld s8, 72(sp)
  ld s9, 80(sp)
  ld s10, 88(sp)
  ld s11, 96(sp)
  fld fs0, 104(sp)
  fld fs1, 112(sp)
  fld fs2, 120(sp)
  fld fs3, 128(sp)
  fld fs4, 136(sp)
  fld fs5, 144(sp)
  fld fs6, 152(sp)
  fld fs7, 160(sp)
  fld fs8, 168(sp)
  fld fs9, 176(sp)
  fld fs10, 184(sp)
  fld fs11, 192(sp)
  addi sp, sp, 208
  ret
  .globl kdl_fiber_start
kdl_fiber_start:
  call kdl_fiber_main
  .globl _start
_start:
  fscsr zero
  mv a0, sp
  andi sp, sp, -16
  call kdl_cluster_main
)");

extern "C" [[noreturn, gnu::used]] void kdl_fiber_main() {
  entry->kernel(numbers, memories, &running->worker);
  running->done = true;
  kdl_switch(&running->sp, &main_sp);
  Exit(3);  // not reached: a finished worker is never resumed
}

namespace {

uint32_t Wait(kdl_cluster_worker* worker, uint32_t told) {
  told_now |= told;
  kdl_switch(&reinterpret_cast<Fiber*>(worker)->sp, &main_sp);
  return told_last;
}

void BeginCopy(kdl_cluster_worker*, char* to, const char* from, uint64_t row_bytes, uint64_t rows,
               int64_t to_stride, int64_t from_stride) {
  copies.Begin(to, from, row_bytes, rows, to_stride, from_stride);
}

void AwaitCopies(kdl_cluster_worker*, const char* scratchpad, uint64_t bytes) {
  copies.Await(scratchpad, bytes);
}

// -- faults -------------------------------------------------------------------------------------------

// The layout of Linux's struct sigaction on this processor.
struct SignalAction {
  void (*handler)(int signal, const char* info, const char* context);
  uint64_t flags;
  uint64_t mask;
};
struct SignalStack {
  char* memory;
  uint64_t flags;
  uint64_t bytes;
};

volatile kdl_cluster_mailbox* fault_mailbox = nullptr;
const char* fault_scratchpad = nullptr;

// Whether an address is in a memory block or in the guard pages around it.
bool IsNextTo(uint64_t address, const char* memory, uint64_t bytes) {
  const auto begin = reinterpret_cast<uint64_t>(memory);
  return address + kGuard >= begin && address < begin + bytes + kGuard;
}

// Reports the fault to the host and ends the cluster.
void Fault(int signal, const char* info, const char* context) {
  constexpr int kIllegal = 4;  // SIGILL
  constexpr uint64_t kAddressAt = 16;
  constexpr uint64_t kInstructionAt = 176;
  volatile kdl_cluster_mailbox& mailbox = *fault_mailbox;
  uint64_t address = *reinterpret_cast<const uint64_t*>(info + kAddressAt);
  uint64_t fault = signal == kIllegal ? kdl_cluster_bad_instruction : kdl_cluster_no_memory;
  if (fault == kdl_cluster_no_memory &&
      IsNextTo(address, fault_scratchpad, mailbox.scratchpad_bytes)) {
    fault = kdl_cluster_beyond_scratchpad;
    address -= reinterpret_cast<uint64_t>(fault_scratchpad);
  } else if (fault == kdl_cluster_no_memory && running != nullptr &&
             IsNextTo(address, running->stack, mailbox.stack_bytes)) {
    fault = kdl_cluster_beyond_stack;
  }
  mailbox.fault_address = address;
  mailbox.fault_instruction = *reinterpret_cast<const uint64_t*>(context + kInstructionAt);
  mailbox.fault_core = running != nullptr ? running->worker.core : 0;
  mailbox.fault_worker = running != nullptr ? running->worker.worker : 0;
  Fence();
  mailbox.fault = fault;
  Exit(4);
}

void CatchFaults(volatile kdl_cluster_mailbox* mailbox, const char* scratchpad) {
  constexpr uint64_t kStackBytes = 4 * kPage;
  constexpr uint64_t kInfoOnStack = 0x08000004;  // SA_SIGINFO | SA_ONSTACK
  fault_mailbox = mailbox;
  fault_scratchpad = scratchpad;
  const SignalStack stack = {MapGuarded(kStackBytes), 0, kStackBytes};
  System(kSigaltstack, reinterpret_cast<long>(&stack));
  const SignalAction action = {Fault, kInfoOnStack, 0};
  static constexpr long kSignals[] = {4, 7, 8, 11};  // SIGILL, SIGBUS, SIGFPE, SIGSEGV
  for (const long signal : kSignals)
    System(kSigaction, signal, reinterpret_cast<long>(&action), 0, sizeof action.mask);
}

void Begin(Fiber& fiber, uint64_t stack_bytes) {
  if (fiber.stack == nullptr) fiber.stack = MapGuarded(stack_bytes);
  auto top = reinterpret_cast<uint64_t>(fiber.stack + stack_bytes) / 16 * 16;
  auto* saved = reinterpret_cast<Saved*>(top - sizeof(Saved));
  saved->ra = reinterpret_cast<uint64_t>(&kdl_fiber_start);
  fiber.sp = top - sizeof(Saved);
  fiber.done = false;
}

class Cluster {
 public:
  Cluster(char* memory, kdl_cluster_mailbox* mailbox) : memory_(memory), mailbox_(*mailbox) {
    scratchpad_ = MapGuarded(mailbox_.scratchpad_bytes);
    copies.Open(memory, mailbox);
    CatchFaults(mailbox, scratchpad_);
  }

  void Ready(kdl_cluster_status status) {
    Fence();
    mailbox_.status = status;
    Fence();
    mailbox_.done = mailbox_.number;
    Fence();
    if (mailbox_.polls != 0) return;
    const char byte = 1;
    System(kWrite, kDoorbell, reinterpret_cast<long>(&byte), 1);
  }

  // Runs calls until the host has closed the connection.
  void Serve() {
    mailbox_.abi_hash = kdl_cluster_image_abi;
    Ready(kdl_cluster_ready);
    while (WaitForCall()) {
      Fence();
      Ready(Call(*reinterpret_cast<const kdl_cluster_call*>(memory_ + mailbox_.call)));
    }
  }

 private:
  // Waits for the next call. Returns false if the host has closed the connection.
  bool WaitForCall() {
    char byte = 0;
    if (mailbox_.polls == 0) return System(kRead, kDoorbell, reinterpret_cast<long>(&byte), 1) == 1;
    static constexpr long kPause[] = {
        0, 50000};  // seconds and nanoseconds; the pause lets other processes run
    while (mailbox_.number == mailbox_.done) System(kNanosleep, reinterpret_cast<long>(kPause));
    return true;
  }

  kdl_cluster_status Call(const kdl_cluster_call& call) {
    numbers = reinterpret_cast<const int64_t*>(&call + 1);
    memories = numbers + call.number_count;
    entry = Find(reinterpret_cast<const char*>(memories + call.memory_count));
    if (entry == nullptr) return kdl_cluster_no_entry;
    if (entry->workers > kMostWorkers || entry->workers > mailbox_.workers)
      return kdl_cluster_no_workers;
    if (entry->scratchpad_bytes > workgroup_bytes_) return kdl_cluster_no_scratchpad;
    const uint64_t taken = (mailbox_.workgroups - 1) * workgroup_bytes_ + entry->scratchpad_bytes;
    if (entry->scratchpad_bytes > 0 && taken > mailbox_.scratchpad_peak)
      mailbox_.scratchpad_peak = taken;
    mailbox_.event_count = 0;
    for (uint64_t core = mailbox_.cluster; core < call.cores; core += mailbox_.clusters)
      RunCore(core);
    return kdl_cluster_ready;
  }

  static const kdl_cluster_entry* Find(const char* name) {
    for (const kdl_cluster_entry* one = kdl_cluster_entries; one->name != nullptr; ++one) {
      uint64_t at = 0;
      while (name[at] != 0 && name[at] == one->name[at]) ++at;
      if (name[at] == one->name[at]) return one;
    }
    return nullptr;
  }

  // Runs a core. In each round, each of its workers runs to its next barrier.
  void RunCore(uint64_t core) {
    copies.BeginCore(core);
    char* const scratchpad =
        scratchpad_ + core / mailbox_.clusters % mailbox_.workgroups * workgroup_bytes_;
    for (uint64_t i = 0; i < entry->workers; ++i) {
      fibers[i].worker = {core, i, memory_, scratchpad, Wait, BeginCopy, AwaitCopies};
      Begin(fibers[i], mailbox_.stack_bytes);
    }
    for (uint64_t left = entry->workers; left > 0;) {
      for (uint64_t i = 0; i < entry->workers; ++i) {
        if (fibers[i].done) continue;
        running = &fibers[i];
        kdl_switch(&main_sp, &fibers[i].sp);
        if (fibers[i].done) --left;
        copies.GoOn();
      }
      if (left > 0) copies.Barrier();
      told_last = told_now;
      told_now = 0;
      mailbox_.heartbeat = mailbox_.heartbeat + 1;
    }
    copies.EndCore();
  }

  static constexpr uint64_t kLine = 64;
  char* memory_;
  volatile kdl_cluster_mailbox& mailbox_;
  uint64_t workgroup_bytes_ = mailbox_.scratchpad_bytes / mailbox_.workgroups / kLine * kLine;
  char* scratchpad_;
};

uint64_t ParseNumber(const char* text) {
  uint64_t number = 0;
  for (; *text >= '0' && *text <= '9'; ++text)
    number = 10 * number + static_cast<uint64_t>(*text - '0');
  return number;
}

}  // namespace

// `stack` contains the number of arguments, followed by the arguments: the image, the size of global memory
// in bytes, and the offset of the mailbox.
extern "C" [[noreturn, gnu::used]] void kdl_cluster_main(char** stack) {
  if (reinterpret_cast<uint64_t>(stack[0]) != 3) Exit(2);
  const uint64_t no_dump[2] = {0, 0};
  System(kSetRlimit, 4, reinterpret_cast<long>(no_dump));  // RLIMIT_CORE
  const uint64_t bytes = ParseNumber(stack[2]);
  char* memory = Map(static_cast<long>(bytes), kReadWrite, kShared, kMemory);
  auto* mailbox = reinterpret_cast<kdl_cluster_mailbox*>(memory + ParseNumber(stack[3]));
  Cluster cluster(memory, mailbox);
  cluster.Serve();
  Exit(0);
}
