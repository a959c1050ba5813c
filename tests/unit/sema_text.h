#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "sema/model/checked.h"
#include "support/arena.h"
#include "support/diagnostics.h"
#include "support/names.h"
#include "support/render.h"
#include "support/size.h"
#include "support/source.h"
#include "syntax/parse.h"

namespace kdl::sema {

/// Replaces the standard library; these tests only need the functions to exist.
inline constexpr std::string_view kLibrary = R"(
fn exp_f32(x: f32) -> f32 { return from_bits(bits(x)); }
fn exp_f64(x: f64) -> f64 { return 2.0 * helper(x); }
fn helper(x: f64) -> f64 { return x; }
fn unused_f32(x: f32) -> f32 { return x; }
)";

/// Source text and the result of its semantic analysis.
struct Checked {
  explicit Checked(std::string_view text, const std::vector<Define>& defines = {}) {
    const syntax::Module* library = Parse("lib.kdl", kLibrary);
    tree = Parse("t.kdl", text);
    if (tree != nullptr) {
      file.module = tree;
      module = Check(file, {&library, 1}, sources, sizes, {defines}, diagnostics);
    }
  }

  /// Returns `LINE:COLUMN ID` of every error, joined with ", ".
  std::string Errors() const {
    std::string errors;
    for (const auto& one : diagnostics.all()) {
      if (one->severity != Severity::Error) continue;
      LineColumn at = one->span.valid() ? sources.Locate(one->span) : LineColumn{};
      errors += fmt::format("{}{}:{} {}", errors.empty() ? "" : ", ", at.line, at.column, one->id);
    }
    return errors;
  }

  /// Returns the errors as printed.
  std::string Rendered() const {
    std::string text;
    for (const auto& one : diagnostics.all()) {
      if (one->severity == Severity::Error) text += RenderText(*one, sources, false);
    }
    return text;
  }

  const CheckedFunction& Function(std::string_view instance) const {
    for (const CheckedFunction* fn : module.functions) {
      if (fn->InstanceName() == instance) return *fn;
    }
    KDL_UNREACHABLE("no function '{}'", instance);
  }

  const Entity& Find(std::string_view instance, std::string_view name) const {
    for (const Entity* entity : Function(instance).entities) {
      if (entity->name.text() == name) return *entity;
    }
    KDL_UNREACHABLE("no '{}' in '{}'", name, instance);
  }

  /// Returns the facts about the expression with this text, or about the last such expression if there are
  /// several.
  const ExprInfo& InfoOf(std::string_view instance, std::string_view text) const {
    const ExprInfo* found = nullptr;
    uint32_t at = 0;
    for (const auto& [expr, info] : Function(instance).exprs) {
      if (sources.text(expr->span) != text || (found != nullptr && expr->span.begin < at)) continue;
      found = &info;
      at = expr->span.begin;
    }
    KDL_CHECK(found != nullptr, "no '{}' in '{}'", text, instance);
    return *found;
  }

  const syntax::Module* Parse(std::string_view path, std::string_view text) {
    FileId file = sources.Add(std::string(path), std::string(text));
    syntax::ParseResult result = syntax::ParseFile(sources, file, arena, names, diagnostics);
    return result.ok ? result.module : nullptr;
  }

  SourceManager sources;
  Arena arena;
  Names names;
  SizeTable sizes;
  DiagnosticEngine diagnostics;
  const syntax::Module* tree = nullptr;
  SourceFile file;
  CheckedModule module;
};

}  // namespace kdl::sema
