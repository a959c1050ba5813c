#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/compile/stdlib.h"
#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/report.h"
#include "support/json_text.h"
#include "syntax/limits.h"
#include "syntax/parse.h"
#include "tools/commands.h"
#include "tools/doc/doc_page.h"
#include "tools/doc/html.h"
#include "tools/drawing/escaped.h"
#include "tools/kdl_files.h"

namespace kdl::tools {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPageStyle =
#include "doc/style.css.inc"
    ;
constexpr std::string_view kSearch =
#include "doc/search.js.inc"
    ;
constexpr std::string_view kTemplate =
#include "doc/page.html.inc"
    ;
constexpr std::string_view kLibrary = "std";  ///< means all files of the library
constexpr std::string_view kFolder = "doc";

std::string Replaced(std::string_view text, std::string_view place, std::string_view by) {
  std::string replaced(text);
  size_t at = replaced.find(place);
  return at == std::string::npos ? replaced : replaced.replace(at, place.size(), by);
}

/// Returns the name of the page about a file: its name without `.kdl`. If another page has this name, or it is that of the first
/// page, the folders are a part of it.
std::string PageName(const std::string& path, const std::vector<DocPage>& others) {
  std::string name = fs::path(path).stem().string() + ".html";
  auto is_taken = [&](const DocPage& page) { return page.file == name; };
  if (name != "index.html" && std::ranges::none_of(others, is_taken)) return name;
  name = path + ".html";
  std::ranges::replace(name, '/', '-');
  return name;
}

/// Makes the pages about the files that the command line names.
class PageMaker {
 public:
  explicit PageMaker(const driver::Options& options) : options_(options) {}

  void MakeAll() {
    std::vector<std::string> paths;
    for (const std::string& name : options_.files) {
      if (name == kLibrary) {
        for (const std::string& module : driver::StdlibNames()) AddLibrary(module);
      } else if (driver::FindStdlibFile(name) != nullptr) {
        AddLibrary(name);
      } else if (!driver::ReportUnknownStdlibFile(name, diagnostics)) {
        paths.push_back(name);
      }
    }
    for (const std::string& path : FindKdlFiles(paths)) AddFile(path);
  }

  std::vector<DocPage> pages;
  SourceManager sources;
  DiagnosticEngine diagnostics;

 private:
  void AddLibrary(const std::string& module) {
    const driver::StdlibFile& file = *driver::FindStdlibFile(module);
    FileId id = sources.Add(driver::StdlibPath(file), std::string(file.text));
    Add(id, module + ".html", module, module + ".");
  }

  void AddFile(const std::string& path) {
    std::optional<std::string> text = driver::ReadInputFile(path, syntax::kMaxBytes, diagnostics);
    if (text) Add(sources.Add(path, std::move(*text)), PageName(path, pages), path, "");
  }

  void Add(FileId file, std::string page, std::string title, std::string_view prefix) {
    Arena arena;
    Names names;
    syntax::ParseResult parsed = syntax::ParseFile(sources, file, arena, names, diagnostics);
    if (parsed.ok)
      pages.push_back(
          MakeDocPage(sources, *parsed.module, std::move(page), std::move(title), prefix));
  }

  const driver::Options& options_;
};

/// Returns the first page, which lists the others.
DocPage IndexPage(const std::vector<DocPage>& pages) {
  DocPage index{"index.html", "Kernels", "", "<h1>Kernels</h1>\n", {}};
  std::string rows;
  for (const DocPage& page : pages)
    rows += fmt::format("<tr><td><a href=\"{}\">{}</a></td><td>{}</td></tr>\n", Escaped(page.file),
                        Escaped(page.title), InlineHtml(page.summary));
  index.body += fmt::format(
      "<div "
      "class=\"table\"><table>\n<tr><th>file</th><th>description</th></tr>\n{}</table></div>\n",
      rows);
  index.sections.push_back({"", index.title, ""});
  return index;
}

/// Returns the links to all pages, of which `here` is marked.
std::string Contents(const std::vector<DocPage>& pages, const DocPage& here) {
  std::string links;
  for (const DocPage& page : pages)
    links += fmt::format("<a href=\"{}\"{}>{}</a>", Escaped(page.file),
                         page.file == here.file ? " class=here" : "", Escaped(page.title));
  return links;
}

/// Returns the script that has all sections, for the search.
std::string IndexScript(const std::vector<DocPage>& pages) {
  nlohmann::ordered_json sections = nlohmann::ordered_json::array();
  for (const DocPage& page : pages)
    for (const DocSection& section : page.sections)
      sections.push_back({page.file, section.anchor, section.title, section.text});
  return fmt::format("const SECTIONS = {};\n", JsonText(sections));
}

std::vector<driver::OutputFile> FilesOf(const std::vector<DocPage>& pages,
                                        const std::string& folder) {
  std::vector<driver::OutputFile> files;
  auto add = [&](std::string_view name, std::string text) {
    files.push_back({fmt::format("{}/{}", folder, name), std::move(text)});
  };
  for (const DocPage& page : pages) {
    std::string text = Replaced(kTemplate, "@TITLE@", Escaped(page.title));
    text = Replaced(text, "@CONTENTS@", Contents(pages, page));
    add(page.file, Replaced(text, "@PAGE@", page.body));
  }
  add("style.css", std::string(kPageStyle));
  add("search.js", std::string(kSearch));
  add("index.js", IndexScript(pages));
  return files;
}

/// Adds what a program needs that writes the pages with its own contents.
void AddPagesJson(const std::vector<DocPage>& pages) {
  nlohmann::ordered_json listed = nlohmann::ordered_json::array();
  for (const DocPage& page : pages)
    listed.push_back({{"file", page.file}, {"title", page.title}, {"html", page.body}});
  driver::AddJson("pages", JsonText(listed));
  driver::AddJson("template", JsonText(nlohmann::ordered_json(std::string(kTemplate))));
}

}  // namespace

int RunDoc(const driver::Options& options, const targets::Registry&) {
  PageMaker maker(options);
  maker.MakeAll();
  std::string folder = options.output.empty() ? std::string(kFolder) : options.output;
  std::string printed;
  if (!maker.diagnostics.has_errors() && driver::MakeFolder(folder, maker.diagnostics)) {
    maker.pages.insert(maker.pages.begin(), IndexPage(maker.pages));
    std::vector<driver::OutputFile> files = FilesOf(maker.pages, folder);
    std::vector<std::string> paths;
    for (const driver::OutputFile& file : files) paths.push_back(file.path);
    if (driver::MayWrite(paths, "choose another folder with -o", maker.diagnostics) &&
        driver::WriteOutputFiles(files, maker.diagnostics)) {
      AddPagesJson(maker.pages);
      printed = fmt::format("{}/index.html\n", folder);
    }
  }
  driver::PrintDiagnostics(maker.diagnostics, maker.sources);
  if (maker.diagnostics.has_errors()) return driver::ExitCodeOf(maker.diagnostics);
  return driver::PrintOutput(printed) ? driver::kExitDone : driver::kExitEnvironment;
}

}  // namespace kdl::tools
