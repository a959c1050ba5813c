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

/// Defines and returns the function that loads a vector, or the lanes for which a mask is true. The others are 0.
std::string LoadFunction(Writer& w, Scalar scalar, int64_t lanes, bool masked) {
  std::string type = VectorOf(w, scalar, lanes);
  std::string_view element = MemoryType(scalar);
  std::string name = fmt::format("kdl_load{}_{}x{}", masked ? "_if" : "", Spelling(scalar), lanes);
  int bits = 8 * Bytes(scalar);
  std::string value = scalar == Scalar::Bool ? "p[l] != 0 ? -1 : 0" : "p[l]";
  if (masked) {
    w.helpers.Define(
        name,
        fmt::format(
            "static inline {0} {1}(const {2}* p, {3} m) {{\n"
            "  {0} r = {{0}};\n"
            "  KDL_LOOP for (int l = 0; l < {4}; ++l) KDL_LANE(r, l) = KDL_LANE(m, l) ? {5} : 0;\n"
            "  return r;\n"
            "}}\n",
            type, name, element, w.helpers.Vector(Scalar::Bool, lanes, bits), lanes, value));
  } else if (scalar == Scalar::Bool) {
    w.helpers.Define(name,
                     fmt::format("static inline {0} {1}(const {2}* p) {{\n"
                                 "  {0} r = {{0}};\n"
                                 "  KDL_LOOP for (int l = 0; l < {3}; ++l) KDL_LANE(r, l) = {4};\n"
                                 "  return r;\n"
                                 "}}\n",
                                 type, name, element, lanes, value));
  } else {
    w.helpers.Define(name, fmt::format("static inline {0} {1}(const {2}* p) {{\n"
                                       "  {0} r = {{0}};\n"
                                       "  memcpy(&r, p, {3});\n"
                                       "  return r;\n"
                                       "}}\n",
                                       type, name, element, lanes * Bytes(scalar)));
  }
  return name;
}

std::string StoreFunction(Writer& w, Scalar scalar, int64_t lanes, bool masked) {
  std::string type = VectorOf(w, scalar, lanes);
  std::string_view element = MemoryType(scalar);
  std::string name = fmt::format("kdl_store{}_{}x{}", masked ? "_if" : "", Spelling(scalar), lanes);
  std::string value = scalar == Scalar::Bool ? "KDL_LANE(a, l) & 1" : "KDL_LANE(a, l)";
  if (masked) {
    w.helpers.Define(
        name, fmt::format("static inline void {1}({2}* p, {0} a, {3} m) {{\n"
                          "  for (int l = 0; l < {4}; ++l) {{\n"
                          "    if (KDL_LANE(m, l)) p[l] = {5};\n"
                          "  }}\n"
                          "}}\n",
                          type, name, element,
                          w.helpers.Vector(Scalar::Bool, lanes, 8 * Bytes(scalar)), lanes, value));
  } else if (scalar == Scalar::Bool) {
    w.helpers.Define(name, fmt::format("static inline void {1}({2}* p, {0} a) {{\n"
                                       "  for (int l = 0; l < {3}; ++l) p[l] = {4};\n"
                                       "}}\n",
                                       type, name, element, lanes, value));
  } else {
    w.helpers.Define(
        name, fmt::format("static inline void {1}({2}* p, {0} a) {{ memcpy(p, &a, {3}); }}\n", type,
                          name, element, lanes * Bytes(scalar)));
  }
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
  w.Define(result,
           fmt::format("{}({})", LoadFunction(w, scalar, lanes, mask != nullptr), arguments),
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
  w.Line("{}({});", StoreFunction(w, scalar, lanes, mask != nullptr), arguments);
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
