#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/source.h"

namespace kdl {

enum class Severity { Error, Warning, Remark };

/// A row of a diagnostics table, without its argument types: what `kernelc explain` lists.
struct DiagnosticRow {
  std::string_view id;
  std::string_view name;
  Severity severity;
  std::string_view text;
  std::string_view explanation;
};

/// A declared diagnostic. The compiler checks the placeholders of `text` against Args.
template <class Signature>
struct DiagnosticKind;

template <class... Args>
struct DiagnosticKind<void(Args...)> {
  std::string_view id;
  Severity severity;
  fmt::format_string<Args...> text;
};

struct DiagnosticNote {
  Span span;  ///< may be invalid: a note without a place
  std::string text;
};

/// One mistake of the user: where, what was found, what to write instead.
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

/// Collects the diagnostics of a compile in the order in which they were found.
/// The same id at the same span is kept once: a kernel is checked once per type that it is made for.
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

  const std::vector<std::unique_ptr<Diagnostic>>& all() const { return all_; }
  size_t error_count() const { return error_count_; }
  bool has_errors() const { return error_count_ != 0; }

 private:
  Diagnostic& Add(Diagnostic diagnostic);

  std::vector<std::unique_ptr<Diagnostic>> all_;
  Diagnostic repeated_;  ///< takes the notes of a diagnostic that stands already
  size_t error_count_ = 0;
};

}  // namespace kdl

// A layer's diagnostics.def has rows
//   KDL_DIAGNOSTIC(UnknownName, "E0301", Error, (std::string_view), "unknown name '{}'", "explanation")
// The layer's diagnostics.h turns them into `inline constexpr` kinds in `namespace diag` and a row table with
//   #define KDL_DIAGNOSTIC KDL_DECLARE_DIAGNOSTIC      /  KDL_DIAGNOSTIC_ROW
#define KDL_DECLARE_DIAGNOSTIC(name, id, severity, args, text, explanation) \
  inline constexpr ::kdl::DiagnosticKind<void args> name{id, ::kdl::Severity::severity, text};
#define KDL_DIAGNOSTIC_ROW(name, id, severity, args, text, explanation) \
  ::kdl::DiagnosticRow{id, #name, ::kdl::Severity::severity, text, explanation},
