// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace antiphon {

/// Root of the core's error family. Nothing of it escapes into MPI: the preload objects catch it and call the library.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A schedule, a problem or a parameter that makes no sense (a bug in a builder, or bad input from a file).
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// A document (plan, profile, rules) that cannot be read; the message names the field.
class FormatError : public Error {
 public:
  using Error::Error;
};

}  // namespace antiphon
