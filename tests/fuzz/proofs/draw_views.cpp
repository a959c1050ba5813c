#include "drawer.h"

// Generates parts of kernels that access the same memory under several names, or that combine indices and
// split them again.

namespace kdl::fuzz {

std::string Drawer::View() {
  std::string v = Name("w");
  std::string i = Name("i");
  std::string j = Name("j");
  if (Chance(50)) {
    std::string y = Tensor("3 * N");
    views_ += fmt::format("view {}: f32[N, 3] = {};\n", v, y);
    std::string second =
        Chance(50) ? fmt::format(" {}[3 * {} + {}] = 2.0;", y, i, Number(0, 3)) : "";
    std::string column = Chance(50) ? fmt::format("range {} in 3; {}[{}, {}] = 1.0;", j, v, i, j)
                                    : fmt::format("{0}[{1}, {2}] = 1.0; {0}[{1}, {3}] = 1.0;", v, i,
                                                  Number(0, 2), Number(0, 2));
    return fmt::format("spmd for {} in N by 2 {{ {}{} }}\n", i, column, second);
  }
  std::string z = Tensor("N, M");
  views_ += fmt::format("view {}: f32[N * M] = {};\n", v, z);
  std::string first =
      fmt::format("spmd for {0} in N * M by {1} {{ {2}[{0}] = 1.0; }}\n", i, Number(2, 5), v);
  if (Chance(50)) return first;
  return first + Sync(60) +
         fmt::format("spmd for {0} in N by 2, {1} in M by 3 {{ {2}[{0}, {1}] = 2.0; }}\n",
                     Name("i"), j, z);
}

/// Generates a loop that accesses a view and the tensor under it. Some columns are just outside the view,
/// although the accessed address is still inside the tensor.
std::string Drawer::ViewEdges() {
  std::string v = Name("w");
  std::string i = Name("i");
  std::string y = Tensor("3 * N", 0);
  views_ += fmt::format("view {}: f32[N, 3] = {};\n", v, y);
  std::string row = Pick({i, i, i, i + " + 1", i + " - 1", "N - 1 - " + i, "s"});
  std::string column = Pick({"0", "1", "2", "3", "-1", i, "s", "1 - s", "u + 1"});
  std::string read = fmt::format("{}[{}, {} else 0.0]", v, row, column);
  std::string store = Chance(60) ? fmt::format("{}[3 * {} + {}]", y, i, Number(0, 2))
                                 : fmt::format("{}[{}, {}]", v, i, Number(0, 2));
  std::string plain = Chance(30) ? fmt::format(" {}[3 * {}] = 1.0;", y, i) : "";
  return fmt::format("spmd for {} in 0..N {{ {} = {} + 1.0;{} }}\n", i, store, read, plain);
}

/// Generates a view that merges two dimensions into one, and accesses to elements of both the view and the
/// tensor.
std::string Drawer::ViewRows() {
  std::string v = Name("w");
  std::string i = Name("i");
  std::string j = Name("j");
  std::string z = Tensor("N, M", 50);
  views_ += fmt::format("view {}: f32[N * M] = {};\n", v, z);
  auto flat = [&] {
    std::string row = Chance(85) ? i : "N - 1 - " + i;
    std::string column = Chance(80) ? j : Pick({"M - 1 - " + j, j + " + 1", "0"});
    return fmt::format("{}[{} * M + {}]", v, Chance(85) ? row : "(" + row + ")", column);
  };
  auto element = [&] {
    return fmt::format("{}[{}, {}]", z, i, Chance(85) ? j : Pick({"M - 1 - " + j, "0"}));
  };
  std::string text = fmt::format("{} = 1.0; ", Chance(70) ? flat() : element());
  if (Chance(60)) text += Pick({flat(), element()}) + Pick({" += 1.0;", " = 2.0;"});
  std::string columns = Pick({"0..M", "0..M", "0..M", "1..M", "0..M - 1"});
  return Chance(50) ? fmt::format("spmd for {} in 0..N, {} in {} {{ {} }}\n", i, j, columns, text)
                    : fmt::format("spmd for {} in 0..N {{ for {} in {} {{ {} }} }}\n", i, j,
                                  columns, text);
}

std::string Drawer::ViewTurned() {
  std::string w = Name("w");
  std::string v = Name("w");
  std::string i = Name("i");
  std::string z = Tensor("N, M", 20);
  std::string shape = Pick({"M, N", "M, N", "N, M"});
  views_ += fmt::format("view {}: f32[N * M] = {};\nview {}: f32[{}] = {};\n", w, z, v, shape, w);
  auto store = [&] {
    std::string row = Chance(85) ? i : "N - 1 - " + i;
    return fmt::format(" {}[{}, {}] = 1.0;", Pick({z, v}), row, Pick({"0", "0", "1", i}));
  };
  std::string text = store() + store();
  return fmt::format("spmd for {} in 0..{} {{{} }}\n", i, Pick({"min(N, M)", "min(N, M)", "N"}),
                     text);
}

/// Generates stores whose indices are quotients. Some of the indices are out of bounds.
std::string Drawer::Folded() {
  std::string i = Name("i");
  std::string j = Name("j");
  std::string z = Tensor(Pick({"N, M", "N, M", "N + 1, M"}), 40);
  std::string by = Pick({"M", "M", "4", "3"});
  std::string number = fmt::format("({} * {} + {})", i, Chance(85) ? by : Pick({"M", "2"}),
                                   Pick({j, j, j, j + " + " + by, j + " - 1", "s"}));
  std::string row = fmt::format("{} / {}", number, by);
  std::string column = Chance(50) ? j : fmt::format("{} % {}", number, by);
  std::string store = fmt::format("{}[{}, {}] = 1.0;", z, row, column);
  std::string bound = Chance(55) ? by : Pick({"M", "4", by + " + 1", by + " + 1"});
  if (Chance(30)) store = fmt::format("if {} == {} {{ {} }}", row, i, store);
  return fmt::format("spmd for {} in 0..N {{ for {} in 0..{} {{ {} }} }}\n", i, j, bound, store);
}

/// Generates asserts that state facts, before or after the code that needs these facts.
std::string Drawer::Asserted() {
  std::string i = Name("i");
  std::string z = Tensor("N, 2", 70);
  std::string stated = Pick({"0 <= s && s < 2", "0 <= s && s < 2", "s == 1", "s >= 0", "s < u",
                             "u == 1 - s && 0 <= s && s <= 1", "core_num < 3"});
  stated = fmt::format("assert({}, \"stated\");\n", stated);
  std::string stores =
      Pick({"{0}[{1}, s] = 1.0; {0}[{1}, 1 - s] = 2.0;", "{0}[{1}, s] = 1.0; {0}[{1}, u] = 2.0;",
            "if s < 2 {{ {0}[{1}, 0] = 1.0; }} {0}[{1}, 1] = 2.0;",
            "for c in s..2 {{ {0}[{1}, c] = 1.0; }}"});
  std::string walk =
      fmt::format("spmd for {} in 0..N {{ {} }}\n", i, fmt::format(fmt::runtime(stores), z, i));
  return Chance(70) ? stated + walk : walk + stated;
}

}  // namespace kdl::fuzz
