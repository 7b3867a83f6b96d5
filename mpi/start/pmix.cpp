// SPDX-License-Identifier: Apache-2.0
// Leaves the text in the modex of the MPI library, which its MPI_Init hands to all ranks. The library may load PMIx
// late and privately, so its own PMIx_Init is caught, and the text goes in right behind it.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "job/library.hpp"
#include "start/job_data.hpp"

namespace antiphon::mpi {

namespace pmix {
namespace {

// These have the layout that the PMIx standard gives them.
struct Process {
  char nspace[256];
  std::uint32_t rank;
};
struct Value {
  std::uint16_t type;
  union {
    bool flag;
    int number;
    char* text;
    std::uint64_t room[4];
  } data;
};
struct Info {
  char key[512];
  std::uint32_t flags;
  Value value;
};
constexpr int success = 0;
constexpr std::uint16_t type_bool = 1;
constexpr std::uint16_t type_text = 3;
constexpr std::uint16_t type_int = 6;
constexpr std::uint8_t scope_global = 3;
constexpr int patience_s = 10;
constexpr char key[] = "antiphon";

struct Functions {
  int (*put)(std::uint8_t scope, const char* key, Value* value) = nullptr;
  int (*commit)() = nullptr;
  int (*get)(const Process*, const char* key, const Info*, std::size_t count, Value** value) = nullptr;
};

std::string waiting;  ///< the text that is to be left
Process self{};
Functions functions;
std::string library_key;  ///< the first that the library itself leaves for all: every rank has it
bool left = false;

/// Returns PMIx's functions from the object that has `init`; their names begin as its name does.
Functions functions_beside(void* init, std::string prefix) {
  Functions f;
  Dl_info object{};
  if (dladdr(init, &object) == 0) return f;
  void* handle = dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return f;
  prefix.resize(prefix.size() - std::strlen("Init"));
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, (prefix + name).c_str()));
  };
  find(f.put, "Put");
  find(f.commit, "Commit");
  find(f.get, "Get");
  dlclose(handle);
  return f;
}

void leave_text(void* init, const char* name) {
  functions = functions_beside(init, name);
  if (functions.put == nullptr || functions.commit == nullptr || functions.get == nullptr) return;
  Value value{.type = type_text, .data = {.text = waiting.data()}};
  left = functions.put(scope_global, key, &value) == success && functions.commit() == success;
}

int init_and_leave(const char* name, void* process, void* info, std::size_t count) {
  void* const init = next_definition(name);
  if (init == nullptr) return -1;
  const int result = reinterpret_cast<int (*)(void*, void*, std::size_t)>(init)(process, info, count);
  if (waiting.empty() || left || result != success || process == nullptr) return result;
  std::memcpy(&self, process, sizeof self);
  leave_text(init, name);
  return result;
}

int note_and_put(const char* name, std::uint8_t scope, const char* of_library, void* value) {
  void* const put = next_definition(name);
  if (put == nullptr) return -1;
  if (left && library_key.empty() && scope == scope_global) library_key = of_library;
  return reinterpret_cast<int (*)(std::uint8_t, const char*, void*)>(put)(scope, of_library, value);
}

std::optional<int> own_rank() {
  waiting.clear();
  return left ? std::optional<int>(static_cast<int>(self.rank)) : std::nullopt;
}

/// Returns the text that a rank left under a key, or "".
std::string look_up(int rank, const char* wanted, const Info& how) {
  Process process = self;
  process.rank = static_cast<std::uint32_t>(rank);
  Value* value = nullptr;
  if (functions.get(&process, wanted, &how, 1, &value) != success || value == nullptr) return "";
  const bool is_text = value->type == type_text && value->data.text != nullptr;
  std::string text = is_text ? value->data.text : "";
  if (is_text) std::free(value->data.text);
  std::free(value);
  return text;
}

/// A key that is not there would be waited for. At once, the launcher looks only at what is on this node, so what the
/// rank left is brought here first, by a key that it has.
std::string text_of(int rank) {
  Info at_once{};
  std::strcpy(at_once.key, "pmix.immediate");
  at_once.value.type = type_bool;
  at_once.value.data.flag = true;
  std::string text = look_up(rank, key, at_once);
  if (!text.empty() || library_key.empty()) return text;
  Info in_time{};
  std::strcpy(in_time.key, "pmix.timeout");
  in_time.value.type = type_int;
  in_time.value.data.number = patience_s;
  look_up(rank, library_key.c_str(), in_time);
  return look_up(rank, key, at_once);
}

}  // namespace
}  // namespace pmix

const JobData pmix_data{[](const std::string& text) { pmix::waiting = text; }, pmix::own_rank, pmix::text_of};

}  // namespace antiphon::mpi

extern "C" {

ANTIPHON_EXPORT int PMIx_Init(void* process, void* info, std::size_t count) {
  return antiphon::mpi::pmix::init_and_leave("PMIx_Init", process, info, count);
}

ANTIPHON_EXPORT int PMIx_Put(std::uint8_t scope, const char* key, void* value) {
  return antiphon::mpi::pmix::note_and_put("PMIx_Put", scope, key, value);
}

// These are the names in the PMIx that Open MPI 4 brings along.
ANTIPHON_EXPORT int OPAL_MCA_PMIX3X_PMIx_Init(void* process, void* info, std::size_t count) {
  return antiphon::mpi::pmix::init_and_leave("OPAL_MCA_PMIX3X_PMIx_Init", process, info, count);
}

ANTIPHON_EXPORT int OPAL_MCA_PMIX3X_PMIx_Put(std::uint8_t scope, const char* key, void* value) {
  return antiphon::mpi::pmix::note_and_put("OPAL_MCA_PMIX3X_PMIx_Put", scope, key, value);
}
}
