// SPDX-License-Identifier: Apache-2.0
#include "library_algorithms.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>

#include "antiphon/text.hpp"
#include "options.hpp"
#include "report.hpp"

namespace bench {

/// A control variable of the MPI tool interface.
struct LibraryVariable {
  int index = -1;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_T_enum enumeration = MPI_T_ENUM_NULL;
  std::string description;
};

namespace {

using Variable = LibraryVariable;

using Variables = std::map<std::string, Variable, std::less<>>;

Variables read_variables() {
  Variables found;
  int provided = 0;
  int count = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS || MPI_T_cvar_get_num(&count) != MPI_SUCCESS)
    return found;
  for (int i = 0; i < count; ++i) {
    char name[512] = {};
    std::vector<char> text(8192);
    int name_length = sizeof name;
    int text_length = static_cast<int>(text.size());
    int verbosity = 0;
    int bind = 0;
    int scope = 0;
    Variable variable;
    variable.index = i;
    if (MPI_T_cvar_get_info(i, name, &name_length, &verbosity, &variable.type, &variable.enumeration, text.data(),
                            &text_length, &bind, &scope) != MPI_SUCCESS) {
      continue;
    }
    variable.description = text.data();
    if (bind == MPI_T_BIND_NO_OBJECT) found.emplace(name, variable);
  }
  return found;
}

/// The variables are read once: the list is fixed after MPI_Init, and the interface stays open until the program ends.
const Variables& variables() {
  static const Variables all = read_variables();
  return all;
}

std::string upper(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

std::string open_mpi_prefix(std::string_view collective) {
  return "coll_tuned_" + std::string(collective) + "_algorithm";
}
std::string mpich_prefix(std::string_view collective) { return "MPIR_CVAR_" + upper(collective) + "_"; }

/// Lists the values of a variable that the library describes as an enumeration (Open MPI), except 0, which means
/// default.
std::vector<LibraryAlgorithm> of_enumeration(MPI_T_enum enumeration) {
  std::vector<LibraryAlgorithm> found;
  char text[256] = {};
  int length = sizeof text;
  int count = 0;
  if (enumeration == MPI_T_ENUM_NULL || MPI_T_enum_get_info(enumeration, &count, text, &length) != MPI_SUCCESS)
    return found;
  for (int i = 0; i < count; ++i) {
    LibraryAlgorithm algorithm;
    length = sizeof text;
    if (MPI_T_enum_get_item(enumeration, i, &algorithm.value, text, &length) != MPI_SUCCESS || algorithm.value == 0)
      continue;
    algorithm.name = text;
    found.push_back(algorithm);
  }
  return found;
}

/// Lists the values of one of MPICH's plain ints. Their descriptions have one line "NAME - …" per value in order,
/// first "auto".
std::vector<LibraryAlgorithm> of_description(const std::string& description) {
  std::vector<LibraryAlgorithm> found;
  int value = 0;
  for (const std::string& line : antiphon::split(description, '\n')) {
    const auto end = line.find_first_of(" \t");
    const auto dash = line.find(" - ");
    if (end == std::string::npos || end == 0 || dash == std::string::npos) continue;
    if (line.find_first_not_of(" \t", end) != dash + 1) continue;
    if (value > 0) found.push_back({line.substr(0, end), value, {}});
    ++value;
  }
  return found;
}

std::vector<std::string> parameters_of(std::string_view prefix, bool capitals) {
  std::vector<std::string> names;
  for (const auto& [name, variable] : variables()) {
    if (!name.starts_with(prefix) || name.size() <= prefix.size()) continue;
    std::string rest = name.substr(prefix.size());
    if (rest.ends_with("ALGORITHM") || rest.ends_with("count") || rest == "COMPOSITION") continue;
    std::transform(rest.begin(), rest.end(), rest.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    names.push_back(capitals ? rest : rest.substr(1));
  }
  return names;
}

const Variable& find_variable(const std::string& name) {
  const auto found = variables().find(name);
  if (found == variables().end()) throw UsageError("this MPI library has no variable " + name);
  return found->second;
}

template <typename Number>
std::string bytes_of(const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw UsageError("\"" + text + "\" is not a whole number");
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// Converts the value to bytes of the variable's own type.
std::string encoded(const Variable& variable, const std::string& text) {
  if (variable.type == MPI_CHAR) return text + '\0';
  if (variable.type == MPI_C_BOOL) return bytes_of<unsigned char>(text);
  if (variable.type == MPI_UNSIGNED_LONG || variable.type == MPI_UNSIGNED_LONG_LONG)
    return bytes_of<unsigned long>(text);
  return bytes_of<int>(text);
}

/// Writes `wanted` and returns the value before.
std::string write_variable(const Variable& variable, const std::string& wanted) {
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  int count = 0;
  if (MPI_T_cvar_handle_alloc(variable.index, nullptr, &handle, &count) != MPI_SUCCESS)
    throw UsageError("a variable of the MPI library cannot be read");
  std::string before(std::max<std::size_t>(static_cast<std::size_t>(count) * 8, 1024), '\0');
  const int rc = MPI_T_cvar_read(handle, before.data());
  const int wrote = rc == MPI_SUCCESS ? MPI_T_cvar_write(handle, wanted.data()) : rc;
  MPI_T_cvar_handle_free(&handle);
  if (wrote != MPI_SUCCESS) throw UsageError("a variable of the MPI library cannot be written");
  return before;
}

}  // namespace

std::vector<LibraryAlgorithm> library_algorithms(std::string_view collective) {
  const Variables& all = variables();
  std::vector<LibraryAlgorithm> found;
  std::vector<std::string> parameters;
  if (const auto v = all.find(open_mpi_prefix(collective)); v != all.end()) {
    found = of_enumeration(v->second.enumeration);
    parameters = parameters_of(open_mpi_prefix(collective), false);
  } else if (const auto m = all.find(mpich_prefix(collective) + "INTRA_ALGORITHM"); m != all.end()) {
    found = of_description(m->second.description);
    parameters = parameters_of(mpich_prefix(collective), true);
  }
  for (auto& algorithm : found) algorithm.parameters = parameters;
  return found;
}

void print_library_algorithms() {
  for (const std::string& collective : collective_names()) {
    for (const LibraryAlgorithm& algorithm : library_algorithms(collective)) {
      print_line({{"event", "library_algorithm"},
                  {"collective", collective},
                  {"name", algorithm.name},
                  {"value", algorithm.value},
                  {"parameters", algorithm.parameters}});
    }
  }
}

LibraryForcing::LibraryForcing(std::string_view collective, std::string_view choice) {
  const auto colon = choice.find(':');
  const std::string_view name = choice.substr(0, colon);
  const auto known = library_algorithms(collective);
  const auto wanted = std::find_if(known.begin(), known.end(), [&](const auto& a) { return a.name == name; });
  if (wanted == known.end())
    throw UsageError("this MPI library lists no algorithm " + std::string(name) + " for " + std::string(collective));
  const bool open_mpi = variables().contains(open_mpi_prefix(collective));
  if (open_mpi) set("coll_tuned_use_dynamic_rules", "1");
  set(open_mpi ? open_mpi_prefix(collective) : mpich_prefix(collective) + "INTRA_ALGORITHM",
      std::to_string(wanted->value));
  const std::string_view rest = colon == std::string_view::npos ? std::string_view() : choice.substr(colon + 1);
  for (const std::string& pair : antiphon::split(rest, ',')) {
    const auto equals = pair.find('=');
    if (equals == std::string::npos) throw UsageError(pair + ": not of the form PARAMETER=VALUE");
    const std::string parameter = pair.substr(0, equals);
    set(open_mpi ? open_mpi_prefix(collective) + "_" + parameter : mpich_prefix(collective) + upper(parameter),
        pair.substr(equals + 1));
  }
}

void LibraryForcing::set(const std::string& name, const std::string& value) {
  const Variable& variable = find_variable(name);
  saved_.push_back({&variable, write_variable(variable, encoded(variable, value))});
}

LibraryForcing::~LibraryForcing() {
  for (auto saved = saved_.rbegin(); saved != saved_.rend(); ++saved)
    static_cast<void>(write_variable(*saved->variable, saved->value));
}

bool LibraryForcing::at_each_call() { return !variables().contains("coll_tuned_use_dynamic_rules"); }

}  // namespace bench
