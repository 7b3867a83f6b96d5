// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <algorithm>
#include <charconv>

#include "../split.hpp"

namespace bench {

const char* const usage =
    "usage: mpirun … antiphon-bench [OPTIONS]      (normally started by `antiphon bench`)\n"
    "  --collectives A,B,…        default: all\n"
    "  --bytes N,N,…              default: 1024,65536\n"
    "  --modes sync,throughput,burst,overlap,tested   default: sync; the last two need --nonblocking\n"
    "  --field                    blocks hold a field of doubles with noise, and not counted bytes\n"
    "  --nonblocking              the nonblocking collectives, each waited for; overlap computes meanwhile, tested\n"
    "                             calls MPI_Test every 100 us of the computation\n"
    "  --busy                     computations use the processor; default: they sleep\n"
    "  --contender COLLECTIVE:CHOICE   may be repeated; COLLECTIVE may be '*'; CHOICE: library, auto, on,\n"
    "                             blocking (with --nonblocking: the blocking call, by Antiphon's choice),\n"
    "                             ALGORITHM[:PARAMETER=VALUE,…], or one of the library's own as "
    "library:ALGORITHM[:…];\n"
    "                             default: *:library\n"
    "  --cell 'COLLECTIVE;BYTES;RANKS;MODE+MODE;CHOICE;CHOICE;…'   instead of the four above, repeated; RANKS 0: all\n"
    "  --budget SECONDS           for one collective at one size in one mode; default: 5\n"
    "  --root RANK                default: 0\n"
    "  --race                     leave out who cannot win a cell, as soon as that is clear\n"
    "  --deadline SECONDS         begin no further cell after this time; default: none\n"
    "  --list-library             list the library's own algorithms, and measure nothing\n"
    "  --overhead                 measure only what passing a call through costs\n"
    "Prints one JSON object per line on stdout, progress on stderr. Exit code 1: a contender gave a wrong result.\n";

namespace {

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

std::vector<Mode> parse_modes(const std::string& text, char separator) {
  std::vector<Mode> modes;
  for (const auto& part : split(text, separator)) {
    const auto mode = mode_from_name(part);
    if (!mode) throw UsageError("no mode named " + part);
    modes.push_back(*mode);
  }
  return modes;
}

Cell parse_cell(const std::string& text) {
  const auto parts = split(text, ';');
  if (parts.size() < 5) throw UsageError("--cell " + text + ": write COLLECTIVE;BYTES;RANKS;MODES;CHOICE;…");
  Cell cell{parts[0],
            parse_number<std::int64_t>("--cell", parts[1], 0),
            parse_number<int>("--cell", parts[2], 0),
            parse_modes(parts[3], '+'),
            {}};
  for (std::size_t i = 4; i < parts.size(); ++i) cell.contenders.push_back({cell.collective, parts[i]});
  return cell;
}

void check_collectives(const std::vector<std::string>& names) {
  const auto known = collective_names();
  for (const auto& wanted : names) {
    if (std::find(known.begin(), known.end(), wanted) == known.end()) throw UsageError("no collective named " + wanted);
  }
}

/// Sets the option `key` to `value`. Returns false if there is no such option.
bool set_option(Options& options, const std::string& key, const std::string& value) {
  if (key == "--collectives") {
    options.collectives = split(value);
  } else if (key == "--bytes") {
    options.bytes.clear();
    for (const auto& part : split(value)) options.bytes.push_back(parse_number<std::int64_t>(key, part, 0));
  } else if (key == "--modes") {
    options.modes = parse_modes(value, ',');
  } else if (key == "--contender") {
    options.contenders.push_back(parse_contender(value));
  } else if (key == "--budget") {
    options.budget_s = parse_number<double>(key, value, 0.0);
  } else if (key == "--cell") {
    options.cells.push_back(parse_cell(value));
  } else if (key == "--deadline") {
    options.deadline_s = parse_number<double>(key, value, 0.0);
  } else if (key == "--root") {
    options.root = parse_number<int>(key, value, 0);
  } else {
    return false;
  }
  return true;
}

/// Returns the option that a word without a value sets; null if there is none.
bool* flag_of(Options& options, const std::string& key) {
  if (key == "--overhead") return &options.overhead;
  if (key == "--race") return &options.race;
  if (key == "--list-library") return &options.list_library;
  if (key == "--nonblocking") return &options.nonblocking;
  if (key == "--field") return &options.field;
  return key == "--busy" ? &options.busy : nullptr;
}

/// Throws if a mode or a contender is for nonblocking calls, and there are none.
void check_modes(const Options& options) {
  for (const Cell& cell : options.all_cells()) {
    if (!options.nonblocking && std::any_of(cell.modes.begin(), cell.modes.end(), computes))
      throw UsageError("modes overlap and tested need --nonblocking");
    if (!options.nonblocking && std::any_of(cell.contenders.begin(), cell.contenders.end(),
                                            [](const Contender& contender) { return contender.blocking(); }))
      throw UsageError("contender blocking needs --nonblocking");
  }
}

}  // namespace

std::string Contender::label() const {
  return choice == "library" || !library_algorithm().empty() ? choice
         : choice == "auto"                                  ? "antiphon"
                                                             : "antiphon:" + choice;
}

std::string Contender::library_algorithm() const {
  constexpr std::string_view prefix = "library:";
  return choice.starts_with(prefix) ? choice.substr(prefix.size()) : "";
}

std::vector<Cell> Options::all_cells() const {
  if (!cells.empty()) return cells;
  std::vector<Cell> product;
  for (const std::string& collective : collectives) {
    std::vector<Contender> own;
    for (const Contender& contender : contenders) {
      if (contender.collective == "*" || contender.collective == collective)
        own.push_back({collective, contender.choice});
    }
    const auto sizes = has_bytes(collective) ? bytes : std::vector<std::int64_t>{0};
    for (const std::int64_t size : sizes) product.push_back({collective, size, 0, modes, own});
  }
  return product;
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
    if (bool* const flag = flag_of(options, key)) {
      *flag = true;
      continue;
    }
    if (i + 1 == argc) throw UsageError(key + ": unknown, or its value is missing");
    if (!set_option(options, key, argv[++i])) throw UsageError("unknown option " + key);
  }
  check_collectives(options.collectives);
  for (const Cell& cell : options.cells) check_collectives({cell.collective});
  if (options.contenders.empty()) options.contenders.push_back({"*", "library"});
  check_modes(options);
  return options;
}

}  // namespace bench
