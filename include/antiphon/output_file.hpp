// SPDX-License-Identifier: Apache-2.0
// Writes the files that users ask for: whole, or not at all.
#pragma once

#include <cstdio>
#include <string>

namespace antiphon {

/// A file that appears under its name, in place of an older one, only when all of it is written. A link stays a link
/// and its target is written; devices, pipes and what is under /dev or /proc are written directly.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile();  ///< throws away what was not finished
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Returns the open file, or nullptr if it could not be opened.
  [[nodiscard]] std::FILE* stream() const { return file_; }
  /// Writes; returns false from the first failure on.
  bool write(const void* data, std::size_t bytes);
  /// Puts the file in place. Returns why it is not there, as "No space left on device"; an empty text if it is.
  [[nodiscard]] std::string finish();

 private:
  void note_failure();

  std::string target_;   ///< what the path leads to
  std::string written_;  ///< the file that is open: the target, or a new one beside it
  std::FILE* file_ = nullptr;
  int error_ = 0;
};

/// Opens a new file for writing under a name that nobody else chooses to use: what is there goes, also a link. Returns
/// its descriptor, or -1 with errno.
int open_anew(const std::string& path);

/// Opens a new file for writing beside `path`, under a `name` that no other process chooses. Returns its descriptor, or
/// -1 with errno.
int open_beside(const std::string& path, std::string& name);

/// Returns why an OutputFile could not be written there, as "No such file or directory"; an empty text if nothing is
/// known that would prevent it.
std::string why_not_writable(const std::string& path);

}  // namespace antiphon
