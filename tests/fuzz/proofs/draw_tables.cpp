#include "drawer.h"

// Generates parts of kernels whose blocks handle parts of the rows of a tensor, where a table has the bounds of the parts of each
// row, or parts of parts, where one table has the numbers of the parts of a block, and another one their bounds.

namespace kdl::fuzz {

/// Returns a loop over a part, which may be divided again, that writes its elements of row `b`.
std::string Drawer::RowPart(const std::string& y, const std::string& b, const std::string& e) {
  std::string r = Name("r");
  std::string row = Chance(90) ? b : Pick({"0", e, b + " + 1"});
  std::string to = Chance(92) ? e + " + 1" : Pick({e, e + " + 2", b + " + 1"});
  std::string by = By();
  std::string head = fmt::format("for {} in rows[{}, {}]..rows[{}, {}]{} {{ ", r, row, e,
                                 Chance(95) ? row : b, to, by);
  std::string tail = "}";
  std::string inner = r;
  if (!by.empty() && Chance(40)) {
    inner = Name("q");
    head += fmt::format("for {} in {}{} {{ ", inner, r, Pick({" by 1", " by 2", " by 3"}));
    tail += " }";
  }
  std::string at = Chance(92) ? inner : inner + " + 1";
  std::string element = fmt::format("{}[{}, {}]", y, Chance(92) ? b : Pick({"0", e}), at);
  std::string right = Chance(60) || tensors_[y].starts_with("out") ? "1.0" : element + " + 1.0";
  return fmt::format("{}{} = {}; {}", head, element, right, tail);
}

std::string Drawer::Batched() {
  tensors_["rows"] = "in i32[M, N + 1]";
  std::string y = Tensor(Pick({"M, N", "M, N", "M, N + 2"}), 45);
  std::string d = Name("d");
  std::string parts = Pick({"0..N", "0..N", "0..N", "1..N", "0..N - 1", "0..s"});
  std::string domain = fmt::format("domain {} = (0..M, {});\n", d, parts);
  bool in_domain = Chance(40);
  auto walk = [&] {
    std::string b = Name("b");
    std::string e = Name("e");
    std::string part = RowPart(y, b, e);
    if (in_domain) return fmt::format("spmd for {}, {} in {} {{ {} }}\n", b, e, d, part);
    if (Chance(40))
      return fmt::format("spmd for {} in 0..M, {} in {} {{ {} }}\n", b, e, parts, part);
    if (Chance(25))
      return fmt::format("spmd for {} in {}, {} in 0..M {{ {} }}\n", e, parts, b, part);
    return fmt::format("spmd for {} in 0..M {{ for {} in {}{} {{ {} }} }}\n", b, e, parts,
                       Pick({"", "", " step 2"}), part);
  };
  std::string text = (in_domain ? domain : "") + walk();
  if (in_domain || Chance(25)) text += Sync(40) + walk();
  return text;
}

std::string Drawer::PartsOfParts() {
  std::string groups = "off_of_groups";
  tensors_[groups] = "in i32[N + 1]";
  std::string y = Tensor(Pick({"N", "N", "N + 2"}), 10);
  auto walk = [&] {
    std::string off = Table();
    std::string e = Name("e");
    std::string s = Name("s");
    std::string r = Name("r");
    std::string last = Chance(90) ? e + " + 1" : Pick({e + " + 2", "N", e});
    std::string numbers =
        fmt::format("{} in {}[{}]..{}[{}]{}", s, groups, e, Chance(95) ? groups : off, last,
                    Chance(90) ? "" : Pick({" + 1", " step 2"}));
    std::string at = Chance(92) ? s : Pick({e, s + " + " + e, s + " / 2"});
    std::string to = Chance(92) ? at + " + 1" : Pick({at, at + " + 2", "N"});
    std::string part = fmt::format("{} in {}[{}]..{}[{}]{}{}", r, off, at,
                                   Chance(95) ? off : groups, to, Chance(92) ? "" : " + 1", By());
    std::string element = fmt::format("{}[{}]", y, Chance(90) ? r : Pick({r + " + 1", s}));
    std::string store = fmt::format("{} = 1.0;", element);
    if (Chance(15)) store = fmt::format("if {} > {} {{ {} }}", s, e, store);
    std::string inner = fmt::format("for {} {{ {} }}", part, store);
    if (Chance(15)) inner += fmt::format(" {}[{}] = 2.0;", y, Pick({s, e}));
    std::string blocks = Pick({"0..N", "0..N", "0..N", "1..N", "0..N - 1"});
    return fmt::format("spmd for {} in {} {{ for {} {{ {} }} }}\n", e, blocks, numbers, inner);
  };
  std::string text = walk();
  return Chance(80) ? text : text + Sync(50) + walk();
}

}  // namespace kdl::fuzz
