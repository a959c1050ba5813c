#include "proofs/examples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <string_view>

#include "ir/op_info.h"
#include "ir/packs.h"
#include "ir/tensor_view.h"

namespace kdl::proofs {

namespace {

using ir::Effect;

constexpr uint64_t kStepsOfLaunch = 2'000'000;  ///< the step limit of one launch

std::string First(size_t i, bool second) { return fmt::format("#first{}{}", i, second ? "'" : ""); }
std::string Last(size_t i, bool second) { return fmt::format("#last{}{}", i, second ? "'" : ""); }

bool IsNumber(const ir::Param& param) {
  return param.value->type()->kind != ir::TypeKind::Tensor &&
         IsInteger(param.value->type()->scalar);
}

/// The loop variables that an example mentions: first those of the block, then those of the surrounding
/// loops.
struct Binders {
  std::vector<const Value*> all;
  size_t iterations = 0;  ///< the index of the first variable of a surrounding loop
};

Binders ExampleBinders(Races& races, const Site& site) {
  Binders binders;
  if (site.walk)
    binders.all = {site.walk->region()->params().begin(), site.walk->region()->params().end()};
  binders.iterations = binders.all.size();
  for (const Op* loop : races.LoopsAround(site)) {
    if (loop->kind() != ir::OpKind::While) binders.all.push_back(loop->region()->param(0));
  }
  return binders;
}

/// Returns equations that define variables for the first and the last index of each loop variable.
PointSet IndicesOf(Instances& instances, const Binders& binders, bool second) {
  PointSet set = instances.All();
  for (size_t i = 0; i < binders.all.size(); ++i) {
    const Value* binder = binders.all[i];
    Terms& terms = instances.terms();
    bool is_block = binder->type()->kind == ir::TypeKind::Block;
    Poly first = Poly::Atom(is_block ? terms.StartAtom(binder) : terms.ScalarAtom(binder));
    Poly last = is_block ? first + Poly::Atom(terms.CountAtom(binder)) - 1 : first;
    set &= Equal(instances.Variable(First(i, second)), instances.AffineOf(first));
    set &= Equal(instances.Variable(Last(i, second)), instances.AffineOf(last));
  }
  return set;
}

/// Returns text such as `i = 0..3, j = 5` for the loop variables `from` to `to` (exclusive). The loops that initialize
/// what `reduce` changes have variables without names.
std::string IndicesText(const Binders& binders, size_t from, size_t to, const Point& point,
                        bool second) {
  std::string text;
  for (size_t i = from; i < to; ++i) {
    int64_t first = point.at(First(i, second));
    int64_t last = point.at(Last(i, second));
    std::string_view name = binders.all[i]->name().text();
    text += fmt::format("{}{}{}{}", i == from ? "" : ", ", name, name.empty() ? "" : " = ", first);
    if (last != first) text += fmt::format("..{}", last);
  }
  return text;
}

}  // namespace

std::vector<std::unique_ptr<Examples::Launch>>& Examples::Launches() {
  if (launches_.empty()) {
    for (const Sizes& sizes : LaunchesToTry(kernel_))
      launches_.push_back(std::make_unique<Launch>(kernel_, types_, limits_, sizes));
  }
  return launches_;
}

/// Returns the least point of the set. Sizes are compared first, and then the variables of the execution that the message
/// names first.
std::optional<Point> Examples::LeastPoint(Launch& launch, const PointSet& set,
                                          bool begins_with_second) const {
  std::vector<std::string> order;
  for (Name dim : kernel_.dims) order.push_back(dim.str());
  order.push_back(launch.instances.VariableName(launch.instances.terms().CoreNumAtom()));
  std::set<std::string> variables = set.Variables();
  std::vector<std::string> others(variables.begin(), variables.end());
  // The names of later variables contain greater numbers.
  std::ranges::sort(others, {}, [&](const std::string& name) {
    return std::tuple(Races::IsPrimed(name) != begins_with_second, name.size(), name);
  });
  order.insert(order.end(), others.begin(), others.end());
  return set.Least(order);
}

/// Returns the condition that no scalar parameter of an integer type is negative.
PointSet Examples::NonNegativeNumbers(Launch& launch) const {
  PointSet set = launch.instances.All();
  for (const ir::Param& param : kernel_.params) {
    if (!IsNumber(param)) continue;
    Affine value = launch.instances.AffineOfValue(param.value);
    set &= AtMost(launch.instances.Constant(0), value);
  }
  return set;
}

std::optional<RaceExample> Examples::RaceOn(const Value* memory) {
  for (auto& launch : Launches()) {
    launch->context.Allow(kStepsOfLaunch);
    for (const Race& race : launch->races.FindCertain(memory)) {
      if (std::optional<RaceExample> found = InWords(*launch, race)) return found;
    }
  }
  return std::nullopt;
}

std::optional<RaceExample> Examples::InWords(Launch& launch, const Race& race) {
  Instances& instances = launch.instances;
  PointSet of_a = IndicesOf(instances, ExampleBinders(launch.races, *race.a), false);
  PointSet of_b = IndicesOf(instances, ExampleBinders(launch.races, *race.b), true);
  PointSet named = of_a & launch.races.SecondRun(of_b, race.equal);
  bool second_writes = race.a->view.effect == Effect::Read;
  std::optional<Point> point =
      LeastPoint(launch, race.runs & named & NonNegativeNumbers(launch), second_writes);
  if (!point) return std::nullopt;
  bool swapped = race.b->view.effect == Effect::Read;
  const Site& writes = swapped ? *race.a : *race.b;
  const Site& other = swapped ? *race.b : *race.a;
  RaceExample example{writes.view.op,
                      other.view.op,
                      other.view.effect == Effect::Read,
                      BlockText(launch, writes, *point, !swapped),
                      BlockText(launch, other, *point, swapped),
                      ElementText(launch, ir::MemoryOf(writes.view.tensor), *point),
                      SizesText(launch, *point)};
  std::string iteration = IterationText(launch, writes, *point, !swapped);
  std::string other_iteration = IterationText(launch, other, *point, swapped);
  if (example.block == example.other_block || iteration != other_iteration) {
    example.block += iteration;
    example.other_block += other_iteration;
  }
  if (example.block == example.other_block && writes.walk != other.walk)
    example.other_block += " of another loop";
  return example;
}

std::string Examples::BlockText(Launch& launch, const Site& site, const Point& point,
                                bool second) const {
  if (!site.walk) {
    std::string core = launch.instances.VariableName(launch.instances.terms().CoreIdAtom());
    auto id = point.find(second ? Races::Primed(core) : core);
    return id == point.end() ? "a core" : fmt::format("core {}", id->second);
  }
  Binders binders = ExampleBinders(launch.races, site);
  return "block " + IndicesText(binders, 0, binders.iterations, point, second);
}

/// Returns text such as ` at t = 1` for the loops that are outside of spmds.
std::string Examples::IterationText(Launch& launch, const Site& site, const Point& point,
                                    bool second) const {
  Binders binders = ExampleBinders(launch.races, site);
  std::string text = IndicesText(binders, binders.iterations, binders.all.size(), point, second);
  return text.empty() ? text : " at " + text;
}

std::string Examples::SizesText(Launch& launch, const Point& point) const {
  std::string text;
  auto add = [&](Name name) {
    auto known = launch.known.find(name);
    auto found = point.find(name.str());
    if (known == launch.known.end() && found == point.end()) return;
    text += fmt::format("{}{} = {}", text.empty() ? ", for " : ", ", name.text(),
                        known != launch.known.end() ? known->second : found->second);
  };
  for (Name dim : kernel_.dims) add(dim);
  for (const ir::Generic& generic : kernel_.generics) {
    if (!ir::IsShapeMark(kernel_, generic.name)) add(generic.name);
  }
  auto add_atom = [&](std::string_view name, AtomId atom) {
    auto found = point.find(launch.instances.VariableName(atom));
    if (found != point.end())
      text += fmt::format("{}{} = {}", text.empty() ? ", for " : ", ", name, found->second);
  };
  for (const ir::Param& param : kernel_.params) {
    if (IsNumber(param))
      add_atom(param.value->name().text(), launch.instances.terms().ScalarAtom(param.value));
  }
  add_atom(ir::kCoreNum, launch.instances.terms().CoreNumAtom());
  return text;
}

std::string Examples::ElementText(Launch& launch, const Value* memory, const Point& point) const {
  auto index = launch.races.elements().ElementIndex(memory, point);
  std::string_view name = launch.instances.terms().Coordinates(memory)->name().text();
  return index ? fmt::format("{}[{}]", name, fmt::join(*index, ", ")) : std::string(name);
}

std::optional<TwiceExample> Examples::TwiceBy(const Op* store) {
  for (auto& launch : Launches()) {
    launch->context.Allow(kStepsOfLaunch);
    for (const Site& site : launch->races.sites()) {
      if (site.view.op != store || !site.is_certain) continue;
      std::vector<std::pair<std::string, std::string>> points;
      for (ir::AxisId axis : site.view.axes()) {
        const Value* block = ir::FindBlock(store, axis);
        points.emplace_back(
            kernel_.axis(axis).name.str(),
            launch->instances.VariableName(launch->instances.terms().ElementAtom(block)));
      }
      std::optional<Point> point = LeastPoint(*launch, launch->races.Twice(site));
      if (!point) continue;
      TwiceExample example{ElementText(*launch, ir::MemoryOf(site.view.tensor), *point), "", ""};
      for (const auto& [name, variable] : points) {
        auto add = [&](std::string& text, const std::string& from) {
          text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, point->at(from));
        };
        add(example.first, variable);
        add(example.second, Races::Primed(variable));
      }
      return example;
    }
  }
  return std::nullopt;
}

std::optional<ElementExample> Examples::LeastElement(
    const Value* memory, const std::function<PointSet(Races&, Instances&)>& ask) {
  for (auto& launch : Launches()) {
    launch->context.Allow(kStepsOfLaunch);
    PointSet elements = ask(launch->races, launch->instances) & NonNegativeNumbers(*launch);
    if (launch->instances.IsOpaque(elements)) continue;
    std::optional<Point> point = LeastPoint(*launch, elements);
    if (point)
      return ElementExample{ElementText(*launch, memory, *point), SizesText(*launch, *point)};
  }
  return std::nullopt;
}

std::optional<IndexExample> Examples::Outside(const AccessView& view, size_t dim, bool above) {
  static const std::string kIndex = "#index";
  for (auto& launch : Launches()) {
    launch->context.Allow(kStepsOfLaunch);
    Instances& instances = launch->instances;
    Poly index = instances.terms().PolyOfIndex(view, dim);
    PointSet outside = above ? instances.Compare(ir::CompareKind::Ge, index,
                                                 instances.terms().PolyOfDim(view, dim))
                             : instances.Compare(ir::CompareKind::Lt, index, 0);
    PointSet runs =
        instances.WithFacts(instances.RunsOf(view) & outside) & NonNegativeNumbers(*launch);
    if (instances.IsOpaque(runs)) continue;
    runs &= Equal(instances.Variable(kIndex), instances.AffineOf(index));
    std::optional<Point> point = LeastPoint(*launch, runs);
    if (!point) continue;
    return IndexExample{point->at(kIndex), CountsText(*launch, view, *point),
                        SizesText(*launch, *point)};
  }
  return std::nullopt;
}

/// Returns text that lists the values of the loop variables around an access and of the indices in its
/// ranges.
std::string Examples::CountsText(Launch& launch, const AccessView& view, const Point& point) const {
  Terms& terms = launch.instances.terms();
  std::string text;
  auto add = [&](std::string_view name, AtomId atom) {
    auto found = point.find(launch.instances.VariableName(atom));
    if (found == point.end()) return;
    text += fmt::format("{}{} = {}", text.empty() ? " at " : ", ", name, found->second);
  };
  std::vector<const Op*> loops;
  for (const Op* op = view.op->parent_region()->parent(); op; op = op->parent_region()->parent()) {
    if (IsLoop(op) && op->kind() != ir::OpKind::While) loops.push_back(op);
  }
  for (const Op* loop : std::views::reverse(loops)) {
    for (const Value* binder : loop->region()->params()) {
      bool counts = LoopEndsOf(binder) && binder->type()->kind != ir::TypeKind::Block;
      if (counts) add(binder->name().text(), terms.ScalarAtom(binder));
    }
  }
  for (ir::AxisId axis : view.axes())
    add(kernel_.axis(axis).name.text(), terms.ElementAtom(ir::FindBlock(view.op, axis)));
  return text;
}

}  // namespace kdl::proofs
