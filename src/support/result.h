#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace kdl {

/// Who has to act on a failure. The values are the exit codes of the process.
enum class FailureKind { User = 1, Usage = 2, Environment = 3 };

/// A failure whose cause is outside the compiler. The message is one sentence that names the file, tool or
/// device.
struct Failure {
  std::string message;
  FailureKind kind = FailureKind::User;
};

/// A value or a Failure. Check `ok()` before using the value.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Failure failure) : state_(std::move(failure)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& operator*() { return std::get<0>(state_); }
  const T& operator*() const { return std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Failure& failure() const { return std::get<1>(state_); }

 private:
  std::variant<T, Failure> state_;
};

/// Success, or a Failure.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Failure failure) : failure_(std::move(failure)) {}

  bool ok() const { return !failure_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Failure& failure() const { return *failure_; }

 private:
  std::optional<Failure> failure_;
};

}  // namespace kdl
