#include "codegen/llvm/debug_types.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/BinaryFormat/Dwarf.h>

#include <string_view>

namespace kdl::codegen {

namespace {

/// Returns whether debuggers do not know the type. They get it as the integer that has its bits.
bool IsUnknown(Scalar scalar) { return IsNarrowFloat(scalar) && scalar != Scalar::F16; }

/// Returns how debuggers read an element.
unsigned EncodingOf(Scalar scalar) {
  if (scalar == Scalar::Bool) return llvm::dwarf::DW_ATE_boolean;
  if (IsFloat(scalar) && !IsUnknown(scalar)) return llvm::dwarf::DW_ATE_float;
  return IsSigned(scalar) ? llvm::dwarf::DW_ATE_signed : llvm::dwarf::DW_ATE_unsigned;
}

std::string TileName(const SourceVariable& variable) {
  if (variable.ranges.empty()) return std::string(Spelling(variable.scalar));
  std::vector<std::string_view> ranges;
  for (Name range : variable.ranges) ranges.push_back(range.text());
  return fmt::format("{}[{}]", Spelling(variable.scalar), fmt::join(ranges, ", "));
}

}  // namespace

llvm::DIType* DebugTypes::Element(Scalar scalar) {
  llvm::DIType*& known = elements_[scalar];
  if (known) return known;
  uint64_t bits = static_cast<uint64_t>(Bytes(scalar)) * 8;
  std::string name(Spelling(scalar));
  bool is_unknown = IsUnknown(scalar);
  known = builder_.createBasicType(is_unknown ? fmt::format("u{}", bits) : name, bits,
                                   EncodingOf(scalar));
  // lldb replaces the names of basic types by those of C, but keeps the name of a typedef, by which the formatters know it.
  if (is_unknown) known = builder_.createTypedef(known, name, nullptr, 0, nullptr);
  return known;
}

llvm::DIType* DebugTypes::Array(Scalar scalar, const std::vector<int64_t>& extents) {
  uint64_t bits = static_cast<uint64_t>(Bytes(scalar)) * 8;
  std::vector<llvm::Metadata*> dimensions;
  for (int64_t extent : extents) {
    bits *= static_cast<uint64_t>(extent);
    dimensions.push_back(builder_.getOrCreateSubrange(0, extent));
  }
  return builder_.createArrayType(bits, 0, Element(scalar), builder_.getOrCreateArray(dimensions));
}

llvm::DIType* DebugTypes::Tile(const SourceVariable& variable,
                               const std::vector<int64_t>& extents) {
  return builder_.createTypedef(Array(variable.scalar, extents), TileName(variable), nullptr, 0,
                                nullptr);
}

llvm::DIType* DebugTypes::Lanes(const SourceVariable& variable, int64_t lanes) {
  return builder_.createTypedef(Array(variable.scalar, {lanes}),
                                fmt::format("lanes of {}", TileName(variable)), nullptr, 0,
                                nullptr);
}

llvm::DIType* DebugTypes::Tensor(const SourceVariable& variable,
                                 const std::vector<llvm::Metadata*>& sizes) {
  std::vector<llvm::Metadata*> dimensions;
  for (llvm::Metadata* size : sizes)
    dimensions.push_back(builder_.getOrCreateSubrange(size, nullptr, nullptr, nullptr));
  llvm::DIType* array = builder_.createArrayType(0, 0, Element(variable.scalar),
                                                 builder_.getOrCreateArray(dimensions));
  std::vector<std::string> names;
  for (Size size : variable.sizes) names.push_back(ToString(size));
  return builder_.createTypedef(
      array, fmt::format("{}[{}]", Spelling(variable.scalar), fmt::join(names, ", ")), nullptr, 0,
      nullptr);
}

llvm::DIType* DebugTypes::Tuple(const std::vector<Member>& members) {
  std::vector<llvm::Metadata*> elements;
  uint64_t bits = 0;
  for (const Member& member : members) {
    elements.push_back(builder_.createMemberType(nullptr, fmt::format("_{}", elements.size()),
                                                 nullptr, 0, member.bits, 0, member.at_bit,
                                                 llvm::DINode::FlagZero, member.type));
    bits = member.at_bit + member.bits;
  }
  return builder_.createStructType(nullptr, "tuple", nullptr, 0, bits, 0, llvm::DINode::FlagZero,
                                   nullptr, builder_.getOrCreateArray(elements));
}

llvm::DIType* DebugTypes::Reference(llvm::DIType* tile) {
  return builder_.createReferenceType(llvm::dwarf::DW_TAG_reference_type, tile, kAddressBits);
}

llvm::DIType* DebugTypes::Range() {
  if (range_) return range_;
  llvm::DIType* number = Element(Scalar::I64);
  auto member = [&](const char* name, uint64_t at) {
    return builder_.createMemberType(nullptr, name, nullptr, 0, 64, 0, at, llvm::DINode::FlagZero,
                                     number);
  };
  return range_ = builder_.createStructType(
             nullptr, "range", nullptr, 0, 128, 0, llvm::DINode::FlagZero, nullptr,
             builder_.getOrCreateArray({member("start", 0), member("size", 64)}));
}

}  // namespace kdl::codegen
