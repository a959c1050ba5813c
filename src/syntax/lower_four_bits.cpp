#include "syntax/lower_four_bits.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "syntax/diagnostics.h"
#include "syntax/four_bit_types.h"
#include "syntax/tree_maker.h"

namespace kdl::syntax {

namespace {

constexpr std::array<std::string_view, 3> kSpellings = {"i4", "u4", "f4e2m1"};

/// Returns the type that the parameter's type names, unless the function has a type parameter with that name.
std::optional<FourBitType> NamedType(const FunctionItem& function, const Param& param) {
  Name name = PlainName(param.type->name);
  if (name.empty()) return std::nullopt;
  bool is_generic = std::ranges::any_of(
      function.generics, [&](const GenericParam& generic) { return generic.name.name == name; });
  return is_generic ? std::nullopt : FourBitFromSpelling(name.text());
}

/// Returns what is wrong with a parameter of such a type, or an empty string.
std::string_view Fault(const FunctionItem& function, const Param& param) {
  if (function.function_kind != FunctionKind::Kernel || param.direction != Direction::In)
    return "are only allowed in an `in` tensor of a kernel";
  if (param.type->dims.empty()) return "need a last dimension, whose elements share bytes";
  const auto* last = DynAs<NameExpr>(param.type->dims.back());
  if (last != nullptr && last->is_pack) return "need a last dimension that is not a pack";
  if (param.strides != ParamStrides::Dense)
    return "must be adjacent, so their tensor can be neither `strided` nor `broadcast`";
  return "";
}

}  // namespace

std::string_view Spelling(FourBitType type) { return kSpellings[static_cast<size_t>(type)]; }

std::optional<FourBitType> FourBitFromSpelling(std::string_view spelling) {
  const auto* found = std::ranges::find(kSpellings, spelling);
  if (found == kSpellings.end()) return std::nullopt;
  return static_cast<FourBitType>(found - kSpellings.begin());
}

void LowerFourBits(Builder& builder, FunctionItem& function) {
  for (Param& param : function.params) {
    std::optional<FourBitType> four_bit = NamedType(function, param);
    if (!four_bit) continue;
    TreeMaker make(builder, param.type->name.span);
    auto* bytes = builder.arena.Make<TypeRef>(*param.type);
    static_cast<Ident&>(bytes->name) = make.Id("u8");
    std::string_view fault = Fault(function, param);
    if (!fault.empty()) {
      builder.diagnostics.Report(diag::FourBits, param.type->span, Spelling(*four_bit), fault)
          .Help("declare the bytes as a tensor of u8, and take the elements out of them");
    } else {
      const Expr* size = param.type->dims.back();
      TreeMaker at(builder, size->span);
      bytes->dims.back() =
          at.Binary(BinaryOp::Div, at.Binary(BinaryOp::Add, size, at.Int(1)), at.Int(2));
      bytes->four_bit = four_bit;
      bytes->elements_in_row = size;
    }
    param.type = bytes;
  }
}

}  // namespace kdl::syntax
