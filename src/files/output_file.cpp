// SPDX-License-Identifier: Apache-2.0
#include "antiphon/output_file.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>

namespace antiphon {

namespace {

/// More links than this are a circle, as for the system.
constexpr int most_links = 40;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

bool is_of_the_system(const std::string& path) { return path.starts_with("/dev/") || path.starts_with("/proc/"); }

/// Returns the file that is to be replaced, or nothing if the path has to be written directly.
std::optional<std::string> replaced(std::string path) {
  struct stat found{};
  if (stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) return std::nullopt;
  std::array<char, 4096> next{};
  for (int links = 0; links < most_links; ++links) {
    if (is_of_the_system(path)) return std::nullopt;
    const ssize_t length = readlink(path.c_str(), next.data(), next.size());
    if (length < 0) return path;
    const std::string to(next.data(), static_cast<std::size_t>(length));
    path = to.starts_with('/') ? to : folder_of(path) + '/' + to;
  }
  return path;
}

}  // namespace

int open_anew(const std::string& path) {
  // What is there is removed, not followed: in a directory that others may write, it may be their link.
  unlink(path.c_str());
  return open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

int open_beside(const std::string& path, std::string& name) {
  // Processes of other nodes, which have the same numbers, may write the same file at the same time.
  int file = -1;
  do {
    std::uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) < 0) return -1;
    name = path + '.' + std::to_string(number);
    file = open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  } while (file < 0 && errno == EEXIST);
  return file;
}

OutputFile::OutputFile(const std::string& path) : written_(path) {
  const auto old = replaced(path);
  target_ = old.value_or(path);
  const int fresh =
      old ? open_beside(target_, written_) : open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fresh >= 0) file_ = fdopen(fresh, "wb");
  if (file_ == nullptr) error_ = errno;
  if (file_ == nullptr && fresh >= 0) close(fresh);
}

OutputFile::~OutputFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  if (written_ != target_) unlink(written_.c_str());
}

void OutputFile::note_failure() {
  if (error_ == 0) error_ = errno != 0 ? errno : EIO;
}

bool OutputFile::write(const void* data, std::size_t bytes) {
  if (error_ == 0 && std::fwrite(data, 1, bytes, file_) != bytes) note_failure();
  return error_ == 0;
}

std::string OutputFile::finish() {
  if (file_ == nullptr) return std::strerror(error_);
  const bool fresh = written_ != target_;
  struct stat old{};
  if (fresh && stat(target_.c_str(), &old) == 0) static_cast<void>(fchmod(fileno(file_), old.st_mode & 07777));
  errno = 0;
  if (std::ferror(file_) != 0 || std::fflush(file_) != 0) note_failure();
  if (std::fclose(file_) != 0) note_failure();
  file_ = nullptr;
  if (error_ == 0 && fresh && std::rename(written_.c_str(), target_.c_str()) != 0) note_failure();
  if (error_ == 0) return "";
  if (fresh) unlink(written_.c_str());
  return std::strerror(error_);
}

std::string why_not_writable(const std::string& path) {
  struct stat found{};
  const bool there = stat(path.c_str(), &found) == 0;
  if (!there && errno == ENAMETOOLONG) return std::strerror(errno);
  if (there && S_ISDIR(found.st_mode)) return std::strerror(EISDIR);
  if (there && access(path.c_str(), W_OK) != 0) return std::strerror(errno);
  const auto old = replaced(path);
  if (old && access(folder_of(*old).c_str(), W_OK | X_OK) != 0) return std::strerror(errno);
  return "";
}

}  // namespace antiphon
