#include "drawer.h"

// Generates parts of kernels that compute an index in various ways: from sizes whose products overflow 64
// bits, in narrow types, or with an `if`.

namespace kdl::fuzz {

std::string Drawer::Products() {
  tensors_["h"] = "in f32[H, 0]";
  tensors_["g"] = "in f32[G, 0]";
  std::string i = Name("i");
  std::string j = Name("j");
  std::string y = Tensor("N + 2", 15);
  std::string index = Pick({"H * G", "{0} + H * G", "G * {1}", "G * {1} + {0}", "H * G - {0}",
                            "H * H * G", "{0} + (H * G) % 3", "H * G / 2", "core_num * H * G",
                            "{0} + H * 4096", "H * (G + 1) - H * G - H + {0}"});
  index = fmt::format(fmt::runtime(index), i, j);
  std::string condition =
      Pick({"H * G < 4", "H * G > N", "{} < 3", "0 <= {}", "H == 2 * G", "{} < 5 && H > 3"});
  condition = fmt::format(fmt::runtime(condition), index);
  if (Chance(35))  // never true unless the product wraps
    condition = Pick({"H * G < H && G > 0", "H * G < G && H > 1", "H * G * G < H && G > 1",
                      "H * H < H", "core_num * H < H"});
  std::string at = Chance(60) ? index : Pick({i + " + 1", "N - 1 - " + i, "0"});
  std::string text = fmt::format("if {} {{ {}[{}] = 1.0; }}", condition, y, at);
  if (Chance(25)) text = Summed(i, y);
  if (Chance(40)) text += fmt::format(" {}[{}] = 2.0;", y, Pick({i, i + " + 1", "0"}));
  return fmt::format("spmd for {} in 0..N {{ for {} in H - 1..H {{ {} }} }}\n", i, j, text);
}

std::string Drawer::Summed(const std::string& i, const std::string& y) {
  scalars_.insert("most: i64");
  std::string last = Pick({"most", "most", "s", i});
  std::string text;
  for (size_t n = 1 + Below(5); n > 0; --n) {
    std::string sum = Name("c");
    std::string more = Pick({"H * G", "H * G", "H", last});
    text += fmt::format("let {} = {} + {}; ", sum, last, more);
    last = sum;
  }
  return fmt::format(
      "{0}if H * G > 0 {{ if {1} == 0 {{ {2}[{3}] = 1.0; }} else {{ {2}[{4}] = 2.0; }} }}", text, i,
      y, last, Pick({"most", "most", "0"}));
}

std::string Drawer::Narrow() {
  scalars_.insert({"turn: i32", "byte: u8"});
  std::string i = Name("i");
  std::string y = Tensor("N + 2", 20);
  auto index = [&] {
    std::string at = Pick({"3 * turn", "turn + turn", "byte + 1", "byte * byte", "{0} + byte",
                           "{0} + 3 * turn", "{0} + (turn as i64) * 3", "{0} + byte - byte",
                           "{0} + turn + 1 - turn", "turn - turn + {0}", "N * turn + {0}"});
    return fmt::format(fmt::runtime(at), i);
  };
  std::string condition = Pick({"turn > 3", "3 * turn < 0", "3 * turn < 4", "byte + 1 < 2",
                                "byte > 3", "(turn as i64) * 3 < 4", i + " == 1"});
  std::string text = fmt::format("if {} {{ {}[{}] = 1.0; }}", condition, y, index());
  text += fmt::format(" {}[{}] = 2.0;", y, Chance(60) ? i : index());
  return fmt::format("spmd for {} in 0..N {{ {} }}\n", i, text);
}

std::string Drawer::Choices() {
  std::string i = Name("i");
  std::string y = Tensor(Pick({"N", "N", "N + 2"}), 40);
  auto arm = [&] {
    return fmt::format(fmt::runtime(Pick({"{0}", "{0}", "N - 1 - {0}", "{0} / 2", "{0} + 1", "0"})),
                       i);
  };
  auto index = [&] {
    std::string condition = Chance(70) ? Condition(i) : ConditionOfMemory(i);
    return fmt::format("if {} then {} else {}", condition, arm(), arm());
  };
  std::string right = Chance(70) ? "1.0" : fmt::format("x[({}) else 0.0]", index());
  std::string text = fmt::format("{}[{}] = {};", y, index(), right);
  if (Chance(25)) text += fmt::format(" {}[{}] = 2.0;", y, arm());
  return fmt::format("spmd for {} in 0..N {{ {} }}\n", i, text);
}

std::string Drawer::LookedUp() {
  std::string i = Name("i");
  std::string z = Tensor("N, 4", 30);
  auto element = [&] {
    std::string at = Pick({i, i, i + " + 1", i + " % 3", "s", "M - 1", "0"});
    std::string otherwise = Chance(65) ? " else " + Pick({"0", "3", "4", "7", "-1"}) : "";
    return fmt::format("kTable[{}{}]", at, otherwise);
  };
  auto store = [&] {
    std::string column = element() + Pick({"", "", " - 1", " + 1"});
    std::string row = i + Pick({"", "", "", " + 1"});
    return fmt::format("{}[{}, {}] = 1.0;", z, row, Chance(70) ? column : Number(0, 3));
  };
  std::string text = store();
  if (Chance(40)) text += " " + store();
  if (Chance(50))
    text = fmt::format("if {}{} {{ {} }} else {{ {} }}", element(),
                       Pick({" > 3", " > 2", " < 1", " == 2"}), text, store());
  return fmt::format("spmd for {} in 0..N {{ {} }}\n", i, text);
}

}  // namespace kdl::fuzz
