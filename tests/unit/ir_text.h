#pragma once

#include <memory>
#include <span>
#include <string>

#include "ir/module.h"
#include "ir/parse/parser.h"
#include "support/diagnostics.h"
#include "support/render.h"
#include "support/source.h"

namespace kdl::ir {

/// KIR text and the module that was read from it.
struct ReadText {
  Names names;
  Context context;
  SourceManager sources;
  DiagnosticEngine diagnostics;
  std::unique_ptr<Module> module;

  explicit ReadText(std::string text, std::span<const MatrixInstruction* const> instructions = {})
      : context{names, instructions}, module(Again(std::move(text))) {}

  /// Reads a further text in the same context.
  std::unique_ptr<Module> Again(std::string text) {
    return Parse(sources, sources.Add("test.kir", std::move(text)), context, diagnostics);
  }
  std::string Errors() const {
    std::string all;
    for (const auto& diagnostic : diagnostics.all()) all += RenderText(*diagnostic, sources, false);
    return all;
  }
};

}  // namespace kdl::ir
