// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace bench {

const char* const usage =
    "usage: mpirun … antiphon-bench [OPTIONS]      (normally started by `antiphon bench`)\n"
    "  --collectives A,B,…        default: all\n"
    "  --bytes N,N,…              default: 1024,65536\n"
    "  --modes sync,throughput,burst   default: sync\n"
    "  --contender COLLECTIVE:CHOICE   may be repeated; COLLECTIVE may be '*'; CHOICE: library, auto, on or\n"
    "                             ALGORITHM[:PARAMETER=VALUE,…]; default: *:library\n"
    "  --budget SECONDS           for one collective at one size in one mode; default: 5\n"
    "  --root RANK                default: 0\n"
    "  --overhead                 measure only what passing a call through costs\n"
    "Prints one JSON object per line on stdout, progress on stderr. Exit code 1: a contender gave a wrong result.\n";

namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

template <typename Number>
Number parse_number(const std::string& option, const std::string& text, Number min) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < min) {
    throw UsageError(option + " " + text + ": not a number of at least " + std::to_string(min));
  }
  return value;
}

Contender parse_contender(const std::string& text) {
  const auto colon = text.find(':');
  if (colon == std::string::npos) throw UsageError("--contender " + text + ": write COLLECTIVE:CHOICE");
  return {text.substr(0, colon), text.substr(colon + 1)};
}

void check_collectives(const std::vector<std::string>& names) {
  const auto known = collective_names();
  for (const auto& wanted : names) {
    if (std::find(known.begin(), known.end(), wanted) == known.end()) throw UsageError("no collective named " + wanted);
  }
}

/// Sets the option `key` to `value`; false if there is no such option.
bool set_option(Options& options, const std::string& key, const std::string& value) {
  if (key == "--collectives") {
    options.collectives = split(value);
  } else if (key == "--bytes") {
    options.bytes.clear();
    for (const auto& part : split(value)) options.bytes.push_back(parse_number<std::int64_t>(key, part, 0));
  } else if (key == "--modes") {
    options.modes.clear();
    for (const auto& part : split(value)) {
      const auto mode = mode_from_name(part);
      if (!mode) throw UsageError("no mode named " + part);
      options.modes.push_back(*mode);
    }
  } else if (key == "--contender") {
    options.contenders.push_back(parse_contender(value));
  } else if (key == "--budget") {
    options.budget_s = parse_number<double>(key, value, 0.0);
  } else if (key == "--root") {
    options.root = parse_number<int>(key, value, 0);
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::string Contender::label() const {
  return choice == "library" ? choice : choice == "auto" ? "antiphon" : "antiphon:" + choice;
}

std::vector<Contender> Options::contenders_for(const std::string& collective) const {
  std::vector<Contender> result;
  for (const Contender& contender : contenders) {
    if (contender.collective == "*" || contender.collective == collective) result.push_back({collective, contender.choice});
  }
  return result;
}

Options parse_options(int argc, char** argv) {
  Options options;
  options.collectives = collective_names();
  for (int i = 1; i < argc; ++i) {
    const std::string key = argv[i];
    if (key == "--help" || key == "-h") {
      options.help = true;
      return options;
    }
    if (key == "--overhead") {
      options.overhead = true;
      continue;
    }
    if (i + 1 == argc) throw UsageError(key + ": unknown, or its value is missing");
    if (!set_option(options, key, argv[++i])) throw UsageError("unknown option " + key);
  }
  check_collectives(options.collectives);
  if (options.contenders.empty()) options.contenders.push_back({"*", "library"});
  return options;
}

}  // namespace bench
