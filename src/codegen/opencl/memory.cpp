#include "codegen/opencl/writer.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "support/check.h"

// Writes accesses to elements of tensors and buffers. If the kernel may trap, only threads that have not
// trapped access memory.

namespace kdl::codegen::opencl {

namespace {

using ir::AttrKey;
using ir::Op;

std::string AsI64(const Writer& w, const ir::Value* value) {
  std::string text(w.Get(value));
  return value->type()->scalar == Scalar::I64 ? text : fmt::format("(long){}", text);
}

/// Returns the expression for the index of an access in one dimension.
std::string IndexText(const Writer& w, const ir::AccessDim& dim,
                      std::span<ir::Value* const> index) {
  std::string text;
  for (const ir::AccessTerm& term : dim.terms) {
    std::string part = AsI64(w, index[term.operand]);
    if (!IsConstant(term.coefficient, 1))
      part = fmt::format("{} * {}", SizeText(w, term.coefficient), part);
    text += text.empty() ? part : " + " + part;
  }
  if (!text.empty() && IsConstant(dim.offset, 0)) return text;
  return text.empty() ? SizeText(w, dim.offset) : text + " + " + SizeText(w, dim.offset);
}

std::string ElementText(const Memory& memory, const std::vector<std::string>& index) {
  std::string offset;
  for (size_t d = 0; d < index.size(); ++d) {
    bool bare = index[d].find(' ') == std::string::npos;
    std::string part = memory.strides[d].empty() ? index[d]
                       : bare ? fmt::format("{} * {}", index[d], memory.strides[d])
                              : fmt::format("({}) * {}", index[d], memory.strides[d]);
    offset += offset.empty() ? part : " + " + part;
  }
  return fmt::format("{}[{}]", memory.base, offset.empty() ? "0" : offset);
}

}  // namespace

std::string TensorElement(const Writer& w, const Op* op, const ir::Value* tensor,
                          std::span<ir::Value* const> operands) {
  ir::Access access = op->attr<AttrKey::Access>();
  std::vector<std::string> index;
  for (const ir::AccessDim& dim : access.dims) index.push_back(IndexText(w, dim, operands));
  return ElementText(w.memories.at(tensor), index);
}

std::string BufferElement(const Writer& w, const ir::Value* buffer,
                          std::span<ir::Value* const> operands) {
  std::vector<std::string> index;
  for (const ir::Value* operand : operands) index.emplace_back(w.Get(operand));
  return ElementText(w.memories.at(buffer), index);
}

std::string Guard(const Writer& w) {
  return w.traps ? fmt::format("if ({}) ", w.live()) : std::string();
}

namespace {

void DefineVector(Writer& w, const ir::Value* result, const std::string& first);

void DefineLoaded(Writer& w, const ir::Value* result, std::string element) {
  if (ir::IsVector(result->type())) return DefineVector(w, result, element);
  Scalar scalar = result->type()->scalar;
  if (scalar == Scalar::Bool) element += " != 0";
  if (scalar == Scalar::F32 || scalar == Scalar::F64)
    element = fmt::format("KDL_LOADED_{}({})", Info(scalar).spelling, element);
  w.Define(result, w.traps ? fmt::format("{} ? {} : 0", w.live(), element) : element);
}

void WriteStored(Writer& w, const std::string& element, const ir::Value* value) {
  if (ir::IsVector(value->type()))
    return w.Line("{}vstore{}({}, 0, &{});", Guard(w), ir::Lanes(value->type()), w.Get(value),
                  element);
  w.Line("{}{} = {};", Guard(w), element, w.Get(value));
}

Memory ViewMemory(const Writer& w, const Op* view) {
  Memory memory = w.memories.at(view->operand(0));
  ir::ViewedDims dims = ir::ViewedDimsOf(view);
  auto at = memory.strides.begin() + static_cast<std::ptrdiff_t>(dims.dimension);
  std::string stride = at[static_cast<std::ptrdiff_t>(dims.from) - 1];
  at = memory.strides.erase(at, at + static_cast<std::ptrdiff_t>(dims.from));
  for (size_t i = dims.to; i-- > 0;) {  // innermost first, each inserted before the previous one
    at = memory.strides.insert(at, stride);
    if (i == 0) break;
    std::string size = SizeText(w, view->result()->type()->dims[dims.dimension + i]);
    stride = stride.empty() ? size : fmt::format("({} * {})", stride, size);
  }
  return memory;
}

std::string_view AtomicName(ir::UpdateKind how) {
  static constexpr std::string_view kNames[] = {"xchg", "add", "max", "min",
                                                "and",  "or",  "xor", "mul"};
  static_assert(std::size(kNames) == ir::kUpdateKinds);
  return kNames[static_cast<size_t>(how)];
}

/// Returns the expression for the new value of an updated element. `computed` is the type in which it is
/// computed.
std::string UpdatedText(ir::UpdateKind how, Scalar computed, std::string_view before,
                        std::string_view value) {
  using How = ir::UpdateKind;
  std::string_view suffix = Suffix(computed);
  switch (how) {
    case How::Set:
      return std::string(value);
    case How::Max:
    case How::Min:
      if (IsFloat(computed))
        return fmt::format("kdl_{}_{}({}, {})", AtomicName(how), suffix, before, value);
      return fmt::format("{0} {2} {1} ? {0} : {1}", before, value, how == How::Max ? ">" : "<");
    case How::Add:
      return fmt::format("{} + {}", before, value);
    case How::And:
      return fmt::format("{} & {}", before, value);
    case How::Or:
      return fmt::format("{} | {}", before, value);
    case How::Xor:
      return fmt::format("{} ^ {}", before, value);
    case How::Mul:
      return IsFloat(computed)
                 ? fmt::format("{} * {}", before, value)
                 : fmt::format("({0}){1} * ({0}){2}",  // unsigned, so that the product wraps
                               Bytes(computed) == 8 ? "ulong" : "uint", before, value);
  }
  KDL_UNREACHABLE("unknown kind of update {}", static_cast<int>(how));
}

/// Writes a compare-and-swap loop on the word that contains the element.
void WriteSwaps(Writer& w, const std::string& element, Scalar scalar, ir::UpdateKind how,
                std::string_view value) {
  bool wide = Bytes(scalar) == 8;
  std::string_view word = wide ? "ulong" : "uint";
  Scalar computed = IsNarrowFloat(scalar) ? Scalar::F32 : scalar;
  std::string from_bits =
      scalar == Scalar::F32   ? "as_float(kdl_bits)"
      : scalar == Scalar::F64 ? "as_double(kdl_bits)"
      : IsNarrowFloat(scalar)
          ? fmt::format("kdl_f32_of_{}(({})kdl_bits)", Suffix(scalar), MemoryType(scalar))
      : scalar == Scalar::Bool ? "(uchar)kdl_bits != 0"
                               : fmt::format("({})kdl_bits", MemoryType(scalar));
  std::string operand = IsNarrowFloat(scalar)
                            ? fmt::format("kdl_f32_of_{}({})", Suffix(scalar), value)
                            : std::string(value);
  std::string after = UpdatedText(how, computed, "kdl_before", operand);
  std::string to_bits = scalar == Scalar::F32   ? fmt::format("as_uint({})", after)
                        : scalar == Scalar::F64 ? fmt::format("as_ulong({})", after)
                        : IsNarrowFloat(scalar)
                            ? fmt::format("(uint)kdl_{}_of_f32({})", Suffix(scalar), after)
                            : fmt::format("({})({})({})", word,
                                          wide                 ? "ulong"
                                          : Bytes(scalar) == 4 ? "uint"
                                          : Bytes(scalar) == 2 ? "ushort"
                                                               : "uchar",
                                          after);
  int64_t bits = 8 * Bytes(scalar);
  w.Line("{}{{", Guard(w));
  w.Line("  const size_t kdl_place = (size_t)&{};", element);
  w.Line(
      "  volatile __global {0}* const kdl_word = (volatile __global {0}*)(kdl_place & "
      "~(size_t){1});",
      word, wide ? 7 : 3);
  w.Line("  const int kdl_shift = {};", bits < 32 ? "(int)(kdl_place & 3) * 8" : "0");
  w.Line("  {0} kdl_seen = *kdl_word, kdl_old;", word);
  w.Line("  do {{");
  w.Line("    kdl_old = kdl_seen;");
  w.Line("    const {0} kdl_bits = kdl_old >> kdl_shift;", word);
  w.Line("    const {} kdl_before = {};", RegisterType(computed), from_bits);
  if (bits < 32) {
    w.Line("    const uint kdl_mask = {:#x}u << kdl_shift;", (uint64_t{1} << bits) - 1);
    w.Line("    const uint kdl_next = (kdl_old & ~kdl_mask) | (({}) << kdl_shift & kdl_mask);",
           to_bits);
  } else {
    w.Line("    const {} kdl_next = {};", word, to_bits);
  }
  w.Line("    kdl_seen = {}cmpxchg(kdl_word, kdl_old, kdl_next);", wide ? "atom_" : "atomic_");
  w.Line("  }} while (kdl_seen != kdl_old);");
  w.Line("}}");
}

void WriteUpdate(Writer& w, const Op* op) {
  ir::UpdateOp update(const_cast<Op*>(op));
  Scalar scalar = update.value()->type()->scalar;
  auto how = op->attr<AttrKey::How>();
  std::string element = TensorElement(w, op, update.tensor(), update.index());
  if (!IsInteger(scalar) || Bytes(scalar) < 4 || how == ir::UpdateKind::Mul)
    return WriteSwaps(w, element, scalar, how, w.Get(update.value()));
  w.Line("{}{}{}((volatile __global {}*)&{}, {});", Guard(w),
         Bytes(scalar) == 8 ? "atom_" : "atomic_", AtomicName(how), MemoryType(scalar), element,
         w.Get(update.value()));
}

/// Loads contiguous elements as a vector. They need not be aligned.
void DefineVector(Writer& w, const ir::Value* result, const std::string& first) {
  ir::Type type = result->type();
  std::string loaded = fmt::format("vload{}(0, &{})", ir::Lanes(type), first);
  w.Define(result, w.traps
                       ? fmt::format("{} ? {} : KDL_ZERO({})", w.live(), loaded, RegisterType(type))
                       : loaded);
}

void WriteZip(Writer& w, const Op* op) {
  std::string parts;
  for (const ir::Value* part : op->operands())
    parts += fmt::format("{}{}", parts.empty() ? "" : ", ", w.Get(part));
  w.Define(op->result(), fmt::format("({})({})", RegisterType(op->result()->type()), parts));
}

void WriteLoad(Writer& w, const Op* op) {
  ir::LoadOp load(const_cast<Op*>(op));
  DefineLoaded(w, op->result(), TensorElement(w, op, load.tensor(), load.index()));
}

void WriteStore(Writer& w, const Op* op) {
  ir::StoreOp store(const_cast<Op*>(op));
  WriteStored(w, TensorElement(w, op, store.tensor(), store.index()), store.value());
}

void WriteBufferLoad(Writer& w, const Op* op) {
  ir::BufferLoadOp load(const_cast<Op*>(op));
  DefineLoaded(w, op->result(), BufferElement(w, load.buffer(), load.index()));
}

void WriteBufferStore(Writer& w, const Op* op) {
  ir::BufferStoreOp store(const_cast<Op*>(op));
  // Outside of workgroup loops, each thread writes its own copy.
  if (!w.in_workgroup && w.differing.contains(store.buffer())) w.Line("KDL_ALL_THREADS");
  WriteStored(w, BufferElement(w, store.buffer(), store.index()), store.value());
}

void WriteHalf(Writer& w, const Op* op) {
  w.Define(op->result(), fmt::format("{}.{}", w.Get(op->operand(0)),
                                     op->attr<AttrKey::Part>() == 0 ? "lo" : "hi"));
}

void WriteView(Writer& w, const Op* op) { w.memories[op->result()] = ViewMemory(w, op); }

}  // namespace

KDL_WRITE(Load, WriteLoad)
KDL_WRITE(Store, WriteStore)
KDL_WRITE(Update, WriteUpdate)
KDL_WRITE(BufferLoad, WriteBufferLoad)
KDL_WRITE(BufferStore, WriteBufferStore)
KDL_WRITE(Half, WriteHalf)
KDL_WRITE(Zip, WriteZip)
KDL_WRITE(View, WriteView)
KDL_WRITE(BufferNew, WriteNothing)
KDL_WRITE(LaunchTensor, WriteNothing)
KDL_WRITE(Table, WriteNothing)

}  // namespace kdl::codegen::opencl
