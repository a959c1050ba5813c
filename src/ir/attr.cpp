#include "ir/attr.h"

#include <array>
#include <utility>

#include "support/check.h"

namespace kdl::ir {

namespace {

struct EnumeratorRow {
  std::string_view type;
  int64_t value;
  std::string_view spelling;
};

constexpr std::array kEnumerators = {
#define KDL_ATTR_ENUM(type, name, spelling) \
  EnumeratorRow{#type, static_cast<int64_t>(type::name), spelling},
#include "ir/attr_enums.def"
};

struct AttrRow {
  std::string_view spelling;
  std::string_view type;
  AttrRole role;
};

constexpr std::array kAttrs = {
#define KDL_ATTR(key, spelling, type, role) AttrRow{spelling, #type, AttrRole::role},
#include "ir/attrs.def"
};

}  // namespace

std::string_view Spelling(AttrKey key) { return kAttrs[static_cast<size_t>(key)].spelling; }

AttrRole RoleOf(AttrKey key) { return kAttrs[static_cast<size_t>(key)].role; }

std::optional<AttrKey> AttrFromSpelling(std::string_view spelling) {
  for (size_t i = 0; i < kAttrs.size(); ++i) {
    if (kAttrs[i].spelling == spelling) return static_cast<AttrKey>(i);
  }
  return std::nullopt;
}

AttrForm FormOf(AttrKey key) {
  static constexpr std::pair<std::string_view, AttrForm> kForms[] = {
      {"int64_t", AttrForm::Integer},       {"Flag", AttrForm::Flag},
      {"BitPattern", AttrForm::BitPattern}, {"Name", AttrForm::Text},
      {"Symbol", AttrForm::Symbol},         {"AxisList", AttrForm::Axes},
      {"Access", AttrForm::Access},         {"Size", AttrForm::Size},
      {"ElementBits", AttrForm::Elements},  {"NumberList", AttrForm::Numbers},
  };
  for (const auto& [type, form] : kForms) {
    if (type == kAttrs[static_cast<size_t>(key)].type) return form;
  }
  return AttrForm::Enumerator;
}

bool IsEnumerated(AttrKey key) { return FormOf(key) == AttrForm::Enumerator; }

std::string_view EnumeratorSpelling(AttrKey key, int64_t enumerator) {
  std::string_view type = kAttrs[static_cast<size_t>(key)].type;
  if (type == "Scalar") return Spelling(static_cast<Scalar>(enumerator));
  for (const EnumeratorRow& row : kEnumerators) {
    if (row.type == type && row.value == enumerator) return row.spelling;
  }
  KDL_UNREACHABLE("attribute {} has no enumerator {}", Spelling(key), enumerator);
}

std::optional<int64_t> EnumeratorFromSpelling(AttrKey key, std::string_view spelling) {
  std::string_view type = kAttrs[static_cast<size_t>(key)].type;
  if (type == "Scalar") {
    auto scalar = ScalarFromSpelling(spelling);
    return scalar ? std::optional(static_cast<int64_t>(*scalar)) : std::nullopt;
  }
  for (const EnumeratorRow& row : kEnumerators) {
    if (row.type == type && row.spelling == spelling) return row.value;
  }
  return std::nullopt;
}

}  // namespace kdl::ir
