#include "syntax/reductions.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "support/diagnostics.h"
#include "support/sort_by.h"
#include "support/source.h"
#include "syntax/antlr.h"
#include "syntax/parsed_text.h"
#include "syntax/tokens.h"

namespace kdl::syntax {

namespace {

using P = KdlParser;
using Tree = antlr4::tree::ParseTree;
using Rule = antlr4::ParserRuleContext;

constexpr size_t kNoRule = ~size_t{0};

size_t RuleOf(Tree* node) {
  auto* rule = dynamic_cast<Rule*>(node);
  return rule == nullptr ? kNoRule : rule->getRuleIndex();
}

bool IsExpression(size_t rule) {
  return rule == P::RuleExpr || rule == P::RuleOperation || rule == P::RuleArith ||
         rule == P::RuleOperand || rule == P::RulePrimary;
}

/// Finds the reductions of one file from its parse tree.
class Reducer {
 public:
  Reducer(const SourceManager& sources, FileId file) : sources_(sources), file_(file) {}

  std::vector<Reduction> Find(const ParsedText& parsed) && {
    RemoveComments(*parsed.tokens);
    Visit(*parsed.tree);
    for (P::ItemContext* item : parsed.tree->item())
      if (P::FunctionItemContext* function = item->functionItem())
        ReduceParameters(*function, *parsed.tree);
    // Those that remove most come first.
    SortBy(found_, [](const Reduction& one) {
      int64_t added = 0;
      for (const Replacement& part : one)
        added +=
            static_cast<int64_t>(part.text.size()) - (int64_t{part.span.end} - part.span.begin);
      return added;
    });
    return std::move(found_);
  }

 private:
  // ---- Places

  Span SpanOf(Tree* node) const {
    if (auto* leaf = dynamic_cast<antlr4::tree::TerminalNode*>(node))
      return TokenSpan(file_, *leaf->getSymbol());
    auto* rule = dynamic_cast<Rule*>(node);
    if (rule == nullptr || rule->start == nullptr || rule->stop == nullptr) return {file_, 0, 0};
    uint32_t begin = TokenSpan(file_, *rule->start).begin;
    return {file_, begin, std::max(begin, TokenSpan(file_, *rule->stop).end)};
  }
  std::string_view TextOf(Tree* node) const { return sources_.text(SpanOf(node)); }

  void Replace(Span span, std::string text) {
    if (span.end > span.begin && sources_.text(span) != text)
      found_.push_back({{span, std::move(text)}});
  }
  /// Removes the children from `first` up to `last`.
  void Remove(Rule& parent, size_t first, size_t last) {
    Replace(Cover(SpanOf(parent.children[first]), SpanOf(parent.children[last])), "");
  }

  // ---- Reductions of every node

  /// Removes the comments, which are the texts between tokens that are not only spaces.
  void RemoveComments(antlr4::BufferedTokenStream& tokens) {
    Reduction all;
    uint32_t begin = 0;
    for (const antlr4::Token* token : tokens.getTokens()) {
      if (token->getChannel() != antlr4::Token::DEFAULT_CHANNEL) continue;
      bool at_end = token->getType() == antlr4::Token::EOF;
      auto end = at_end ? static_cast<uint32_t>(sources_.text(file_).size())
                        : TokenSpan(file_, *token).begin;
      std::string_view gap = sources_.text(Span{file_, begin, end});
      if (gap.find('/') != std::string_view::npos) all.push_back({Span{file_, begin, end}, "\n"});
      if (!at_end) begin = TokenSpan(file_, *token).end;
    }
    if (!all.empty()) found_.push_back(std::move(all));
  }

  void Visit(Rule& node) {
    RemoveChildren(node);
    if (IsExpression(node.getRuleIndex()) && !IsExpression(RuleOf(node.parent))) Simplify(node);
    if (node.getRuleIndex() == P::RuleStmt) Unwrap(node);
    for (Tree* child : node.children) {
      if (auto* rule = dynamic_cast<Rule*>(child)) Visit(*rule);
      if (auto* leaf = dynamic_cast<antlr4::tree::TerminalNode*>(child)) Lower(*leaf);
    }
  }

  /// Removes lists of children of the same kind: all, halves, quarters and so on. Also removes single children, and pairs
  /// such as a keyword and what follows it.
  void RemoveChildren(Rule& node) {
    size_t count = node.children.size();
    for (size_t first = 0; first < count; ++first) {
      size_t rule = RuleOf(node.children[first]);
      bool begins = first == 0 || RuleOf(node.children[first - 1]) != rule;
      if (begins && rule != kNoRule) RemoveParts(node, ListFrom(node, first));
      if (count == 1) break;
      for (size_t length : {1, 2})
        if (first + length <= count) Remove(node, first, first + length - 1);
    }
  }

  /// Returns the positions of the children from `first` on that are of one kind, with at most one token between them.
  static std::vector<size_t> ListFrom(Rule& node, size_t first) {
    std::vector<size_t> list{first};
    size_t rule = RuleOf(node.children[first]);
    for (size_t at = first + 1; at < node.children.size(); ++at) {
      if (RuleOf(node.children[at]) == rule) {
        list.push_back(at);
      } else if (RuleOf(node.children[at]) != kNoRule || at > list.back() + 1) {
        break;
      }
    }
    return list;
  }

  void RemoveParts(Rule& node, const std::vector<size_t>& list) {
    for (size_t size = list.size(); size > 0; size /= 2) {
      for (size_t from = 0; from < list.size(); from += size)
        RemoveElements(node, list, from, std::min(from + size, list.size()));
    }
  }

  /// Removes the elements from `from` up to, but not including, `to`, with the tokens that separate them from the rest.
  void RemoveElements(Rule& node, const std::vector<size_t>& list, size_t from, size_t to) {
    auto span_of = [&](size_t element) { return SpanOf(node.children[list[element]]); };
    Span span = Cover(span_of(from), span_of(to - 1));
    if (to < list.size()) {
      span.end = span_of(to).begin;
    } else if (from > 0) {
      span.begin = span_of(from - 1).end;
    }
    Replace(span, "");
  }

  /// Replaces an expression with one of its parts, and each of its parts in the same way, or with a number.
  void Simplify(Rule& node) {
    Span span = SpanOf(&node);
    std::vector<Rule*> parts;
    AddParts(node, parts);
    for (Rule* part : parts) Replace(span, std::string(TextOf(part)));
    if (span.end - span.begin > 3) {
      for (const char* number : {"0", "0.0"}) Replace(span, number);
    }
  }

  /// Adds the largest expressions below a node whose texts differ from that of the node.
  void AddParts(Rule& node, std::vector<Rule*>& parts) const {
    for (Tree* child : node.children) {
      auto* rule = dynamic_cast<Rule*>(child);
      if (rule == nullptr) continue;
      bool is_part = IsExpression(RuleOf(rule)) && SpanOf(rule) != SpanOf(&node);
      if (is_part) parts.push_back(rule);
      if (!is_part || RuleOf(rule) == P::RuleOperation) AddParts(*rule, parts);
    }
  }

  /// Replaces a statement with the statements of one of its blocks.
  void Unwrap(Rule& statement) {
    std::vector<Rule*> pending{&statement};
    while (!pending.empty()) {
      Rule* node = pending.back();
      pending.pop_back();
      for (Tree* child : node->children) {
        auto* rule = dynamic_cast<Rule*>(child);
        if (rule == nullptr) continue;
        if (RuleOf(rule) == P::RuleBlock) {
          Span inside = SpanOf(rule);
          if (inside.end < inside.begin + 2) continue;
          inside = {file_, inside.begin + 1, inside.end - 1};
          Replace(SpanOf(&statement), std::string(sources_.text(inside)));
        } else if (!IsExpression(RuleOf(rule))) {
          pending.push_back(rule);
        }
      }
    }
  }

  /// Replaces a number with smaller ones.
  void Lower(antlr4::tree::TerminalNode& leaf) {
    Span span = SpanOf(&leaf);
    std::string_view text = sources_.text(span);
    size_t type = leaf.getSymbol()->getType();
    if (type == P::FLOAT && text != "0.0") {
      Replace(span, "0.0");
      if (text.size() > 3) Replace(span, "1.0");
    }
    uint64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (type != P::INT || error != std::errc() || end != text.data() + text.size()) return;
    for (uint64_t less : {uint64_t{0}, uint64_t{1}, value / 2})
      if (less < value) Replace(span, fmt::format("{}", less));
  }

  // ---- Parameters

  /// Removes each parameter of a function together with its arguments, and replaces generic parameters with a value.
  void ReduceParameters(P::FunctionItemContext& function, P::ModuleContext& tree) {
    std::string_view name = TextOf(function.name());
    std::vector<Rule*> calls;
    FindCalls(tree, name, calls);
    std::vector<P::ParamContext*> params = function.param();
    for (size_t at = 0; at < params.size(); ++at) {
      Reduction all{{WithComma(params, at), ""}};
      for (Rule* call : calls) {
        auto* args = dynamic_cast<P::CallArgsContext*>(ArgsOf(*call));
        if (args == nullptr || at >= args->arg().size()) continue;
        all.push_back({WithComma(args->arg(), at), ""});
      }
      Add(std::move(all));
    }
    if (function.genericParams() == nullptr) return;
    std::vector<P::GenericParamContext*> generics = function.genericParams()->genericParam();
    for (size_t at = 0; at < generics.size(); ++at) FixGeneric(function, generics, at, calls);
  }

  /// Removes a generic parameter and its arguments, and writes a value in place of its name.
  void FixGeneric(P::FunctionItemContext& function,
                  const std::vector<P::GenericParamContext*>& generics, size_t at,
                  const std::vector<Rule*>& calls) {
    P::GenericParamContext& generic = *generics[at];
    std::string_view name = TextOf(generic.name());
    Reduction all;
    if (generics.size() == 1) {
      all.push_back({SpanOf(function.genericParams()), ""});
    } else {
      all.push_back({WithComma(generics, at), ""});
    }
    WriteFor(function, &generic, name, ValueOf(generic), all);
    for (Rule* call : calls) RemoveGenericArg(*call, name, all);
    Add(std::move(all));
  }

  std::string ValueOf(P::GenericParamContext& generic) const {
    if (generic.typeNames() != nullptr && TextOf(generic.typeNames()) != "int")
      return std::string(TextOf(generic.typeNames()->typeName().front()));
    bool has_value = generic.arith() != nullptr && TextOf(generic.arith()) != "auto";
    return has_value ? std::string(TextOf(generic.arith())) : "16";
  }

  void WriteFor(Rule& node, Rule* without, std::string_view name, const std::string& value,
                Reduction& all) const {
    for (Tree* child : node.children) {
      auto* rule = dynamic_cast<Rule*>(child);
      if (rule == nullptr || rule == without) continue;
      if (RuleOf(rule) == P::RuleName && TextOf(rule) == name) {
        all.push_back({SpanOf(rule), value});
      } else {
        WriteFor(*rule, without, name, value, all);
      }
    }
  }

  void RemoveGenericArg(Rule& call, std::string_view name, Reduction& all) const {
    for (Tree* child : call.children) {
      auto* list = dynamic_cast<P::GenericArgsContext*>(child);
      if (list == nullptr) continue;
      std::vector<P::GenericArgContext*> args = list->genericArg();
      for (size_t at = 0; at < args.size(); ++at) {
        if (TextOf(args[at]->name()) != name) continue;
        all.push_back({args.size() == 1 ? SpanOf(list) : WithComma(args, at), ""});
      }
    }
  }

  /// Returns the span of an element of a list with the comma after or before it.
  template <class T>
  Span WithComma(const std::vector<T*>& list, size_t at) const {
    Span span = SpanOf(list[at]);
    if (at + 1 < list.size()) {
      span.end = SpanOf(list[at + 1]).begin;
    } else if (at > 0) {
      span.begin = SpanOf(list[at - 1]).end;
    }
    return span;
  }

  /// Finds the calls and launches of a name.
  void FindCalls(Rule& node, std::string_view name, std::vector<Rule*>& calls) const {
    if (node.getRuleIndex() != P::RuleFunctionItem && ArgsOf(node) != nullptr) {
      bool is_named = std::ranges::any_of(node.children, [&](Tree* child) {
        return RuleOf(child) == P::RuleName && TextOf(child) == name;
      });
      if (is_named) calls.push_back(&node);
    }
    for (Tree* child : node.children)
      if (auto* rule = dynamic_cast<Rule*>(child)) FindCalls(*rule, name, calls);
  }

  /// Returns the arguments of a call or launch: the last ones, because those of `spmd(…)` precede the name.
  static Tree* ArgsOf(Rule& node) {
    auto found = std::find_if(node.children.rbegin(), node.children.rend(),
                              [](Tree* child) { return RuleOf(child) == P::RuleCallArgs; });
    return found == node.children.rend() ? nullptr : *found;
  }

  /// Adds a reduction of several parts, unless some of them overlap.
  void Add(Reduction all) {
    std::ranges::sort(all, {}, [](const Replacement& part) { return part.span.begin; });
    for (size_t at = 1; at < all.size(); ++at)
      if (all[at].span.begin < all[at - 1].span.end) return;
    found_.push_back(std::move(all));
  }

  const SourceManager& sources_;
  FileId file_;
  std::vector<Reduction> found_;
};

}  // namespace

std::vector<Reduction> FindReductions(const SourceManager& sources, FileId file) {
  DiagnosticEngine diagnostics;
  std::unique_ptr<ParsedText> parsed = ParseText(sources, file, diagnostics);
  if (parsed == nullptr || diagnostics.has_errors()) return {};
  return Reducer(sources, file).Find(*parsed);
}

std::string Reduced(std::string_view text, const Reduction& reduction) {
  std::string result;
  size_t done = 0;
  for (const Replacement& part : reduction) {
    result += text.substr(done, part.span.begin - done);
    result += part.text;
    done = part.span.end;
  }
  result += text.substr(done);
  return result;
}

bool HasValidSyntax(std::string_view text) {
  SourceManager sources;
  DiagnosticEngine diagnostics;
  FileId file = sources.Add("reduced.kdl", std::string(text));
  return ParseText(sources, file, diagnostics) != nullptr && !diagnostics.has_errors();
}

}  // namespace kdl::syntax
