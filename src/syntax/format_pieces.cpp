#include "syntax/format_pieces.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "syntax/antlr.h"

namespace kdl::syntax {

namespace {

using P = KdlParser;

/// Returns the cost of a break before a binary operator: loose operators are better places.
uint8_t OperatorCost(size_t type) {
  switch (type) {
    case P::OROR:
      return kBeforeOperator;
    case P::ANDAND:
      return kBeforeOperator + 1;
    case P::EQ:
    case P::NE:
    case P::LT:
    case P::LE:
    case P::GT:
    case P::GE:
      return kBeforeOperator + 2;
    case P::BAR:
      return kBeforeOperator + 3;
    case P::CARET:
      return kBeforeOperator + 4;
    case P::AMP:
      return kBeforeOperator + 5;
    case P::SHL:
    case P::SHR:
      return kBeforeOperator + 6;
    case P::PLUS:
    case P::MINUS:
      return kBeforeOperator + 7;
    default:
      return kBeforeOperator + 8;
  }
}

BreakCost CostAfterComma(size_t rule) {
  return rule == P::RuleIndices ? kBeforeIndex : rule == P::RuleOver ? kBeforeRange : kBetweenParts;
}

/// Whether the first token of a rule begins a line of an expanded block.
bool IsStatement(const antlr4::ParserRuleContext& node) {
  switch (node.getRuleIndex()) {
    case P::RuleItem:
    case P::RuleStmt:
    case P::RuleEquation:
    case P::RuleContract:
      return true;
    case P::RuleExpr:
      return static_cast<antlr4::ParserRuleContext*>(node.parent)->getRuleIndex() ==
             P::RuleRequirements;
    default:
      return false;
  }
}

bool HasBlock(size_t rule) {
  return rule == P::RuleBlock || rule == P::RuleRequirements || rule == P::RuleGuarantees;
}

/// Whether a token is one of the operators that authors may write without spaces, as in `S*i + r - P`.
bool IsProduct(size_t type, size_t rule) {
  bool is_binary = rule == P::RuleOperation || rule == P::RuleArith;
  return is_binary && (type == P::STAR || type == P::SLASH || type == P::PERCENT);
}

/// Whether a parenthesis belongs to the name or word before it.
bool IsTightParenthesis(size_t rule) {
  return rule != P::RulePrimary && rule != P::RuleType && rule != P::RuleDomainStmt &&
         rule != P::RulePlacement;
}

/// Sets what the token's rule says about the white space around it.
void SetSpacing(Piece& piece, size_t type, size_t rule) {
  switch (type) {
    case P::LPAREN:
    case P::LBRACK:
      piece.role = PieceRole::Open;
      piece.tight_after = true;
      piece.tight_before = type == P::LPAREN ? IsTightParenthesis(rule) : rule != P::RulePrimary;
      return;
    case P::RPAREN:
    case P::RBRACK:
      piece.role = PieceRole::Close;
      piece.tight_before = true;
      piece.break_cost = kInBrackets;
      return;
    case P::LBRACE:
      piece.role = HasBlock(rule) ? PieceRole::BlockOpen : PieceRole::Open;
      piece.tight_after = !HasBlock(rule);
      return;
    case P::RBRACE:
      piece.role = HasBlock(rule) ? PieceRole::BlockClose : PieceRole::Close;
      piece.tight_before = !HasBlock(rule);
      return;
    case P::LT:
    case P::GT:
      if (rule != P::RuleGenericParams && rule != P::RuleGenericArgs) break;
      piece.role = type == P::LT ? PieceRole::Open : PieceRole::Close;
      piece.tight_before = true;
      piece.tight_after = type == P::LT;
      return;
    case P::COMMA:
      piece.role = PieceRole::Separator;
      piece.tight_before = true;
      return;
    case P::SEMI:
    case P::COLON:
    case P::QUESTION:
      piece.tight_before = true;
      return;
    case P::DOT:
    case P::DOTDOT:
      piece.tight_before = true;
      piece.tight_after = rule != P::RulePack;
      return;
    case P::AT:
      piece.tight_after = true;
      piece.break_cost = kBeforeAttribute;
      return;
    case P::ARROW:
      piece.break_cost = kBeforeAttribute;
      return;
    case P::THEN:
      piece.break_cost = kBeforeThen;
      return;
    case P::ELSE:
      if (rule == P::RuleExpr) piece.break_cost = kBetweenParts;
      if (rule == P::RuleIndices) piece.break_cost = kBeforeOver;
      return;
    case P::OVER:
      if (rule == P::RuleOver) piece.break_cost = kBeforeOver;
      return;
    case P::WHERE:
      if (rule == P::RuleWhereClause || rule == P::RuleCondition) piece.break_cost = kBetweenParts;
      return;
    default:
      break;
  }
  if (rule == P::RuleOperand && (type == P::MINUS || type == P::NOT || type == P::TILDE)) {
    piece.tight_after = true;
  }
  if (rule == P::RuleOperation || rule == P::RuleArith) piece.break_cost = OperatorCost(type);
}

/// Collects the pieces of a parse tree.
class Collector {
 public:
  explicit Collector(std::string_view text) : text_(text) {}

  Pieces Collect(P::ModuleContext& tree) && {
    // A stack instead of recursion, because `a + a + …` is a deep tree.
    std::vector<antlr4::tree::ParseTree*> open{&tree};
    while (!open.empty()) {
      antlr4::tree::ParseTree* node = open.back();
      open.pop_back();
      if (auto* leaf = dynamic_cast<antlr4::tree::TerminalNode*>(node)) {
        AddToken(*leaf);
        continue;
      }
      auto& inner = static_cast<antlr4::ParserRuleContext&>(*node);
      begins_statement_ |= IsStatement(inner);
      begins_clause_ |= inner.getRuleIndex() == P::RuleContract;
      open.insert(open.end(), inner.children.rbegin(), inner.children.rend());
    }
    return std::move(out_);
  }

 private:
  void AddToken(antlr4::tree::TerminalNode& leaf) {
    const antlr4::Token& token = *leaf.getSymbol();
    size_t begin = std::min(token.getStartIndex(), text_.size());
    bool touches_last = place_ == begin;
    AddComments(begin);
    if (token.getType() == antlr4::Token::EOF) return;
    auto& rule = static_cast<antlr4::ParserRuleContext&>(*leaf.parent);
    Piece piece;
    piece.text = text_.substr(begin, token.getStopIndex() + 1 - begin);
    SetSpacing(piece, token.getType(), rule.getRuleIndex());
    bool is_tight = touches_last && IsProduct(token.getType(), rule.getRuleIndex()) &&
                    TouchesNext(token.getStopIndex() + 1);
    if (is_tight) piece.tight_before = piece.tight_after = true;
    // `max=` and `min=` are operators of two tokens.
    bool is_second = rule.getRuleIndex() == P::RuleAssignOp && rule.children.front() != &leaf;
    if (is_second) piece.tight_before = true;
    if (piece.role == PieceRole::BlockOpen) OpenBlock(piece, rule);
    if (piece.role == PieceRole::BlockClose) CloseBlock(piece);
    piece.begins_statement = begins_statement_;
    piece.begins_clause = begins_clause_;
    begins_statement_ = begins_clause_ = false;
    SetBreakAfterLast(piece, rule.getRuleIndex());
    Add(piece);
    place_ = token.getStopIndex() + 1;
  }

  /// Whether a token follows at `place` without white space or a comment.
  bool TouchesNext(size_t place) const {
    return place < text_.size() &&
           std::string_view(" \t\r\n\f/").find(text_[place]) == std::string_view::npos;
  }

  /// Sets the cost of a break that follows from the piece before this one.
  void SetBreakAfterLast(Piece& piece, size_t rule) {
    auto last = std::find_if(out_.pieces.rbegin(), out_.pieces.rend(),
                             [](const Piece& p) { return p.kind == PieceKind::Word; });
    if (last == out_.pieces.rend()) return;
    uint8_t cost = kNeverBreak;
    if (last->role == PieceRole::Separator) cost = CostAfterComma(last_rule_);
    if (last->role == PieceRole::Open) cost = kInBrackets;
    piece.hangs = last->opens_params && piece.role != PieceRole::Close;
    if (piece.hangs) cost = kBeforeThen;
    bool is_assign = last->text == "=" || (last->text == "~" && !last->tight_after);
    if (is_assign || last_rule_ == P::RuleAssignOp) cost = kAfterAssign;
    piece.break_cost = std::min(piece.break_cost, cost);
    piece.opens_params = piece.text == "(" && rule == P::RuleFunctionItem;
    last_rule_ = rule;
  }

  void OpenBlock(Piece& piece, antlr4::ParserRuleContext& rule) {
    piece.block = out_.blocks.size();
    auto* parent = static_cast<antlr4::ParserRuleContext*>(rule.parent);
    size_t leader = piece.block;
    if (parent->getRuleIndex() == P::RuleIfStmt)
      leader = leaders_.try_emplace(parent, piece.block).first->second;
    out_.blocks.push_back({out_.pieces.size(), 0, leader});
    open_blocks_.push_back(piece.block);
  }

  void CloseBlock(Piece& piece) {
    piece.block = open_blocks_.back();
    open_blocks_.pop_back();
    out_.blocks[piece.block].close = out_.pieces.size();
  }

  /// Adds the comments between the last token and the one at `end`.
  void AddComments(size_t end) {
    while (place_ < end) {
      size_t slash = text_.find('/', place_);
      if (slash >= end) break;
      CountNewlines(slash);
      bool is_line = text_[slash + 1] == '/';
      size_t stop = is_line ? std::min(text_.find_first_of("\r\n", slash), text_.size())
                            : text_.find("*/", slash + 2) + 2;
      Piece piece;
      piece.kind = is_line ? PieceKind::LineComment : PieceKind::BlockComment;
      piece.text = text_.substr(slash, stop - slash);
      while (is_line && (piece.text.back() == ' ' || piece.text.back() == '\t'))
        piece.text.remove_suffix(1);
      piece.break_cost = kInBrackets;
      Add(piece);
      place_ = stop;
    }
    CountNewlines(end);
  }

  void CountNewlines(size_t end) {
    for (; place_ < end; ++place_) {
      bool is_pair =
          text_[place_] == '\r' && place_ + 1 < text_.size() && text_[place_ + 1] == '\n';
      newlines_ += (text_[place_] == '\n' || text_[place_] == '\r') && !is_pair ? 1 : 0;
    }
  }

  void Add(Piece piece) {
    piece.newlines = newlines_;
    newlines_ = 0;
    out_.pieces.push_back(piece);
  }

  std::string_view text_;
  size_t place_ = 0;  ///< where the last piece ends
  size_t newlines_ = 0;
  bool begins_statement_ = false;
  bool begins_clause_ = false;
  size_t last_rule_ = P::RuleModule;  ///< the rule of the last token
  std::vector<size_t> open_blocks_;
  std::unordered_map<antlr4::ParserRuleContext*, size_t>
      leaders_;  ///< for each `if`: its first block
  Pieces out_;
};

}  // namespace

Pieces PiecesOf(P::ModuleContext& tree, std::string_view text) {
  return Collector(text).Collect(tree);
}

}  // namespace kdl::syntax
