// SPDX-License-Identifier: Apache-2.0
#include "observe/capture.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "antiphon/output_file.hpp"
#include "call/datatype.hpp"
#include "call/own_type.hpp"
#include "call/type_contents.hpp"
#include "job/devices.hpp"
#include "job/warn.hpp"
#include "observe/watch.hpp"
#include "observe/written.hpp"

namespace antiphon::mpi {

namespace {

constexpr std::int64_t least_bytes = 1024;

struct Record {
  std::uint32_t magic = 0x4d534731, type = 5, element_bytes = 1, operation = 0;
  std::int32_t destination = 0, tag = 0;
  std::uint64_t payload_bytes = 0;
};
static_assert(sizeof(Record) == 32);

/// Returns the name of the predefined type that a type is made of, or MPI_BYTE if there are several.
std::string base_name(MPI_Datatype type) {
  Making making;
  if (!how_made(type, making)) return "MPI_BYTE";
  if (making.combiner == MPI_COMBINER_NAMED) {
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    PMPI_Type_get_name(type, name, &length);
    return name;
  }
  if (making.types < 1 || making.large) return "MPI_BYTE";
  std::vector<int> ints(static_cast<std::size_t>(making.integers) + 1);
  std::vector<MPI_Aint> aints(static_cast<std::size_t>(making.addresses) + 1);
  std::vector<MPI_Datatype> bases(static_cast<std::size_t>(making.types));
  if (PMPI_Type_get_contents(type, making.integers, making.addresses, making.types, ints.data(), aints.data(),
                             bases.data()) != MPI_SUCCESS)
    return "MPI_BYTE";
  std::string name = base_name(bases[0]);
  for (MPI_Datatype& base : bases) {
    if (base_name(base) != name) name = "MPI_BYTE";
    give_back(base);
  }
  return name;
}

/// Holds a type with its number in records.
struct KnownType {
  const char* name;
  std::uint32_t type, bytes;
};
constexpr KnownType known_types[] = {{"MPI_DOUBLE", 1, 8},
                                     {"MPI_DOUBLE_PRECISION", 1, 8},
                                     {"MPI_C_DOUBLE_COMPLEX", 1, 8},
                                     {"MPI_CXX_DOUBLE_COMPLEX", 1, 8},
                                     {"MPI_DOUBLE_COMPLEX", 1, 8},
                                     {"MPI_REAL8", 1, 8},
                                     {"MPI_COMPLEX16", 1, 8},
                                     {"MPI_FLOAT", 2, 4},
                                     {"MPI_REAL", 2, 4},
                                     {"MPI_COMPLEX", 2, 4},
                                     {"MPI_C_FLOAT_COMPLEX", 2, 4},
                                     {"MPI_C_COMPLEX", 2, 4},
                                     {"MPI_CXX_FLOAT_COMPLEX", 2, 4},
                                     {"MPI_REAL4", 2, 4},
                                     {"MPI_COMPLEX8", 2, 4},
                                     {"MPI_INT", 3, 4},
                                     {"MPI_UNSIGNED", 3, 4},
                                     {"MPI_INTEGER", 3, 4},
                                     {"MPI_INT32_T", 3, 4},
                                     {"MPI_UINT32_T", 3, 4},
                                     {"MPI_INTEGER4", 3, 4},
                                     {"MPI_LONG", 4, 8},
                                     {"MPI_UNSIGNED_LONG", 4, 8},
                                     {"MPI_LONG_LONG", 4, 8},
                                     {"MPI_LONG_LONG_INT", 4, 8},
                                     {"MPI_UNSIGNED_LONG_LONG", 4, 8},
                                     {"MPI_INT64_T", 4, 8},
                                     {"MPI_UINT64_T", 4, 8},
                                     {"MPI_INTEGER8", 4, 8},
                                     {"MPI_AINT", 4, 8},
                                     {"MPI_COUNT", 4, 8},
                                     {"MPI_OFFSET", 4, 8}};

/// Sets the type's number in a record, and the size of its elements.
void set_type(MPI_Datatype type, Record& record) {
  const std::string name = base_name(type);
  for (const KnownType& known : known_types) {
    if (name == known.name) record.type = known.type, record.element_bytes = known.bytes;
  }
}

/// Holds what is sent, or what a persistent request is going to send.
struct Prepared {
  MPI_Comm comm;
  int peer, tag;
  const void* buffer;
  std::int64_t count;
  MPI_Datatype type;
  std::uint32_t operation;
  OwnType own_type = {};  ///< of a request, as the program may free its own before it starts it
};

class Capture : public P2pRecorder {
 public:
  Capture(std::FILE* file, std::int64_t limit_bytes) : file_(file), left_bytes_(limit_bytes) {}
  ~Capture() override {
    const bool whole = std::ferror(file_) == 0;
    if (std::fclose(file_) == 0 && whole) return;
    warn("not all captured messages could be written");
    end_with_failure();
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  void before(const P2pCall& call) noexcept override;
  void after(const P2pCall& call, int result) noexcept override;

 private:
  void keep(const Prepared& message);
  std::mutex mutex_;
  std::FILE* file_;
  std::int64_t left_bytes_;
  std::map<MPI_Request, Prepared> prepared_;
  std::vector<std::byte> room_;
};

/// Returns the operation's number in records; 0 means that the call sends nothing by itself.
std::uint32_t operation_of(P2p call) {
  switch (call) {
    case P2p::send:
    case P2p::bsend:
    case P2p::ssend: return 1;
    case P2p::isend:
    case P2p::ibsend:
    case P2p::issend:
    case P2p::irsend: return 2;
    case P2p::rsend: return 3;
    case P2p::sendrecv:
    case P2p::sendrecv_replace:
    case P2p::isendrecv:
    case P2p::isendrecv_replace: return 4;
    default: return 0;
  }
}

bool is_prepared(P2p call) {
  return call == P2p::send_init || call == P2p::bsend_init || call == P2p::ssend_init || call == P2p::rsend_init;
}

Prepared message_of(const P2pCall& call, std::uint32_t operation) {
  return {call.comm, call.peer, call.tag, call.buffer, call.count, call.type, operation};
}

void Capture::before(const P2pCall& call) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (const std::uint32_t operation = operation_of(call.call); operation != 0) keep(message_of(call, operation));
    if (call.call != P2p::start && call.call != P2p::startall && call.call != P2p::request_free) return;
    for (int i = 0; i < call.request_count; ++i) {
      const auto found = prepared_.find(call.requests[i]);
      if (found == prepared_.end()) continue;
      if (call.call == P2p::request_free) prepared_.erase(found);
      else keep(found->second);
    }
  } catch (const std::exception&) {
    left_bytes_ = 0;
  }
}

void Capture::after(const P2pCall& call, int result) noexcept {
  if (result != MPI_SUCCESS || !is_prepared(call.call)) return;
  try {
    const std::lock_guard lock(mutex_);
    Prepared message = message_of(call, 2);
    message.own_type = OwnType(call.type);
    message.type = message.own_type.get();
    prepared_.insert_or_assign(call.requests[0], std::move(message));
  } catch (const std::exception&) {
    left_bytes_ = 0;
  }
}

void Capture::keep(const Prepared& message) {
  TypeInfo info;
  if (message.peer == MPI_PROC_NULL || left_bytes_ <= 0 || !inspect(message.type, info)) return;
  if (is_device_memory(message.buffer)) return;
  const std::int64_t bytes = message.count * info.size_bytes;
  if (bytes < least_bytes) return;
  if (bytes > left_bytes_) {
    left_bytes_ = 0;  // later messages would lack the ones before them
    return;
  }
  left_bytes_ -= bytes;
  room_.resize(static_cast<std::size_t>(bytes));
  if (pack(message.buffer, message.count, message.type, info, room_.data()) != MPI_SUCCESS) return;
  Record record;
  set_type(message.type, record);
  record.operation = message.operation;
  record.destination = message.peer;
  record.tag = message.tag;
  record.payload_bytes = static_cast<std::uint64_t>(bytes);
  std::fwrite(&record, sizeof record, 1, file_);
  std::fwrite(room_.data(), 1, room_.size(), file_);
}

std::unique_ptr<Capture> capture;

}  // namespace

void start_capture() {
  const char* directory = std::getenv("ANTIPHON_CAPTURE");
  if (directory == nullptr || *directory == '\0') return;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* mbytes = std::getenv("ANTIPHON_CAPTURE_MBYTES");
  const long long limit = mbytes == nullptr ? 64 : std::atoll(mbytes);
  mkdir(directory, 0777);
  const std::string path = std::string(directory) + "/rank-" + std::to_string(rank) + ".msgs";
  const int opened = open_anew(path);
  std::FILE* const file = opened < 0 ? nullptr : fdopen(opened, "wb");
  if (file == nullptr) {
    warn("messages are not captured: " + path + ": " + std::strerror(errno));
    end_with_failure();
    return;
  }
  // A child that the program forks would write what is in a buffer once more when it ends.
  std::setvbuf(file, nullptr, _IONBF, 0);
  capture = std::make_unique<Capture>(file, limit << 20);
  set_p2p_recorder(WatchReason::capture, capture.get());
}

void stop_capture() {
  if (capture == nullptr) return;
  set_p2p_recorder(WatchReason::capture, nullptr);
  capture.reset();
}

}  // namespace antiphon::mpi
