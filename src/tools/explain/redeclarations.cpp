#include "tools/explain/redeclarations.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/arena.h"
#include "support/diagnostics.h"
#include "support/names.h"
#include "support/source.h"
#include "syntax/parse.h"

namespace kdl::tools {

namespace {

using ByEntries = std::vector<std::string>;

constexpr std::string_view kNotDistributed = "_";

/// Collects the tensors of one program.
class TensorReader {
 public:
  TensorReader(const SourceManager& sources, DeclaredTensors& declared)
      : sources_(sources), declared_(declared) {}

  void Read(const syntax::FunctionItem& program) {
    for (const syntax::Param& param : program.params) Add(param.name, param.type, param.on);
    ReadStmt(program.body);
  }

 private:
  void ReadStmt(const syntax::Stmt* stmt) {
    if (const auto* block = syntax::DynAs<syntax::BlockStmt>(stmt)) {
      for (const syntax::Stmt* inner : block->stmts) ReadStmt(inner);
    } else if (const auto* let = syntax::DynAs<syntax::LetStmt>(stmt)) {
      if (let->type) Add(let->name, let->type, let->on);
    } else if (const auto* branches = syntax::DynAs<syntax::IfStmt>(stmt)) {
      ReadStmt(branches->then_block);
      if (branches->else_stmt) ReadStmt(branches->else_stmt);
    } else if (const auto* loop = syntax::DynAs<syntax::ForStmt>(stmt)) {
      ReadStmt(loop->body);
    } else if (const auto* repeated = syntax::DynAs<syntax::WhileStmt>(stmt)) {
      ReadStmt(repeated->body);
    } else if (const auto* call = syntax::DynAs<syntax::CallStmt>(stmt)) {
      ReadSwap(*call->call);
    }
  }

  void Add(const syntax::Ident& name, const syntax::TypeRef* type, const syntax::Placement& on) {
    if (type->dims.empty()) return;
    DeclaredTensor tensor;
    tensor.name = name.name.text();
    for (const syntax::Expr* dim : type->dims) tensor.dims.push_back(TextOf(dim->span));
    for (const syntax::DistributedDim& dim : on.by) tensor.by.push_back(TextOf(dim.span));
    std::string_view text = sources_.text(type->span.file);
    tensor.begin = type->span.end;
    tensor.end = tensor.begin;
    if (on) {
      size_t last = on.by.empty() ? on.span.end : text.find(')', on.by.back().span.end) + 1;
      tensor.end = std::max<size_t>(on.span.end, last);
    }
    if (!on.by.empty()) declared_.device = on.name.text();
    tensor.group = declared_.tensors.size();
    declared_.tensors.push_back(std::move(tensor));
  }

  void ReadSwap(const syntax::CallExpr& call) {
    if (call.callee.name.text() != "swap" || call.args.size() != 2) return;
    std::optional<size_t> a = Find(call.args[0]);
    std::optional<size_t> b = Find(call.args[1]);
    if (!a || !b) return;
    size_t from = std::max(*a, *b);
    size_t to = std::min(*a, *b);
    for (DeclaredTensor& tensor : declared_.tensors)
      if (tensor.group == from) tensor.group = to;
  }

  /// Returns the group of the tensor that an argument names.
  std::optional<size_t> Find(const syntax::Arg& argument) const {
    std::string name = TextOf(argument.value->span);
    auto tensor = std::ranges::find(declared_.tensors, name, &DeclaredTensor::name);
    return tensor == declared_.tensors.end() ? std::nullopt : std::optional(tensor->group);
  }

  std::string TextOf(Span span) const { return std::string(sources_.text(span)); }

  const SourceManager& sources_;
  DeclaredTensors& declared_;
};

size_t CountDistributed(const ByEntries& by) {
  return by.size() - static_cast<size_t>(std::ranges::count(by, kNotDistributed));
}

/// Returns the size in an entry such as `M: 64`.
std::string_view SizeOf(std::string_view entry) {
  std::string_view size = entry.substr(0, entry.find(':'));
  return size.substr(0, size.find_last_not_of(' ') + 1);
}

/// Adds the ways to distribute a tensor like the dimensions of `model` from number `d` on.
void AddLike(const ByEntries& model, const ByEntries& dims, size_t axes, size_t d, ByEntries by,
             std::vector<ByEntries>& ways) {
  if (d == model.size()) return ways.push_back(std::move(by));
  AddLike(model, dims, axes, d + 1, by, ways);
  if (model[d] == kNotDistributed) return;
  for (size_t own = 0; own < dims.size(); ++own) {
    // With several axes, dimension n is distributed along axis n.
    if (dims[own] != SizeOf(model[d]) || by[own] != kNotDistributed || (axes > 1 && own != d))
      continue;
    ByEntries with = by;
    with[own] = model[d];
    AddLike(model, dims, axes, d + 1, std::move(with), ways);
  }
}

/// Returns the groups whose tensors have the same sizes and are distributed in the same way as this one.
std::vector<size_t> GroupsLike(const DeclaredTensors& declared, const DeclaredTensor& tensor) {
  std::vector<size_t> groups;
  for (const DeclaredTensor& other : declared.tensors) {
    bool is_same = other.dims == tensor.dims && other.by == tensor.by;
    if (is_same && std::ranges::find(groups, other.group) == groups.end())
      groups.push_back(other.group);
  }
  return groups;
}

/// Returns the entries without blocks, and with one axis also those of the other dimensions, which no tensor may have yet.
std::vector<ByEntries> ChangedEntries(const DeclaredTensor& tensor, size_t axes) {
  ByEntries plain;
  for (const std::string& entry : tensor.by) plain.emplace_back(SizeOf(entry));
  std::vector<ByEntries> ways = {plain};
  if (axes > 1) return ways;
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    ByEntries other(tensor.dims.size(), std::string(kNotDistributed));
    other[d] = tensor.dims[d];
    ways.push_back(std::move(other));
  }
  return ways;
}

/// Adds a way to declare the tensors of these groups, unless they are declared in this way.
void Add(std::vector<size_t> groups, ByEntries by, const DeclaredTensor& tensor,
         std::vector<Redeclaration>& found) {
  bool is_less = CountDistributed(by) < std::max<size_t>(1, CountDistributed(tensor.by));
  Redeclaration other{std::move(groups), std::move(by)};
  if (!is_less && other.by != tensor.by && std::ranges::count(found, other) == 0)
    found.push_back(std::move(other));
}

}  // namespace

std::optional<DeclaredTensors> ReadDeclaredTensors(std::string_view text,
                                                   std::string_view program) {
  SourceManager sources;
  Arena arena;
  Names names;
  DiagnosticEngine diagnostics;
  FileId file = sources.Add("", std::string(text));
  syntax::ParseResult parsed = syntax::ParseFile(sources, file, arena, names, diagnostics);
  DeclaredTensors declared;
  for (const syntax::Item* item : parsed.module->items) {
    const auto* function = syntax::DynAs<syntax::FunctionItem>(item);
    if (function && function->name.name.text() == program && function->body)
      TensorReader(sources, declared).Read(*function);
  }
  return declared.device.empty() ? std::nullopt : std::optional(std::move(declared));
}

bool Redeclaration::Changes(const DeclaredTensor& tensor) const {
  return std::ranges::find(groups, tensor.group) != groups.end();
}

std::vector<Redeclaration> FindRedeclarations(const DeclaredTensors& declared, size_t axes) {
  std::vector<Redeclaration> found;
  for (const DeclaredTensor& tensor : declared.tensors) {
    if (tensor.group != static_cast<size_t>(&tensor - declared.tensors.data())) continue;
    for (const DeclaredTensor& model : declared.tensors) {
      std::vector<ByEntries> ways;
      ByEntries none(tensor.dims.size(), std::string(kNotDistributed));
      AddLike(model.by, tensor.dims, axes, 0, none, ways);
      for (ByEntries& by : ways) Add({tensor.group}, std::move(by), tensor, found);
    }
    if (tensor.by.empty()) continue;
    for (ByEntries& by : ChangedEntries(tensor, axes))
      Add(GroupsLike(declared, tensor), std::move(by), tensor, found);
  }
  return found;
}

std::string PlacementText(const DeclaredTensors& declared, const Redeclaration& redeclaration) {
  return fmt::format("on {} by ({})", declared.device, fmt::join(redeclaration.by, ", "));
}

std::string Redeclared(std::string text, const DeclaredTensors& declared,
                       const Redeclaration& redeclaration) {
  std::string placement = " " + PlacementText(declared, redeclaration);
  // From the last one to the first one, so that the places of the others remain the same.
  for (auto tensor = declared.tensors.rbegin(); tensor != declared.tensors.rend(); ++tensor) {
    if (!redeclaration.Changes(*tensor)) continue;
    text.replace(tensor->begin, tensor->end - tensor->begin, placement);
  }
  return text;
}

}  // namespace kdl::tools
