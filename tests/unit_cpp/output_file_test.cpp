// SPDX-License-Identifier: Apache-2.0
// Files that users ask for are written whole, through no link that somebody else has put there.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "antiphon/output_file.hpp"

namespace fs = std::filesystem;
using antiphon::OutputFile;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / ("antiphon-output-" + std::to_string(getpid()));
  Folder() { fs::create_directory(path); }
  ~Folder() { fs::remove_all(path); }
};

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void put(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

}  // namespace

TEST_CASE("a file appears when it is finished, with the old one's rights") {
  const Folder folder;
  const fs::path target = folder.path / "run.json";
  put(target, "old");
  chmod(target.c_str(), 0640);
  {
    OutputFile file(target.string());
    CHECK(file.write("new", 3));
    CHECK(text_of(target) == "old");
    CHECK(file.finish().empty());
  }
  CHECK(text_of(target) == "new");
  CHECK((fs::status(target).permissions() & fs::perms::mask) == fs::perms(0640));
  {
    const OutputFile thrown_away(target.string());
  }
  CHECK(text_of(target) == "new");
  CHECK(std::distance(fs::directory_iterator(folder.path), {}) == 1);
}

TEST_CASE("two that write the same file under one number of a process, as on two nodes, do not touch each other's") {
  const Folder folder;
  const fs::path target = folder.path / "run.json";
  const mode_t before = umask(027);
  OutputFile first(target.string()), second(target.string());
  umask(before);
  CHECK(first.write("first", 5));
  CHECK(second.write("sec", 3));
  CHECK(first.finish().empty());
  CHECK(text_of(target) == "first");
  CHECK((fs::status(target).permissions() & fs::perms::mask) == fs::perms(0640));
  CHECK(second.write("ond", 3));
  CHECK(second.finish().empty());
  CHECK(text_of(target) == "second");
  CHECK(std::distance(fs::directory_iterator(folder.path), {}) == 1);
}

TEST_CASE("the user's own link stays, and its target is written") {
  const Folder folder;
  const fs::path real = folder.path / "real", link = folder.path / "link";
  put(real, "old");
  fs::create_symlink("real", link);
  OutputFile file(link.string());
  CHECK(file.write("new", 3));
  CHECK(file.finish().empty());
  CHECK(fs::is_symlink(link));
  CHECK(text_of(real) == "new");
}

TEST_CASE("a file that is opened anew replaces what is there") {
  const Folder folder;
  const fs::path victim = folder.path / "victim", part = folder.path / "run.trace.rank0";
  put(victim, "precious");
  fs::create_symlink(victim, part);
  const int file = antiphon::open_anew(part.string());
  REQUIRE(file >= 0);
  CHECK(write(file, "x", 1) == 1);
  close(file);
  CHECK(text_of(victim) == "precious");
  CHECK(text_of(part) == "x");
}
