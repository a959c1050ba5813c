#include <algorithm>
#include <string>
#include <vector>

#include "codegen/c_source/writer.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "support/check.h"

// Writes accesses to elements of tensors and buffers.

namespace kdl::codegen::c_source {

namespace {

using ir::AttrKey;

std::string IndexText(const Writer& w, const ir::AccessDim& dim,
                      std::span<ir::Value* const> operands) {
  std::string text;
  for (const ir::AccessTerm& term : dim.terms) {
    std::string part = w.Get(operands[term.operand]);
    if (operands[term.operand]->type()->scalar != Scalar::I64) part = "(int64_t)" + part;
    if (!IsConstant(term.coefficient, 1))
      part = fmt::format("{} * {}", SizeText(w, term.coefficient), part);
    text += text.empty() ? part : " + " + part;
  }
  if (!text.empty() && IsConstant(dim.offset, 0)) return text;
  std::string offset = SizeText(w, dim.offset);
  return text.empty() ? offset : text + " + " + offset;
}

/// Returns the offset of an element from the base, in elements.
std::string OffsetText(const Memory& memory, const std::vector<std::string>& index) {
  std::string offset;
  for (size_t d = 0; d < index.size(); ++d) {
    bool is_name = index[d].find(' ') == std::string::npos;
    std::string part = memory.strides[d].empty() ? index[d]
                       : is_name ? fmt::format("{} * {}", index[d], memory.strides[d])
                                 : fmt::format("({}) * {}", index[d], memory.strides[d]);
    if (part == "0" && d + 1 < index.size()) continue;
    offset += offset.empty() ? part : " + " + part;
  }
  return offset.empty() ? "0" : offset;
}

struct Element {
  const Memory& memory;
  std::string offset;

  std::string text() const { return fmt::format("{}[{}]", memory.base, offset); }
  std::string address() const { return fmt::format("{} + {}", memory.base, offset); }
};

Element TensorElement(const Writer& w, const Op* op, const ir::Value* tensor,
                      std::span<ir::Value* const> operands) {
  std::vector<std::string> index;
  for (const ir::AccessDim& dim : op->attr<AttrKey::Access>().dims)
    index.push_back(IndexText(w, dim, operands));
  const Memory& memory = w.memories.at(tensor);
  return {memory, OffsetText(memory, index)};
}

Element BufferElement(const Writer& w, const ir::Value* buffer,
                      std::span<ir::Value* const> operands) {
  std::vector<std::string> index;
  for (const ir::Value* operand : operands) index.push_back(w.Get(operand));
  const Memory& memory = w.memories.at(buffer);
  return {memory, OffsetText(memory, index)};
}

/// The size of the lanes of bools that come from memory.
constexpr int kLoadedMask = 8;

std::string VectorOf(Writer& w, Scalar scalar, int64_t lanes) {
  return w.helpers.Vector(scalar, lanes, scalar == Scalar::Bool ? kLoadedMask : 0);
}

/// Names the function that moves a vector to or from memory. It moves the first `used` lanes, for which the mask is true.
struct Move {
  Writer& w;
  Scalar scalar;
  int64_t lanes;
  int64_t used;
  bool masked;

  int bits() const { return 8 * Bytes(scalar); }
  std::string type() const { return VectorOf(w, scalar, lanes); }
  std::string mask() const { return w.helpers.Vector(Scalar::Bool, lanes, bits()); }
  std::string name(std::string_view verb) const {
    return fmt::format("kdl_{}{}_{}x{}{}", verb, masked ? "_if" : "", Spelling(scalar), lanes,
                       used < lanes ? fmt::format("_first_{}", used) : "");
  }
  std::vector<Part> parts() const { return w.helpers.Parts(bits(), lanes); }
  Move of(const Part& part) const { return {w, scalar, part.lanes, part.used, masked}; }
  std::string address(const Part& part) const {
    return part.first == 0 ? "p" : fmt::format("p + {}", part.first);
  }
};

/// Instructions of x86-64 that move some lanes of a register. C compilers use them only in loops that they find.
struct MaskedInstruction {
  int bits;  ///< of a lane
  int64_t lanes;
  std::string_view feature;  ///< whether the compiler has it
  std::string_view load;
  std::string_view store;
};
constexpr std::string_view kAvx2 = "defined(__AVX2__)";
constexpr std::string_view kAvx512 =
    "defined(__AVX512VL__) && defined(__AVX512BW__) && defined(__AVX512DQ__)";
constexpr MaskedInstruction kMasked[] = {
    {32, 4, kAvx2, "_mm_maskload_epi32((const int*)p, (__m128i)m)",
     "_mm_maskstore_epi32((int*)p, (__m128i)m, (__m128i)a)"},
    {64, 2, kAvx2, "_mm_maskload_epi64((const long long*)p, (__m128i)m)",
     "_mm_maskstore_epi64((long long*)p, (__m128i)m, (__m128i)a)"},
    {32, 8, kAvx2, "_mm256_maskload_epi32((const int*)p, (__m256i)m)",
     "_mm256_maskstore_epi32((int*)p, (__m256i)m, (__m256i)a)"},
    {64, 4, kAvx2, "_mm256_maskload_epi64((const long long*)p, (__m256i)m)",
     "_mm256_maskstore_epi64((long long*)p, (__m256i)m, (__m256i)a)"},
    {32, 16, kAvx512, "_mm512_maskz_loadu_epi32(_mm512_movepi32_mask((__m512i)m), p)",
     "_mm512_mask_storeu_epi32(p, _mm512_movepi32_mask((__m512i)m), (__m512i)a)"},
    {64, 8, kAvx512, "_mm512_maskz_loadu_epi64(_mm512_movepi64_mask((__m512i)m), p)",
     "_mm512_mask_storeu_epi64(p, _mm512_movepi64_mask((__m512i)m), (__m512i)a)"},
    {8, 16, kAvx512, "_mm_maskz_loadu_epi8(_mm_movepi8_mask((__m128i)m), p)",
     "_mm_mask_storeu_epi8(p, _mm_movepi8_mask((__m128i)m), (__m128i)a)"},
    {16, 8, kAvx512, "_mm_maskz_loadu_epi16(_mm_movepi16_mask((__m128i)m), p)",
     "_mm_mask_storeu_epi16(p, _mm_movepi16_mask((__m128i)m), (__m128i)a)"},
    {8, 32, kAvx512, "_mm256_maskz_loadu_epi8(_mm256_movepi8_mask((__m256i)m), p)",
     "_mm256_mask_storeu_epi8(p, _mm256_movepi8_mask((__m256i)m), (__m256i)a)"},
    {16, 16, kAvx512, "_mm256_maskz_loadu_epi16(_mm256_movepi16_mask((__m256i)m), p)",
     "_mm256_mask_storeu_epi16(p, _mm256_movepi16_mask((__m256i)m), (__m256i)a)"},
    {8, 64, kAvx512, "_mm512_maskz_loadu_epi8(_mm512_movepi8_mask((__m512i)m), p)",
     "_mm512_mask_storeu_epi8(p, _mm512_movepi8_mask((__m512i)m), (__m512i)a)"},
    {16, 32, kAvx512, "_mm512_maskz_loadu_epi16(_mm512_movepi16_mask((__m512i)m), p)",
     "_mm512_mask_storeu_epi16(p, _mm512_movepi16_mask((__m512i)m), (__m512i)a)"}};

/// Returns `body`, or for a compiler that has an instruction for the move, `before` and the instruction.
std::string WithInstruction(const Move& move, std::string_view body, std::string_view before,
                            std::string_view MaskedInstruction::* instruction) {
  bool may = move.masked && move.used == move.lanes && move.scalar != Scalar::Bool;
  const auto* row = std::ranges::find_if(kMasked, [&](const MaskedInstruction& one) {
    return one.bits == move.bits() && one.lanes == move.lanes;
  });
  if (!may || row == std::end(kMasked)) return std::string(body);
  move.w.helpers.Define("kdl_intrinsics", std::string(kIntrinsics));
  return fmt::format(
      "#if {} && defined(KDL_GNU_VECTORS)\n"
      "  {}{};\n"
      "#else\n"
      "{}"
      "#endif\n",
      row->feature, before, (*row).*instruction, body);
}

/// Returns the function that loads a vector. Lanes that are not loaded are 0.
std::string LoadFunction(const Move& load) {
  Helpers& helpers = load.w.helpers;
  std::string name = load.name("load");
  if (helpers.IsDefined(name)) return name;
  std::string type = load.type();
  std::string params = fmt::format("const {}* p{}", MemoryType(load.scalar),
                                   load.masked ? fmt::format(", {} m", load.mask()) : "");
  if (std::vector<Part> parts = load.parts(); parts.size() > 1) {
    helpers.DefineByParts(name, type, params, parts, [&](const Part& part) {
      return fmt::format("{}({}{})", LoadFunction(load.of(part)), load.address(part),
                         load.masked ? ", m" + part.field : "");
    });
    return name;
  }
  bool is_bool = load.scalar == Scalar::Bool;
  std::string body;
  if (load.masked || is_bool) {
    std::string value = is_bool ? "p[l] != 0 ? -1 : 0" : "p[l]";
    if (load.masked) value = fmt::format("KDL_LANE(m, l) ? {} : 0", value);
    body = fmt::format("  KDL_LOOP for (int l = 0; l < {}; ++l) KDL_LANE(r, l) = {};\n", load.used,
                       value);
  } else {
    body = fmt::format("  memcpy(&r, p, {});\n", load.used * Bytes(load.scalar));
  }
  body = fmt::format("  {} r = {{0}};\n{}  return r;\n", type, body);
  body = WithInstruction(load, body, fmt::format("return ({})", type), &MaskedInstruction::load);
  helpers.Define(name, fmt::format("static inline {} {}({}) {{\n{}}}\n", type, name, params, body));
  return name;
}

/// Returns the body of a function that stores a vector in one register.
std::string StoreBody(const Move& store) {
  std::string value = store.scalar == Scalar::Bool ? "KDL_LANE(a, l) & 1" : "KDL_LANE(a, l)";
  if (store.masked)
    return fmt::format(
        "  KDL_LOOP for (int l = 0; l < {}; ++l) {{\n"
        "    if (KDL_LANE(m, l)) p[l] = {};\n"
        "  }}\n",
        store.used, value);
  if (store.scalar == Scalar::Bool)
    return fmt::format("  for (int l = 0; l < {}; ++l) p[l] = {};\n", store.used, value);
  return fmt::format("  memcpy(p, &a, {});\n", store.used * Bytes(store.scalar));
}

std::string StoreFunction(const Move& store) {
  Helpers& helpers = store.w.helpers;
  std::string name = store.name("store");
  if (helpers.IsDefined(name)) return name;
  std::string body;
  if (std::vector<Part> parts = store.parts(); parts.size() > 1) {
    for (const Part& part : parts) {
      if (part.used == 0) continue;
      body += fmt::format("  {}({}, a{}{});\n", StoreFunction(store.of(part)), store.address(part),
                          part.field, store.masked ? ", m" + part.field : "");
    }
  } else {
    body = WithInstruction(store, StoreBody(store), "", &MaskedInstruction::store);
  }
  std::string mask = store.masked ? fmt::format(", {} m", store.mask()) : "";
  helpers.Define(name, fmt::format("static inline void {}({}* p, {} a{}) {{\n{}}}\n", name,
                                   MemoryType(store.scalar), store.type(), mask, body));
  return name;
}

void DefineLoaded(Writer& w, const ir::Value* result, const Element& element,
                  const ir::Value* mask) {
  Scalar scalar = result->type()->scalar;
  int64_t lanes = ir::Lanes(result->type());
  if (lanes == 1) {
    KDL_CHECK(!mask, "a load of a scalar has a mask");
    return w.Define(result, element.text() + (scalar == Scalar::Bool ? " != 0" : ""));
  }
  std::string arguments = element.address();
  if (mask) arguments += ", " + w.Lanes(mask, lanes, 8 * Bytes(scalar));
  w.Define(
      result,
      fmt::format("{}({})", LoadFunction({w, scalar, lanes, lanes, mask != nullptr}), arguments),
      scalar == Scalar::Bool ? kLoadedMask : 0);
}

void WriteStored(Writer& w, const ir::Value* value, const Element& element, const ir::Value* mask) {
  Scalar scalar = value->type()->scalar;
  int64_t lanes = ir::Lanes(value->type());
  if (lanes == 1) {
    KDL_CHECK(!mask, "a store of a scalar has a mask");
    return w.Line("{} = {}{};", element.text(), scalar == Scalar::Bool ? "(uint8_t)" : "",
                  w.Get(value));
  }
  std::string arguments =
      fmt::format("{}, {}", element.address(), w.Lanes(value, lanes, kLoadedMask));
  if (mask) arguments += ", " + w.Lanes(mask, lanes, 8 * Bytes(scalar));
  w.Line("{}({});", StoreFunction({w, scalar, lanes, lanes, mask != nullptr}), arguments);
}

/// Buffers of up to this size are variables of the function.
constexpr int64_t kMostOnStack = 4096;
constexpr int64_t kAlignment = 64;

void WriteBufferNew(Writer& w, const Op* op) {
  ir::Type type = op->result()->type();
  std::string name = w.NewName(op->result());
  Memory memory{name, std::vector<std::string>(type->dims.size())};
  int64_t count = 1;
  for (size_t d = type->dims.size(); d-- > 0;) {
    if (count != 1) memory.strides[d] = fmt::format("{}", count);
    count *= type->dims[d]->value;
  }
  std::string_view element = MemoryType(type->scalar);
  int64_t bytes = count * Bytes(type->scalar);
  // C compilers warn about stores of some lanes of a vector if the whole vector does not fit.
  int64_t padded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (bytes <= kMostOnStack) {
    w.Line("_Alignas({}) {} {}[{}];", kAlignment, element, name, padded / Bytes(type->scalar));
  } else {
    w.Line("{0}* const {1} = ({0}*)(kdl_scratch + {2});", element, name, w.scratch_bytes);
    w.scratch_bytes += padded;
  }
  w.memories[op->result()] = std::move(memory);
}

/// Splits a dimension or merges several. Tensors have no gaps.
void WriteView(Writer& w, const Op* op) {
  Memory memory = w.memories.at(op->operand(0));
  ir::ViewedDims dims = ir::ViewedDimsOf(op);
  auto at = memory.strides.begin() + static_cast<std::ptrdiff_t>(dims.dimension);
  std::string stride = at[static_cast<std::ptrdiff_t>(dims.from) - 1];
  at = memory.strides.erase(at, at + static_cast<std::ptrdiff_t>(dims.from));
  for (size_t i = dims.to; i-- > 0;) {  // innermost first, each inserted before the previous one
    at = memory.strides.insert(at, stride);
    if (i == 0) break;
    std::string size = SizeText(w, op->result()->type()->dims[dims.dimension + i]);
    stride = stride.empty() ? size : fmt::format("({} * {})", stride, size);
  }
  w.memories[op->result()] = std::move(memory);
}

void WriteJoinRows(Writer& w, const Op* op) {
  Memory memory = w.memories.at(op->operand(0));
  memory.strides.erase(memory.strides.end() - 2);
  w.memories[op->result()] = std::move(memory);
}

void WriteTable(Writer& w, const Op* op) {
  ir::Type type = op->result()->type();
  std::string name = w.NewName(op->result());
  std::string elements;
  for (uint64_t bits : op->attr<AttrKey::Elements>())
    elements += (elements.empty() ? "" : ", ") + ConstantText(type->scalar, bits);
  w.Line("static const {} {}[] = {{{}}};", MemoryType(type->scalar), name, elements);
  Memory memory{name, std::vector<std::string>(type->dims.size())};
  int64_t count = 1;
  for (size_t d = type->dims.size(); d-- > 0;) {
    if (count != 1) memory.strides[d] = fmt::format("{}", count);
    count *= type->dims[d]->value;
  }
  w.memories[op->result()] = std::move(memory);
}

/// A kernel with updates runs on one core, so they need not be atomic.
bool WriteUpdate(Writer& w, const Op* op) {
  ir::UpdateOp update(const_cast<Op*>(op));
  if (update.mask() || ir::IsVector(update.value()->type())) return false;
  Scalar scalar = update.value()->type()->scalar;
  Element element = TensorElement(w, op, update.tensor(), update.index());
  auto how = op->attr<AttrKey::How>();
  if (how == ir::UpdateKind::Set) {
    w.Line("{} = {}{};", element.text(), scalar == Scalar::Bool ? "(uint8_t)" : "",
           w.Get(update.value()));
    return true;
  }
  static constexpr std::string_view kNames[] = {"", "add", "max", "min", "and", "or", "xor", "mul"};
  static_assert(std::size(kNames) == ir::kUpdateKinds);
  std::string_view name = kNames[static_cast<size_t>(how)];
  bool narrow = IsNarrowFloat(scalar);
  Scalar computed = narrow ? Scalar::F32 : scalar;
  auto widened = [&](const std::string& text) {
    return narrow ? fmt::format("{}({})", w.helpers.Conversion(scalar, computed), text) : text;
  };
  std::string result = fmt::format("{}({}, {})", w.helpers.Function(name, computed),
                                   widened(element.text()), widened(w.Get(update.value())));
  if (narrow) result = fmt::format("{}({})", w.helpers.Conversion(computed, scalar), result);
  w.Line("{} = {}{};", element.text(), scalar == Scalar::Bool ? "(uint8_t)" : "", result);
  return true;
}

}  // namespace

bool WriteMemory(Writer& w, const Op* op) {
  Op* viewed = const_cast<Op*>(op);
  switch (op->kind()) {
    case OpKind::Load: {
      ir::LoadOp load(viewed);
      DefineLoaded(w, op->result(), TensorElement(w, op, load.tensor(), load.index()), load.mask());
      return true;
    }
    case OpKind::Store: {
      ir::StoreOp store(viewed);
      WriteStored(w, store.value(), TensorElement(w, op, store.tensor(), store.index()),
                  store.mask());
      return true;
    }
    case OpKind::BufferLoad: {
      ir::BufferLoadOp load(viewed);
      DefineLoaded(w, op->result(), BufferElement(w, load.buffer(), load.index()), load.mask());
      return true;
    }
    case OpKind::BufferStore: {
      ir::BufferStoreOp store(viewed);
      WriteStored(w, store.value(), BufferElement(w, store.buffer(), store.index()), store.mask());
      return true;
    }
    case OpKind::Prefetch: {
      ir::PrefetchOp prefetch(viewed);
      w.Line("KDL_PREFETCH({});",
             TensorElement(w, op, prefetch.tensor(), prefetch.index()).address());
      return true;
    }
    case OpKind::AlignGap:  // results do not depend on it
      w.values[op->result()] = {"0", 0};
      return true;
    case OpKind::RowsAdjoin:
      w.values[op->result()] = {"1", 0};
      return true;
    case OpKind::JoinRows:
      WriteJoinRows(w, op);
      return true;
    case OpKind::View:
      WriteView(w, op);
      return true;
    case OpKind::BufferNew:
      WriteBufferNew(w, op);
      return true;
    case OpKind::Table:
      WriteTable(w, op);
      return true;
    case OpKind::Update:
      return WriteUpdate(w, op);
    default:
      return false;
  }
}

}  // namespace kdl::codegen::c_source
