#pragma once

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "support/source.h"

namespace kdl {

enum class Severity { Error, Warning, Remark };

/// A row of a diagnostics table, without its argument types. `kernelc explain` lists these rows.
struct DiagnosticRow {
  std::string_view id;
  std::string_view name;
  Severity severity;
  std::string_view text;
  std::string_view explanation;
};

/// The declaration of a diagnostic. The C++ compiler checks the placeholders of `text` against `Args`.
template <class Signature>
struct DiagnosticKind;

template <class... Args>
struct DiagnosticKind<void(Args...)> {
  std::string_view id;
  Severity severity;
  fmt::format_string<Args...> text;
};

struct DiagnosticNote {
  Span span;  ///< invalid for a note without a location
  std::string text;
};

/// An error, warning or remark about the user's code. It states where the problem is, what was found, and
/// what to write instead.
struct Diagnostic {
  std::string id;
  Severity severity = Severity::Error;
  Span span;
  std::string text;
  std::vector<DiagnosticNote> notes;
  std::string help;

  Diagnostic& Note(Span at, std::string note) {
    notes.push_back({at, std::move(note)});
    return *this;
  }
  Diagnostic& Help(std::string what_to_write) {
    help = std::move(what_to_write);
    return *this;
  }
};

/// Collects the diagnostics of a compilation in the order in which they were found. Of several diagnostics
/// with the same id and span, only the first is kept, because a generic kernel is checked once for each type
/// that it is instantiated with.
class DiagnosticEngine {
 public:
  template <class... Args, class... Given>
  Diagnostic& Report(const DiagnosticKind<void(Args...)>& kind, Span span, Given&&... given) {
    auto format = [&](const Args&... args) {
      return fmt::format(fmt::runtime(fmt::string_view(kind.text)), args...);
    };
    return Add({std::string(kind.id),
                kind.severity,
                span,
                format(Args(std::forward<Given>(given))...),
                {},
                {}});
  }

  /// From now on, warnings with this id are reported with this severity, or not at all if it is empty.
  void SetSeverity(std::string_view id, std::optional<Severity> severity) {
    severities_[std::string(id)] = severity;
  }

  const std::vector<std::unique_ptr<Diagnostic>>& all() const { return all_; }
  size_t error_count() const { return error_count_; }
  bool has_errors() const { return error_count_ != 0; }

 private:
  Diagnostic& Add(Diagnostic diagnostic);

  std::vector<std::unique_ptr<Diagnostic>> all_;
  std::unordered_set<std::string>
      known_;  ///< the ids and spans in `all_`, so that duplicates are found fast
  std::unordered_map<std::string, std::optional<Severity>> severities_;  ///< of warnings, by id
  Diagnostic
      unreported_;  ///< receives the notes of duplicates, and of warnings that are not reported
  size_t error_count_ = 0;
};

}  // namespace kdl

// Each layer's diagnostics.def has rows of this form:
//   KDL_DIAGNOSTIC(UnknownName, "E0301", Error, (std::string_view), "unknown name '{}'", "explanation")
// The rows are included twice. With KDL_DIAGNOSTIC defined as KDL_DECLARE_DIAGNOSTIC, they declare
// `inline constexpr` kinds in `namespace diag`. With KDL_DIAGNOSTIC defined as KDL_DIAGNOSTIC_ROW, they form
// a table.
#define KDL_DECLARE_DIAGNOSTIC(name, id, severity, args, text, explanation) \
  inline constexpr ::kdl::DiagnosticKind<void args> name{id, ::kdl::Severity::severity, text};
#define KDL_DIAGNOSTIC_ROW(name, id, severity, args, text, explanation) \
  ::kdl::DiagnosticRow{id, #name, ::kdl::Severity::severity, text, explanation},
