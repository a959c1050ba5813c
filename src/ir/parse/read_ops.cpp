#include <fmt/format.h>

#include <algorithm>

#include "ir/builder.h"
#include "ir/format.h"
#include "ir/op_table.h"
#include "ir/parse/parser.h"
#include "ir/parse/text_reader.h"
#include "ir/print/literals.h"

namespace kdl::ir {

namespace {

/// Ends a region with a `yield` that the text omits.
void MakeImpliedYield(TextReader& reader, Region* region) {
  Op* yield = Builder(reader.module, region).Create(OpKind::Yield, {{}}, {});
  reader.spans[yield] = reader.cursor.From(reader.cursor.Here());
}

struct NamedSpan {
  TextCursor::ValueText name;
  Span span;
};

/// A parameter of a region that will be created later.
struct Binder {
  NamedSpan name;
  Type type;
};

/// Reads one op. Stores the parts of the op until the types of its results are known.
class OpReader {
 public:
  OpReader(TextReader& reader, Region* region, size_t depth)
      : reader_(reader), cursor_(reader.cursor), region_(region), depth_(depth) {}

  bool Read();

 private:
  bool ReadNames();
  bool ReadPieces(const std::vector<FormatPiece>& pieces);
  bool ReadLiteral(std::string_view literal);
  bool NextBegins(std::string_view literal);
  bool ReadOperands(size_t spec);
  bool NextIsOperand();
  Value* ReadOperand();
  void AddDefaults();
  bool ReadAttribute(AttrKey key, bool in_braces);
  bool ReadBraces();
  template <class T>
  bool Add(AttrKey key, std::optional<T> value);
  std::optional<int64_t> ReadEnumerator(AttrKey key);
  std::optional<Name> ReadSymbol();
  std::optional<AxisList> ReadAxes(bool in_braces);
  std::optional<NumberList> ReadNumbers();
  std::optional<Access> ReadAccess();
  bool ReadDim(AccessDim& dim);
  bool ReadTerm(bool negative, AccessDim& dim);
  uint32_t AccessOperand(Value* value);
  bool ReadTypes();
  bool ReadConstant();
  bool ReadElements();
  bool DecodeConstants();
  bool NextIsBraces();
  bool ReadRegionHeader();
  bool ReadBinders(bool ranges);
  bool ReadFor();
  bool ReadSplit();
  bool ReadLoop();
  bool ReadWhile();
  bool ReadIf();
  bool ReadSpmd();
  bool ReadElementwiseLoop();
  bool ReadStage();
  bool ReadBinder(bool typed);
  bool ReadRange(bool with_step);
  bool ReadCarried(size_t spec);
  bool ReadFolded();
  bool ReadRegions(Op* op);
  Op* Create();

  TextReader& reader_;
  TextCursor& cursor_;
  Region* region_;
  size_t depth_;
  size_t begin_ = 0;
  const OpInfo* info_ = nullptr;
  std::vector<NamedSpan> names_;
  Builder::Segments operands_;
  std::vector<Attr> attrs_;
  std::vector<Type> types_;
  std::vector<Binder> binders_;
  /// If the op is a `const` or has the attribute `elements`: the key of the attribute whose value consists of
  /// `constants_`. These numbers are kept as text until their type is known.
  std::optional<AttrKey> constants_of_;
  std::vector<std::pair<std::string_view, Span>> constants_;
  Loc loc_;
};

bool OpReader::ReadNames() {
  if (!cursor_.NextIs("%")) return true;
  do {
    size_t begin = cursor_.Here();
    std::optional<TextCursor::ValueText> name = cursor_.Value();
    if (!name) return false;
    names_.push_back({std::move(*name), cursor_.From(begin)});
  } while (cursor_.TrySign(","));
  return cursor_.Sign("=");
}

bool OpReader::Read() {
  begin_ = cursor_.Here();
  if (!ReadNames()) return false;
  size_t word_at = cursor_.Here();
  std::string_view word = cursor_.Identifier("an operation or '}'");
  if (word.empty()) return false;
  std::optional<OpKind> kind = OpFromSpelling(word);
  if (!kind) {
    cursor_.Fail(diag::IrUnknownOp, cursor_.From(word_at), word);
    return false;
  }
  info_ = &Info(*kind);
  if (info_->results != kManyResults && names_.size() != static_cast<size_t>(info_->results)) {
    std::string results =
        fmt::format("{} {}", info_->results, info_->results == 1 ? "result" : "results");
    cursor_.Fail(diag::IrResultCount, cursor_.From(begin_), word, results, names_.size());
    return false;
  }
  operands_.resize(info_->operands.size());
  bool has_regions = info_->regions > 0;
  bool read = has_regions ? ReadRegionHeader() : ReadPieces(FormatOf(*kind));
  if (!read || (NextIsBraces() && !ReadBraces())) return false;
  if (!has_regions && !ReadTypes()) return false;
  std::optional<Loc> loc = ReadLoc(reader_);
  if (!loc) return false;
  loc_ = *loc;
  Op* op = Create();
  reader_.spans[op] = cursor_.From(begin_);
  if (has_regions && !ReadRegions(op)) return false;
  for (size_t i = 0; i < names_.size(); ++i) {
    if (!Define(reader_, op->result(i), names_[i].name, names_[i].span)) return false;
  }
  return true;
}

/// Adds required attributes that are not in the text, with their default values.
void OpReader::AddDefaults() {
  Type first = types_.empty() ? Type() : types_[0];
  for (const AttrSpec& spec : info_->attrs) {
    auto is_key = [&](const Attr& attr) { return attr.key == spec.key; };
    if (!spec.required || std::any_of(attrs_.begin(), attrs_.end(), is_key)) continue;
    if (std::optional<AttrValue> value = DefaultOf(spec.key, first))
      attrs_.push_back({spec.key, std::move(*value)});
  }
}

Op* OpReader::Create() {
  // In the text, the result types of an op with regions come after the regions.
  std::vector<Type> types = types_;
  types.resize(names_.size(), reader_.types().ScalarOf(Scalar::I64));
  AddDefaults();
  Builder builder(reader_.module, region_);
  builder.set_loc(loc_);
  return builder.Create(info_->kind, operands_, std::move(types), std::move(attrs_));
}

bool OpReader::NextBegins(std::string_view literal) {
  literal.remove_prefix(std::min(literal.find_first_not_of(' '), literal.size()));
  std::string_view first = literal.substr(0, literal.find(' '));
  return cursor_.PeekWord() == first || (first.ends_with('(') && cursor_.NextIs(first));
}

bool OpReader::ReadLiteral(std::string_view literal) {
  while (true) {
    literal.remove_prefix(std::min(literal.find_first_not_of(' '), literal.size()));
    if (literal.empty()) return true;
    std::string_view chunk = literal.substr(0, literal.find(' '));
    literal.remove_prefix(chunk.size());
    bool is_word =
        std::all_of(chunk.begin(), chunk.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    if (!(is_word ? cursor_.Word(chunk) : cursor_.Sign(chunk))) return false;
  }
}

bool OpReader::ReadPieces(const std::vector<FormatPiece>& pieces) {
  for (const FormatPiece& piece : pieces) {
    bool read = true;
    switch (piece.kind) {
      case FormatPiece::Kind::Literal:
        read = ReadLiteral(piece.literal);
        break;
      case FormatPiece::Kind::Operand:
        read = ReadOperands(piece.operand);
        break;
      case FormatPiece::Kind::Attribute:
        read = ReadAttribute(piece.key, false);
        break;
      case FormatPiece::Kind::Optional:
        read = !NextBegins(piece.pieces[0].literal) || ReadPieces(piece.pieces);
        break;
    }
    if (!read) return false;
  }
  return true;
}

bool OpReader::NextIsOperand() { return cursor_.NextIs("%") || NextIsConstant(cursor_); }

/// Reads an operand: a use of a value, or a constant.
Value* OpReader::ReadOperand() {
  return NextIsConstant(cursor_) ? ReadInlineConstant(reader_, region_) : ReadValue(reader_);
}

bool OpReader::ReadOperands(size_t spec) {
  bool many = info_->operands[spec].arity == Arity::Many;
  if (many && !NextIsOperand()) return true;
  do {
    Value* value = ReadOperand();
    if (!value) return false;
    operands_[spec].push_back(value);
  } while (many && cursor_.TrySign(","));
  return true;
}

bool OpReader::NextIsBraces() {
  size_t begin = cursor_.Here();
  bool is_attribute = false;
  if (cursor_.TrySign("{") && !cursor_.PeekWord().empty()) {
    std::optional<AttrKey> key = AttrFromSpelling(cursor_.Identifier("an attribute"));
    bool is_flag = key && FormOf(*key) == AttrForm::Flag;
    is_attribute = cursor_.NextIs("=") || (is_flag && (cursor_.NextIs(",") || cursor_.NextIs("}")));
  }
  cursor_.GoTo(begin);
  return is_attribute;
}

bool OpReader::ReadBraces() {
  cursor_.Sign("{");
  do {
    size_t begin = cursor_.Here();
    std::string_view word = cursor_.Identifier("an attribute");
    if (word.empty()) return false;
    std::optional<AttrKey> key = AttrFromSpelling(word);
    auto is_key = [&](const AttrSpec& spec) { return spec.key == key; };
    bool known = key && std::any_of(info_->attrs.begin(), info_->attrs.end(), is_key) &&
                 !FormatNames(info_->kind, *key);
    if (!known) {
      cursor_.Fail(diag::IrUnknownAttribute, cursor_.From(begin), info_->spelling, word);
      return false;
    }
    for (const Attr& attr : attrs_) {
      if (attr.key == *key) cursor_.Fail(diag::IrDefinedTwice, cursor_.From(begin), word);
    }
    if (cursor_.failed()) return false;
    if (FormOf(*key) == AttrForm::Flag && !cursor_.NextIs("=")) {
      attrs_.push_back({*key, int64_t{1}});
      continue;
    }
    if (!cursor_.Sign("=") || !ReadAttribute(*key, true)) return false;
  } while (cursor_.TrySign(","));
  return cursor_.Sign("}");
}

template <class T>
bool OpReader::Add(AttrKey key, std::optional<T> value) {
  if (value) attrs_.push_back({key, AttrValue(std::move(*value))});
  return value.has_value();
}

bool OpReader::ReadAttribute(AttrKey key, bool in_braces) {
  switch (FormOf(key)) {
    case AttrForm::Integer:
    case AttrForm::Flag:
      return Add(key, cursor_.Integer("an integer"));
    case AttrForm::BitPattern:
      constants_of_ = key;
      return ReadConstant();
    case AttrForm::Numbers:
      return Add(key, ReadNumbers());
    case AttrForm::Elements:
      constants_of_ = key;
      return ReadElements();
    case AttrForm::Enumerator:
      return Add(key, ReadEnumerator(key));
    case AttrForm::Text: {
      std::optional<std::string> text = cursor_.QuotedText("a string in quotes");
      return text && Add(key, std::optional(reader_.Intern(*text)));
    }
    case AttrForm::Symbol:
      return Add(key, ReadSymbol());
    case AttrForm::Axes:
      return Add(key, ReadAxes(in_braces));
    case AttrForm::Access:
      return Add(key, ReadAccess());
    case AttrForm::Size: {
      Size size = ReadSize(reader_);
      return size && Add(key, std::optional(size));
    }
  }
  KDL_UNREACHABLE("attribute '{}' has no form", Spelling(key));
}

std::optional<int64_t> OpReader::ReadEnumerator(AttrKey key) {
  size_t begin = cursor_.Here();
  std::string_view word = cursor_.Identifier(Spelling(key));
  std::optional<int64_t> enumerator = EnumeratorFromSpelling(key, word);
  if (!enumerator) {
    cursor_.Fail(diag::IrExpected, cursor_.From(begin),
                 fmt::format("a value of '{}'", Spelling(key)), fmt::format("'{}'", word));
  }
  return enumerator;
}

/// Reads `@name`. The text `@""` means that no name has been chosen yet.
std::optional<Name> OpReader::ReadSymbol() {
  if (!cursor_.Sign("@")) return std::nullopt;
  std::optional<TextCursor::NameText> name = cursor_.DottedName("a name");
  if (!name) return std::nullopt;
  return name->name.empty() ? Name() : reader_.Intern(name->name);
}

/// Reads axes: `i, j`, or `(i, j)` inside braces, or `()` if there are none.
std::optional<AxisList> OpReader::ReadAxes(bool in_braces) {
  if (in_braces && !cursor_.Sign("(")) return std::nullopt;
  AxisList axes;
  bool open = in_braces || cursor_.TrySign("(");
  if (open && cursor_.TrySign(")")) return axes;
  do {
    std::optional<AxisId> axis = ReadAxis(reader_);
    if (!axis) return std::nullopt;
    axes.push_back(*axis);
  } while (cursor_.TrySign(","));
  if (in_braces && !cursor_.Sign(")")) return std::nullopt;
  return axes;
}

/// Reads `[14, 4, 1]`.
std::optional<NumberList> OpReader::ReadNumbers() {
  if (!cursor_.Sign("[")) return std::nullopt;
  NumberList numbers;
  do {
    std::optional<int64_t> number = cursor_.Integer("an integer");
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  } while (cursor_.TrySign(","));
  return cursor_.Sign("]") ? std::optional(numbers) : std::nullopt;
}

std::optional<Access> OpReader::ReadAccess() {
  if (!cursor_.Sign("[")) return std::nullopt;
  Access access;
  while (!cursor_.TrySign("]")) {
    if (!access.dims.empty() && !cursor_.Sign(",")) return std::nullopt;
    access.dims.push_back({{}, reader_.sizes().Constant(0)});
    if (!ReadDim(access.dims.back())) return std::nullopt;
  }
  return access;
}

uint32_t OpReader::AccessOperand(Value* value) {
  std::vector<Value*>& index = operands_[AccessOperands(info_->kind)];
  auto found = std::find(index.begin(), index.end(), value);
  if (found == index.end()) found = index.insert(found, value);
  return static_cast<uint32_t>(found - index.begin());
}

bool OpReader::ReadDim(AccessDim& dim) {
  size_t count = 0;
  do {
    bool negative = cursor_.TrySign("-");
    if (!negative && count > 0 && !cursor_.Sign("+")) return false;
    if (!ReadTerm(negative, dim)) return false;
    if (++count > kMaxTextNesting) {
      cursor_.Fail(diag::IrNestedTooDeep, cursor_.From(begin_), kMaxTextNesting);
      return false;
    }
  } while (cursor_.NextIs("+") || cursor_.NextIs("-"));
  return true;
}

/// Reads a term after its sign: `%k`, `2*%k`, `S*%k`, or an offset.
bool OpReader::ReadTerm(bool negative, AccessDim& dim) {
  SizeTable& sizes = reader_.sizes();
  auto with_sign = [&](Size size) {
    return negative ? sizes.Binary(SizeKind::Sub, sizes.Constant(0), size) : size;
  };
  Size amount = sizes.Constant(1);
  if (!cursor_.NextIs("%")) {
    amount = ReadSize(reader_);
    if (!amount) return false;
    if (!cursor_.TrySign("*")) {
      dim.offset = sizes.Binary(SizeKind::Add, dim.offset, with_sign(amount));
      return true;
    }
  }
  Value* value = ReadValue(reader_);
  if (!value) return false;
  dim.terms.push_back({with_sign(amount), AccessOperand(value)});
  return true;
}

bool OpReader::ReadTypes() {
  if (names_.empty()) return true;
  if (!cursor_.Sign(":")) return false;
  do {
    Type type = ReadType(reader_);
    if (!type) return false;
    types_.push_back(type);
  } while (types_.size() < names_.size() && cursor_.Sign(","));
  if (cursor_.failed()) return false;
  return !constants_of_ || DecodeConstants();
}

bool OpReader::ReadConstant() {
  size_t begin = cursor_.Here();
  std::string_view text = cursor_.Constant();
  constants_.emplace_back(text, cursor_.From(begin));
  return !text.empty();
}

bool OpReader::ReadElements() {
  if (!cursor_.Sign("[")) return false;
  do {
    if (!ReadConstant()) return false;
  } while (cursor_.TrySign(","));
  return cursor_.Sign("]");
}

bool OpReader::DecodeConstants() {
  Scalar scalar = types_[0]->scalar;
  ElementBits elements;
  for (const auto& [text, span] : constants_) {
    std::optional<uint64_t> bits = ConstantBits(scalar, text);
    if (!bits) {
      cursor_.Fail(diag::IrBadConstant, span, text, Spelling(scalar));
      return false;
    }
    elements.push_back(*bits);
  }
  if (FormOf(*constants_of_) == AttrForm::Elements) {
    attrs_.push_back({*constants_of_, std::move(elements)});
  } else {
    attrs_.push_back({*constants_of_, static_cast<int64_t>(elements[0])});
  }
  return true;
}

bool OpReader::ReadBinder(bool typed) {
  size_t begin = cursor_.Here();
  std::optional<TextCursor::ValueText> name = cursor_.Value();
  if (!name) return false;
  Binder binder{{std::move(*name), cursor_.From(begin)}, reader_.types().ScalarOf(Scalar::I64)};
  if (typed) {
    if (!cursor_.Sign(":")) return false;
    binder.type = ReadType(reader_);
    if (!binder.type) return false;
  }
  binders_.push_back(std::move(binder));
  return cursor_.Word("in");
}

/// Reads `%lo .. %hi` into the first two operands, and `step %s` into the third. Without `step`, the step
/// is 1.
bool OpReader::ReadRange(bool with_step) {
  if (!ReadOperands(0) || !cursor_.Sign("..") || !ReadOperands(1)) return false;
  if (!with_step) return true;
  if (cursor_.TryWord("step")) return ReadOperands(2);
  Value* step = Builder(reader_.module, region_).I64(1);
  reader_.spans[step->def()] = cursor_.From(cursor_.Here());
  operands_[2].push_back(step);
  return true;
}

bool OpReader::ReadCarried(size_t spec) {
  if (!cursor_.TryWord("carry")) return true;
  if (!cursor_.Sign("(")) return false;
  do {
    size_t begin = cursor_.Here();
    std::optional<TextCursor::ValueText> name = cursor_.Value();
    if (!name) return false;
    Span span = cursor_.From(begin);
    if (!cursor_.Sign("=")) return false;
    Value* init = ReadOperand();
    if (!init) return false;
    operands_[spec].push_back(init);
    binders_.push_back({{std::move(*name), span}, init->type()});
  } while (cursor_.TrySign(","));
  return cursor_.Sign(")");
}

/// Reads `carry(%acc = %init, …) (%element in %tile, …)`.
bool OpReader::ReadFolded() {
  if (!ReadCarried(1) || !cursor_.Sign("(")) return false;
  do {
    if (!ReadBinder(false)) return false;
    Value* tile = ReadValue(reader_);
    if (!tile) return false;
    operands_[0].push_back(tile);
    binders_.back().type = reader_.types().ScalarOf(tile->type()->scalar);
  } while (cursor_.TrySign(","));
  return cursor_.Sign(")");
}

bool OpReader::ReadFor() { return ReadBinder(true) && ReadRange(false) && ReadCarried(2); }
bool OpReader::ReadSplit() { return ReadBinder(true) && ReadOperands(0); }
bool OpReader::ReadLoop() { return ReadBinder(false) && ReadRange(true) && ReadCarried(3); }
bool OpReader::ReadWhile() { return ReadCarried(0); }
bool OpReader::ReadIf() { return ReadOperands(0); }
bool OpReader::ReadStage() { return true; }
bool OpReader::ReadSpmd() { return ReadBinders(true); }
bool OpReader::ReadElementwiseLoop() { return ReadBinders(false); }

/// Reads `(%i: type in %lo .. %hi, …)` or `(%i in %block, …)`.
bool OpReader::ReadBinders(bool ranges) {
  if (!cursor_.Sign("(")) return false;
  while (!cursor_.TrySign(")")) {
    if (!binders_.empty() && !cursor_.Sign(",")) return false;
    if (!ReadBinder(ranges)) return false;
    for (int i = 0; i < (ranges ? 2 : 1); ++i) {
      if (i == 1 && !cursor_.Sign("..")) return false;
      Value* value = ReadOperand();
      if (!value) return false;
      operands_[0].push_back(value);
    }
  }
  return true;
}

bool OpReader::ReadRegionHeader() {
  struct Row {
    OpKind kind;
    bool (OpReader::*read)();
  };
  static constexpr Row kRows[] = {
      {OpKind::For, &OpReader::ReadFor},
      {OpKind::Loop, &OpReader::ReadLoop},
      {OpKind::While, &OpReader::ReadWhile},
      {OpKind::If, &OpReader::ReadIf},
      {OpKind::Spmd, &OpReader::ReadSpmd},
      {OpKind::Elementwise, &OpReader::ReadElementwiseLoop},
      {OpKind::MultiReduce, &OpReader::ReadFolded},
      {OpKind::Scan, &OpReader::ReadFolded},
      {OpKind::ScanInLoop, &OpReader::ReadFolded},
      {OpKind::Split, &OpReader::ReadSplit},
      {OpKind::Stage, &OpReader::ReadStage},
  };
  static_assert(CoverOnce(kRows, [](const OpInfo& info) { return info.regions > 0; }),
                "each op with regions is read");
  static constexpr auto kReaders = ByOp(kRows);
  return (this->*kReaders[static_cast<size_t>(info_->kind)].read)();
}

bool OpReader::ReadRegions(Op* op) {
  Builder builder(reader_.module);
  for (const Binder& binder : binders_) {
    Value* param = builder.AddParam(op->region(), binder.type, Name());
    if (!Define(reader_, param, binder.name.name, binder.name.span)) return false;
  }
  for (Region* region : op->regions()) {
    if (region != op->region() && !cursor_.TryWord("else")) {
      MakeImpliedYield(reader_, region);
      continue;
    }
    if (!cursor_.Sign("{") || !ReadOps(reader_, region, depth_ + 1)) return false;
  }
  if (!ReadTypes()) return false;
  for (size_t i = 0; i < types_.size(); ++i) op->result(i)->set_type(types_[i]);
  return true;
}

}  // namespace

bool ReadOps(TextReader& reader, Region* region, size_t depth) {
  if (depth > kMaxTextNesting) {
    reader.cursor.Fail(diag::IrNestedTooDeep, reader.cursor.From(reader.cursor.Here()),
                       kMaxTextNesting);
    return false;
  }
  while (!reader.cursor.TrySign("}")) {
    if (!OpReader(reader, region, depth).Read()) return false;
  }
  bool is_open = !region->last() || !region->last()->info().has(kTerminator);
  if (region->parent() && is_open) MakeImpliedYield(reader, region);
  return true;
}

}  // namespace kdl::ir
