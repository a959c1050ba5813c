#include "syntax/format_layout.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "syntax/format_comments.h"
#include "syntax/format_pieces.h"

namespace kdl::syntax {

namespace {

constexpr size_t kIndent = 4;

constexpr size_t kNoBracket = ~size_t{0};

/// A break in brackets is worse than any break outside of them.
constexpr size_t kCostOfBracket = 64;

bool IsComment(const Piece& piece) { return piece.kind != PieceKind::Word; }

/// Returns the column after `text`, which begins in column `column`. Columns count code points.
size_t ColumnAfter(size_t column, std::string_view text) {
  for (char c : text) {
    if (c == '\n') column = 0;
    if (c != '\n' && (static_cast<uint8_t>(c) & 0xC0) != 0x80) ++column;
  }
  return column;
}

/// Something that has begun and not ended: a statement, a block, a bracket, or an element in brackets.
struct Frame {
  enum class Kind : uint8_t { Statement, Block, Bracket, Element } kind;
  size_t indent;  ///< of the line in which it begins
};

/// Arranges pieces in lines, from the first to the last.
class Arranger {
 public:
  explicit Arranger(Pieces pieces)
      : pieces_(std::move(pieces.pieces)), blocks_(std::move(pieces.blocks)) {
    MoveStartsToComments();
    FindPlaces();
    FindExpandedBlocks();
  }

  std::vector<CodeLine> Arrange() && {
    do {
      must_repeat_ = false;
      lines_.clear();
      frames_.clear();
      size_t start = 0;
      while (start < pieces_.size()) start = AddLine(start);
    } while (must_repeat_);
    return std::move(lines_);
  }

 private:
  using Kind = Frame::Kind;

  // ---- Facts about pieces that do not depend on where lines end

  /// A block comment directly before a statement becomes its first piece.
  void MoveStartsToComments() {
    for (size_t i = pieces_.size(); i-- > 1;) {
      Piece& piece = pieces_[i];
      Piece& before = pieces_[i - 1];
      bool follows = before.kind == PieceKind::BlockComment && piece.newlines == 0;
      if (!piece.begins_statement || !follows) continue;
      before.begins_statement = std::exchange(piece.begins_statement, false);
      before.begins_clause = std::exchange(piece.begins_clause, false);
    }
  }

  /// Finds the blocks and brackets around each piece, and where the head of each block begins.
  void FindPlaces() {
    std::vector<size_t> open;
    std::vector<size_t> brackets;
    size_t head = 0;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const Piece& piece = pieces_[i];
      if (piece.begins_statement) head = i;
      if (piece.role == PieceRole::Close) brackets.pop_back();
      if (piece.role == PieceRole::BlockClose) open.pop_back();
      around_.push_back(open.empty() ? kNoBlock : open.back());
      depth_.push_back(brackets.size());
      bracket_.push_back(brackets.empty() ? kNoBracket : brackets.back());
      if (piece.role == PieceRole::Open) brackets.push_back(i);
      if (piece.role == PieceRole::BlockOpen) {
        heads_.push_back(head);
        open.push_back(piece.block);
      }
      if (piece.role == PieceRole::BlockClose) head = i;
    }
  }

  /// A block is in one line if its author has written it so, with all blocks of its `if`.
  void FindExpandedBlocks() {
    std::vector<size_t> newlines(pieces_.size() + 1, 0);
    for (size_t i = 0; i < pieces_.size(); ++i) newlines[i + 1] = newlines[i] + pieces_[i].newlines;
    expanded_.assign(blocks_.size(), false);
    for (const PieceBlock& block : blocks_) {
      bool is_in_line = newlines[block.close + 1] == newlines[block.open + 1] || IsEmpty(block);
      if (!is_in_line) expanded_[block.leader] = true;
    }
  }

  bool IsEmpty(const PieceBlock& block) const { return block.close == block.open + 1; }
  bool IsExpanded(size_t block) const { return expanded_[blocks_[block].leader]; }

  // ---- Where lines end

  bool FollowsComma(size_t i) const { return pieces_[i - 1].role == PieceRole::Separator; }

  /// Whether the author has broken the line here, and may do so. A break after an operator counts as one
  /// before it.
  bool IsKeptBreak(size_t i) const {
    const Piece& piece = pieces_[i];
    if (piece.break_cost == kNeverBreak || (FollowsComma(i) && refilled_.contains(bracket_[i])))
      return false;
    if (piece.newlines > 0) return true;
    bool is_operator = piece.break_cost >= kBeforeOperator && piece.break_cost < kBeforeOver;
    return is_operator && i + 1 < pieces_.size() && pieces_[i + 1].newlines > 0 &&
           pieces_[i + 1].break_cost == kNeverBreak;
  }

  /// Whether piece `i` begins a line if the line before begins at `start`.
  bool BeginsLine(size_t start, size_t i) const {
    const Piece& piece = pieces_[i];
    if (pieces_[i - 1].kind == PieceKind::LineComment || piece.begins_clause) return true;
    if (piece.begins_statement) return around_[i] == kNoBlock || IsExpanded(around_[i]);
    if (IsComment(piece)) return piece.newlines > 0;
    if (piece.role == PieceRole::BlockClose)
      return IsExpanded(piece.block) && !IsEmpty(blocks_[piece.block]);
    if (piece.role == PieceRole::BlockOpen) return heads_[piece.block] < start;
    return IsKeptBreak(i);
  }

  bool HasSpaceBetween(const Piece& left, const Piece& right) const {
    if (left.role == PieceRole::BlockOpen && right.role == PieceRole::BlockClose) return false;
    // `t.0 .1` must not become `t.0.1`, which contains the number 0.1.
    bool is_number = left.text[0] >= '0' && left.text[0] <= '9';
    if (right.text == "." && is_number) return true;
    return !left.tight_after && !right.tight_before;
  }

  size_t Width(size_t column, size_t i) const {
    return ColumnAfter(column + (HasSpaceBetween(pieces_[i - 1], pieces_[i]) ? 1 : 0),
                       pieces_[i].text);
  }

  size_t CostOfBreak(size_t i) const {
    const Piece& piece = pieces_[i];
    return piece.break_cost + kCostOfBracket * (piece.hangs ? depth_[i] - 1 : depth_[i]);
  }

  /// Returns the first piece after the line that begins at `start`. Where the line would be too long, expands
  /// a block or chooses the best break. If that is in a list, the rest of the list is arranged again, too.
  size_t EndOfLine(size_t start, size_t indent) {
    size_t column = ColumnAfter(indent, pieces_[start].text);
    size_t best = 0;
    for (size_t i = start + 1; i < pieces_.size(); ++i) {
      if (BeginsLine(start, i)) return i;
      const Piece& piece = pieces_[i];
      if (piece.kind == PieceKind::LineComment) continue;
      // Where a line contains an assignment, the assigned value is broken, not the target.
      if (piece.break_cost == kAfterAssign && depth_[i] == 0) best = 0;
      if (piece.break_cost < kAfterAssign && (best == 0 || CostOfBreak(i) <= CostOfBreak(best)))
        best = i;
      column = Width(column, i);
      if (column <= kLineWidth) continue;
      if (ExpandBlock(start, i)) return EndOfLine(start, indent);
      if (best == 0) continue;
      if (FollowsComma(best)) refilled_.insert(bracket_[best]);
      return best;
    }
    return pieces_.size();
  }

  /// Expands the first block that is written in the line from `start` to `last`. Returns false if there is none.
  bool ExpandBlock(size_t start, size_t last) {
    for (size_t i = start; i <= last; ++i) {
      const Piece& piece = pieces_[i];
      if (piece.role != PieceRole::BlockOpen || IsEmpty(blocks_[piece.block]) ||
          IsExpanded(piece.block))
        continue;
      Expand(piece.block, start);
      return true;
    }
    return false;
  }

  /// Expands a block, and with it the other blocks of its `if`. If some of them are in earlier lines, these
  /// lines must be arranged again.
  void Expand(size_t block, size_t start) {
    size_t leader = blocks_[block].leader;
    expanded_[leader] = true;
    must_repeat_ |= blocks_[leader].open < start;
  }

  // ---- Indentation

  void PopTo(Kind kind) {
    while (!frames_.empty() && frames_.back().kind != kind) frames_.pop_back();
  }

  size_t IndentInBlock() const {
    auto block = std::find_if(frames_.rbegin(), frames_.rend(),
                              [](const Frame& frame) { return frame.kind == Kind::Block; });
    return block == frames_.rend() ? 0 : block->indent + kIndent;
  }

  size_t IndentOfStatement() const {
    auto statement = std::find_if(frames_.rbegin(), frames_.rend(),
                                  [](const Frame& frame) { return frame.kind == Kind::Statement; });
    return statement->indent;
  }

  /// Returns the indentation of a line that begins with piece `i`. What continues a line is indented more than
  /// the line in which the innermost unfinished part begins.
  size_t IndentOf(size_t i) const {
    size_t word = i;
    while (word < pieces_.size() && IsComment(pieces_[word]) && !pieces_[word].begins_statement)
      ++word;
    if (word == pieces_.size()) return 0;
    const Piece& piece = pieces_[word];
    if (piece.begins_statement) return IndentInBlock();
    if (piece.role == PieceRole::BlockClose) return IndentInBlock() - (word == i ? kIndent : 0);
    if (piece.role == PieceRole::BlockOpen) return frames_.back().indent;
    if (piece.role == PieceRole::Close && word == i) {
      auto bracket = std::find_if(frames_.rbegin(), frames_.rend(),
                                  [](const Frame& frame) { return frame.kind == Kind::Bracket; });
      return bracket->indent;
    }
    return frames_.back().indent + kIndent;
  }

  /// Updates the frames for a piece in a line with the given indentation.
  void Pass(const Piece& piece, size_t indent) {
    if (piece.begins_statement) {
      PopTo(Kind::Block);
      frames_.push_back({Kind::Statement, indent});
    }
    if (IsComment(piece)) return;
    bool ends_element = piece.role == PieceRole::Close || piece.role == PieceRole::Separator;
    if (ends_element && frames_.back().kind == Kind::Element) frames_.pop_back();
    if (!ends_element && frames_.back().kind == Kind::Bracket)
      frames_.push_back({Kind::Element, indent});
    switch (piece.role) {
      case PieceRole::Open:
        frames_.push_back({Kind::Bracket, piece.opens_params ? IndentOfStatement() : indent});
        break;
      case PieceRole::Close:
        frames_.pop_back();
        break;
      case PieceRole::BlockOpen:
        frames_.push_back({Kind::Block, frames_.back().indent});
        break;
      case PieceRole::BlockClose:
        PopTo(Kind::Block);
        frames_.pop_back();
        break;
      default:
        break;
    }
  }

  // ---- Lines

  /// Whether the line that begins with piece `i` is separated from the line before by a blank line.
  bool HasBlankLineBefore(size_t i) const {
    const Piece& piece = pieces_[i];
    if (i == 0 || piece.newlines < 2 || piece.begins_clause) return false;
    if (pieces_[i - 1].role == PieceRole::BlockOpen) return false;
    size_t word = i;
    while (word < pieces_.size() && IsComment(pieces_[word]) && !pieces_[word].begins_statement)
      ++word;
    if (word == pieces_.size() || pieces_[word].begins_statement) return true;
    return IsComment(piece) && pieces_[word].role == PieceRole::BlockClose;
  }

  /// Adds the line that begins with piece `start`, and returns the first piece after it.
  size_t AddLine(size_t start) {
    if (pieces_[start].role == PieceRole::BlockOpen && heads_[pieces_[start].block] < start)
      ExpandBlock(start, start);
    size_t indent = IndentOf(start);
    size_t end = EndOfLine(start, indent);
    CodeLine line;
    line.has_blank_before = HasBlankLineBefore(start);
    line.code.assign(indent, ' ');
    for (size_t i = start; i < end; ++i) {
      const Piece& piece = pieces_[i];
      Pass(piece, indent);
      if (i > start && piece.kind == PieceKind::LineComment) {
        line.comment = piece.text;
        break;
      }
      if (i > start && HasSpaceBetween(pieces_[i - 1], piece)) line.code += ' ';
      line.code += piece.text;
    }
    lines_.push_back(std::move(line));
    return end;
  }

  std::vector<Piece> pieces_;
  std::vector<PieceBlock> blocks_;
  std::vector<size_t> around_;  ///< for each piece, the innermost block around it, or kNoBlock
  std::vector<size_t> depth_;   ///< for each piece, the number of brackets around it
  std::vector<size_t>
      bracket_;  ///< for each piece, the innermost opening bracket around it, or kNoBracket
  std::vector<size_t> heads_;  ///< for each block, the piece with which its head begins
  std::vector<bool>
      expanded_;  ///< for each leader of blocks, whether their statements have lines of their own
  bool must_repeat_ = false;  ///< blocks were expanded after they had been arranged
  /// The brackets of lists in which lines do not end where the author has ended them.
  std::unordered_set<size_t> refilled_;
  std::vector<Frame> frames_;
  std::vector<CodeLine> lines_;
};

}  // namespace

std::string Layout(Pieces pieces) { return JoinLines(Arranger(std::move(pieces)).Arrange()); }

}  // namespace kdl::syntax
