#include "driver/run/argument_specs.h"

#include <charconv>
#include <system_error>
#include <utility>

#include "driver/run/npy.h"

namespace kdl::driver {

namespace {

constexpr std::string_view kRandom = "random";
constexpr std::string_view kSpecial = "special";

/// Parses `random`, `random:SEED` or `special:SEED`. Returns false if the seed is not a number.
bool ReadRandom(std::string_view text, ArgumentSpec& argument) {
  bool is_special = text.starts_with(kSpecial);
  argument.kind = is_special ? ArgumentSpec::Kind::Special : ArgumentSpec::Kind::Random;
  text.remove_prefix(is_special ? kSpecial.size() : kRandom.size());
  if (text.empty()) return true;
  text.remove_prefix(1);
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), argument.seed.emplace());
  return error == std::errc() && end == text.data() + text.size();
}

/// Determines the kind of an argument without reading the file that it may name.
ArgumentSpec Classify(Assignment assignment) {
  ArgumentSpec argument;
  argument.name = std::move(assignment.name);
  argument.text = std::move(assignment.value);
  argument.number = argument.text;
  if (argument.text.starts_with('@')) {
    argument.kind = ArgumentSpec::Kind::File;
    argument.path = argument.text.substr(1);
  } else if (argument.text == kRandom || argument.text.starts_with("random:") ||
             argument.text.starts_with("special:")) {
    if (!ReadRandom(argument.text, argument)) argument.kind = ArgumentSpec::Kind::Number;
  } else if (argument.text == "none") {
    argument.kind = ArgumentSpec::Kind::None;
  } else if (argument.text == "iota") {
    argument.kind = ArgumentSpec::Kind::Iota;
  } else if (argument.text == "zeros" || argument.text == "ones") {
    argument.number = argument.text == "zeros" ? "0" : "1";
  }
  return argument;
}

/// Reads the file of an argument. Reports errors.
void ReadFileOf(ArgumentSpec& argument, FileContents contents, DiagnosticEngine& diagnostics) {
  if (contents == FileContents::Headers) {
    std::optional<NpyHeader> header = ReadNpyHeader(argument.path, diagnostics);
    if (!header) return;
    argument.file = {header->scalar, std::move(header->shape), {}};
    argument.unread = header->offset;
  } else if (auto tensor = ReadNpy(argument.path, diagnostics)) {
    argument.file = std::move(*tensor);
  }
}

}  // namespace

const ArgumentSpec* FindArgument(const std::vector<ArgumentSpec>& arguments,
                                 std::string_view name) {
  for (const ArgumentSpec& argument : arguments) {
    if (argument.name == name) return &argument;
  }
  return nullptr;
}

std::optional<std::vector<ArgumentSpec>> ReadArguments(const Options& options,
                                                       DiagnosticEngine& diagnostics,
                                                       FileContents contents) {
  size_t errors_before = diagnostics.error_count();
  std::vector<ArgumentSpec> arguments;
  for (const std::string& text : options.arg) {
    auto assignment = SplitAssignment("--arg", text, "--arg x=@x.npy", diagnostics);
    if (!assignment) continue;
    arguments.push_back(Classify(std::move(*assignment)));
    if (arguments.back().kind == ArgumentSpec::Kind::File)
      ReadFileOf(arguments.back(), contents, diagnostics);
  }
  if (diagnostics.error_count() != errors_before) return std::nullopt;
  return arguments;
}

}  // namespace kdl::driver
