// SPDX-License-Identifier: Apache-2.0
#include "observe/metrics.hpp"

#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace antiphon::mpi {

namespace {

using Label = std::pair<std::string_view, std::string>;

/// One figure of each row of the summary.
struct RowFigure {
  std::string_view metric;
  std::string_view unit;  ///< the metric's name ends with it
  std::string_view help;
  std::string_view key;  ///< in the summary
};

constexpr std::array row_figures{
    RowFigure{"antiphon_collective_calls", "", "Most calls of any rank.", "calls"},
    RowFigure{"antiphon_collective_bytes", "bytes", "What all ranks hand in or get.", "bytes"},
    RowFigure{"antiphon_collective_seconds", "seconds", "Time in the calls, mean over ranks.", "time_s"},
    RowFigure{"antiphon_collective_most_seconds", "seconds", "Time in the calls, most of any rank.", "max_time_s"},
    RowFigure{"antiphon_collective_waiting_seconds", "seconds",
              "Part of antiphon_collective_seconds before the last rank came.", "waiting_s"},
};

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string_view("\\n") : std::string_view(&c, 1);
  }
  return out;
}

void head(std::string& out, std::string_view metric, std::string_view unit, std::string_view help) {
  for (const auto& [what, text] : {std::pair{"TYPE", std::string_view("gauge")}, {"UNIT", unit}, {"HELP", help}})
    if (!text.empty()) out.append("# ").append(what).append(" ").append(metric).append(" ").append(text).append("\n");
}

void sample(std::string& out, std::string_view metric, std::initializer_list<Label> labels, const Json& value) {
  out += metric;
  std::string_view separator = "{";
  for (const auto& [name, text] : labels) {
    out.append(separator).append(name).append("=\"").append(escaped(text)).append("\"");
    separator = ",";
  }
  out.append(labels.size() != 0 ? "} " : " ").append(value.dump()).append("\n");
}

std::string text_of(const Json& value) { return value.is_string() ? value.as_string() : std::string(); }
std::string size_of(const Json& value) { return value.is_null() ? std::string() : value.dump(); }

void add_rows(std::string& out, const RowFigure& figure, const Json& rows) {
  head(out, figure.metric, figure.unit, figure.help);
  for (const Json& row : rows) {
    const Json& value = row.at(figure.key);
    if (value.is_null()) continue;
    sample(out, figure.metric,
           {{"collective", row.at("collective").as_string()},
            {"least_bytes", size_of(row.at("least_bytes"))},
            {"most_bytes", size_of(row.at("most_bytes"))},
            {"done_by", row.at("algorithm").as_string()},
            {"reason", text_of(row.at("reason"))}},
           value);
  }
}

/// Adds what messages between nodes travelled by.
void add_network(std::string& out, const Json& network) {
  head(out, "antiphon_network", "", "What messages travelled by, in labels; the value is 1.");
  sample(out, "antiphon_network",
         {{"transport", network.at("name").as_string()},
          {"interface", network.at("interface").as_string()},
          {"text", network.at("line").as_string()}},
         1);
  head(out, "antiphon_link_bits_per_second", "", "Rate of a node's link; 0 where it is not known.");
  sample(out, "antiphon_link_bits_per_second", {}, network.at("link_bits_per_s"));
}

}  // namespace

std::string metrics_text(const Json& summary) {
  std::string out;
  head(out, "antiphon_run", "", "What ran, in labels; the value is 1.");
  sample(out, "antiphon_run",
         {{"antiphon", summary.at("antiphon").as_string()},
          {"mpi", summary.at("mpi").as_string()},
          {"program", summary.at("program").as_string()},
          {"started", summary.at("started").as_string()}},
         1);
  head(out, "antiphon_run_seconds", "seconds", "From MPI_Init to MPI_Finalize, mean over ranks.");
  sample(out, "antiphon_run_seconds", {}, summary.at("run_s"));
  head(out, "antiphon_ranks", "", "Ranks of MPI_COMM_WORLD.");
  sample(out, "antiphon_ranks", {}, summary.at("ranks"));
  head(out, "antiphon_nodes", "", "Nodes that they were on.");
  sample(out, "antiphon_nodes", {}, summary.at("nodes"));
  if (const Json* const network = summary.find("network")) add_network(out, *network);
  for (const RowFigure& figure : row_figures) add_rows(out, figure, summary.at("collectives"));
  return out + "# EOF\n";
}

}  // namespace antiphon::mpi
