#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace kdl {

/// What the compiler is doing now, innermost last; printed when an internal check fails.
/// Scopes nest on one thread; they are the only per-thread state of the compiler.
class DoingScope {
 public:
  explicit DoingScope(std::string what);
  ~DoingScope();
  DoingScope(const DoingScope&) = delete;
  DoingScope& operator=(const DoingScope&) = delete;
};

/// Prints that the failure is ours, what was being done and how to report it; exits with 70.
[[noreturn]] void FailCheck(const char* file, int line, const char* condition,
                            const std::string& detail);

}  // namespace kdl

/// An invariant of ours; the rest of the arguments is an fmt text. Always on: a wrong result is worse than a stop.
#define KDL_CHECK(condition, ...)                                                      \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      ::kdl::FailCheck(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
    }                                                                                  \
  } while (false)

#define KDL_UNREACHABLE(...) \
  ::kdl::FailCheck(__FILE__, __LINE__, "unreachable", ::fmt::format("" __VA_ARGS__))
