// SPDX-License-Identifier: Apache-2.0
// Measures codecs on messages. `antiphon bench codecs` and `antiphon compress-test` run it and read its output, one
// JSON event per line.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "measure.hpp"

#include "antiphon/text.hpp"
#include "json/json.hpp"

using namespace antiphon;
using namespace antiphon::codec_bench;

namespace {

struct Options {
  std::vector<std::string> files, generated, contenders;
  std::vector<std::size_t> sizes;  ///< 0: the original sizes
  std::vector<Mode> modes{Mode::sent};
  std::uint64_t seed = 1;
  std::size_t limit_bytes = 2 << 20;
  double budget_s = 0.3, wire_bytes_per_s = 12.5e6;
  std::string blosc;
  bool list = false;
};

std::vector<std::string> words(const std::string& text) { return split(text, ','); }

Mode mode_of(const std::string& text) {
  for (const Mode mode : {Mode::sent, Mode::warm, Mode::cold}) {
    if (text == name(mode)) return mode;
  }
  throw std::runtime_error("no mode is named " + text);
}

Options read_options(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--list") {
      o.list = true;
      continue;
    }
    if (i + 1 == argc) throw std::runtime_error(option + ": a value is missing, or there is no such option");
    const std::string value = argv[++i];
    if (option == "--file") o.files.push_back(value);
    else if (option == "--generated") o.generated = words(value);
    else if (option == "--contenders") o.contenders = words(value);
    else if (option == "--seed") o.seed = std::stoull(value);
    else if (option == "--budget") o.budget_s = std::stod(value);
    else if (option == "--wire") o.wire_bytes_per_s = std::stod(value);
    else if (option == "--limit") o.limit_bytes = std::stoull(value);
    else if (option == "--blosc") o.blosc = value;
    else if (option == "--sizes")
      for (const auto& size : words(value)) o.sizes.push_back(std::stoull(size));
    else if (option == "--modes") {
      o.modes.clear();
      for (const auto& mode : words(value)) o.modes.push_back(mode_of(mode));
    } else throw std::runtime_error("no option is named " + option);
  }
  return o;
}

void say(const Json& event) {
  std::puts(event.sorted().dump().c_str());
  std::fflush(stdout);
}

void measure_cell(const Options& o, const MessageTrace& trace, std::size_t message_bytes, Mode mode,
                  const std::vector<const Contender*>& contenders) {
  for (Measured& m : measure(trace, mode, contenders, o.budget_s, o.wire_bytes_per_s)) {
    say({{"event", m.wrong ? "wrong" : "result"},
         {"source", trace.name},
         {"kind", trace.kind},
         {"bytes", message_bytes},
         {"mode", name(mode)},
         {"contender", m.contender},
         {"messages", m.messages},
         {"raw_bytes", m.raw_bytes},
         {"frame_bytes", m.frame_bytes},
         {"encode_least_s", m.encode_least_s},
         {"decode_least_s", m.decode_least_s},
         {"encode_s", std::move(m.encode_s)},
         {"decode_s", std::move(m.decode_s)}});
  }
}

void measure_trace(const Options& o, const MessageTrace& trace, const std::vector<const Contender*>& contenders) {
  for (const std::size_t size : o.sizes.empty() ? std::vector<std::size_t>{0} : o.sizes) {
    const MessageTrace cells = size == 0 ? trace : cut(trace, size, std::max(o.limit_bytes, 8 * size));
    if (cells.messages.empty()) {
      say({{"event", "skipped"}, {"source", trace.name}, {"bytes", size}, {"why", "there are fewer bytes of it"}});
      continue;
    }
    for (const Mode mode : o.modes) {
      // Messages of original sizes are measured only as sent; messages of one size only warm or cold.
      if ((mode == Mode::sent) != (size == 0)) continue;
      measure_cell(o, cells, size, mode, contenders);
    }
  }
}

int run(const Options& o) {
  std::vector<Contender> all = own_contenders();
  for (auto&& more : {library_contenders(), blosc_contenders(o.blosc)}) all.insert(all.end(), more.begin(), more.end());
  std::vector<const Contender*> chosen;
  for (const Contender& contender : all) {
    const bool wanted =
        o.contenders.empty() || std::count(o.contenders.begin(), o.contenders.end(), contender.name) > 0;
    if (o.list || wanted)
      say({{"event", "contender"},
           {"name", contender.name},
           {"about", contender.about},
           {"missing", contender.missing}});
    if (wanted && contender.missing.empty()) chosen.push_back(&contender);
  }
  if (o.list) {
    for (const char* name : generated_names()) say({{"event", "generated"}, {"name", name}});
    return 0;
  }
  for (const auto& wanted : o.contenders) {
    if (std::none_of(all.begin(), all.end(), [&](const Contender& c) { return c.name == wanted; }))
      throw std::runtime_error("no codec is named " + wanted);
  }
  say({{"event", "start"},
       {"instruction_set", codec::name(codec::best_isa())},
       {"seed", o.seed},
       {"wire_bytes_per_s", o.wire_bytes_per_s}});
  for (const auto& file : o.files) measure_trace(o, read_trace(file), chosen);
  for (const auto& name : o.generated) measure_trace(o, generate(name, o.seed), chosen);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(read_options(argc, argv));
  } catch (const std::exception& error) {
    say({{"event", "error"}, {"message", error.what()}});
    return 1;
  }
}
