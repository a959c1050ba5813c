#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace kdl {

/// Describes what the compiler is doing while the scope is open. When an internal check fails, all open
/// scopes are printed, innermost last. Each thread has its own stack of scopes; this is the compiler's only
/// per-thread state.
class DoingScope {
 public:
  explicit DoingScope(std::string what);
  ~DoingScope();
  DoingScope(const DoingScope&) = delete;
  DoingScope& operator=(const DoingScope&) = delete;
};

/// Reports an internal error, the open scopes, and how to report the bug. Exits with status 70 by default.
[[noreturn]] void FailCheck(const char* file, int line, const char* condition,
                            const std::string& detail);

}  // namespace kdl

/// Checks an internal invariant. The arguments after `condition` are an fmt format string and its arguments.
/// Always enabled, because a crash is better than a wrong result.
#define KDL_CHECK(condition, ...)                                                      \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      ::kdl::FailCheck(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
    }                                                                                  \
  } while (false)

#define KDL_UNREACHABLE(...) \
  ::kdl::FailCheck(__FILE__, __LINE__, "unreachable", ::fmt::format("" __VA_ARGS__))
