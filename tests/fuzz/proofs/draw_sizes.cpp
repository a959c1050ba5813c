#include "drawer.h"

// Generates parts of kernels that use values known at launch: sizes times large constants, integer
// parameters limited by static assertions, and core numbers.

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
