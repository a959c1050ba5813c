#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "syntax/antlr.h"

namespace kdl::syntax {

enum class PieceKind : uint8_t { Word, LineComment, BlockComment };

/// What a piece does to the structure of lines.
enum class PieceRole : uint8_t {
  Plain,
  Open,        ///< an opening bracket, including the `<` of generic parameters and arguments
  Close,       ///< a closing bracket
  Separator,   ///< the comma after an element of a list
  BlockOpen,   ///< the `{` of a block of statements or equations
  BlockClose,  ///< the `}` of a block
};

/// How bad a line break is, among those in the same brackets.
enum BreakCost : uint8_t {
  kBetweenParts = 0,     ///< after a comma, before `where` and before the `else` of an expression
  kBeforeThen = 1,       ///< before `then`, and before the parameters of a function
  kBeforeAttribute = 2,  ///< before `@` and `->`
  kBeforeOperator = 3,   ///< before `||`; up to 8 more before operators that bind tighter
  kBeforeIndex = 13,     ///< after the comma between indices
  kBeforeOver = 14,      ///< before `over` and before the `else` of an index
  kBeforeRange = 15,     ///< after the comma between ranges of `over`
  kAfterAssign = 16,     ///< after `=` and `~`; this and the following only where the author breaks
  kInBrackets = 17,      ///< after an opening bracket, before a closing one, before a comment
  kNeverBreak = 255,
};

inline constexpr size_t kNoBlock = ~size_t{0};

/// A token or comment, and what its place in the parse tree says about the white space before it.
struct Piece {
  std::string_view text;
  PieceKind kind = PieceKind::Word;
  PieceRole role = PieceRole::Plain;
  bool begins_statement =
      false;  ///< it begins an item, a statement, or a clause or equation of a contract
  bool begins_clause =
      false;  ///< it begins `requires` or `ensures`, whose line is its own in any case
  bool tight_before = false;  ///< there is no space before it
  bool tight_after = false;
  size_t newlines =
      0;  ///< the number of line breaks in the source between the previous piece and this one
  uint8_t break_cost = kNeverBreak;  ///< of a line break before this piece; see BreakCost
  bool opens_params = false;         ///< it opens the parameters of a function
  bool hangs =
      false;  ///< it is the first parameter of a function; a break before it counts as outside
  size_t block = kNoBlock;  ///< for a brace of a block: the index of the block
};

/// A block in braces.
struct PieceBlock {
  size_t open = 0;   ///< the index of its `{`
  size_t close = 0;  ///< the index of its `}`
  /// The first of the blocks that are all written in one line or none: those of `if … else …`.
  size_t leader = 0;
};

struct Pieces {
  std::vector<Piece> pieces;
  std::vector<PieceBlock> blocks;
};

/// Returns the tokens of a parse tree without errors, and the comments between them. `text` is the text of
/// the file.
Pieces PiecesOf(KdlParser::ModuleContext& tree, std::string_view text);

}  // namespace kdl::syntax
