#include "drawer.h"

// Generates parts of kernels that use values known at launch: sizes times large constants, sizes that the
// launch compares, integer parameters that are negative or limited by static assertions, and core numbers.

namespace kdl::fuzz {

std::string Drawer::GreatSizes() {
  scalars_.insert("most: i64");
  std::string i = Name("i");
  std::string y = Tensor("N + 2", 15);
  std::string great = Pick({"4611686018427387904", "2305843009213693952", "4", "2"});
  auto store = [&] {
    std::string index =
        Pick({"{0}", "{0} + 1", "N * {1} * {0}", "{0} + N * {1}", "{0} + N - N * {1} / {1}",
              "{0} + N * {1} % 3", "2 * {0} + N * {1}", "s + {0} + 9223372036854775807",
              "most + {0} + 9223372036854775807", "most + {0} + N * {1}"});
    return fmt::format("{}[{}] = 1.0;", y, fmt::format(fmt::runtime(index), i, great));
  };
  std::string by = Pick({"1", "1", "2"});
  std::string condition = Pick({"s > 0", "N > 3", "most > u"});
  std::string text = fmt::format("if {} {{ {} }}", condition, store());
  if (Chance(30)) text += fmt::format(" else {{ {} }}", store());
  if (Chance(30)) text += "\n" + store();
  return fmt::format("spmd for {} in N by {} {{ {} }}\n", i, by, text);
}

std::string Drawer::Statics() {
  std::string i = Name("i");
  std::string j = Name("i");
  std::string y = Tensor("N + 2", 15);
  std::string b = Block();
  std::string stated =
      Pick({"{0} > 2", "{0} >= 2", "{0} % 2 == 0", "{0} != 3", "{0} < 4 && {0} != 1", "{0} <= 3"});
  std::string holds = Pick({"{0} == 2", "{0} == 1", "{0} > 3", "{0} % 2 == 1", "{0} <= 2"});
  stated = fmt::format(fmt::runtime(stated), b);
  holds = fmt::format(fmt::runtime(holds), b);
  std::string index = Pick({"0", j + " / 2", "N - 1 - " + j});
  std::string text = fmt::format("static_assert({}, \"stated\");\n", stated);
  text += fmt::format("spmd for {0} in 0..N {{ {1}[{0}] = 1.0; }}\n", i, y);
  text += Sync(80);
  text += fmt::format("spmd for {} in 0..N {{ if {} {{ {}[{}] = 1.0; }} }}\n", j, holds, y, index);
  return text;
}

std::string Drawer::Stated() {
  std::string i = Name("i");
  std::string j = Name("j");
  std::string y = Tensor("L", 75);
  bool is_product = Chance(70);
  std::string sign = Pick({"==", "==", ">=", ">=", "<=", ">"});
  where_ = fmt::format(" where L {} {}", sign, is_product ? "N * M" : "N + M");
  if (Chance(25)) where_ = fmt::format(" where {1} {0} L", sign, is_product ? "N * M" : "N + M");
  if (!is_product) {
    return fmt::format(
        "spmd for {0} in 0..N {{ {2}[{0}] = 1.0; }}\n{3}"
        "spmd for {1} in 0..M {{ {2}[N + {1}{4}] = 1.0; }}\n",
        i, j, y, Sync(50), Pick({"", "", " - 1", " + 1"}));
  }
  std::string flat = fmt::format("M * {} + {}{}", i, j, Pick({"", "", "", "", "", " + 1", " - 1"}));
  std::string columns = Pick({"0..M", "0..M", "0..M", "0..M - 1", "1..M"});
  std::string text = fmt::format("{}[{}] = 1.0;", y, flat);
  return Chance(50) ? fmt::format("spmd for {} in 0..N, {} in {} {{ {} }}\n", i, j, columns, text)
                    : fmt::format("spmd for {} in 0..N {{ for {} in {} {{ {} }} }}\n", i, j,
                                  columns, text);
}

std::string Drawer::Reaching() {
  std::string i = Name("i");
  std::string k = Name("k");
  tensors_["square"] = "in f32[N, M]";
  auto index = [&](const std::string& n) {
    return fmt::format(
        fmt::runtime(Pick({"{0}", "{0}", "{0} + 1", "2 * {0}", "M - 1 - {0}", "N - 1 - {0}",
                           "N - {0}", "N - M + {0}", "M - 1 - 2 * {0}", "1 - {0}"})),
        n);
  };
  auto read = [&](const std::string& n) {
    std::string tensor = Pick({"x", "v", "square", "square", "square"});
    if (tensor != "square") return fmt::format("{}[{}]", tensor, index(n));
    std::string row = index(n);
    return fmt::format("square[{}, {}]", row, Chance(70) ? row : index(n));
  };
  std::string bound = Pick({"N", "M", "K", "K", "2"});
  std::string y = Tensor(bound == "2" ? "N" : bound, bound == "2" ? 0 : 50);
  if (bound == "2" || Chance(60)) {
    std::string by = bound == "2" ? "" : By();
    std::string range = by.empty() ? "0.." + bound : bound + by;
    std::string more = Chance(40) ? " + " + read(i) : "";
    return fmt::format("spmd for {0} in {1} {{ {2}[{0}] = {3}{4}; }}\n", i, range, y, read(i),
                       more);
  }
  return fmt::format(
      "spmd for {0} in 0..{1} {{ var sum = 0.0; for {2} in 0..{3} {{ sum += {4}; }} "
      "{5}[{0}] = sum; }}\n",
      i, bound, k, Pick({"N", "M", i, bound}), read(k), y);
}

std::string Drawer::Falling() {
  bool is_negative = Chance(85);
  std::string f = is_negative ? "F" : "R";
  blocks_.insert(f + (is_negative ? ": int in {-2, -1} = auto" : ": int in {-2, 3} = auto"));
  std::string i = Name("i");
  if (Chance(40)) {
    std::string j = Name("j");
    std::string condition =
        fmt::format("{0} * {1} {3} {0} * {2}{4}", f, i, j, Pick({"<", "<", "<=", ">", ">="}),
                    fmt::format(fmt::runtime(Pick({"", " + {0}", " + {0}", " - {0}"})), f));
    return fmt::format(
        "spmd for {0} in 0..N {{ for {1} in 0..{0} {{ if {2} {{ {3}[{4}] = 1.0; }} }} }}\n", i, j,
        condition, Tensor("N", 0), Pick({"0", i, j}));
  }
  std::string y = Tensor("6 * N + 8", 0);
  auto element = [&](const std::string& number) {
    std::string shift = Pick({"", "", " - {0}", " - 2 * {0}", " + {0}", " + 2 * {0}"});
    return fmt::format("{}[{} * {} + 2 * N{}]", y, f, number, fmt::format(fmt::runtime(shift), f));
  };
  // All blocks may read one element, but each must store its own.
  std::string text =
      Chance(75) ? fmt::format("{} = {} + 1.0;", element(i), element(Pick({"N", "N", i, "0"})))
                 : fmt::format("{} = 1.0; {} = 2.0;", element(i), element(i));
  return fmt::format("spmd for {} in {}..N {{ {} }}\n", i, Pick({"0", "0", "1"}), text);
}

std::string Drawer::CoreCounts() {
  std::string y = Tensor("N + 2", 30);
  auto walk = [&] {
    std::string i = Name("i");
    std::string index = Pick({i, i, i + " / 2", "0", i + " + 1"});
    return fmt::format("spmd for {} in 0..N {{ {}[{}] = 1.0; }}\n", i, y, index);
  };
  auto branch = [&] {
    std::string condition = Pick({"core_num > 2", "core_num <= 2", "core_num == 5",
                                  "core_num % 2 == 1", "core_num < N", "core_num > 4 && N > 2"});
    return fmt::format("if {} {{\n{}}}", condition, walk());
  };
  std::string text = branch();
  if (Chance(50)) text += fmt::format(" else {{\n{}}}", walk());
  text += "\n";
  if (Chance(60)) return text;
  text += Sync(60);
  return text + branch() + "\n";
}

}  // namespace kdl::fuzz
