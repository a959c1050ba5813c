#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "codegen/c_source/writer.h"

// Vectors that are longer than a register of the target are structs of registers: p0, p1, … C compilers could divide a
// vector of GNU C by themselves, but gcc 12 takes its lanes apart for comparisons, selections and permutations.

namespace kdl::codegen::c_source {

namespace {

std::vector<int64_t> NumbersFrom(int64_t first, int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

}  // namespace

std::vector<Part> Helpers::Parts(int bits, int64_t lanes) const {
  int64_t padded = PaddedLanes(lanes);
  int64_t held = register_bits_ / bits;
  if (padded <= held) return {{"", 0, lanes, lanes}};
  std::vector<Part> parts;
  for (int64_t first = 0; first < padded; first += held)
    parts.push_back({fmt::format(".p{}", parts.size()), first, held,
                     std::clamp<int64_t>(lanes - first, 0, held)});
  return parts;
}

void Helpers::DefineByParts(const std::string& name, const std::string& result,
                            std::string_view params, const std::vector<Part>& parts,
                            const std::function<std::string(const Part&)>& value) {
  if (IsDefined(name)) return;
  std::string body;
  for (const Part& part : parts) {
    if (part.used > 0) body += fmt::format("  r{} = {};\n", part.field, value(part));
  }
  bool leaves_some = parts.back().used == 0;
  Define(name, fmt::format("static inline {0} {1}({2}) {{\n"
                           "  {0} r{3};\n"
                           "{4}"
                           "  return r;\n"
                           "}}\n",
                           result, name, params, leaves_some ? " = {0}" : "", body));
}

std::string Helpers::OnParts(const std::string& name, const std::string& result,
                             std::initializer_list<std::string> operands,
                             const std::vector<Part>& parts, const std::string& function) {
  std::string params;
  char letter = 'a';
  for (const std::string& type : operands)
    params += fmt::format("{}{} {}", params.empty() ? "" : ", ", type, letter++);
  DefineByParts(name, result, params, parts, [&](const Part& part) {
    std::string arguments;
    for (char of = 'a'; of < letter; ++of)
      arguments += fmt::format("{}{}{}", arguments.empty() ? "" : ", ", of, part.field);
    return fmt::format("{}({})", function, arguments);
  });
  return name;
}

void Helpers::ConvertParts(const std::string& name, int64_t lanes, const std::vector<Part>& from,
                           const std::vector<Part>& to, const PartConversion& conversion) {
  int64_t from_lanes = from[0].lanes;
  int64_t step = std::min(from_lanes, to[0].lanes);
  auto converted = [&](int64_t first) {
    const Part& part = from[static_cast<size_t>(first / from_lanes)];
    std::string text = "a" + part.field;
    if (from_lanes != step)
      text = fmt::format("{}({})",
                         Shuffle(conversion.from(step), conversion.from(from_lanes), 1, from_lanes,
                                 NumbersFrom(first - part.first, step)),
                         text);
    return fmt::format("{}({})", conversion.function(step), text);
  };
  DefineByParts(name, conversion.to(lanes), conversion.from(lanes) + " a", to,
                [&](const Part& part) {
                  std::vector<std::string> texts;
                  for (int64_t at = 0; at < PaddedLanes(part.lanes); at += step)
                    texts.push_back(converted(part.first + at));
                  for (int64_t width = step; texts.size() > 1; width *= 2) {
                    std::string wider = conversion.to(std::min(2 * width, part.lanes));
                    std::string joined =
                        Shuffle(wider, conversion.to(width), 2, width, NumbersFrom(0, 2 * width));
                    for (size_t i = 0; i < texts.size() / 2; ++i)
                      texts[i] = fmt::format("{}({}, {})", joined, texts[2 * i], texts[2 * i + 1]);
                    texts.resize(texts.size() / 2);
                  }
                  return texts[0];
                });
}

}  // namespace kdl::codegen::c_source
