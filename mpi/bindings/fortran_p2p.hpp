// SPDX-License-Identifier: Apache-2.0
// The generated Fortran wrappers of point-to-point calls need this: the C functions change requests, messages,
// statuses, flags and indices, and these are written back when the wrapper ends.
#pragma once

#include <vector>

#include "bindings/fortran.hpp"

namespace antiphon::mpi {

#if ANTIPHON_ABI_OPENMPI || ANTIPHON_ABI_MPICH

/// Converts the sentinels; otherwise a status has one layout in all languages.
MPI_Status* status_from_fortran(MPI_Fint* status);
MPI_Status* statuses_from_fortran(MPI_Fint* statuses);

/// This is Gfortran's and Intel's .TRUE. (Intel's looks at the lowest bit).
inline constexpr MPI_Fint fortran_true = 1;

class FortranLogical {
 public:
  explicit FortranLogical(MPI_Fint* out) : out_(out) {}
  ~FortranLogical() { *out_ = c_ != 0 ? fortran_true : 0; }
  FortranLogical(const FortranLogical&) = delete;
  FortranLogical& operator=(const FortranLogical&) = delete;
  [[nodiscard]] int* get() { return &c_; }

 private:
  MPI_Fint* out_;
  int c_ = 0;
};

/// Converts an index, because Fortran counts from 1.
class FortranIndex {
 public:
  explicit FortranIndex(MPI_Fint* out) : out_(out) {}
  ~FortranIndex() { *out_ = c_ == MPI_UNDEFINED ? c_ : c_ + 1; }
  FortranIndex(const FortranIndex&) = delete;
  FortranIndex& operator=(const FortranIndex&) = delete;
  [[nodiscard]] int* get() { return &c_; }

 private:
  MPI_Fint* out_;
  int c_ = MPI_UNDEFINED;
};

class FortranIndices {
 public:
  FortranIndices(MPI_Fint* indices, const MPI_Fint* count) : indices_(indices), count_(count) {}
  ~FortranIndices() {
    for (int i = 0; *count_ != MPI_UNDEFINED && i < *count_; ++i) ++indices_[i];
  }
  FortranIndices(const FortranIndices&) = delete;
  FortranIndices& operator=(const FortranIndices&) = delete;
  [[nodiscard]] int* get() { return indices_; }

 private:
  MPI_Fint* indices_;
  const MPI_Fint* count_;
};

#if ANTIPHON_ABI_OPENMPI

inline MPI_Request request_from_fortran(MPI_Fint request) { return PMPI_Request_f2c(request); }
inline MPI_Fint request_to_fortran(MPI_Request request) { return PMPI_Request_c2f(request); }
inline MPI_Message message_from_fortran(MPI_Fint message) { return MPI_Message_f2c(message); }
inline MPI_Fint message_to_fortran(MPI_Message message) { return MPI_Message_c2f(message); }

#else

inline MPI_Request request_from_fortran(MPI_Fint request) { return request; }
inline MPI_Fint request_to_fortran(MPI_Request request) { return request; }
inline MPI_Message message_from_fortran(MPI_Fint message) { return message; }
inline MPI_Fint message_to_fortran(MPI_Message message) { return message; }

#endif

class FortranRequest {
 public:
  FortranRequest(MPI_Fint* fortran, bool reads) : fortran_(fortran) {
    c_ = reads ? request_from_fortran(*fortran) : MPI_REQUEST_NULL;
  }
  ~FortranRequest() { *fortran_ = request_to_fortran(c_); }
  FortranRequest(const FortranRequest&) = delete;
  FortranRequest& operator=(const FortranRequest&) = delete;
  [[nodiscard]] MPI_Request* get() { return &c_; }

 private:
  MPI_Fint* fortran_;
  MPI_Request c_;
};

class FortranRequests {
 public:
  FortranRequests(MPI_Fint* fortran, int count) : fortran_(fortran) {
    for (int i = 0; i < count; ++i) c_.push_back(request_from_fortran(fortran[i]));
  }
  ~FortranRequests() {
    for (std::size_t i = 0; i < c_.size(); ++i) fortran_[i] = request_to_fortran(c_[i]);
  }
  FortranRequests(const FortranRequests&) = delete;
  FortranRequests& operator=(const FortranRequests&) = delete;
  [[nodiscard]] MPI_Request* get() { return c_.data(); }

 private:
  MPI_Fint* fortran_;
  std::vector<MPI_Request> c_;
};

class FortranMessage {
 public:
  FortranMessage(MPI_Fint* fortran, bool reads) : fortran_(fortran) {
    c_ = reads ? message_from_fortran(*fortran) : MPI_MESSAGE_NULL;
  }
  ~FortranMessage() { *fortran_ = message_to_fortran(c_); }
  FortranMessage(const FortranMessage&) = delete;
  FortranMessage& operator=(const FortranMessage&) = delete;
  [[nodiscard]] MPI_Message* get() { return &c_; }

 private:
  MPI_Fint* fortran_;
  MPI_Message c_;
};

#endif

}  // namespace antiphon::mpi
