#include <fmt/format.h>

#include "ir/parse/parser.h"
#include "ir/parse/text_reader.h"
#include "ir/print/value_names.h"

namespace kdl::ir {

namespace {

/// Reads one size. Limits the number of operators in the size, and thereby its nesting depth.
class SizeReader {
 public:
  explicit SizeReader(TextReader& reader) : reader_(reader), cursor_(reader.cursor) {}

  Size Primary() {
    if (cursor_.TrySign("(")) {
      if (!Deeper()) return nullptr;
      Size inner = Sum();
      return inner && cursor_.Sign(")") ? inner : nullptr;
    }
    if (cursor_.NextIsDigit() || cursor_.NextIs("-")) {
      std::optional<int64_t> value = cursor_.Integer("a size");
      return value ? reader_.sizes().Constant(*value) : nullptr;
    }
    std::string_view symbol = cursor_.Identifier("a size");
    if (symbol == "min" && cursor_.TrySign("(")) return Smaller();
    return symbol.empty() ? nullptr : reader_.sizes().Symbol(reader_.Intern(symbol));
  }

 private:
  struct Operator {
    std::string_view sign;
    SizeKind kind;
  };

  bool Deeper() {
    if (++operators_ <= kMaxTextNesting) return true;
    cursor_.Fail(diag::IrNestedTooDeep, cursor_.From(cursor_.Here()), kMaxTextNesting);
    return false;
  }

  /// Reads `a, b)` of `min(a, b)`.
  Size Smaller() {
    Size lhs = Deeper() ? Sum() : nullptr;
    if (!lhs || !cursor_.Sign(",")) return nullptr;
    Size rhs = Sum();
    if (!rhs || !cursor_.Sign(")")) return nullptr;
    return reader_.sizes().Binary(SizeKind::Min, lhs, rhs);
  }
  Size Sum() {
    return Chain({{"+", SizeKind::Add}, {"-", SizeKind::Sub}}, [this] { return Product(); });
  }
  Size Product() {
    return Chain({{"*", SizeKind::Mul}, {"/", SizeKind::FloorDiv}, {"%", SizeKind::Mod}},
                 [this] { return Primary(); });
  }

  template <class Next>
  Size Chain(std::initializer_list<Operator> operators, Next&& next) {
    Size size = next();
    for (bool more = true; size && more;) {
      more = false;
      for (const Operator& op : operators) {
        if (!cursor_.TrySign(op.sign)) continue;
        Size rhs = Deeper() ? next() : nullptr;
        if (!rhs) return nullptr;
        size = reader_.sizes().Binary(op.kind, size, rhs);
        more = true;
        break;
      }
    }
    return size;
  }

  TextReader& reader_;
  TextCursor& cursor_;
  size_t operators_ = 0;
};

/// Reads the rest of a type after `<`, such as `f32,[M,K]>`.
Type ReadShaped(TextReader& reader, TypeKind kind) {
  TextCursor& cursor = reader.cursor;
  std::optional<Scalar> scalar = ReadScalar(reader);
  if (!scalar || !cursor.Sign(",") || !cursor.Sign("[")) return nullptr;
  std::vector<Size> dims;
  while (!cursor.NextIs("]")) {
    if (!dims.empty() && !cursor.Sign(",")) return nullptr;
    size_t begin = cursor.Here();
    Size dim = ReadSize(reader);
    if (!dim) return nullptr;
    if (kind == TypeKind::Buffer && !IsConstant(dim)) {
      cursor.Fail(diag::IrExpected, cursor.From(begin), "a constant extent", "a size name");
      return nullptr;
    }
    dims.push_back(dim);
  }
  if (!cursor.Sign("]")) return nullptr;
  Space space = Space::Scratch;
  if (kind == TypeKind::Buffer && cursor.TrySign(";")) {
    if (!cursor.Word("workgroup")) return nullptr;
    space = Space::Workgroup;
  }
  if (!cursor.Sign(">")) return nullptr;
  if (kind == TypeKind::Tensor) return reader.types().Tensor(*scalar, std::move(dims));
  if (kind == TypeKind::Pipe) return reader.types().Pipe(*scalar, std::move(dims));
  std::vector<int64_t> extents;
  for (Size dim : dims) extents.push_back(dim->value);
  return reader.types().Buffer(*scalar, std::move(extents), space);
}

/// Reads the rest of a tile type after `<`, such as `f32; i j>`.
Type ReadTile(TextReader& reader) {
  std::optional<Scalar> scalar = ReadScalar(reader);
  if (!scalar || !reader.cursor.Sign(";")) return nullptr;
  std::vector<AxisId> axes;
  while (!reader.cursor.TrySign(">")) {
    std::optional<AxisId> axis = ReadAxis(reader);
    if (!axis) return nullptr;
    axes.push_back(*axis);
  }
  return reader.types().Tile(*scalar, std::move(axes));
}

/// Reads `panel`, `group` or `pad` and the number after it in the type of a tile buffer.
bool ReadTileBufferNumber(TextReader& reader, int64_t& panel, int64_t& group, int64_t& pad) {
  constexpr int64_t kMost = int64_t{1} << 30;
  TextCursor& cursor = reader.cursor;
  bool is_panel = cursor.TryWord("panel");
  bool is_group = !is_panel && cursor.TryWord("group");
  if (!is_panel && !is_group && !cursor.Word("pad")) return false;
  size_t begin = cursor.Here();
  std::optional<int64_t> number = cursor.Integer("a number of elements");
  if (!number) return false;
  bool is_power = is_panel || is_group;
  bool fits = *number > 0 && *number <= kMost &&
              (!is_power || std::has_single_bit(static_cast<uint64_t>(*number)));
  if (!fits) {
    cursor.Fail(diag::IrExpected, cursor.From(begin),
                is_power ? "a power of two, at most 2^30" : "a number from 1 to 2^30",
                fmt::format("{}", *number));
    return false;
  }
  (is_panel ? panel : is_group ? group : pad) = *number;
  return true;
}

/// Reads the rest of a tile-buffer type after `<`, such as `f32; k j; panel 32; group 2; pad 16>`.
Type ReadTileBuffer(TextReader& reader) {
  TextCursor& cursor = reader.cursor;
  std::optional<Scalar> scalar = ReadScalar(reader);
  if (!scalar || !cursor.Sign(";")) return nullptr;
  std::vector<AxisId> axes;
  int64_t panel = 0;
  int64_t pad = 0;
  int64_t group = 1;
  while (!cursor.NextIs(">") && !cursor.NextIs(";")) {
    std::optional<AxisId> axis = ReadAxis(reader);
    if (!axis) return nullptr;
    axes.push_back(*axis);
  }
  while (cursor.TrySign(";")) {
    if (!ReadTileBufferNumber(reader, panel, group, pad)) return nullptr;
  }
  if (!cursor.Sign(">")) return nullptr;
  return reader.types().TileBuffer(*scalar, std::move(axes), panel, pad, group);
}

constexpr int64_t kMaxLanes = 4096;

/// Reads the rest of a vector type after `<`, such as `f32 x 16>`.
Type ReadVector(TextReader& reader) {
  TextCursor& cursor = reader.cursor;
  std::optional<Scalar> scalar = ReadScalar(reader);
  if (!scalar || !cursor.Word("x")) return nullptr;
  size_t begin = cursor.Here();
  std::optional<int64_t> lanes = cursor.Integer("a number of lanes");
  if (!lanes) return nullptr;
  if (*lanes < 2 || *lanes > kMaxLanes) {
    cursor.Fail(diag::IrExpected, cursor.From(begin), "a number of lanes from 2 to 4096",
                fmt::format("{}", *lanes));
    return nullptr;
  }
  return cursor.Sign(">") ? reader.types().Vector(*scalar, *lanes) : nullptr;
}

}  // namespace

Size ReadSize(TextReader& reader) { return SizeReader(reader).Primary(); }

std::optional<Scalar> ReadScalar(TextReader& reader) {
  size_t begin = reader.cursor.Here();
  std::string_view word = reader.cursor.Identifier("a scalar type");
  std::optional<Scalar> scalar = ScalarFromSpelling(word);
  if (!scalar) {
    reader.cursor.Fail(diag::IrExpected, reader.cursor.From(begin), "a scalar type",
                       fmt::format("'{}'", word));
  }
  return scalar;
}

std::optional<AxisId> ReadAxis(TextReader& reader) {
  size_t begin = reader.cursor.Here();
  std::optional<TextCursor::ValueText> label = reader.cursor.Label("the name of an axis");
  if (!label) return std::nullopt;
  auto found = reader.axes.find(label->key);
  if (found != reader.axes.end()) return found->second;
  reader.cursor.Fail(diag::IrUnknownAxis, reader.cursor.From(begin), label->key);
  return std::nullopt;
}

Type ReadType(TextReader& reader) {
  TextCursor& cursor = reader.cursor;
  if (ScalarFromSpelling(cursor.PeekWord())) return reader.types().ScalarOf(*ReadScalar(reader));
  if (cursor.TryWord("event")) return reader.types().Event();
  if (cursor.TryWord("workspace")) return reader.types().Workspace();
  if (cursor.TryWord("tile")) return cursor.Sign("<") ? ReadTile(reader) : nullptr;
  if (cursor.TryWord("tile_buffer")) return cursor.Sign("<") ? ReadTileBuffer(reader) : nullptr;
  constexpr std::pair<std::string_view, TypeKind> kShaped[] = {
      {"tensor", TypeKind::Tensor}, {"buffer", TypeKind::Buffer}, {"pipe", TypeKind::Pipe}};
  for (auto [word, kind] : kShaped) {
    if (cursor.TryWord(word)) return cursor.Sign("<") ? ReadShaped(reader, kind) : nullptr;
  }
  if (cursor.TryWord("vec")) return cursor.Sign("<") ? ReadVector(reader) : nullptr;
  if (cursor.TryWord("block")) {
    if (!cursor.Sign("<")) return nullptr;
    std::optional<AxisId> axis = ReadAxis(reader);
    return axis && cursor.Sign(">") ? reader.types().Block(*axis) : nullptr;
  }
  cursor.Expected("a type");
  return nullptr;
}

namespace {

/// Reads `"FILE":LINE:COLUMN+LENGTH`.
std::optional<Loc> ReadPlace(TextReader& reader) {
  TextCursor& cursor = reader.cursor;
  Loc loc;
  if (cursor.NextIs("\"")) {
    std::optional<std::string> file = cursor.QuotedText("a file");
    if (!file) return std::nullopt;
    loc.file = reader.Intern(*file);
  }
  struct Part {
    std::string_view before;
    uint32_t* value;
  };
  for (auto [before, value] :
       {Part{":", &loc.line}, Part{":", &loc.column}, Part{"+", &loc.length}}) {
    if (!cursor.Sign(before)) return std::nullopt;
    size_t begin = cursor.Here();
    std::optional<int64_t> number = cursor.Integer("a number");
    if (!number) return std::nullopt;
    if (*number < 0 || *number > std::numeric_limits<uint32_t>::max()) {
      cursor.Fail(diag::IrExpected, cursor.From(begin), "a 32-bit number",
                  fmt::format("{}", *number));
      return std::nullopt;
    }
    *value = static_cast<uint32_t>(*number);
  }
  return loc;
}

}  // namespace

std::optional<Loc> ReadLoc(TextReader& reader) {
  TextCursor& cursor = reader.cursor;
  if (!cursor.TryWord("loc")) return Loc();
  if (!cursor.Sign("(")) return std::nullopt;
  std::optional<Loc> loc = ReadPlace(reader);
  while (loc && cursor.TryWord("in")) {
    std::optional<std::string> function = cursor.QuotedText("a function");
    if (!function || !cursor.Word("at")) return std::nullopt;
    std::optional<Loc> call = ReadPlace(reader);
    if (!call) return std::nullopt;
    loc = reader.module.context().Inlined(*loc, reader.Intern(*function), *call);
  }
  return loc && cursor.Sign(")") ? loc : std::nullopt;
}

Value* ReadValue(TextReader& reader) {
  size_t begin = reader.cursor.Here();
  std::optional<TextCursor::ValueText> text = reader.cursor.Value();
  if (!text) return nullptr;
  auto found = reader.values.find(text->key);
  if (found != reader.values.end()) return found->second;
  reader.cursor.Fail(diag::IrUnknownValue, reader.cursor.From(begin), "%" + text->key);
  return nullptr;
}

bool Define(TextReader& reader, Value* value, const TextCursor::ValueText& name, Span span) {
  std::string derived = DerivedName(value);
  bool is_derived = !derived.empty() && name.name == derived;
  if (name.name && !is_derived) value->set_name(reader.Intern(*name.name));
  if (reader.values.emplace(name.key, value).second) return true;
  reader.cursor.Fail(diag::IrDefinedTwice, span, "%" + name.key);
  return false;
}

}  // namespace kdl::ir
