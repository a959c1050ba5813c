#include "driver/options.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "driver/diagnostics.h"
#include "support/diagnostics.h"

using namespace kdl;
using namespace kdl::driver;

namespace {

using Words = std::vector<std::string>;

Options Parsed(Command command, const Words& words) {
  DiagnosticEngine diagnostics;
  auto options = ParseOptions(AllCommands()[static_cast<size_t>(command)], words, diagnostics);
  for (const auto& one : diagnostics.all()) FAIL(one->text);
  REQUIRE(options.has_value());
  return *options;
}

/// Returns the id of the only error and its help, separated by a space.
std::string Refused(Command command, const Words& words) {
  DiagnosticEngine diagnostics;
  CHECK_FALSE(
      ParseOptions(AllCommands()[static_cast<size_t>(command)], words, diagnostics).has_value());
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(ExitCodeOf(diagnostics) == kExitUsage);
  return diagnostics.all()[0]->id + " " + diagnostics.all()[0]->help;
}

}  // namespace

TEST_CASE("options: files, values and their forms") {
  Options options = Parsed(Command::Build, {"--stop-after=parse", "a.kdl", "--print-after", "parse",
                                            "--print-after=sema"});
  CHECK(options.files == Words{"a.kdl"});
  CHECK(options.stop_after == "parse");
  CHECK(options.print_after == Words{"parse", "sema"});
  CHECK_FALSE(options.json.has_value());
  CHECK(Parsed(Command::Build, {"--json", "a.kdl"}).json == "");
  CHECK(Parsed(Command::Build, {"--json=b.json", "a.kdl"}).json == "b.json");
  CHECK(Parsed(Command::Test, {"a", "b", "-j", "3"}).jobs == 3);
  CHECK(Parsed(Command::Test, {"a", "-j3", "--update"}).update);
  CHECK(Parsed(Command::Build, {"--help"}).help);
  CHECK(Parsed(Command::Build, {"--", "-x.kdl"}).files == Words{"-x.kdl"});
  CHECK_FALSE(Parsed(Command::Test, {"a"}).jobs.has_value());
}

TEST_CASE("options: usage errors suggest what was probably meant") {
  CHECK(Refused(Command::Build, {"a.kdl", "--stop-afterr=x"}) ==
        "E0902 did you mean '--stop-after'?");
  CHECK(Refused(Command::Build, {"a.kdl", "--stop"}) ==
        "E0902 `kernelc build --help` lists the options");
  CHECK(Refused(Command::Build, {"a.kdl", "--update"}) == "E0902 '--update' belongs to 'test'");
  CHECK(Refused(Command::Build, {"a.kdl", "--stop-after"}).starts_with("E0903"));
  CHECK(Refused(Command::Test, {"a.kdl", "--seed=-1"}).starts_with("E0904"));
  CHECK(Refused(Command::Build, {"a.kdl", "--time-passes=yes"}).starts_with("E0900"));
  CHECK(
      Refused(Command::Build, {"a.kdl", "--stop-after=a", "--stop-after=b"}).starts_with("E0905"));
  CHECK(Refused(Command::Build, {"a.kdl", "--json", "--json"}).starts_with("E0905"));
  CHECK(Refused(Command::Test, {"a", "-j", "many"}).starts_with("E0904"));
  CHECK(Refused(Command::Test, {"a", "-j", "0"}).starts_with("E0904"));
  CHECK(Refused(Command::Build, {}).starts_with("E0906"));
  CHECK(Refused(Command::Build, {"a.kdl", "b.kdl"}).starts_with("E0907"));
  CHECK(Refused(Command::Targets, {"show", "host", "debug"}).starts_with("E0907"));
}

TEST_CASE("options: NAME=VALUE") {
  DiagnosticEngine diagnostics;
  auto pair = SplitAssignment("--arg", "x=@a=b.npy", "--arg x=1", diagnostics);
  REQUIRE(pair.has_value());
  CHECK(pair->name == "x");
  CHECK(pair->value == "@a=b.npy");
  for (const char* wrong : {"x", "=1", "x=", ""})
    CHECK_FALSE(SplitAssignment("--arg", wrong, "--arg x=1", diagnostics));
  CHECK(diagnostics.error_count() == 4);
}

TEST_CASE("options: every row has a help text, and no two rows share a name") {
  for (const OptionInfo& option : AllOptions()) {
    CHECK_FALSE(option.help.empty());
    CHECK((option.kind == OptionKind::Flag) == option.value.empty());
    for (const OptionInfo& other : AllOptions()) {
      if (&option == &other) continue;
      CHECK(option.name != other.name);
      if (option.short_name != 0) CHECK(option.short_name != other.short_name);
    }
  }
}
