// SPDX-License-Identifier: Apache-2.0
#include "observe/summary_text.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "observe/text_table.hpp"

namespace antiphon::mpi::summary {

namespace {

/// Names the sizes of a row: "64 KiB", or "≤ 64 KiB" where they differ within a class, or "1 KiB … 64 KiB".
std::string size_text(const Json& row) {
  if (row.at("most_bytes").is_null()) return "?";
  const double least = row.at("least_bytes").get<double>();
  const double most = row.at("most_bytes").get<double>();
  if (most == 0 && row.at("collective").as_string() == "barrier") return "";
  if (least == most) return bytes_text(most);
  return (2 * least > most ? "≤ " : bytes_text(least) + " … ") + bytes_text(most);
}

/// Returns the number of the note with this text; adds it if there is none yet.
std::size_t note(std::vector<std::string>& notes, const std::string& text) {
  const auto known = std::find(notes.begin(), notes.end(), text);
  const auto place = static_cast<std::size_t>(known - notes.begin());
  if (known == notes.end()) notes.push_back(text);
  return place + 1;
}

void print_rows(std::FILE* out, const Json& list) {
  TextTable table;
  table.column("collective", false).column("block").column("calls").column("time").column("share").column("waiting");
  table.column("done by", false);
  std::vector<std::string> notes;
  for (const Json& row : list) {
    const double time_s = row.at("time_s").get<double>();
    const Json& waiting = row.at("waiting_s");
    std::string used = row.at("algorithm").as_string();
    if (!row.at("reason").is_null()) used += " (" + std::to_string(note(notes, row.at("reason").as_string())) + ")";
    table.row({row.at("collective").as_string(), size_text(row), std::to_string(row.at("calls").as_integer()),
               time_text(time_s), row.at("share").is_null() ? "?" : percent_text(row.at("share").get<double>()),
               waiting.is_null() ? "?" : percent_text(time_s > 0 ? waiting.get<double>() / time_s : 0), used});
  }
  table.print(out);
  for (std::size_t i = 0; i < notes.size(); ++i) print_note(out, "  (" + std::to_string(i + 1) + ") ", notes[i]);
  std::fputs(
      "  calls: most of any rank; time: mean over ranks; share: of the time from\n"
      "  MPI_Init to MPI_Finalize; waiting: part of the time before the last rank came\n",
      out);
}

}  // namespace

void print(std::FILE* out, const Json& document) {
  const auto number = [&](const char* key) { return std::to_string(document.at(key).as_integer()); };
  const auto counted = [&](const char* key, const std::string& what) {
    return number(key) + ' ' + what + (document.at(key).as_integer() == 1 ? "" : "s");
  };
  const std::string run = "run of " + time_text(document.at("run_s").get<double>()) + ": " + counted("ranks", "rank") +
                          " on " + counted("nodes", "node") + ", " + document.at("mpi").as_string();
  if (const Json* const why = document.find("nothing_seen"))
    return static_cast<void>(
        std::fprintf(out, "antiphon: no collective call was seen: %s; %s\n", why->as_string().c_str(), run.c_str()));
  std::fprintf(out, "antiphon: %s\n", run.c_str());
  print_rows(out, document.at("collectives"));
}

}  // namespace antiphon::mpi::summary
