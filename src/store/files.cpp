// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "antiphon/output_file.hpp"
#include "antiphon/store.hpp"

namespace antiphon {

namespace {

/// Writes all of a text and makes sure that it is on the disk. Returns whether that worked; errno says why not.
bool write_through(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return fsync(file) == 0;
}

/// Closes a file to other writers, and returns why not. Some file systems show all files open to everybody, whatever is
/// asked of them, and nobody may read such a file again.
std::string close_to_others(int file) {
  struct stat found{};
  if (fchmod(file, 0644) != 0 || fstat(file, &found) != 0) return std::strerror(errno);
  if ((found.st_mode & S_IWOTH) == 0) return "";
  return "this file system keeps no modes, so everybody could write it: ANTIPHON_STORE can name another directory";
}

}  // namespace

std::optional<Stored> read_bounded(const std::string& path, std::size_t most_bytes, std::string& why) {
  // Nothing but a file is read: a pipe would keep the reader waiting.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    if (errno != ENOENT && errno != ENOTDIR) why = std::strerror(errno);
    return std::nullopt;
  }
  struct stat found{};
  std::string text;
  if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) {
    why = "it is no file";
  } else if ((found.st_mode & S_IWOTH) != 0) {
    why = "everybody can write it (chmod o-w)";
  } else if (static_cast<std::size_t>(found.st_size) > most_bytes) {
    why = "it is longer than " + std::to_string(most_bytes >> 20) + " MiB";
  } else {
    text.resize(static_cast<std::size_t>(found.st_size));
    const ssize_t got = read(file, text.data(), text.size());
    if (got < 0) why = std::strerror(errno);
    text.resize(static_cast<std::size_t>(got < 0 ? 0 : got));
  }
  close(file);
  if (!why.empty()) return std::nullopt;
  return Stored{path, std::move(text), found.st_mtime};
}

std::string replace_file(const std::string& path, std::string_view text) {
  std::string temporary;
  const int file = open_beside(path, temporary);
  if (file < 0) return std::strerror(errno);
  std::string why = write_through(file, text) ? close_to_others(file) : std::strerror(errno);
  if (close(file) != 0 && why.empty()) why = std::strerror(errno);
  if (why.empty() && std::rename(temporary.c_str(), path.c_str()) != 0) why = std::strerror(errno);
  if (!why.empty()) unlink(temporary.c_str());
  return why;
}

}  // namespace antiphon
