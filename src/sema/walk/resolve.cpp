#include "sema/walk/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include "sema/model/builtins.h"
#include "support/near_names.h"
#include "syntax/foreign_names.h"

namespace kdl::sema {

namespace {

/// If there are more names than this, no similar name is suggested.
constexpr size_t kMostCandidates = 5000;

/// Returns the builtin if the name is reserved. `core_id` and `core_num` are reserved; the names of builtin
/// functions are reserved only for functions.
const Builtin* BuiltinName(std::string_view name) {
  const Builtin* builtin = FindBuiltin(name);
  return builtin != nullptr && builtin->operands == Operands::None ? builtin : nullptr;
}

Entity* NewEntity(FunctionState& state, EntityKind kind, const syntax::Ident& name) {
  auto* entity = state.module.arena.Make<Entity>(Entity{});
  entity->kind = kind;
  entity->name = name.name;
  entity->span = name.span;
  entity->number = static_cast<uint32_t>(state.fn.entities.size());
  state.fn.entities.push_back(entity);
  return entity;
}

/// Returns the names of the float types, narrower types first: `f8e4m3, f8e5m2, f8e8m0, f16, bf16, f32 and f64`.
std::string FloatNames() {
  std::vector<ScalarInfo> floats;
  std::ranges::copy_if(kScalars, std::back_inserter(floats),
                       [](const ScalarInfo& info) { return IsFloat(info.scalar); });
  std::ranges::sort(floats, {},
                    [](const ScalarInfo& info) { return std::pair(info.bits, info.scalar); });
  std::string names;
  for (const ScalarInfo& info : floats) {
    bool is_last = info.scalar == floats.back().scalar;
    names += fmt::format("{}{}", names.empty() ? "" : is_last ? " and " : ", ", info.spelling);
  }
  return names;
}

}  // namespace

Entity* Declare(FunctionState& state, EntityKind kind, const syntax::Ident& name) {
  if (BuiltinName(name.name.text()) != nullptr) {
    state.diagnostics.Report(diag::BuiltinName, name.span, name.name.text());
  } else if (const Entity* known = state.scopes.Find(name.name)) {
    Diagnostic& report = state.diagnostics.Report(diag::NameTaken, name.span, name.name.text(),
                                                  Describe(known->kind));
    if (known->span.valid()) report.Note(known->span, "declared here");
    report.Help("choose another name; a name cannot be redeclared in its scope");
  }
  Entity* entity = NewEntity(state, kind, name);
  state.scopes.Add(entity);
  return entity;
}

void DeclareFaulty(FunctionState& state, const syntax::Ident& name) {
  Declare(state, EntityKind::Let, name)->type = Type{};
}

const Entity* Resolve(FunctionState& state, Name name, Span span) {
  const Entity* entity = state.scopes.Find(name);
  if (entity == nullptr) ReportUnknown(state, name.text(), span);
  return entity != nullptr && IsReportedAbsent(state, *entity, span) ? nullptr : entity;
}

bool IsReportedAbsent(FunctionState& state, const Entity& entity, Span span) {
  if (entity.kind != EntityKind::TensorParam || !entity.is_absent) return false;
  std::string_view name = entity.name.text();
  state.diagnostics.Report(diag::MayBeAbsent, span, name)
      .Note(entity.span, "declared here")
      .Help(fmt::format("use it only where it is present: if {} {{ … }}", name));
  return true;
}

namespace {

/// Says which device can be meant or, if the file has none, how to declare one with this name.
std::string HelpForDevice(const FunctionState& state, std::string_view name) {
  std::vector<std::string_view> devices;
  for (const auto& [known, entity] : state.group.file->items)
    if (entity->kind == EntityKind::Device) devices.push_back(known.text());
  std::ranges::sort(devices);
  std::string_view nearest = NearestName(name, devices);
  if (!nearest.empty()) return fmt::format("did you mean '{}'?", nearest);
  if (!devices.empty()) return fmt::format("the file declares {}", QuotedList(devices));
  return fmt::format(
      "declare it before the program: `device {0};`, or `device {0} = ranks();` for several "
      "processes",
      name);
}

}  // namespace

const Entity* ResolveDevice(FunctionState& state, const syntax::Ident& name) {
  std::string_view text = name.name.text();
  if (state.scopes.Find(name.name) == nullptr) {
    if (state.unknown_names.emplace(text, false).second)
      state.diagnostics.Report(diag::UnknownName, name.span, text).Help(HelpForDevice(state, text));
    return nullptr;
  }
  const Entity* entity = Resolve(state, name.name, name.span);
  if (entity == nullptr || entity->kind == EntityKind::Device) return entity;
  state.diagnostics.Report(diag::NotADevice, name.span, name.name.text(), Describe(entity->kind));
  return nullptr;
}

bool IsFaulty(const Entity& entity) {
  switch (entity.kind) {
    case EntityKind::TensorParam:
    case EntityKind::ScalarParam:
    case EntityKind::TileParam:
    case EntityKind::Let:
    case EntityKind::Var:
    case EntityKind::Range:
    case EntityKind::ScalarBinder:
    case EntityKind::LocalTensor:
    case EntityKind::Pipe:
    case EntityKind::Auxiliary:
    case EntityKind::Const:
      return entity.type.is_error();
    default:
      return false;
  }
}

namespace {

/// Suggests the declaration of a range over a size. If the size is known only at run time, the range needs
/// a bound or blocks.
std::string RangeText(std::string_view name, std::string_view size) {
  if (size.find_first_not_of("0123456789") == std::string_view::npos)
    return fmt::format("`range {} in {};`", name, size);
  return fmt::format(
      "`range {0} in {1} max 1024;` or loop over its blocks with `for {0} in {1} by 64 {{ … }}`",
      name, size);
}

/// Suggests a range for an unknown name such as `k`, if K is a size.
std::string HelpForRange(const FunctionState& state, std::string_view name) {
  std::string upper(name);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  auto is_size = [&](const Entity* one) {
    return one->kind == EntityKind::SizeName && one->name.text() == upper && upper != name;
  };
  if (std::ranges::none_of(state.scopes.All(), is_size)) return "";
  if (state.kind() != syntax::FunctionKind::Kernel) return fmt::format("did you mean '{}'?", upper);
  return fmt::format("did you mean '{0}'? To iterate over it, declare {1}", upper,
                     RangeText(name, upper));
}

/// Returns the last entity of the function with this name, whose scope has ended, or null.
const Entity* EndedEntity(const FunctionState& state, std::string_view name) {
  if (state.contract != nullptr) return nullptr;
  auto found = std::ranges::find_if(
      state.fn.entities.rbegin(), state.fn.entities.rend(), [&](const Entity* entity) {
        return entity->name.text() == name && entity->span.valid() && !IsFaulty(*entity);
      });
  return found == state.fn.entities.rend() ? nullptr : *found;
}

/// Returns whether the entity is in an `spmd for` that ends before `use`.
bool IsInEndedSpmd(const FunctionState& state, const Entity& entity, Span use) {
  return std::ranges::any_of(state.fn.stmts, [&](const auto& entry) {
    const auto* loop = syntax::DynAs<syntax::ForStmt>(entry.first);
    return loop != nullptr && loop->is_spmd && loop->span.begin <= entity.span.begin &&
           entity.span.end <= loop->span.end && loop->span.end <= use.begin;
  });
}

/// Says how a name can be used after its scope.
std::string HelpForEnded(const FunctionState& state, const Entity& entity, Span use) {
  std::string_view name = entity.name.text();
  if (entity.kind == EntityKind::Range)
    return fmt::format("use '{}' inside that block, or declare a range here", name);
  if (IsInEndedSpmd(state, entity, use))
    return fmt::format("use '{}' inside its `spmd for`, which may store a value to a tensor", name);
  switch (entity.kind) {
    case EntityKind::Let:
    case EntityKind::Var:
      return fmt::format("declare `var {} = …;` before that block, and assign to it there", name);
    case EntityKind::ScalarBinder:
      return fmt::format(
          "use '{}' inside its loop, or keep its value in a `var` that is declared before the loop",
          name);
    default:
      return "declare it before that block";
  }
}

}  // namespace

const Entity* DeclaredVariable(const FunctionState& state, std::string_view name) {
  auto found = std::ranges::find_if(
      state.fn.entities.rbegin(), state.fn.entities.rend(), [&](const Entity* entity) {
        bool is_variable = entity->kind == EntityKind::Let || entity->kind == EntityKind::Var ||
                           entity->kind == EntityKind::ScalarBinder;
        return is_variable && entity->name.text() == name;
      });
  return found == state.fn.entities.rend() ? nullptr : *found;
}

void ReportUnknown(FunctionState& state, std::string_view name, Span span,
                   std::string_view otherwise) {
  // One missing declaration is one mistake, however often the name is used.
  if (!state.unknown_names.emplace(name, state.contract != nullptr).second) return;
  Diagnostic& report = state.diagnostics.Report(diag::UnknownName, span, name);
  if (const Entity* ended = EndedEntity(state, name)) {
    report.Note(ended->span, "it is declared here, in a block that has ended")
        .Help(HelpForEnded(state, *ended, span));
    return;
  }
  for (std::string help : {syntax::HelpForForeign(name), HelpForRange(state, name)}) {
    if (help.empty()) continue;
    report.Help(help);
    return;
  }
  std::vector<std::string_view> candidates = state.scopes.AllNames();
  // Names that begin with `_` say that nothing uses a value, or that the compiler has made it.
  std::erase_if(candidates, [](std::string_view other) { return other.starts_with('_'); });
  for (const Builtin& builtin : AllBuiltins()) candidates.push_back(builtin.spelling);
  if (candidates.size() > kMostCandidates) return;
  std::string_view nearest = NearestName(name, candidates);
  if (!nearest.empty())
    report.Help(fmt::format("did you mean '{}'?", nearest));
  else if (state.indexed != nullptr)
    report.Help(fmt::format("to iterate over the dimension, declare {}",
                            RangeText(name, ToString(state.indexed))));
  else if (!otherwise.empty())
    report.Help(std::string(otherwise));
}

namespace {

/// Returns the type that the first word of a name means.
std::optional<Scalar> ResolveWord(FunctionState& state, const syntax::TypeName& name) {
  if (const Entity* entity = state.scopes.Find(name.name)) {
    for (const TypeBinding& binding : state.fn.types) {
      if (binding.generic == entity) return binding.scalar;
    }
    bool is_other = entity->kind == EntityKind::Import && name.member;
    Diagnostic& report =
        state.diagnostics.Report(diag::NotAType, name.span, ToString(name),
                                 is_other ? "an item of an imported file" : Describe(entity->kind));
    if (entity->kind == EntityKind::TypeList)
      report.Help(
          fmt::format("use the name of a type parameter that is declared with the list, as "
                      "T in <T: {}>",
                      ToString(name)));
    return std::nullopt;
  }
  std::optional<Scalar> scalar = ScalarFromSpelling(name.name.text());
  if (!scalar) {
    Diagnostic& report = state.diagnostics.Report(diag::UnknownType, name.span, ToString(name));
    std::vector<std::string_view> candidates;
    for (const ScalarInfo& info : kScalars) candidates.push_back(info.spelling);
    for (const TypeBinding& binding : state.fn.types) {
      candidates.push_back(binding.generic->name.text());
    }
    std::string_view nearest = NearestName(name.name.text(), candidates);
    std::string_view meant = syntax::TypeMeant(name.name.text());
    if (syntax::FourBitFromSpelling(name.name.text()))
      report.Help(
          "elements of 4 bits are only allowed in a tensor that a kernel reads: w: in i4[N, K]");
    else if (!meant.empty())
      report.Help(fmt::format("write '{}'", meant));
    else if (!nearest.empty())
      report.Help(fmt::format("did you mean '{}'?", nearest));
    else
      report.Help(fmt::format("the types are bool, i8 to i64, u8 to u64, {}", FloatNames()));
  }
  return scalar;
}

}  // namespace

std::optional<Scalar> AccumulatorType(FunctionState& state, Scalar scalar, Span span) {
  if (scalar != Scalar::Bool) return AccumulatorOf(scalar);
  state.diagnostics.Report(diag::NoTrait, span, Spelling(scalar), "acc")
      .Help("only numbers have sums; exclude bool with `if T is bool { … } else { … }`");
  return std::nullopt;
}

void ReportNoTrait(FunctionState& state, std::string_view type, const syntax::Ident& member) {
  state.diagnostics.Report(diag::NoTrait, member.span, type, member.name.text())
      .Help("a type has the members acc, bits, min and max");
}

std::optional<Scalar> ResolveScalar(FunctionState& state, const syntax::TypeName& name) {
  std::optional<Scalar> scalar = ResolveWord(state, name);
  if (!scalar || !name.member) return scalar;
  if (name.member.name.text() == "acc") return AccumulatorType(state, *scalar, name.span);
  ReportNoTrait(state, name.name.text(), name.member);
  return std::nullopt;
}

Type ValueType(Scalar scalar, std::vector<const Entity*> ranges) {
  Type type;
  type.kind = TypeKind::Value;
  type.scalar = scalar;
  type.ranges = std::move(ranges);
  return type;
}

std::vector<const Entity*> UnionOf(const std::vector<const Entity*>& a,
                                   const std::vector<const Entity*>& b) {
  std::vector<const Entity*> both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both),
                 [](const Entity* x, const Entity* y) { return x->number < y->number; });
  return both;
}

bool Contains(const std::vector<const Entity*>& ranges, const Entity* range) {
  return std::find(ranges.begin(), ranges.end(), range) != ranges.end();
}

std::vector<const Entity*> Missing(const std::vector<const Entity*>& a,
                                   const std::vector<const Entity*>& b) {
  std::vector<const Entity*> missing;
  for (const Entity* range : a) {
    if (!Contains(b, range)) missing.push_back(range);
  }
  return missing;
}

std::string Listed(const std::vector<const Entity*>& entities) {
  std::string text;
  for (size_t i = 0; i < entities.size(); ++i) {
    std::string_view joint = i == 0 ? "" : i + 1 == entities.size() ? " and " : ", ";
    text += fmt::format("{}'{}'", joint, entities[i]->name.text());
  }
  return text;
}

std::string RangesText(const std::vector<const Entity*>& ranges) {
  if (ranges.empty()) return "no range";
  return fmt::format("the range{} {}", ranges.size() == 1 ? "" : "s", Listed(ranges));
}

std::string Counted(size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string SizeText(Size size) {
  std::string text = ToString(size);
  bool wrapped = text.starts_with('(') && text.ends_with(')');
  return wrapped ? text.substr(1, text.size() - 2) : text;
}

std::string Joined(const std::vector<const Entity*>& entities) {
  std::string text;
  for (const Entity* entity : entities) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", entity->name.text());
  }
  return text;
}

}  // namespace kdl::sema
