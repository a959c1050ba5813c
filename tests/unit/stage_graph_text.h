#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "stage_graphs.h"

namespace kdl::test {

/// Writes a graph as a kernel. Its parameters are the number of blocks, and tensors with a row for each core.
class GraphText {
 public:
  explicit GraphText(const StageGraph& graph) : graph_(graph) {}

  std::string Write(const std::string& name) {
    Line(0,
         "kernel @{} dims(%C) (%blocks: i64, %y: tensor<i64,[C,5]> out, "
         "%z: tensor<f32,[C,5,8]> out, %ws: workspace) {{",
         name);
    for (size_t p = 0; p < graph_.pipes.size(); ++p) WritePipe(p);
    for (int64_t value : {0, 1, 2, 3, 4, 5, 7, 8, 16, 31})
      Line(1, "%c{0} = const {0} : i64", value);
    Line(1, "%half = const 0.5 : f32");
    Line(1, "%halves = splat %half : vec<f32 x 8>");
    Line(1, "%id = core_id : i64");
    Line(1, "%num = core_num : i64");
    for (size_t s = 0; s < graph_.stages.size(); ++s) WriteStage(s);
    Line(1, "return");
    Line(0, "}}");
    return std::move(text_);
  }

 private:
  /// The values that a stage's ops pass on to each other.
  struct Carried {
    std::string number;
    std::string vector;
  };

  template <class... Values>
  void Line(int depth, fmt::format_string<Values...> format, Values&&... values) {
    text_.append(static_cast<size_t>(depth) * 2, ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    text_ += '\n';
  }
  std::string New() { return fmt::format("%t{}", next_++); }
  template <class... Values>
  std::string Let(int depth, fmt::format_string<Values...> format, Values&&... values) {
    std::string name = New();
    Line(depth, "{} = {}", name, fmt::format(format, std::forward<Values>(values)...));
    return name;
  }
  static std::string ExtentsText(const GraphPipe& pipe) {
    return fmt::format("{},[{}]", pipe.vectors ? "f32" : "i64", fmt::join(pipe.extents, ","));
  }

  void WritePipe(size_t p) {
    const GraphPipe& pipe = graph_.pipes[p];
    Line(1,
         "%q{0} = pipe in %ws {{name = \"q{0}\", depth = {1}, from = \"s{2}\", to = \"s{3}\", "
         "header = 64, slot = {4}, offset = {5}}} : pipe<{6}>",
         p, pipe.depth, pipe.from, pipe.to, pipe.slot(), pipe.offset, ExtentsText(pipe));
  }

  void WriteStage(size_t s) {
    const GraphStage& stage = graph_.stages[s];
    Line(1, "stage {{name = \"s{}\"}} {{", s);
    memory_ = Let(2, "buffer_new : buffer<i64,[4]>");
    for (size_t i = 0; i < kMemory; ++i) Line(2, "buffer_store %c{} to {}[%c{}]", i, memory_, i);
    std::string zero = Let(2, "const 0.0 : f32");
    Carried carried{Let(2, "const {} : i64", s + 1), Let(2, "splat {} : vec<f32 x 8>", zero)};
    if (stage.form == RoundForm::Blocks) {
      carried = WriteRounds(s, "%id", "%blocks", "%num", carried);
    } else if (stage.form == RoundForm::Peeled) {
      std::string some = Let(2, "lt %id, %blocks : bool");
      carried = WriteIf(2, some, carried,
                        [&](int depth) { return WriteRound(depth, s, "%id", carried); });
      std::string second = Let(2, "add %id, %num : i64");
      carried = WriteRounds(s, second, "%blocks", "%num", carried);
    } else {
      // If no block is left for this core, `more` and `count` are zero or negative, because div
      // rounds down.
      std::string more = Let(2, "sub %blocks, %id : i64");
      std::string last = Let(2, "sub {}, %c1 : i64", more);
      std::string after = Let(2, "div {}, %num : i64", last);
      std::string count = Let(2, "add {}, %c1 : i64", after);
      carried = WriteRounds(s, "%c0", count, "%c1", carried);
    }
    Line(2, "store {} to %y[%id, {}] {{bounds = proven}}", carried.number, s);
    Line(2, "store {} to %z[%id, {}, 0] {{bounds = proven}}", carried.vector, s);
    Line(2, "yield");
    Line(1, "}}");
  }

  Carried WriteRounds(size_t s, const std::string& lo, const std::string& hi,
                      const std::string& step, const Carried& before) {
    auto body = [&](int depth, const std::string& index, const Carried& carried) {
      if (graph_.stages[s].form != RoundForm::Counted) return WriteRound(depth, s, index, carried);
      std::string rows = Let(depth, "mul {}, %num : i64", index);
      return WriteRound(depth, s, Let(depth, "add {}, %id : i64", rows), carried);
    };
    return WriteLoop(2, lo, hi, step, before, body);
  }

  template <class Body>
  Carried WriteLoop(int depth, const std::string& lo, const std::string& hi,
                    const std::string& step, const Carried& before, const Body& body) {
    Carried after{New(), New()};
    Carried carried{New(), New()};
    std::string index = New();
    Line(depth, "{}, {} = loop {} in {} .. {} step {} carry({} = {}, {} = {}) {{", after.number,
         after.vector, index, lo, hi, step, carried.number, before.number, carried.vector,
         before.vector);
    Carried yielded = body(depth + 1, index, carried);
    Line(depth + 1, "yield {}, {}", yielded.number, yielded.vector);
    Line(depth, "}} : i64, vec<f32 x 8>");
    return after;
  }

  template <class Body>
  Carried WriteIf(int depth, const std::string& condition, const Carried& before,
                  const Body& body) {
    Carried after{New(), New()};
    Line(depth, "{}, {} = if {} {{", after.number, after.vector, condition);
    Carried yielded = body(depth + 1);
    Line(depth + 1, "yield {}, {}", yielded.number, yielded.vector);
    Line(depth, "}} else {{");
    Line(depth + 1, "yield {}, {}", before.number, before.vector);
    Line(depth, "}} : i64, vec<f32 x 8>");
    return after;
  }

  Carried WriteRound(int depth, size_t s, const std::string& block, Carried carried) {
    const GraphStage& stage = graph_.stages[s];
    if (stage.check_bound >= 0) {
      std::string bound = Let(depth, "const {} : i64", stage.check_bound);
      Line(depth, "check {} in {} {{dimension = 0, text = \"x[b]\"}} loc(\"g.kdl\":{}:1+1)", block,
           bound, 900 + s);
    }
    for (size_t at = 0; at < stage.order.size();) {
      size_t count = 1;
      while (stage.loops && stage.wrong_size < 0 && at + count < stage.order.size() &&
             stage.order[at + count].pipe == stage.order[at].pipe)
        ++count;
      carried = WriteTransfers(depth, s, at, count, block, carried);
      at += count;
    }
    return carried;
  }

  /// Writes `count` transfers of one pipe, from position `at` of the stage on.
  Carried WriteTransfers(int depth, size_t s, size_t at, size_t count, const std::string& block,
                         const Carried& carried) {
    const Transfer& first = graph_.stages[s].order[at];
    auto body = [&](int inner) {
      if (count == 1) {
        std::string number = Let(inner, "const {} : i64", first.number);
        return WriteTransfer(inner, s, at, block, number, carried);
      }
      std::string lo = Let(inner, "const {} : i64", first.number);
      std::string hi = Let(inner, "const {} : i64", first.number + static_cast<int64_t>(count));
      return WriteLoop(inner, lo, hi, "%c1", carried,
                       [&](int depth_in_loop, const std::string& number, const Carried& inside) {
                         return WriteTransfer(depth_in_loop, s, at, block, number, inside);
                       });
    };
    if (first.mask == 0) return body(depth);
    std::string bits = Let(depth, "and {}, %c1 : i64", block);
    std::string taken = Let(depth, "eq {}, %c{} : bool", bits, first.value);
    return WriteIf(depth, taken, carried, body);
  }

  Carried WriteTransfer(int depth, size_t s, size_t at, const std::string& block,
                        const std::string& number, const Carried& carried) {
    size_t p = graph_.stages[s].order[at].pipe;
    const GraphPipe& pipe = graph_.pipes[p];
    std::string drawn = Let(depth, "mul {}, %c5 : i64", block);
    bool wrong = graph_.stages[s].wrong_size == static_cast<int64_t>(at);
    drawn = Let(depth, "add {}, {} : i64", drawn, wrong ? "%c1" : "%c0");
    drawn = Let(depth, "add {}, {} : i64", drawn, number);
    std::vector<std::string> sizes;
    for (int64_t extent : pipe.extents) {
      if (pipe.vectors) {
        sizes.push_back(Let(depth, "const {} : i64", extent));
        continue;
      }
      std::string most = Let(depth, "const {} : i64", extent - 1);
      std::string some = Let(depth, "and {}, {} : i64", drawn, most);
      sizes.push_back(Let(depth, "add {}, %c1 : i64", some));
    }
    std::string loc = fmt::format("loc(\"g.kdl\":{}:{}+4)", 10 * s + p + 1, at + 1);
    return pipe.from == s ? WritePush(depth, p, block, sizes, loc, carried)
                          : WritePop(depth, p, sizes, loc, carried);
  }

  Carried WritePush(int depth, size_t p, const std::string& block,
                    const std::vector<std::string>& sizes, const std::string& loc,
                    const Carried& carried) {
    const GraphPipe& pipe = graph_.pipes[p];
    std::string slot = Let(depth, "acquire %q{} {{text = \"q{}.push(t)\"}} : tensor<{}> {}", p, p,
                           ExtentsText(pipe), loc);
    Carried after = carried;
    if (pipe.vectors) {
      after = WriteLoop(depth, "%c0", sizes[0], "%c8", carried,
                        [&](int d, const std::string& i, const Carried& in) {
                          std::string number = Let(d, "cast {} : f32", i);
                          std::string lanes = Let(d, "splat {} : vec<f32 x 8>", number);
                          std::string value = Let(d, "add {}, {} : vec<f32 x 8>", in.vector, lanes);
                          Line(d, "store {} to {}[{}] {{bounds = proven}}", value, slot, i);
                          return Carried{in.number, value};
                        });
    } else {
      WriteElements(depth, block, slot, sizes, carried);
    }
    Line(depth, "commit {} to %q{} sizes({})", slot, p, fmt::join(sizes, ", "));
    std::string five = Let(depth, "mul {}, %c5 : i64", after.number);
    std::string seven = Let(depth, "add {}, %c7 : i64", five);
    return {Let(depth, "add {}, {} : i64", seven, sizes[0]), after.vector};
  }

  /// Writes slot[i, j] = number + 3 * i + 7 * j + block to a slot of a pipe. Each element passes through a
  /// buffer in scratch memory.
  void WriteElements(int depth, const std::string& block, const std::string& slot,
                     const std::vector<std::string>& sizes, const Carried& carried) {
    std::string start = Let(depth, "add {}, {} : i64", carried.number, block);
    std::string row = WriteOpen(depth, sizes[0]);
    std::string three = Let(depth + 1, "mul {}, %c3 : i64", row);
    std::string value = Let(depth + 1, "add {}, {} : i64", start, three);
    std::string buffer = Let(depth + 1, "buffer_new : buffer<i64,[8]>");
    std::string column = WriteOpen(depth + 1, sizes.size() == 2 ? sizes[1] : "%c1");
    std::string seven = Let(depth + 2, "mul {}, %c7 : i64", column);
    std::string element = Let(depth + 2, "add {}, {} : i64", value, seven);
    Line(depth + 2, "buffer_store {} to {}[{}]", element, buffer, column);
    std::string back = Let(depth + 2, "buffer_load {}[{}] : i64", buffer, column);
    Line(depth + 2, "store {} to {}[{}] {{bounds = proven}}", back, slot,
         sizes.size() == 2 ? row + ", " + column : row);
    for (int d : {depth + 2, depth + 1}) {
      Line(d, "yield");
      Line(d - 1, "}}");
    }
  }

  std::string WriteOpen(int depth, const std::string& count) {
    std::string index = New();
    Line(depth, "loop {} in %c0 .. {} step %c1 {{", index, count);
    return index;
  }

  Carried WritePop(int depth, size_t p, const std::vector<std::string>& sizes,
                   const std::string& loc, const Carried& carried) {
    const GraphPipe& pipe = graph_.pipes[p];
    std::string slot = New();
    std::vector<std::string> pushed;
    for (size_t d = 0; d < sizes.size(); ++d) pushed.push_back(New());
    Line(depth, "{}, {} = wait %q{} {{text = \"q{}.pop(i)\"}} : tensor<{}>{} {}", slot,
         fmt::join(pushed, ", "), p, p, ExtentsText(pipe),
         sizes.size() == 2 ? ", i64, i64" : ", i64", loc);
    for (size_t d = 0; d < sizes.size(); ++d)
      Line(depth, "match {}, {} {{text = \"q{}.pop(i)\"}} {}", pushed[d], sizes[d], p, loc);
    Carried after = WriteFold(depth, pipe, slot, pushed, carried);
    Line(depth, "release {} to %q{}", slot, p);
    std::string place = Let(depth, "and {}, %c3 : i64", after.number);
    std::string old = Let(depth, "buffer_load {}[{}] : i64", memory_, place);
    Line(depth, "buffer_store {} to {}[{}]", after.number, memory_, place);
    return {Let(depth, "add {}, {} : i64", after.number, old), after.vector};
  }

  Carried WriteFold(int depth, const GraphPipe& pipe, const std::string& slot,
                    const std::vector<std::string>& sizes, const Carried& carried) {
    if (pipe.vectors) {
      return WriteLoop(depth, "%c0", sizes[0], "%c8", carried,
                       [&](int d, const std::string& i, const Carried& in) {
                         std::string less = Let(d, "mul {}, %halves : vec<f32 x 8>", in.vector);
                         std::string read =
                             Let(d, "load {}[{}] {{bounds = proven}} : vec<f32 x 8>", slot, i);
                         return Carried{in.number, Let(d, "add {}, {} : vec<f32 x 8>", less, read)};
                       });
    }
    return WriteLoop(depth, "%c0", sizes[0], "%c1", carried,
                     [&](int d, const std::string& i, const Carried& row) {
                       return WriteLoop(
                           d, "%c0", sizes.size() == 2 ? sizes[1] : "%c1", "%c1", row,
                           [&](int e, const std::string& j, const Carried& in) {
                             std::string read = Let(e, "load {}[{}] {{bounds = proven}} : i64",
                                                    slot, sizes.size() == 2 ? i + ", " + j : i);
                             std::string times = Let(e, "mul {}, %c31 : i64", in.number);
                             return Carried{Let(e, "add {}, {} : i64", times, read), in.vector};
                           });
                     });
  }

  const StageGraph& graph_;
  std::string text_;
  std::string memory_;
  int next_ = 0;
};

}  // namespace kdl::test
