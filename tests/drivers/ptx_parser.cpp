#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "drivers/ptx_machine.h"

namespace ptx {

namespace {

[[noreturn]] void Unknown(std::string_view what) {
  throw std::runtime_error("PTX that is not understood: " + std::string(what));
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0)
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0)
    text.remove_suffix(1);
  return text;
}

// Splits at separators that are not inside braces or brackets.
std::vector<std::string_view> Parts(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && (text[i] == '{' || text[i] == '[')) ++depth;
    if (i < text.size() && (text[i] == '}' || text[i] == ']')) --depth;
    if (i < text.size() && (text[i] != separator || depth > 0)) continue;
    parts.push_back(Trimmed(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  return parts;
}

std::string WithoutComments(std::string_view text) {
  std::string clean;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find("//", at), text.size());
    clean += text.substr(at, end - at);
    at = std::min(text.find('\n', end), text.size());
  }
  return clean;
}

Type TypeOf(std::string_view word) {
  if (word == "pred") return {'p', 1};
  if (word == "bf16") return {'h', 16};
  if (word == "bf16x2") return {'h', 32};
  if (word.size() < 2 || std::string_view("usbf").find(word[0]) == std::string_view::npos)
    Unknown(word);
  return {word[0], std::atoi(std::string(word.substr(1)).c_str())};
}

std::int64_t NumberIn(std::string_view text) {
  return std::strtoll(std::string(text).c_str(), nullptr, 0);
}

// Parses `name[16]` into the name and the count. Without brackets, the count is 1.
std::pair<std::string, std::size_t> Array(std::string_view text) {
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos) return {std::string(text), 1};
  return {std::string(text.substr(0, open)),
          static_cast<std::size_t>(NumberIn(text.substr(open + 1)))};
}

struct Row {
  std::string_view word;
  Op op;
};
constexpr Row kRows[] = {
    {"abs", Op::Abs},   {"add", Op::Add}, {"and", Op::And}, {"atom", Op::Atom}, {"bfe", Op::Bfe},
    {"bfi", Op::Bfi},   {"bra", Op::Bra}, {"cvt", Op::Cvt}, {"cvta", Op::Mov},  {"div", Op::Div},
    {"fma", Op::Fma},   {"ld", Op::Ld},   {"mad", Op::Mad}, {"max", Op::Max},   {"min", Op::Min},
    {"mov", Op::Mov},   {"mul", Op::Mul}, {"neg", Op::Neg}, {"not", Op::Not},   {"or", Op::Or},
    {"prmt", Op::Prmt}, {"rcp", Op::Rcp}, {"rem", Op::Rem}, {"ret", Op::Ret},   {"selp", Op::Selp},
    {"setp", Op::Setp}, {"shf", Op::Shf}, {"shl", Op::Shl}, {"shr", Op::Shr},   {"sqrt", Op::Sqrt},
    {"st", Op::St},     {"sub", Op::Sub}, {"xor", Op::Xor}};

// Parses the body of a kernel.
class Reader {
 public:
  Reader(Kernel& kernel, const std::map<std::string, std::uint64_t>& constants)
      : kernel_(kernel), symbols_(constants) {}

  void Param(std::string_view text) {
    const std::vector<std::string_view> words = Words(text);
    std::size_t align = 1;
    Type type;
    for (std::size_t i = 1; i + 1 < words.size(); ++i) {
      if (words[i] == ".align")
        align = static_cast<std::size_t>(NumberIn(words[++i]));
      else if (words[i] != ".ptr" && words[i] != ".global")
        type = TypeOf(words[i].substr(1));
    }
    const auto [name, count] = Array(words.back());
    const std::size_t bytes = static_cast<std::size_t>(type.bits) / 8;
    align = std::max(align, bytes);
    kernel_.param_bytes = (kernel_.param_bytes + align - 1) / align * align;
    symbols_[name] = kernel_.param_bytes;
    kernel_.params.push_back({kernel_.param_bytes, bytes * count});
    kernel_.param_bytes += bytes * count;
  }

  void Body(std::string_view text) {
    scopes_.emplace_back();
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = text.find_first_of(";{}:", at);
      while (end != std::string_view::npos && text.substr(end, 2) == "::")  // `::` in a name
        end = text.find_first_of(";{}:", end + 2);
      if (end == std::string_view::npos) break;
      std::size_t next = end + 1;
      std::string_view statement = Trimmed(text.substr(at, end - at));
      if (text[end] == ':') {
        labels_[std::string(statement)] = kernel_.code.size();
      } else if (text[end] == '{' && statement.empty()) {
        scopes_.emplace_back();
      } else if (text[end] == '}') {
        scopes_.pop_back();
      } else {
        if (text[end] == '{') next = text.find(';', end) + 1;  // the operands contain braces
        statement = Trimmed(text.substr(at, next - 1 - at));
        if (!statement.empty()) Statement(statement);
      }
      at = next;
    }
    for (const auto& [instruction, label] : jumps_) {
      const auto found = labels_.find(label);
      if (found == labels_.end()) Unknown(label);
      kernel_.code[instruction].target = found->second;
    }
    kernel_.registers = registers_;
  }

 private:
  static std::vector<std::string_view> Words(std::string_view text) {
    std::vector<std::string_view> words;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = text.find_first_not_of(" \t\n", at);
      if (begin == std::string_view::npos) break;
      const std::size_t end = std::min(text.find_first_of(" \t\n", begin), text.size());
      words.push_back(text.substr(begin, end - begin));
      at = end;
    }
    return words;
  }

  void Statement(std::string_view text) {
    if (text.starts_with(".loc\t") || text.starts_with(".loc ") || text.starts_with(".pragma"))
      return;
    if (text.starts_with(".reg")) return Registers(text);
    if (text.starts_with(".shared")) return Memory(text, kernel_.shared_bytes);
    if (text.starts_with(".local")) return Memory(text, kernel_.local_bytes);
    Instruction instruction;
    if (text.front() == '@') {
      const std::size_t end = text.find_first_of(" \t");
      instruction.unless = text[1] == '!';
      instruction.guard =
          Read(text.substr(instruction.unless ? 2 : 1, end - (instruction.unless ? 2 : 1))).reg;
      text = Trimmed(text.substr(end));
    }
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    Decode(instruction, text.substr(0, end), Parts(text.substr(end), ','));
  }

  // Parses `.reg .b32 %r<23>` with numbered registers, or single names.
  void Registers(std::string_view text) {
    const std::vector<std::string_view> words = Words(text);
    std::string_view name = words[2];
    const std::size_t open = name.find('<');
    if (open == std::string_view::npos) {
      scopes_.back()[std::string(name)] = static_cast<int>(registers_++);
      return;
    }
    const auto count = static_cast<std::size_t>(NumberIn(name.substr(open + 1)));
    for (std::size_t i = 0; i < count; ++i)
      scopes_.back()[std::string(name.substr(0, open)) + std::to_string(i)] =
          static_cast<int>(registers_++);
  }

  // Parses `.shared .align 64 .b8 name[64]`.
  void Memory(std::string_view text, std::size_t& bytes) {
    const std::vector<std::string_view> words = Words(text);
    const auto [name, count] = Array(words.back());
    constexpr std::size_t kAlignment = 64;
    bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    symbols_[name] = bytes;
    bytes += count * static_cast<std::size_t>(TypeOf(words[words.size() - 2].substr(1)).bits) / 8;
  }

  Operand Read(std::string_view text) {
    text = Trimmed(text);
    constexpr std::pair<std::string_view, int> kSpecial[] = {
        {"%tid.x", 0}, {"%ctaid.x", 1}, {"%ntid.x", 2}};
    for (const auto& [name, number] : kSpecial) {
      if (text == name) return {number, 0};
    }
    for (std::size_t i = scopes_.size(); i-- > 0;) {
      const auto found = scopes_[i].find(std::string(text));
      if (found != scopes_[i].end()) return {found->second, 0};
    }
    const auto symbol = symbols_.find(std::string(text));
    if (symbol != symbols_.end()) return {-1, symbol->second};
    // This is the launch's dynamic shared memory. The kernel's own has been declared before its first instruction.
    if (text.ends_with("_workgroup")) return {-1, kernel_.SharedOfLaunch()};
    if (text.starts_with("0f") || text.starts_with("0d"))
      return {-1, std::strtoull(std::string(text.substr(2)).c_str(), nullptr, 16)};
    if (text.empty() || (text[0] != '-' && std::isdigit(static_cast<unsigned char>(text[0])) == 0))
      Unknown(text);
    const std::string number(text);
    return {-1, text[0] == '-'
                    ? static_cast<std::uint64_t>(std::strtoll(number.c_str(), nullptr, 0))
                    : std::strtoull(number.c_str(), nullptr, 0)};
  }

  // Parses `[%rd1+8]`.
  void Address(Instruction& instruction, std::string_view text) {
    text = text.substr(1, text.size() - 2);
    const std::size_t plus = text.find('+');
    instruction.a = Read(text.substr(0, plus));
    if (plus != std::string_view::npos) instruction.offset = NumberIn(text.substr(plus + 1));
  }

  void Decode(Instruction instruction, std::string_view name,
              const std::vector<std::string_view>& given) {
    const std::vector<std::string_view> words = Parts(name, '.');
    if (words[0] == "bar") {
      instruction.op = words[1] == "red" ? Op::BarRed : Op::Bar;
      if (words[1] == "red") {
        instruction.to = Read(given[0]);
        instruction.a = Read(given[2]);
      }
      kernel_.code.push_back(instruction);
      return;
    }
    if (words[0] == "ldmatrix" || words[0] == "mma") return Together(instruction, words, given);
    if (name.starts_with("cp.async.bulk.tensor.")) return Box(instruction, given);
    if (words[0] == "cp") return Copy(instruction, name, given);
    if (words[0] == "mbarrier") return Gate(instruction, name, given);
    if (words[0] == "wgmma") return Group(instruction, words, given);
    if (words[0] == "fence") {
      const bool shows = name == "fence.proxy.async.shared::cta";
      instruction.op = shows ? Op::ProxyFence : Op::Nothing;
      if (!shows && name != "fence.mbarrier_init.release.cluster") Unknown(name);
      kernel_.code.push_back(instruction);
      return;
    }
    const Row* row = nullptr;
    for (const Row& one : kRows) {
      if (one.word == words[0]) row = &one;
    }
    if (row == nullptr) Unknown(name);
    instruction.op = row->op;
    if (instruction.op == Op::Bra) {
      jumps_.emplace_back(kernel_.code.size(), std::string(given[0]));
      kernel_.code.push_back(instruction);
      return;
    }
    if (instruction.op == Op::Ret) {
      kernel_.code.push_back(instruction);
      return;
    }
    instruction.type = TypeOf(words.back());
    Modify(instruction, words);
    if (words.size() > 2 && (words[words.size() - 2] == "v2" || words[words.size() - 2] == "v4"))
      return Elements(instruction, given);
    Operands(instruction, given);
    if (words[0] == "cvta") Convert(instruction, words);
    Resolve(instruction);
    kernel_.code.push_back(instruction);
  }

  // Parses `cvta.local.u64 %rd1, %rd2`, which converts a local address to a generic one, and
  // `cvta.to.local.u64`, which does the reverse.
  static void Convert(Instruction& instruction, const std::vector<std::string_view>& words) {
    if (instruction.space != Space::Local) return;
    instruction.op = words[1] == "to" ? Op::Sub : Op::Add;
    instruction.b = {-1, kLocalWindow};
  }

  // Parses `cp.async.cg.shared.global [%r1], [%rd2], 16`, `cp.async.commit_group`, `cp.async.wait_group 1`
  // and `cp.async.wait_all`.
  void Copy(Instruction instruction, std::string_view name,
            const std::vector<std::string_view>& given) {
    constexpr int kBits = 128;
    constexpr std::pair<std::string_view, Op> kNames[] = {
        {"cp.async.cg.shared.global", Op::AsyncCopy},
        {"cp.async.commit_group", Op::CopyClose},
        {"cp.async.wait_group", Op::CopyAwait},
        {"cp.async.wait_all", Op::CopyAwait}};
    const auto* const row = std::find_if(std::begin(kNames), std::end(kNames),
                                         [&](const auto& one) { return one.first == name; });
    if (row == std::end(kNames)) Unknown(name);
    instruction.op = row->second;
    const bool begins = instruction.op == Op::AsyncCopy;
    if (name.ends_with("wait_group")) instruction.many = {Read(given[0])};
    instruction.type = {'b', kBits};
    instruction.space = Space::Shared;
    if (begins) {
      if (NumberIn(given[2]) != kBits / 8) Unknown(given[2]);
      Address(instruction, given[1]);
      instruction.b = instruction.a;  // the source address
      instruction.c = {-1, static_cast<std::uint64_t>(instruction.offset)};
      instruction.offset = 0;
      Address(instruction, given[0]);
    }
    kernel_.code.push_back(instruction);
  }

  // Parses `mbarrier.init.shared.b64 [%r1], 2`, `mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 1024`, and
  // other instructions on mbarriers.
  void Gate(Instruction instruction, std::string_view name,
            const std::vector<std::string_view>& given) {
    instruction.space = Space::Shared;
    std::size_t address = 1;
    if (name == "mbarrier.init.shared.b64") {
      instruction.op = Op::GateInit;
      address = 0;
    } else if (name == "mbarrier.inval.shared.b64") {
      instruction.op = Op::GateEnd;
      address = 0;
    } else if (name == "mbarrier.arrive.shared.b64" ||
               name == "mbarrier.arrive.expect_tx.shared.b64") {
      instruction.op = Op::MbarrierArrive;
    } else if (name == "mbarrier.try_wait.parity.shared.b64") {
      instruction.op = Op::MbarrierWait;
      instruction.to = Read(given[0]);
    } else {
      Unknown(name);
    }
    Address(instruction, given[address]);
    if (given.size() > address + 1) instruction.b = Read(given[address + 1]);
    kernel_.code.push_back(instruction);
  }

  // Parses `cp.async.bulk.tensor.2d.… [%r1], [%rd2, {%r3, %r4}], [%r5]`.
  void Box(Instruction instruction, const std::vector<std::string_view>& given) {
    instruction.op = Op::TileCopy;
    const std::vector<std::string_view> parts = Parts(given[1].substr(1, given[1].size() - 2), ',');
    instruction.b = Read(parts[0]);
    for (const std::string_view place : Parts(parts[1].substr(1, parts[1].size() - 2), ','))
      instruction.many.push_back(Read(place));
    instruction.c = Read(given[2].substr(1, given[2].size() - 2));
    Address(instruction, given[0]);
    kernel_.code.push_back(instruction);
  }

  // Parses `wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {…}, %rd1, %rd2, 1, 1, 1, 0, 1` and
  // `wgmma.wait_group.sync.aligned 1`.
  void Group(Instruction instruction, const std::vector<std::string_view>& words,
             const std::vector<std::string_view>& given) {
    if (words[1] == "fence") {
      instruction.op = Op::Nothing;
    } else if (words[1] == "commit_group") {
      instruction.op = Op::GroupClose;
    } else if (words[1] == "wait_group") {
      instruction.op = Op::GroupAwait;
      instruction.b = Read(given[0]);
    } else {
      const std::string_view narrow = words[6];
      const bool of_integers = narrow == "s8" || narrow == "u8";
      const bool of_pairs = narrow == "bf16" || narrow == "f16";
      const std::string_view depth = narrow == "tf32" ? "k8" : of_pairs ? "k16" : "k32";
      // The instruction must accumulate and, for floats, must not invert a sign. For 2-byte floats there are
      // also flags for transposed factors.
      const std::size_t modifiers = of_integers ? 1 : of_pairs ? 5 : 3;
      if (words[1] != "mma_async" || words[5] != (of_integers ? "s32" : "f32") ||
          words[4].substr(words[4].find('k')) != depth || given.size() != 3 + modifiers)
        Unknown(words[1]);
      for (std::size_t m = 0; m < std::min<std::size_t>(3, modifiers); ++m) {
        if (given[3 + m] != "1") Unknown(given[3 + m]);
      }
      instruction.op = Op::GroupStep;
      const char* end = words.back().data() + words.back().size();
      instruction.how = {narrow.data(), static_cast<std::size_t>(end - narrow.data())};
      for (const std::string_view name : Parts(given[0].substr(1, given[0].size() - 2), ','))
        instruction.many.push_back(Read(name));
      instruction.a = Read(given[1]);
      instruction.b = Read(given[2]);
      if (of_pairs) instruction.offset = NumberIn(given[6]) + 2 * NumberIn(given[7]);
    }
    kernel_.code.push_back(instruction);
  }

  // Parses `mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {…}, {…}, {…}, {…}` and
  // `ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {…}, [%rd1]`.
  void Together(Instruction instruction, const std::vector<std::string_view>& words,
                const std::vector<std::string_view>& given) {
    const bool multiplies = words[0] == "mma";
    instruction.op = multiplies ? Op::Mma : Op::LdMatrix;
    instruction.how = words[words.size() - 2];
    instruction.transposed = std::find(words.begin(), words.end(), "trans") != words.end();
    const bool of_bytes = instruction.how == "s8" || instruction.how == "u8";
    const bool of_floats = instruction.how == "bf16" || instruction.how == "f16";
    const bool is_known = (words[3] == "m16n8k16" && of_floats) ||
                          (words[3] == "m16n8k32" && of_bytes) ||
                          (words[3] == "m16n8k8" && instruction.how == "tf32");
    if (multiplies && !is_known) Unknown(words[3]);
    if (!multiplies && (words[3] != "m8n8" || words.back() != "b16")) Unknown(words[3]);
    for (const std::string_view list : given) {
      if (list.front() == '[') {
        Address(instruction, list);
        continue;
      }
      for (const std::string_view name : Parts(list.substr(1, list.size() - 2), ','))
        instruction.many.push_back(Read(name));
    }
    constexpr int kRowBits = 128;
    instruction.type = {'b', kRowBits};
    instruction.space = Space::Shared;
    kernel_.code.push_back(instruction);
  }

  // Parses `ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1]` into one access per element. The first access
  // checks the alignment.
  void Elements(Instruction instruction, const std::vector<std::string_view>& given) {
    const bool stores = instruction.op == Op::St;
    const std::string_view list = given[stores ? 1 : 0];
    const std::vector<std::string_view> registers = Parts(list.substr(1, list.size() - 2), ',');
    Address(instruction, given[stores ? 0 : 1]);
    const std::size_t bytes = static_cast<std::size_t>(instruction.type.bits) / 8;
    instruction.aligned = bytes * registers.size();
    for (const std::string_view name : registers) {
      instruction.to = Read(name);
      if (!stores && instruction.to.reg == instruction.a.reg) Unknown(list);
      kernel_.code.push_back(instruction);
      instruction.offset += static_cast<std::int64_t>(bytes);
      instruction.aligned = 1;
    }
  }

  static void Modify(Instruction& instruction, const std::vector<std::string_view>& words) {
    for (std::size_t i = 1; i + 1 < words.size(); ++i) {
      const std::string_view word = words[i];
      const bool is_nan = word == "NaN";
      if (word == "hi")
        instruction.op = Op::MulHi;
      else if (word == "wide")
        instruction.op = Op::MulWide;
      else if (is_nan && instruction.op == Op::Min)
        instruction.op = Op::MinNan;
      else if (is_nan && instruction.op == Op::Max)
        instruction.op = Op::MaxNan;
      else if (instruction.op == Op::Cvt && i + 2 == words.size())
        instruction.result = TypeOf(word);
      else if (word == "ftz" && words[i - 1] == "approx" && instruction.op == Op::Rcp)
        continue;  // has no effect, because the operand is never subnormal
      else if (word == "ftz" || word == "sat" || (word == "approx" && instruction.op != Op::Rcp))
        Unknown(word);
      else if (word == "wrap" && instruction.op == Op::Shf)
        continue;
      else if (instruction.op == Op::Setp)
        SetCompare(instruction, word);
      else if (word == "shared" || word == "local" || word == "param")
        instruction.space = word == "shared"  ? Space::Shared
                            : word == "local" ? Space::Local
                                              : Space::Param;
      else if (word != "nc" && word != "volatile" && word != "lo" && word != "to" &&
               word != "global")
        instruction.how = word;
    }
  }

  // Parses `lt`, or `ltu`, which is also true if an operand is NaN, or `lo`, which is `lt` for unsigned integers.
  static void SetCompare(Instruction& instruction, std::string_view word) {
    constexpr std::pair<std::string_view, Compare> kCompares[] = {
        {"eq", Compare::Eq}, {"ne", Compare::Ne}, {"lt", Compare::Lt},   {"le", Compare::Le},
        {"gt", Compare::Gt}, {"ge", Compare::Ge}, {"nan", Compare::Nan}, {"num", Compare::Num},
        {"lo", Compare::Lt}, {"ls", Compare::Le}, {"hi", Compare::Gt},   {"hs", Compare::Ge}};
    for (const auto& [name, compare] : kCompares) {
      instruction.unordered = word.size() == 3 && word.substr(0, 2) == name;
      if (word != name && !instruction.unordered) continue;
      instruction.compare = compare;
      return;
    }
    Unknown(word);
  }

  void Operands(Instruction& instruction, const std::vector<std::string_view>& given) {
    if (instruction.op == Op::St) {
      Address(instruction, given[0]);
      instruction.to = Read(given[1]);
      return;
    }
    if (given[0].front() == '{') {  // mov.b32 {%rs1, %rs2}, %r2
      if (instruction.op != Op::Mov || instruction.type.bits < 32) Unknown(given[0]);
      const std::vector<std::string_view> halves =
          Parts(given[0].substr(1, given[0].size() - 2), ',');
      instruction.a = Read(given[1]);
      Instruction lower = instruction;
      lower.op = Op::And;
      lower.to = Read(halves[0]);
      lower.b = {-1, LowerHalf(instruction)};
      Resolve(lower);
      kernel_.code.push_back(lower);
      instruction.op = Op::Upper;
      instruction.to = Read(halves[1]);
      return;
    }
    instruction.to = Read(given[0]);
    if (instruction.op == Op::Bfi) instruction.offset = NumberIn(given[4]);
    if (given.size() > 1 && given[1].front() == '{') {  // mov.b32 %r2, {%rs1, %rs2}
      if (instruction.op != Op::Mov || instruction.type.bits < 32) Unknown(given[1]);
      const std::vector<std::string_view> halves =
          Parts(given[1].substr(1, given[1].size() - 2), ',');
      instruction.op = Op::Pack;
      instruction.a = Read(halves[0]);
      instruction.b = Read(halves[1]);
      return;
    }
    if (instruction.op == Op::Ld || instruction.op == Op::Atom) {
      Address(instruction, given[1]);
      if (given.size() > 2) instruction.b = Read(given[2]);
      if (given.size() > 3) instruction.c = Read(given[3]);
      return;
    }
    Operand* const places[] = {&instruction.a, &instruction.b, &instruction.c};
    const std::size_t count = given.size() - (instruction.op == Op::Bfi ? 1 : 0);
    if (count > 1 + std::size(places)) Unknown(given[4]);
    for (std::size_t i = 1; i < count; ++i) *places[i - 1] = Read(given[i]);
  }

  Kernel& kernel_;
  std::map<std::string, std::uint64_t> symbols_;
  std::vector<std::map<std::string, int>> scopes_;
  std::map<std::string, std::size_t> labels_;
  std::vector<std::pair<std::size_t, std::string>> jumps_;
  std::size_t registers_ = 3;  // the first 3 are the special registers
};

// Parses the values of `.global .align 64 .b8 W[16] = {0, 128}` and returns their bytes.
std::string ParseBytes(std::string_view values, Type type, std::size_t count) {
  std::string bytes(count * static_cast<std::size_t>(type.bits) / 8, '\0');
  std::size_t at = 0;
  for (std::string_view value : Parts(values, ',')) {
    if (value.empty()) continue;
    const bool is_float = value.starts_with("0f") || value.starts_with("0d");
    const std::uint64_t bits =
        is_float ? std::strtoull(std::string(value.substr(2)).c_str(), nullptr, 16)
                 : static_cast<std::uint64_t>(NumberIn(value));
    for (int i = 0; i < type.bits / 8; ++i) bytes[at++] = static_cast<char>(bits >> (8 * i));
  }
  return bytes;
}

}  // namespace

Module::Module(std::string text, const std::function<std::uint64_t(const std::string&)>& allocate)
    : text_(WithoutComments(text)) {
  const std::string_view all = text_;
  for (std::size_t at = 0; (at = all.find(".global .align", at)) != std::string_view::npos; ++at) {
    if (all[at - 1] != '\n' && !all.substr(0, at).ends_with("\n.visible ")) continue;
    const std::string_view line = all.substr(at, all.find(';', at) - at);
    const std::size_t equals = line.find('=');
    const std::string_view head = Trimmed(line.substr(0, equals));
    const std::size_t blank = head.find_last_of(" \t");
    const std::string_view before = Trimmed(head.substr(0, blank));
    const auto [name, count] = Array(head.substr(blank + 1));
    const Type type = TypeOf(before.substr(before.find_last_of('.') + 1));
    std::string_view values =
        equals == std::string_view::npos ? "{}" : Trimmed(line.substr(equals + 1));
    if (values.starts_with('{')) values = values.substr(1, values.size() - 2);
    constants_[name] = allocate(ParseBytes(values, type, count));
  }
  for (std::size_t at = 0; (at = all.find(".entry ", at)) != std::string_view::npos;) {
    at += 7;
    const std::size_t open = all.find('(', at);
    const std::size_t close = all.find(')', open);
    const std::size_t begin = all.find("\n{", close);
    const std::size_t end = all.find("\n}", begin);
    Kernel& kernel = kernels_[std::string(Trimmed(all.substr(at, open - at)))];
    Reader reader(kernel, constants_);
    for (const std::string_view param : Parts(all.substr(open + 1, close - open - 1), ','))
      reader.Param(param);
    const std::string_view bounds = all.substr(close, begin - close);
    const std::size_t most = bounds.find(".maxntid");
    if (most != std::string_view::npos)
      kernel.threads = static_cast<unsigned>(NumberIn(bounds.substr(most + 8)));
    reader.Body(all.substr(begin + 2, end - begin - 2));
    at = end;
  }
}

const std::uint64_t* Module::FindConstant(const std::string& name) const {
  const auto found = constants_.find(name);
  return found == constants_.end() ? nullptr : &found->second;
}

const Kernel* Module::Find(const std::string& name) const {
  const auto found = kernels_.find(name);
  return found == kernels_.end() ? nullptr : &found->second;
}

}  // namespace ptx
