#include "tools/lsp/navigation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "tools/lsp/diagnostics.h"
#include "tools/lsp/words.h"

namespace kdl::tools::lsp {

namespace {

using syntax::NameKind;
using syntax::NameOccurrence;

const NameOccurrence* OccurrenceAt(const Analysis& analysis, const Json& params) {
  return analysis.names.At(analysis.positions.Offset(params.at("position")));
}

const std::string& PathOfAnalysis(const Analysis& analysis) {
  return analysis.session.sources.path(analysis.file);
}

/// A place in one of the open files.
struct Place {
  std::string uri;
  const Analysis* analysis;
  Span span;
};

/// Returns all occurrences of a declaration in the open files.
std::vector<Place> PlacesOf(Workspace& workspace, const FoundDeclaration& wanted) {
  std::vector<Place> places;
  for (auto& [uri, document] : workspace.documents) {
    const Analysis& analysis = workspace.AnalysisOf(document);
    for (const NameOccurrence& one : analysis.names.occurrences) {
      if (one.name != wanted.declaration->name) continue;
      auto found = workspace.Find(analysis, one);
      if (found && found->declaration == wanted.declaration)
        places.push_back({uri, &analysis, one.span});
    }
  }
  return places;
}

bool IsIdentifier(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::ranges::all_of(text, IsWordPart);
}

/// Returns the text with another name at the given places, which are in ascending order.
std::string Renamed(std::string_view text, const std::vector<Span>& spans, std::string_view name) {
  std::string renamed;
  size_t begin = 0;
  for (Span span : spans) {
    renamed += text.substr(begin, span.begin - begin);
    renamed += name;
    begin = span.end;
  }
  return renamed + std::string(text.substr(begin));
}

/// Returns the declaration at a position if it may be renamed here: it must be in an open file.
FoundDeclaration Renameable(Workspace& workspace, const Analysis& analysis,
                            const NameOccurrence* occurrence) {
  std::optional<FoundDeclaration> found;
  if (occurrence != nullptr) found = workspace.Find(analysis, *occurrence);
  if (!found) throw RequestError{"there is no name here that can be changed"};
  if (found->declaration->kind == NameKind::Import)
    throw RequestError{"an import has the name of its file, so rename the file"};
  bool is_open = std::ranges::any_of(workspace.documents, [&](const auto& entry) {
    return entry.second.path == PathOfAnalysis(*found->analysis);
  });
  if (!is_open)
    throw RequestError{
        fmt::format("'{}' is declared in a file that is not open", occurrence->name)};
  return *found;
}

int SymbolKind(NameKind kind) {
  switch (kind) {
    case NameKind::Import:
      return 3;  // a namespace
    case NameKind::Const:
    case NameKind::Types:
      return 14;  // a constant
    case NameKind::Device:
      return 19;  // an object
    case NameKind::Stage:
      return 2;  // a module
    case NameKind::Test:
      return 6;  // a method
    default:
      return 12;  // a function
  }
}

bool IsSymbol(NameKind kind) { return kind <= NameKind::Test || kind == NameKind::Stage; }

Json SymbolOf(const Analysis& analysis, const syntax::NameDeclaration& declaration) {
  return {{"name", declaration.name},
          {"kind", SymbolKind(declaration.kind)},
          {"range", analysis.positions.Range(declaration.whole)},
          {"selectionRange", analysis.positions.Range(declaration.span)}};
}

}  // namespace

Json Definition(Workspace& workspace, Document& document, const Json& params) {
  const Analysis& analysis = workspace.AnalysisOf(document);
  const NameOccurrence* occurrence = OccurrenceAt(analysis, params);
  if (occurrence == nullptr) return nullptr;
  auto found = workspace.Find(analysis, *occurrence);
  if (!found) return nullptr;
  Span span = found->declaration->span;
  if (const Analysis* imported = workspace.Imported(*found->analysis, *found->declaration)) {
    found->analysis = imported;
    span = Span{imported->file, 0, 0};
  }
  return {{"uri", UriOf(PathOfAnalysis(*found->analysis))},
          {"range", found->analysis->positions.Range(span)}};
}

Json References(Workspace& workspace, Document& document, const Json& params) {
  const Analysis& analysis = workspace.AnalysisOf(document);
  const NameOccurrence* occurrence = OccurrenceAt(analysis, params);
  Json places = Json::array();
  std::optional<FoundDeclaration> found;
  if (occurrence != nullptr) found = workspace.Find(analysis, *occurrence);
  if (!found) return places;
  bool with_declaration =
      !params.contains("context") || params["context"].value("includeDeclaration", true);
  for (const Place& place : PlacesOf(workspace, *found)) {
    bool is_declaration =
        place.analysis == found->analysis && place.span == found->declaration->span;
    if (is_declaration && !with_declaration) continue;
    places.push_back({{"uri", place.uri}, {"range", place.analysis->positions.Range(place.span)}});
  }
  return places;
}

Json Highlights(Workspace& workspace, Document& document, const Json& params) {
  const Analysis& analysis = workspace.AnalysisOf(document);
  const NameOccurrence* at = OccurrenceAt(analysis, params);
  Json places = Json::array();
  if (at == nullptr || at->declaration == syntax::kNoName) return places;
  for (const NameOccurrence& one : analysis.names.occurrences) {
    if (one.declaration == at->declaration)
      places.push_back({{"range", analysis.positions.Range(one.span)}});
  }
  return places;
}

Json PrepareRename(Workspace& workspace, Document& document, const Json& params) {
  const Analysis& analysis = workspace.AnalysisOf(document);
  const NameOccurrence* occurrence = OccurrenceAt(analysis, params);
  Renameable(workspace, analysis, occurrence);
  return {{"range", analysis.positions.Range(occurrence->span)}, {"placeholder", occurrence->name}};
}

Json Rename(Workspace& workspace, Document& document, const Json& params) {
  const Analysis& analysis = workspace.AnalysisOf(document);
  FoundDeclaration found = Renameable(workspace, analysis, OccurrenceAt(analysis, params));
  auto name = params.at("newName").get<std::string>();
  if (!IsIdentifier(name)) throw RequestError{fmt::format("'{}' is not a name", name)};
  std::map<std::string, std::vector<Span>> spans;
  Json changes = Json::object();
  for (const Place& place : PlacesOf(workspace, found)) {
    spans[place.uri].push_back(place.span);
    changes[place.uri].push_back(
        {{"range", place.analysis->positions.Range(place.span)}, {"newText", name}});
  }
  // The new name may be a keyword, or already be visible where the old one is used.
  for (auto& [uri, places] : spans) {
    Document& changed = workspace.documents.at(uri);
    const Analysis& before = workspace.AnalysisOf(changed);
    bool imports = std::ranges::any_of(before.names.declarations,
                                       [](const auto& d) { return d.kind == NameKind::Import; });
    if (spans.size() > 1 && imports)
      continue;  // checked against the old state of the imported file, it would fail
    auto after = Analyze(workspace.around(), changed.path, Renamed(before.text(), places, name));
    if (after->session.diagnostics.error_count() > before.session.diagnostics.error_count())
      throw RequestError{fmt::format("'{}' cannot be used here: {}", name,
                                     after->session.diagnostics.all().back()->text)};
  }
  return {{"changes", changes}};
}

Json Symbols(Workspace& workspace, Document& document, const Json&) {
  const Analysis& analysis = workspace.AnalysisOf(document);
  Json symbols = Json::array();
  std::map<size_t, size_t> place_of;  // of the items
  for (size_t i = 0; i < analysis.names.declarations.size(); ++i) {
    const syntax::NameDeclaration& declaration = analysis.Declaration(i);
    if (!IsSymbol(declaration.kind)) continue;
    auto parent = declaration.item == i ? place_of.end() : place_of.find(declaration.item);
    if (parent != place_of.end()) {
      symbols[parent->second]["children"].push_back(SymbolOf(analysis, declaration));
    } else {
      place_of[i] = symbols.size();
      symbols.push_back(SymbolOf(analysis, declaration));
    }
  }
  return symbols;
}

}  // namespace kdl::tools::lsp
