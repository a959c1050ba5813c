#include "syntax/name_index.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/source.h"
#include "syntax/antlr.h"
#include "syntax/parsed_text.h"

namespace kdl::syntax {

namespace {

using P = KdlParser;
using Rule = antlr4::ParserRuleContext;

/// A scope, and the names that it declares.
struct NameScope {
  Span span;
  std::unordered_map<std::string_view, size_t> names;
  /// What an unknown name declares here by its first use.
  bool declares_unknown = false;
  NameKind unknown = NameKind::Size;
};

/// Walks the parse tree in source order and resolves the names. Brackets limit the depth of the recursion;
/// chains of operators are walked without it.
class Indexer {
 public:
  Indexer(const SourceManager& sources, FileId file) : sources_(sources), file_(file) {}

  NameIndex Index(P::ModuleContext& tree) && {
    scopes_.push_back({SpanOf(tree), {}, false, NameKind::Size});
    for (P::ItemContext* item : tree.item()) DeclareItem(*item);
    for (P::ItemContext* item : tree.item()) {
      item_ = items_[item];
      Walk(*item);
    }
    ResolveGenericArgs();
    std::ranges::sort(index_.occurrences, {}, [](const NameOccurrence& o) { return o.span.begin; });
    return std::move(index_);
  }

 private:
  // ---- Places

  Span SpanOf(const antlr4::Token& token) const { return TokenSpan(file_, token); }
  Span SpanOf(const Rule& node) const {
    if (node.start == nullptr || node.stop == nullptr) return {file_, 0, 0};
    Span begin = SpanOf(*node.start);
    Span end = SpanOf(*node.stop);
    return {file_, begin.begin, std::max(begin.begin, end.end)};
  }

  static size_t RuleOf(const antlr4::tree::ParseTree* node) {
    const auto* rule = dynamic_cast<const Rule*>(node);
    return rule == nullptr ? ~size_t{0} : rule->getRuleIndex();
  }
  static const Rule* Parent(const Rule& node) { return static_cast<const Rule*>(node.parent); }

  // ---- Declarations and occurrences

  size_t Declare(NameKind kind, P::NameContext* name, const Rule& whole) {
    if (name == nullptr || name->start == nullptr || name->exception != nullptr) return kNoName;
    Span span = SpanOf(*name);
    std::string_view text = sources_.text(span);
    auto [known, is_new] = scopes_.back().names.try_emplace(text, index_.declarations.size());
    if (is_new) {
      index_.declarations.push_back(
          {kind, text, span, SpanOf(whole), SpanOf(whole), scopes_.back().span, item_, false});
    }
    index_.occurrences.push_back({text, span, NameRole::Use, known->second, kNoName, false, false});
    return known->second;
  }

  size_t Find(std::string_view text) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      auto found = scope->names.find(text);
      if (found != scope->names.end()) return found->second;
    }
    return kNoName;
  }

  NameOccurrence& Add(const Rule& name, NameRole role) {
    Span span = SpanOf(name);
    index_.occurrences.push_back({sources_.text(span), span, role, kNoName, kNoName, false, false});
    return index_.occurrences.back();
  }

  void Use(P::NameContext& name, bool is_call, bool is_type = false) {
    std::string_view text = sources_.text(SpanOf(name));
    size_t declaration = Find(text);
    auto scope = std::find_if(scopes_.rbegin(), scopes_.rend(),
                              [](const NameScope& s) { return s.declares_unknown; });
    if (declaration == kNoName && scope != scopes_.rend() && !is_call && !is_type) {
      declaration = index_.declarations.size();
      scope->names.emplace(text, declaration);
      index_.declarations.push_back({scope->unknown, text, SpanOf(name), SpanOf(name), SpanOf(name),
                                     scope->span, item_, false});
    }
    NameOccurrence& use = Add(name, NameRole::Use);
    use.declaration = declaration;
    use.is_call = is_call;
    use.is_type = is_type;
  }

  // ---- Items

  void DeclareItem(P::ItemContext& item) {
    size_t made = kNoName;
    item_ = index_.declarations.size();
    if (auto* import = item.importItem(); import != nullptr && !import->name().empty()) {
      for (size_t i = 0; i + 1 < import->name().size(); ++i) Add(*import->name(i), NameRole::Label);
      made = Declare(NameKind::Import, import->name().back(), item);
    } else if (auto* constant = item.constItem()) {
      made = Declare(NameKind::Const, constant->name(), item);
    } else if (auto* types = item.typesItem()) {
      made = Declare(NameKind::Types, types->name(), item);
    } else if (auto* device = item.deviceItem()) {
      made = Declare(NameKind::Device, device->name(), item);
    } else if (auto* test = item.testItem(); test != nullptr && test->STRING() != nullptr) {
      made = index_.declarations.size();
      Span title = SpanOf(*test->STRING()->getSymbol());
      index_.declarations.push_back({NameKind::Test,
                                     sources_.text(title),
                                     title,
                                     SpanOf(item),
                                     title,
                                     {file_, 0, 0},
                                     made,
                                     false});
    } else if (auto* function = item.functionItem()) {
      NameKind kind = function->KERNEL() != nullptr    ? NameKind::Kernel
                      : function->PROGRAM() != nullptr ? NameKind::Program
                                                       : NameKind::Fn;
      made = Declare(kind, function->name(), item);
      if (made != kNoName && function->block() != nullptr && function->block()->start != nullptr)
        index_.declarations[made].head.end = SpanOf(*function->block()->start).begin;
    }
    items_[&item] = made;
    if (made != kNoName) index_.declarations[made].is_exported = item.EXPORT() != nullptr;
  }

  // ---- Scopes

  void Enter(const Rule& node) { scopes_.push_back({SpanOf(node), {}, false, NameKind::Size}); }
  void EnterDeclaring(const Rule& node, NameKind kind) {
    scopes_.push_back({SpanOf(node), {}, true, kind});
  }
  void Leave() { scopes_.pop_back(); }

  void WalkFunction(P::FunctionItemContext& function) {
    Enter(function);
    if (function.genericParams() != nullptr) {
      for (P::GenericParamContext* generic : function.genericParams()->genericParam())
        Declare(KindOfGeneric(*generic), generic->name(), *generic);
      for (P::GenericParamContext* generic : function.genericParams()->genericParam())
        WalkRest(*generic);
    }
    for (P::ParamContext* param : function.param()) Declare(NameKind::Param, param->name(), *param);
    scopes_.back().declares_unknown = true;
    for (P::ParamContext* param : function.param()) WalkRest(*param);
    if (function.whereClause() != nullptr) Walk(*function.whereClause());
    scopes_.back().declares_unknown = false;
    if (function.type() != nullptr) Walk(*function.type());
    for (P::AttributeContext* attribute : function.attribute()) Walk(*attribute);
    if (function.block() != nullptr) Walk(*function.block());
    for (P::ContractContext* contract : function.contract()) Walk(*contract);
    Leave();
  }

  NameKind KindOfGeneric(const P::GenericParamContext& generic) const {
    auto& node = const_cast<P::GenericParamContext&>(generic);
    if (node.functionType() != nullptr) return NameKind::FnParam;
    bool is_int = node.typeNames() != nullptr && sources_.text(SpanOf(*node.typeNames())) == "int";
    return is_int ? NameKind::IntParam : NameKind::TypeParam;
  }

  /// Walks a declaration without its name, which has been declared.
  void WalkRest(Rule& node) {
    bool is_first = true;
    for (antlr4::tree::ParseTree* child : node.children) {
      if (is_first && RuleOf(child) == P::RuleName) {
        is_first = false;
        continue;
      }
      WalkChild(child);
    }
  }

  // ---- The walk

  void WalkChild(antlr4::tree::ParseTree* child) {
    if (auto* rule = dynamic_cast<Rule*>(child)) Walk(*rule);
  }

  void WalkChildren(Rule& node) {
    for (antlr4::tree::ParseTree* child : node.children) WalkChild(child);
  }

  template <class Statement>
  void WalkDeclaring(NameKind kind, Statement& statement) {
    WalkRest(statement);
    Declare(kind, statement.name(), statement);
  }

  void Walk(Rule& node) {
    switch (node.getRuleIndex()) {
      case P::RuleImportItem:
        return;
      case P::RuleConstItem:
      case P::RuleTypesItem:
      case P::RuleDeviceItem:
        return WalkRest(node);
      case P::RuleFunctionItem:
        return WalkFunction(static_cast<P::FunctionItemContext&>(node));
      case P::RuleBlock:
        Enter(node);
        WalkChildren(node);
        return Leave();
      case P::RuleLetStmt: {
        auto& let = static_cast<P::LetStmtContext&>(node);
        return WalkDeclaring(let.VAR() != nullptr ? NameKind::Var : NameKind::Let, let);
      }
      case P::RuleRangeStmt:
        return WalkDeclaring(NameKind::Range, static_cast<P::RangeStmtContext&>(node));
      case P::RuleDomainStmt:
        return WalkDeclaring(NameKind::Domain, static_cast<P::DomainStmtContext&>(node));
      case P::RulePipeStmt:
        return WalkDeclaring(NameKind::Pipe, static_cast<P::PipeStmtContext&>(node));
      case P::RuleViewStmt:
        return WalkDeclaring(NameKind::View, static_cast<P::ViewStmtContext&>(node));
      case P::RuleStageStmt: {
        auto& stage = static_cast<P::StageStmtContext&>(node);
        Declare(NameKind::Stage, stage.name(), stage);
        return WalkRest(stage);
      }
      case P::RuleForStmt:
        return WalkFor(static_cast<P::ForStmtContext&>(node));
      case P::RuleGuarantees:
        Enter(node);
        WalkChildren(node);
        return Leave();
      case P::RuleEquation:
        return WalkEquation(static_cast<P::EquationContext&>(node));
      case P::RuleExpectStmt:
      case P::RuleRequirements:
        EnterDeclaring(node, NameKind::Index);
        WalkChildren(node);
        return Leave();
      case P::RuleOperation:
      case P::RuleArith:
        return WalkOperation(node);
      default:
        return WalkNames(node);
    }
  }

  void WalkFor(P::ForStmtContext& loop) {
    Enter(loop);
    for (P::BinderContext* binder : loop.binder()) {
      Declare(NameKind::Loop, binder->name(), *binder);
      WalkRest(*binder);
    }
    if (P::DomainBindersContext* binders = loop.domainBinders()) {
      std::vector<P::NameContext*> names = binders->name();
      for (size_t i = 0; i + 1 < names.size(); ++i) Declare(NameKind::Loop, names[i], *binders);
      if (!names.empty()) Use(*names.back(), false);
    }
    for (P::AttributeContext* attribute : loop.attribute()) Walk(*attribute);
    if (loop.block() != nullptr) Walk(*loop.block());
    Leave();
  }

  /// An equation `m[i] = e` defines m for the following ones.
  void WalkEquation(P::EquationContext& equation) {
    const antlr4::Token* first = equation.start;
    std::string_view name = first == nullptr ? std::string_view() : sources_.text(SpanOf(*first));
    bool defines = equation.ASSIGN() != nullptr && Find(name) == kNoName;
    if (defines) {
      scopes_.back().names.emplace(name, index_.declarations.size());
      index_.declarations.push_back({NameKind::Auxiliary, name, SpanOf(*first), SpanOf(equation),
                                     SpanOf(equation), scopes_.back().span, item_, false});
    }
    EnterDeclaring(equation, NameKind::Index);
    WalkChildren(equation);
    Leave();
  }

  /// Walks `a + b + …` from left to right. Its tree is as deep as it has operators.
  void WalkOperation(Rule& node) {
    std::vector<Rule*> open{&node};
    while (!open.empty()) {
      Rule* next = open.back();
      open.pop_back();
      bool is_operation =
          next->getRuleIndex() == P::RuleOperation || next->getRuleIndex() == P::RuleArith;
      if (!is_operation) {
        Walk(*next);
        continue;
      }
      for (auto child = next->children.rbegin(); child != next->children.rend(); ++child) {
        if (auto* rule = dynamic_cast<Rule*>(*child)) open.push_back(rule);
      }
    }
  }

  /// Walks a rule whose names declare nothing.
  void WalkNames(Rule& node) {
    size_t rule = node.getRuleIndex();
    size_t callee = kNoName;
    for (size_t i = 0; i < node.children.size(); ++i) {
      antlr4::tree::ParseTree* child = node.children[i];
      if (RuleOf(child) == P::RuleName) {
        AddName(node, rule, i);
        callee = index_.occurrences.size() - 1;
      } else {
        if (RuleOf(child) == P::RuleGenericArgs && callee != kNoName) {
          auto& args = static_cast<P::GenericArgsContext&>(*child);
          for (P::GenericArgContext* arg : args.genericArg())
            generic_args_.emplace_back(arg, callee);
        }
        WalkChild(child);
      }
    }
  }

  static bool IsToken(const Rule& node, size_t i, size_t type) {
    if (i >= node.children.size()) return false;
    auto* leaf = dynamic_cast<antlr4::tree::TerminalNode*>(node.children[i]);
    return leaf != nullptr && leaf->getSymbol()->getType() == type;
  }

  void AddName(Rule& node, size_t rule, size_t i) {
    auto& name = static_cast<P::NameContext&>(*node.children[i]);
    if (name.start == nullptr || name.exception != nullptr) return;
    bool follows_dot = i > 0 && IsToken(node, i - 1, P::DOT);
    bool is_label = rule == P::RuleTolerancePart || rule == P::RuleGenericArg ||
                    (rule == P::RuleArg && IsToken(node, i + 1, P::ASSIGN));
    bool is_call =
        i + 1 < node.children.size() && (RuleOf(node.children[i + 1]) == P::RuleCallArgs ||
                                         RuleOf(node.children[i + 1]) == P::RuleGenericArgs);
    if (rule == P::RuleAttribute) {
      Add(name, NameRole::Attribute);
    } else if (is_label) {
      Add(name, NameRole::Label);
    } else if (follows_dot) {
      size_t qualifier = QualifierOf(node, i);
      NameOccurrence& member = Add(name, NameRole::Member);
      member.qualifier = qualifier;
      member.is_call = is_call || rule == P::RuleLaunchStmt;
    } else {
      Use(name, is_call || rule == P::RuleCombine, rule == P::RuleTypeName);
    }
  }

  /// Returns the declaration of the plain name before the dot that precedes child `i`.
  size_t QualifierOf(const Rule& node, size_t i) const {
    if (i >= 2 && RuleOf(node.children[i - 2]) == P::RuleName) return LastDeclaration();
    const Rule* parent = Parent(node);
    bool is_suffix = node.getRuleIndex() == P::RuleSuffix && parent != nullptr;
    if (!is_suffix || parent->children.size() < 2) return kNoName;
    auto self = std::find(parent->children.begin(), parent->children.end(), &node);
    bool follows_name = self != parent->children.begin() && RuleOf(*(self - 1)) == P::RulePrimary &&
                        static_cast<Rule*>(*(self - 1))->children.size() == 1;
    return follows_name ? LastDeclaration() : kNoName;
  }

  size_t LastDeclaration() const {
    return index_.occurrences.empty() ? kNoName : index_.occurrences.back().declaration;
  }

  /// The names in `f<BM = 64>(…)` are parameters of f.
  void ResolveGenericArgs() {
    std::unordered_map<uint32_t, size_t> by_place;
    for (size_t i = 0; i < index_.occurrences.size(); ++i)
      by_place[index_.occurrences[i].span.begin] = i;
    for (auto& [arg, callee] : generic_args_) {
      size_t item = index_.occurrences[callee].declaration;
      if (item == kNoName || arg->name() == nullptr) continue;
      auto label = by_place.find(SpanOf(*arg->name()).begin);
      if (label == by_place.end()) continue;
      NameOccurrence& name = index_.occurrences[label->second];
      for (size_t d = 0; d < index_.declarations.size(); ++d) {
        const NameDeclaration& one = index_.declarations[d];
        bool is_generic = one.kind == NameKind::TypeParam || one.kind == NameKind::IntParam ||
                          one.kind == NameKind::FnParam;
        if (is_generic && one.item == item && one.name == name.name) name.declaration = d;
      }
    }
  }

  const SourceManager& sources_;
  FileId file_;
  NameIndex index_;
  std::vector<NameScope> scopes_;
  std::unordered_map<const P::ItemContext*, size_t> items_;
  size_t item_ = kNoName;
  std::vector<std::pair<P::GenericArgContext*, size_t>> generic_args_;
};

}  // namespace

const NameOccurrence* NameIndex::At(uint32_t offset) const {
  auto after = std::ranges::upper_bound(occurrences, offset, {},
                                        [](const NameOccurrence& o) { return o.span.begin; });
  if (after == occurrences.begin()) return nullptr;
  const NameOccurrence& found = *(after - 1);
  return offset <= found.span.end ? &found : nullptr;
}

NameIndex IndexNames(const SourceManager& sources, FileId file, const ParsedText& parsed) {
  return Indexer(sources, file).Index(*parsed.tree);
}

}  // namespace kdl::syntax
