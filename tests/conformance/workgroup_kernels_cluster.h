// Macros that declare kernels for clusters (kdl/cluster_abi.hpp) when clang compiles them, and the table of
// these kernels. A core has one worker.
#pragma once

#include "kdl/cluster_abi.hpp"

template <class T, T... numbers>
struct Sequence {};

template <class... T, int... number>
static inline void Call(void (*body)(const long*, long, char*, char*, long*, long*, T...),
                        const int64_t* numbers, const int64_t* memories,
                        const kdl_cluster_worker& worker, Sequence<int, number...>) {
  const auto at = [&](int n) { return worker.memory + memories[n]; };
  body(numbers, static_cast<long>(worker.core), at(0), at(1), (long*)at(2), (long*)at(3),
       at(4 + number)...);
}

template <class... T>
static inline void Enter(void (*body)(const long*, long, char*, char*, long*, long*, T...),
                         const int64_t* numbers, const int64_t* memories,
                         const kdl_cluster_worker& worker) {
  Call(body, numbers, memories, worker, __make_integer_seq<Sequence, int, sizeof...(T)>());
}

// The entries are contiguous in their section, in the order of this file.
#define ENTRY [[gnu::used, gnu::section("kdl_entries")]] static const kdl_cluster_entry
#define KERNEL(NAME, NUMBERS, ...)                                                    \
  static void NAME##_body(const long* launch, long block, char* memory, char* shared, \
                          long* record, long* prints, __VA_ARGS__);                   \
  extern "C" void NAME(const int64_t* numbers, const int64_t* memories,               \
                       kdl_cluster_worker* worker) {                                  \
    Enter(NAME##_body, numbers, memories, *worker);                                   \
  }                                                                                   \
  ENTRY NAME##_entry = {#NAME, NAME, 1, 0};                                           \
  static void NAME##_body(const long* launch, long block, char* memory, char* shared, \
                          long* record, long* prints, __VA_ARGS__)
#define BEGIN \
  do {        \
  } while (false)

// Only for clusters. Accesses the last byte of the scratchpad, and then the byte after it.
extern "C" inline void strays(const int64_t*, const int64_t*, kdl_cluster_worker* worker) {
  constexpr uint64_t kScratchpadBytes = 4 << 20;
  volatile char* const end = worker->scratchpad + kScratchpadBytes;
  end[-1] = 1;
  end[worker->core] = 1;
}
ENTRY strays_entry = {"strays", strays, 1, 0};
