#pragma once

#include <string>
#include <string_view>

#include "support/arena.h"
#include "support/diagnostics.h"
#include "support/names.h"
#include "support/source.h"
#include "syntax/dump_ast.h"
#include "syntax/parse.h"

namespace kdl::syntax {

/// Source text and its parse result.
struct Parsed {
  explicit Parsed(std::string_view text)
      : file(sources.Add("t.kdl", std::string(text))),
        result(ParseFile(sources, file, arena, names, diagnostics)) {}

  /// Returns `LINE:COLUMN ID` of every diagnostic, joined with ", ".
  std::string Errors() const {
    std::string errors;
    for (const auto& one : diagnostics.all()) {
      LineColumn at = sources.Locate(one->span);
      errors += fmt::format("{}{}:{} {}", errors.empty() ? "" : ", ", at.line, at.column, one->id);
    }
    return errors;
  }

  /// Returns the tree on one line.
  std::string Flat() const {
    std::string flat;
    for (char c : DumpAst(*result.module)) {
      if (c != '\n' && (c != ' ' || !flat.ends_with(' '))) flat += c;
      if (c == '\n') flat += flat.ends_with(' ') ? "" : " ";
    }
    flat.pop_back();
    return flat;
  }

  SourceManager sources;
  Arena arena;
  Names names;
  DiagnosticEngine diagnostics;
  FileId file;
  ParseResult result;
};

}  // namespace kdl::syntax
