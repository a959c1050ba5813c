#include "driver/compile/sources.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "driver/compile/output_names.h"
#include "driver/compile/phases.h"
#include "driver/compile/stdlib.h"
#include "driver/diagnostics.h"
#include "driver/files.h"
#include "support/check.h"
#include "support/near_names.h"
#include "syntax/limits.h"
#include "syntax/parse.h"

namespace kdl::driver {

namespace {

namespace fs = std::filesystem;

bool IsWordPart(char ch) { return std::isalnum(static_cast<unsigned char>(ch)) != 0 || ch == '_'; }

/// exp_value is the value of a function parameter, `F = exp`.
constexpr std::string_view kValueSuffix = "_value";

bool OpensBracket(std::string_view text) {
  size_t at = text.find_first_not_of(" \t\r\n");
  return at != std::string_view::npos && text[at] == '(';
}

/// If a comment or a string begins at `at`, returns where it ends; otherwise returns `at`.
size_t AfterText(std::string_view text, size_t at) {
  auto after = [&](size_t found, size_t length) {
    return found == std::string_view::npos ? text.size() : found + length;
  };
  if (text.substr(at).starts_with("//")) return after(text.find_first_of("\r\n", at), 0);
  if (text.substr(at).starts_with("/*")) return after(text.find("*/", at + 2), 2);
  if (text[at] != '"') return at;
  size_t end = text.find_first_of("\"\\", at + 1);
  while (end != std::string_view::npos && text[end] == '\\')
    end = text.find_first_of("\"\\", end + 2);
  return after(end, 1);
}

/// Returns the identifiers in source text. Also returns `%`, because a library function implements it for floats, and `fn(`
/// if the text has types of function parameters.
std::unordered_set<std::string_view> IdentifiersIn(std::string_view text) {
  std::unordered_set<std::string_view> words;
  for (size_t at = 0; at < text.size();) {
    size_t end = AfterText(text, at);
    if (end == at && !IsWordPart(text[at])) {
      if (text[at] == '%') words.insert("%");
      ++end;
    } else if (end == at) {
      while (end < text.size() && IsWordPart(text[end])) ++end;
      std::string_view word = text.substr(at, end - at);
      words.insert(word);
      if (word == "fn" && OpensBracket(text.substr(end))) words.insert("fn(");
    }
    at = end;
  }
  return words;
}

/// Returns the names of the functions that a library file declares. Each declaration begins at the
/// start of a line.
std::vector<std::string_view> DeclaredFns(std::string_view text) {
  constexpr std::string_view kBegin = "\nfn ";
  std::vector<std::string_view> fns;
  for (size_t at = text.find(kBegin); at != std::string_view::npos; at = text.find(kBegin, at)) {
    at += kBegin.size();
    fns.push_back(text.substr(at, text.find_first_of("(<", at) - at));
  }
  return fns;
}

using Words = std::unordered_set<std::string_view>;

/// Whether source text with these words may need the library function `fn`. For example, `exp` needs
/// exp_f32, `trunc` needs trunc_of, `%` needs fmod_f32, and `F = exp` needs exp_value.
bool MayNeed(const Words& words, std::string_view fn) {
  if (fn.ends_with(kValueSuffix))
    return words.contains("fn(") && words.contains(fn.substr(0, fn.size() - kValueSuffix.size()));
  for (std::string_view suffix : {"_f32", "_f64", "_of"}) {
    if (!fn.ends_with(suffix)) continue;
    std::string_view builtin = fn.substr(0, fn.size() - suffix.size());
    return words.contains(builtin == "fmod" ? "%" : builtin);
  }
  return false;
}

/// Loads imports. `import std.nn;` names a file of the standard library. `import lib.gemm;` names
/// lib/gemm.kdl relative to the importing file.
class Loader {
 public:
  Loader(Session& session, Trees& trees) : session_(session), trees_(trees) {}

  const sema::SourceFile* Load(const syntax::Module& module) {
    Begin(module, "");
    const sema::SourceFile* loaded = nullptr;
    while (!open_.empty()) {
      if (open_.back().HasAll()) {
        loaded = End();
      } else {
        Import(open_.back().NextImport());
      }
    }
    return loaded;
  }

 private:
  /// A file whose imports are being loaded. These files form an explicit stack, because chains of
  /// imports may be too long for recursion.
  struct OpenFile {
    sema::SourceFile file;
    std::vector<const syntax::ImportItem*> imports;
    std::string place;  ///< the file's path with links resolved
    bool ok = true;

    bool HasAll() const { return file.imports.size() == imports.size(); }
    const syntax::ImportItem& NextImport() const { return *imports[file.imports.size()]; }
    void Take(const sema::SourceFile* imported) {
      file.imports.push_back(imported);
      ok = ok && imported;
    }
  };

  void Begin(const syntax::Module& module, const std::string& name) {
    OpenFile& open = open_.emplace_back(
        OpenFile{{&module, name, {}}, {}, ResolvedPath(session_.sources.path(module.file))});
    for (const syntax::Item* item : module.items) {
      if (item->kind == syntax::ItemKind::Import)
        open.imports.push_back(&syntax::As<syntax::ImportItem>(item));
    }
  }

  /// Removes the innermost file, whose imports are all loaded, and adds it to the imports of the
  /// file that imports it.
  const sema::SourceFile* End() {
    OpenFile ended = std::move(open_.back());
    open_.pop_back();
    const sema::SourceFile* loaded = nullptr;
    const std::string name = ended.file.path;
    if (ended.ok) {
      trees_.files.push_back(std::move(ended.file));
      loaded = &trees_.files.back();
    }
    if (!open_.empty()) {
      loaded_[name] = loaded;
      open_.back().Take(loaded);
    }
    return loaded;
  }

  void Import(const syntax::ImportItem& import) {
    std::vector<std::string_view> words;
    for (const syntax::Ident& word : import.path) words.push_back(word.name.text());
    bool from_library = words[0] == "std";
    std::string name = fmt::format("{}", fmt::join(words, "."));
    if (!from_library) name = FolderOf(open_.back().file.path) + name;
    if (auto known = loaded_.find(name); known != loaded_.end())
      return open_.back().Take(known->second);
    std::string path = fmt::format("{}.kdl", fmt::join(words, "/"));
    FileId from = open_.back().file.module->file;
    if (ReportCycle(import, name, from_library ? "" : ResolvedPath(PathFrom(from, path))))
      return open_.back().Take(nullptr);
    std::optional<FileId> id =
        from_library ? AddFromLibrary(name, import) : AddFromDisk(path, from, import);
    const syntax::Module* module = id ? Parse(session_, *id, trees_) : nullptr;
    if (module) return Begin(*module, name);
    open_.back().Take(loaded_[name] = nullptr);
  }

  /// Whether importing the file would form a cycle, because the file is already being loaded.
  /// Reports the cycle. Compares names and paths, because links can give a file several names.
  bool ReportCycle(const syntax::ImportItem& import, const std::string& name,
                   const std::string& place) {
    auto is_it = [&](const OpenFile& open) {
      return open.file.path == name || (!place.empty() && open.place == place);
    };
    auto begun = std::find_if(open_.begin(), open_.end(), is_it);
    if (begun == open_.end()) return false;
    std::string cycle;
    for (; begun != open_.end(); ++begun) {
      const std::string& path = begun->file.path;
      cycle += (path.empty() ? name : path) + " -> ";  // the path of the compiled file is empty
    }
    session_.diagnostics.Report(diag::ImportCycle, import.span, name, cycle + name);
    return true;
  }

  /// Returns the folder part of a name, such as `lib.` for `lib.gemm`, since imports are relative
  /// to the importing file.
  static std::string FolderOf(const std::string& name) {
    size_t dot = name.rfind('.');
    return dot == std::string::npos ? "" : name.substr(0, dot + 1);
  }

  static std::string ResolvedPath(const std::string& path) {
    std::error_code none;
    return fs::weakly_canonical(path, none).string();
  }

  /// Returns the path of a file that the file `from` imports.
  std::string PathFrom(FileId from, const std::string& path) const {
    return (fs::path(session_.sources.path(from)).parent_path() / path).string();
  }

  std::optional<FileId> AddFromLibrary(const std::string& name, const syntax::ImportItem& import) {
    if (const StdlibFile* file = FindStdlibFile(name))
      return session_.sources.Add(StdlibPath(*file), std::string(file->text));
    session_.diagnostics.Report(diag::NoSuchImport, import.span, name)
        .Help(fmt::format("the library has {}", fmt::join(StdlibNames(), ", ")));
    return std::nullopt;
  }

  std::optional<FileId> AddFromDisk(const std::string& path, FileId from,
                                    const syntax::ImportItem& import) {
    std::string full = PathFrom(from, path);
    const std::string* unsaved = session_.unsaved ? session_.unsaved(full) : nullptr;
    if (unsaved != nullptr)
      return session_.sources.Add(full, *unsaved, NameInOutputs(session_.options, full));
    std::error_code error;
    if (!fs::is_regular_file(full, error)) {
      session_.diagnostics.Report(diag::NoSuchImport, import.span, full)
          .Help(
              "a path is relative to the folder of the importing file; paths of library files "
              "begin with std");
      return std::nullopt;
    }
    std::optional<std::string> text = ReadInputFile(full, syntax::kMaxBytes, session_.diagnostics);
    if (!text) return std::nullopt;
    trees_.files_read.push_back(full);
    return session_.sources.Add(full, std::move(*text), NameInOutputs(session_.options, full));
  }

  Session& session_;
  Trees& trees_;
  /// The files being loaded, outermost first. The name of the compiled file is "".
  std::vector<OpenFile> open_;
  std::map<std::string, const sema::SourceFile*> loaded_;
};

}  // namespace

const syntax::Module* Parse(Session& s, FileId file, Trees& trees) {
  DoingScope doing(fmt::format("parsing '{}'", s.sources.path(file)));
  PhaseTimer timer(s, kParse);
  syntax::ParseResult parsed =
      syntax::ParseFile(s.sources, file, trees.arena, s.names, s.diagnostics);
  return parsed.ok ? parsed.module : nullptr;
}

const sema::SourceFile* LoadImports(Session& s, const syntax::Module& module, Trees& trees) {
  return Loader(s, trees).Load(module);
}

std::vector<const syntax::Module*> LoadElementary(Session& s, Trees& trees) {
  Words words;
  Words in_library;
  for (const sema::SourceFile& file : trees.files)
    words.merge(IdentifiersIn(s.sources.text(file.module->file)));
  for (const std::string& define : s.options.define) words.merge(IdentifiersIn(define));
  std::vector<const StdlibFile*> left;
  for (const StdlibFile& file : StdlibFiles())
    if (IsElementary(file)) left.push_back(&file);
  std::vector<const syntax::Module*> library;
  auto is_needed = [&](const StdlibFile* file) {
    return std::ranges::any_of(DeclaredFns(file->text), [&](std::string_view fn) {
      return in_library.contains(fn) || MayNeed(words, fn);
    });
  };
  for (auto next = std::ranges::find_if(left, is_needed); next != left.end();
       next = std::ranges::find_if(left, is_needed)) {
    const StdlibFile& file = **next;
    left.erase(next);
    in_library.merge(IdentifiersIn(file.text));
    const syntax::Module* module =
        Parse(s, s.sources.Add(StdlibPath(file), std::string(file.text)), trees);
    KDL_CHECK(module, "{} has errors", StdlibPath(file));
    library.push_back(module);
  }
  return library;
}

}  // namespace kdl::driver
