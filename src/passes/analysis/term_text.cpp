#include "passes/analysis/term_text.h"

#include <fmt/format.h>

namespace kdl::passes {

namespace {

std::string AtomText(AtomId atom, const Terms& terms) {
  const AtomFacts& facts = terms.Facts(atom);
  std::string name = facts.value ? facts.value->name().str() : facts.symbol.str();
  switch (facts.kind) {
    case AtomKind::CoreId:
      return "core_id";
    case AtomKind::CoreNum:
      return "core_num";
    case AtomKind::Start:
      return name + ".start";
    case AtomKind::Count:
      return name + ".size";
    case AtomKind::Number:
      return name + ".index";
    case AtomKind::Quotient:
      return fmt::format("({}) / ({})", ToText(facts.a, terms), ToText(facts.b, terms));
    case AtomKind::Min:
      return fmt::format("min({})", ToText(facts.a, terms), ToText(facts.b, terms));
    case AtomKind::Max:
      return fmt::format("max({})", ToText(facts.a, terms), ToText(facts.b, terms));
    case AtomKind::Wrapped:
      return fmt::format("({})", ToText(facts.a, terms));
    default:
      return name;
  }
}

}  // namespace

std::string ToText(const Poly& poly, const Terms& terms) {
  std::string text;
  auto add = [&](const Monomial& monomial, int64_t coefficient) {
    std::string product;
    int64_t size = coefficient < 0 ? -coefficient : coefficient;
    if (size != 1 || monomial.empty()) product = fmt::format("{}", size);
    for (AtomId atom : monomial) product += (product.empty() ? "" : "*") + AtomText(atom, terms);
    std::string_view sign =
        text.empty() ? (coefficient < 0 ? "-" : "") : (coefficient < 0 ? " - " : " + ");
    text += fmt::format("{}{}", sign, product);
  };
  for (const auto& [monomial, coefficient] : poly.terms()) {
    if (!monomial.empty()) add(monomial, coefficient);
  }
  if (poly.constant() != 0) add({}, poly.constant());
  return text.empty() ? "0" : text;
}

}  // namespace kdl::passes
