// SPDX-License-Identifier: Apache-2.0
#include "job/shared_text.hpp"

#include <mpi.h>

#include <cstring>

#include "job/start_tree.hpp"

namespace antiphon::mpi {

namespace {

constexpr int tag = 27183;

void send(const std::string& text, int to) {
  PMPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, to, tag, MPI_COMM_WORLD);
}

std::string receive(int from) {
  const MPI_Status status = wait_for_message(from, tag);
  int length = 0;
  PMPI_Get_count(&status, MPI_CHAR, &length);
  std::string text(static_cast<std::size_t>(length), '\0');
  PMPI_Recv(text.data(), length, MPI_CHAR, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return text;
}

/// A rank's text as it travels: both numbers, then the text.
struct Label {
  int rank;
  int length;
};

std::string labelled(int rank, const std::string& text) {
  const Label label{rank, static_cast<int>(text.size())};
  std::string all(sizeof label, '\0');
  std::memcpy(all.data(), &label, sizeof label);
  return all + text;
}

std::vector<std::string> unlabelled(const std::string& all, int size) {
  std::vector<std::string> texts(static_cast<std::size_t>(size));
  for (std::size_t at = 0; at + sizeof(Label) <= all.size();) {
    Label label;
    std::memcpy(&label, all.data() + at, sizeof label);
    at += sizeof label;
    texts[static_cast<std::size_t>(label.rank)] = all.substr(at, static_cast<std::size_t>(label.length));
    at += static_cast<std::size_t>(label.length);
  }
  return texts;
}

}  // namespace

std::vector<std::string> gather_texts(const std::string& own) {
  const StartTree tree = StartTree::of_world();
  std::string all = labelled(tree.rank, own);
  for (const int child : tree.children()) all += receive(child);
  if (tree.rank == 0) return unlabelled(all, tree.size);
  send(all, tree.parent());
  return {};
}

std::string from_rank_0(std::string text) {
  const StartTree tree = StartTree::of_world();
  if (tree.rank != 0) text = receive(tree.parent());
  for (const int child : tree.children()) send(text, child);
  return text;
}

}  // namespace antiphon::mpi
