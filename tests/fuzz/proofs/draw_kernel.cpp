#include "drawer.h"

#include <utility>

namespace kdl::fuzz {

DrawnKernel Drawer::Draw() {
  using Part = std::string (Drawer::*)();
  static constexpr std::pair<const char*, Part> kParts[] = {
      {"walks", &Drawer::Walks},
      {"domain in a loop", &Drawer::DomainInLoop},
      {"halving", &Drawer::Halving},
      {"loops around", &Drawer::LoopsAround},
      {"step", &Drawer::Steps},
      {"triangle", &Drawer::Triangle},
      {"square", &Drawer::Square},
      {"else if", &Drawer::Chain},
      {"where", &Drawer::Where},
      {"interleaved", &Drawer::Strided},
      {"joined", &Drawer::Joined},
      {"view", &Drawer::View},
      {"view edges", &Drawer::ViewEdges},
      {"view rows", &Drawer::ViewRows},
      {"view turned", &Drawer::ViewTurned},
      {"folded", &Drawer::Folded},
      {"asserted", &Drawer::Asserted},
      {"continue", &Drawer::Continued},
      {"waiting turns", &Drawer::Waiting},
      {"recurrence", &Drawer::Recurrence},
      {"red-black", &Drawer::RedBlack},
      {"flat index", &Drawer::Flat},
      {"cores", &Drawer::Cores},
      {"counted", &Drawer::Counted},
      {"agreed", &Drawer::Agreed},
      {"atomic", &Drawer::Atomic},
      {"launch tensor", &Drawer::LaunchTensor},
      {"inner loop", &Drawer::Inner},
      {"ping-pong", &Drawer::PingPong},
      {"reduce", &Drawer::Reduce},
      {"grids", &Drawer::Grids},
      {"tiling", &Drawer::Tiling},
      {"numbered", &Drawer::Numbered},
      {"shuffled", &Drawer::Shuffled},
      {"var", &Drawer::Vars},
      {"if around", &Drawer::IfAround},
      {"three dimensions", &Drawer::Three},
      {"opaque", &Drawer::Opaque},
      {"computed index", &Drawer::Computed},
      {"ragged", &Drawer::Ragged},
      {"batched", &Drawer::Batched},
      {"parts of parts", &Drawer::PartsOfParts},
      {"plane", &Drawer::Planes},
      {"deep loops", &Drawer::DeepLoops},
      {"hidden", &Drawer::Hidden},
      {"extremes", &Drawer::Extremes},
      {"divided", &Drawer::Divided},
      {"partial", &Drawer::Partial},
      {"great sizes", &Drawer::GreatSizes},
      {"products", &Drawer::Products},
      {"narrow", &Drawer::Narrow},
      {"choices", &Drawer::Choices},
      {"looked up", &Drawer::LookedUp},
      {"stated size", &Drawer::Stated},
      {"reaching", &Drawer::Reaching},
      {"pair", &Drawer::Pair},
      {"falling", &Drawer::Falling},
      {"statics", &Drawer::Statics},
      {"core counts", &Drawer::CoreCounts},
  };
  std::string body;
  // Stages must be at the top level of a kernel. A kernel with stages contains nothing else.
  bool has_stages = Chance(5);
  if (has_stages) {
    drawn_.features.insert("stages");
    body = Chance(70) ? Stages() : CoreStages();
  }
  size_t count = has_stages ? 0 : Chance(70) ? 1 : 2;
  for (size_t n = 0; n < count; ++n) {
    const auto& [feature, part] = kParts[Below(std::size(kParts))];
    drawn_.features.insert(feature);
    if (n > 0 && Chance(60)) body += "sync;\n";
    std::string text = (this->*part)();
    if (loops_ == 0 && Chance(8)) {
      drawn_.features.insert("loop around all");
      text = fmt::format("for {} in 0..{} {{\n{}{}}}\n", Name("o"), Pick({"2", "3", "s"}), text,
                         Chance(60) ? "sync;\n" : "");
    }
    body += text;
    loops_ = 0;
  }
  drawn_.cores_agree = drawn_.features == std::set<std::string>{"agreed"};
  if (Chance(15)) {
    drawn_.steps = 100 + Below(100) * Below(200);
    drawn_.features.insert("few steps");
  }
  std::string params;
  for (const auto& [name, declared] : tensors_) params += fmt::format(", {}: {}", name, declared);
  for (const std::string& scalar : scalars_) params += ", " + scalar;
  std::string generics;
  for (const std::string& block : blocks_) generics += (generics.empty() ? "<" : ", ") + block;
  if (!generics.empty()) generics += ">";
  drawn_.text = fmt::format(
      "const kTable: i64[3] = [1, 2, 3];\n"
      "kernel k{}(x: in f32[N], v: in f32[M], p: in i32[N], s: i64, u: i64{}){} {{\n{}}}\n",
      generics, params, where_, views_ + body);
  return std::move(drawn_);
}

std::string Drawer::Number(int64_t least, int64_t most) {
  return std::to_string(least + static_cast<int64_t>(Below(static_cast<size_t>(most - least + 1))));
}

std::string Drawer::By() {
  return Chance(8) ? " by " + Block() : Pick({" by 2", " by 3", " by 4", "", " by 1"});
}

std::string Drawer::Block() {
  bool listed = Chance(30);
  blocks_.insert(listed ? "C: int in {2, 3} = auto" : "B: int = auto");
  drawn_.features.insert("auto block");
  return listed ? "C" : "B";
}

std::string Drawer::Table() {
  std::string name = Pick({"off", "off", "off", "offs"});
  tensors_[name] = "in i32[N + 1]";
  return name;
}

std::string Drawer::Sync(size_t percent) {
  if (!Chance(percent)) return "";
  if (Chance(90)) return "sync;\n";
  drawn_.features.insert("some sync");
  std::string around = Pick({"for {} in 0..s", "for {} in u..s", "for {} in M..N", "for {} in 0..2",
                             "for {} in M by 2", "if s > 0", "if N > M"});
  return fmt::format(fmt::runtime(around + " {{ sync; }}\n"), Name("t"));
}

std::string Drawer::Tensor(const std::string& shape, size_t percent_out) {
  for (const auto& [name, declared] : tensors_) {
    bool fits = declared.ends_with("f32[" + shape + "]") && !declared.starts_with("in ");
    if (fits && Chance(80)) return name;
  }
  std::string name = Name("y");
  bool is_out = Chance(percent_out);
  if (is_out) drawn_.features.insert("out");
  tensors_[name] = fmt::format("{} f32[{}]", is_out ? "out" : "inout", shape);
  return name;
}

std::string Drawer::Index(const std::string& i, const Texts& around) {
  size_t pick = Below(100);
  if (pick < 45) return i;
  if (pick < 60) return fmt::format("{} + {}", i, Number(1, 2));
  if (pick < 70) return fmt::format("2 * {} + {}", i, Number(0, 1));
  if (pick < 74) return fmt::format("N - 1 - {}", i);
  if (pick < 76) return fmt::format("{} / 2", i);
  if (pick < 78) return fmt::format("p[{}]", i);
  if (around.empty()) return i;
  if (pick < 94) return fmt::format("{} + {}", i, Pick(around));
  return fmt::format("{} + 2 * {}", i, Pick(around));
}

std::string Drawer::Right(const std::string& element, const std::string& y, const std::string& i,
                          const Texts& around) {
  size_t pick = Below(100);
  if (pick < 45) return "1.0";
  if (pick < 75) return element + " + 1.0";
  return fmt::format("{}[{}] + 1.0", y, Index(i, around));
}

std::string Drawer::Store(const std::string& y, const std::string& i, const Texts& around) {
  std::string element = fmt::format("{}[{}]", y, Index(i, around));
  return fmt::format("{} = {};", element, Right(element, y, i, around));
}

std::string Drawer::Condition(const std::string& i) {
  return Pick({fmt::format("{} < s", i), fmt::format("{} >= s", i), fmt::format("{} == 0", i),
               fmt::format("{} != 0", i), fmt::format("{} % 2 == 0", i),
               fmt::format("{} % 2 == 1", i), fmt::format("{} == N - 1", i),
               fmt::format("{} < u", i), "s > u", "s <= u", fmt::format("{} < s && {} < u", i, i),
               fmt::format("{} < s || {} >= u", i, i), fmt::format("!({} < u)", i)});
}

std::string Drawer::ConditionOfMemory(const std::string& i) {
  return Pick({fmt::format("p[{}] > 0", i), fmt::format("!(p[{}] > 0)", i),
               fmt::format("p[{}] <= 0", i), fmt::format("x[{}] > 0.0", i)});
}

DrawnKernel DrawKernel(uint64_t seed) {
  // Makes neighbouring seeds give different kernels.
  return Drawer((seed + 1) * 0x9e3779b97f4a7c15).Draw();
}

}  // namespace kdl::fuzz
