/* SPDX-License-Identifier: Apache-2.0 */
/* A small software distributed shared memory with eager home-based release consistency, and paper 1's synthetic
 * program on it (§5.3, Table 6): each node modifies some pages, a barrier makes all pages consistent, and so on.
 *
 *   mpirun -n 16 ./dsm [METHOD [PAGES [ITERATIONS]]]     METHOD: level1 (default), level2, level3, mpi, point-to-point
 *
 * Every node sees all of the shared memory. Pages are write-protected. The first write to a page is caught (SIGSEGV):
 * the node keeps a twin of the page and marks it dirty. The barrier sends the differences between dirty pages and their
 * twins to the pages' homes, which apply them (several nodes may write different words of one page). The homes then
 * send what has changed to all other nodes. These are two many-to-many communications. Their sizes are known only at
 * run time, so an MPI_Alltoall of sizes precedes each; METHOD is how the data travel. The levels need Antiphon.
 *
 * Exit code: 0 right, 1 the memory is wrong somewhere, 2 usage.
 */
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "antiphon.h"

enum method { LEVEL1, LEVEL2, LEVEL3, LIBRARY, POINT_TO_POINT, METHODS };
static const char* const method_names[METHODS] = {"level1", "level2", "level3", "mpi", "point-to-point"};

/* The shared memory of this node. */
static struct {
  unsigned char* base;
  unsigned char* twins;
  unsigned char* dirty; /* by page */
  int pages;
  size_t page_bytes;
} memory;

/* One many-to-many communication: sizes, displacements, data, and what is known of its pattern. */
struct exchange {
  int *send_bytes, *send_at, *recv_bytes, *recv_at;
  unsigned char *send, *recv;
  size_t send_room, recv_room;
  antiphon_schedule schedule; /* levels 2 and 3: made at the first barrier, as the pattern does not change */
  long long* pattern;
};

struct node {
  int rank, size;
  enum method method;
  struct exchange to_homes, to_all;
};

static void fail(const char* what) {
  fprintf(stderr, "dsm: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 2);
  exit(2);
}

static void* room(size_t bytes) {
  void* memory_for_it = calloc(bytes ? bytes : 1, 1);
  if (!memory_for_it) fail("out of memory");
  return memory_for_it;
}

/* ---- pages ---- */

/* Handles the first write to a page: keeps a twin and allows the write. Uses only async-signal-safe calls. */
static void on_write(int signal_number, siginfo_t* info, void* context) {
  (void)context;
  const uintptr_t address = (uintptr_t)info->si_addr;
  const uintptr_t base = (uintptr_t)memory.base;
  if (address < base || address >= base + (size_t)memory.pages * memory.page_bytes) {
    signal(signal_number, SIG_DFL); /* a real fault: it happens again and ends the program */
    return;
  }
  const size_t page = (address - base) / memory.page_bytes;
  unsigned char* at = memory.base + page * memory.page_bytes;
  memcpy(memory.twins + page * memory.page_bytes, at, memory.page_bytes);
  memory.dirty[page] = 1;
  mprotect(at, memory.page_bytes, PROT_READ | PROT_WRITE);
}

static void make_memory(int pages) {
  memory.pages = pages;
  memory.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
  const size_t bytes = (size_t)pages * memory.page_bytes;
  memory.base = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory.base == MAP_FAILED) fail("no memory for the pages");
  memory.twins = room(bytes);
  memory.dirty = room((size_t)pages);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_write;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, NULL);
}

static void protect_all(int writable) {
  mprotect(memory.base, (size_t)memory.pages * memory.page_bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ);
}

/* ---- differences: a page's number and its number of runs, then each run's position, length and bytes ---- */

struct header {
  int32_t page, runs;
};
struct run {
  uint32_t at, bytes;
};

static size_t most_difference_bytes(void) {
  /* In the worst case every other word is a run. */
  return sizeof(struct header) + memory.page_bytes / 8 * sizeof(struct run) + memory.page_bytes;
}

/* Writes what changed in a page. Units are words of 4 bytes, so nodes may share a page but not a word. */
static size_t write_difference(int page, unsigned char* out) {
  const uint32_t* now = (const uint32_t*)(memory.base + (size_t)page * memory.page_bytes);
  const uint32_t* then = (const uint32_t*)(memory.twins + (size_t)page * memory.page_bytes);
  const size_t words = memory.page_bytes / 4;
  struct header header = {page, 0};
  size_t end = sizeof header;
  for (size_t i = 0; i < words;) {
    if (now[i] == then[i]) {
      ++i;
      continue;
    }
    size_t stop = i;
    while (stop < words && now[stop] != then[stop]) ++stop;
    const struct run run = {(uint32_t)(4 * i), (uint32_t)(4 * (stop - i))};
    memcpy(out + end, &run, sizeof run);
    memcpy(out + end + sizeof run, now + i, run.bytes);
    end += sizeof run + run.bytes;
    ++header.runs;
    i = stop;
  }
  memcpy(out, &header, sizeof header);
  return end;
}

/* Applies differences to the pages and marks these in `changed`, if it is not NULL. */
static void apply_differences(const unsigned char* in, size_t bytes, unsigned char* changed) {
  for (size_t at = 0; at < bytes;) {
    struct header header;
    memcpy(&header, in + at, sizeof header);
    at += sizeof header;
    for (int i = 0; i < header.runs; ++i) {
      struct run run;
      memcpy(&run, in + at, sizeof run);
      memcpy(memory.base + (size_t)header.page * memory.page_bytes + run.at, in + at + sizeof run, run.bytes);
      at += sizeof run + run.bytes;
    }
    if (changed) changed[header.page] = 1;
  }
}

/* ---- exchanges ---- */

static void make_exchange(struct exchange* e, int size) {
  memset(e, 0, sizeof *e);
  int** lists[] = {&e->send_bytes, &e->send_at, &e->recv_bytes, &e->recv_at};
  for (int i = 0; i < 4; ++i) *lists[i] = room((size_t)size * sizeof(int));
  e->pattern = room((size_t)size * (size_t)size * sizeof(long long));
}

static void grow(unsigned char** data, size_t* have, size_t wanted) {
  if (wanted <= *have) return;
  free(*data);
  *data = room(wanted);
  *have = wanted;
}

/* Levels 2 and 3: the program knows the pattern and passes it, or its phases, once. A program with changing sizes would
 * have to do so again; this one's never change. */
static void know_pattern(struct node* n, struct exchange* e) {
  if (e->schedule) return;
  long long* own = room((size_t)n->size * sizeof *own);
  for (int i = 0; i < n->size; ++i) own[i] = i == n->rank ? 0 : e->send_bytes[i];
  MPI_Allgather(own, n->size, MPI_LONG_LONG, e->pattern, n->size, MPI_LONG_LONG, MPI_COMM_WORLD);
  free(own);
  if (antiphon_alltoallv_control2(e->pattern, MPI_COMM_WORLD, &e->schedule) != ANTIPHON_OK)
    fail("level 2 needs Antiphon");
  if (n->method != LEVEL3) return;
  int count = 0;
  antiphon_schedule_parts(e->schedule, NULL, 0, &count);
  antiphon_part* parts = room((size_t)count * sizeof *parts);
  antiphon_schedule_parts(e->schedule, parts, count, &count);
  antiphon_schedule_free(&e->schedule);
  if (antiphon_alltoallv_control3(parts, count, MPI_COMM_WORLD, &e->schedule) != ANTIPHON_OK)
    fail("level 3 needs Antiphon");
  free(parts);
}

static void transmit(struct node* n, struct exchange* e) {
  if (n->method == LIBRARY) {
    MPI_Alltoallv(e->send, e->send_bytes, e->send_at, MPI_BYTE, e->recv, e->recv_bytes, e->recv_at, MPI_BYTE,
                  MPI_COMM_WORLD);
    return;
  }
  if (n->method == POINT_TO_POINT) {
    MPI_Request requests[2 * n->size];
    int count = 0;
    for (int i = 0; i < n->size; ++i) {
      if (e->recv_bytes[i])
        MPI_Irecv(e->recv + e->recv_at[i], e->recv_bytes[i], MPI_BYTE, i, 0, MPI_COMM_WORLD, &requests[count++]);
    }
    for (int i = 0; i < n->size; ++i) {
      if (e->send_bytes[i])
        MPI_Isend(e->send + e->send_at[i], e->send_bytes[i], MPI_BYTE, i, 0, MPI_COMM_WORLD, &requests[count++]);
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    return;
  }
  antiphon_schedule once = NULL;
  if (n->method == LEVEL1) {
    if (antiphon_alltoallv_control1(e->send_bytes, MPI_BYTE, MPI_COMM_WORLD, &once) != ANTIPHON_OK)
      fail("level 1 needs Antiphon");
  } else {
    know_pattern(n, e);
  }
  const int said = antiphon_alltoallv_data_trans2(e->send, e->send_bytes, e->send_at, MPI_BYTE, e->recv, e->recv_bytes,
                                                  e->recv_at, MPI_BYTE, once ? once : e->schedule);
  if (said != ANTIPHON_OK) fail("data transmission failed");
  if (once) antiphon_schedule_free(&once);
}

/* Exchanges the sizes, then the data. The sender's sizes and displacements must be set. */
static void exchange(struct node* n, struct exchange* e) {
  MPI_Alltoall(e->send_bytes, 1, MPI_INT, e->recv_bytes, 1, MPI_INT, MPI_COMM_WORLD);
  size_t end = 0;
  for (int i = 0; i < n->size; ++i) {
    e->recv_at[i] = (int)end;
    end += (size_t)e->recv_bytes[i];
  }
  grow(&e->recv, &e->recv_room, end);
  transmit(n, e);
}

/* ---- the barrier ---- */

static void send_differences_home(struct node* n) {
  struct exchange* e = &n->to_homes;
  grow(&e->send, &e->send_room, (size_t)memory.pages * most_difference_bytes());
  size_t end = 0;
  for (int home = 0; home < n->size; ++home) {
    e->send_at[home] = (int)end;
    for (int page = home; page < memory.pages; page += n->size) {
      if (memory.dirty[page] && home != n->rank) end += write_difference(page, e->send + end);
    }
    e->send_bytes[home] = (int)end - e->send_at[home];
  }
  exchange(n, e);
}

/* Sends the home's present page as a whole, because other nodes need not know its earlier contents. */
static void send_pages_to_all(struct node* n, const unsigned char* changed) {
  struct exchange* e = &n->to_all;
  const size_t item = sizeof(int32_t) + memory.page_bytes;
  grow(&e->send, &e->send_room, (size_t)(memory.pages / n->size + 1) * item);
  size_t end = 0;
  for (int32_t page = n->rank; page < memory.pages; page += n->size) {
    if (!changed[page]) continue;
    memcpy(e->send + end, &page, sizeof page);
    memcpy(e->send + end + sizeof page, memory.base + (size_t)page * memory.page_bytes, memory.page_bytes);
    end += item;
  }
  for (int i = 0; i < n->size; ++i) {
    e->send_at[i] = 0;
    e->send_bytes[i] = i == n->rank ? 0 : (int)end;
  }
  exchange(n, e);
}

static void install_pages(struct node* n) {
  const struct exchange* e = &n->to_all;
  const size_t item = sizeof(int32_t) + memory.page_bytes;
  for (int from = 0; from < n->size; ++from) {
    for (size_t at = 0; at + item <= (size_t)e->recv_bytes[from]; at += item) {
      int32_t page;
      memcpy(&page, e->recv + e->recv_at[from] + at, sizeof page);
      memcpy(memory.base + (size_t)page * memory.page_bytes, e->recv + e->recv_at[from] + at + sizeof page,
             memory.page_bytes);
    }
  }
}

/* Release and acquire at once: what any node wrote before is visible to all after. */
static void dsm_barrier(struct node* n) {
  unsigned char* changed = room((size_t)memory.pages);
  for (int page = n->rank; page < memory.pages; page += n->size) changed[page] = memory.dirty[page];
  send_differences_home(n);
  protect_all(1);
  for (int from = 0; from < n->size; ++from) {
    apply_differences(n->to_homes.recv + n->to_homes.recv_at[from], (size_t)n->to_homes.recv_bytes[from], changed);
  }
  send_pages_to_all(n, changed);
  install_pages(n);
  memset(memory.dirty, 0, (size_t)memory.pages);
  protect_all(0);
  free(changed);
}

/* ---- the program ---- */

/* The value of a word after an iteration: every word has one writer and changes each time. */
static uint32_t word_value(size_t word, int iteration) {
  return (uint32_t)(word * 2654435761u) ^ (uint32_t)(iteration * 40503u + 1);
}

/* Node r writes the pages of its own block. The next node writes the second half of each block's last page, so that
 * two nodes share it. */
static int writer_of(size_t word, int pages_a_node, int size) {
  const size_t words = memory.page_bytes / 4;
  const size_t page = word / words;
  const int owner = (int)(page / (size_t)pages_a_node);
  const int is_last = page % (size_t)pages_a_node == (size_t)pages_a_node - 1;
  return is_last && word % words >= words / 2 ? (owner + 1) % size : owner;
}

static void modify(const struct node* n, int pages_a_node, int iteration) {
  uint32_t* words = (uint32_t*)memory.base;
  const size_t count = (size_t)memory.pages * memory.page_bytes / 4;
  for (size_t i = 0; i < count; ++i) {
    if (writer_of(i, pages_a_node, n->size) == n->rank) words[i] = word_value(i, iteration);
  }
}

static long wrong_words(int iteration) {
  const uint32_t* words = (const uint32_t*)memory.base;
  const size_t count = (size_t)memory.pages * memory.page_bytes / 4;
  long wrong = 0;
  for (size_t i = 0; i < count; ++i) wrong += words[i] != word_value(i, iteration);
  return wrong;
}

static void run(struct node* n, int pages_a_node, int iterations) {
  double barrier_s = 0;
  long wrong = 0;
  for (int i = -1; i < iterations; ++i) { /* the first iteration does not count: it makes schedules and buffers */
    modify(n, pages_a_node, i);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start_s = MPI_Wtime();
    dsm_barrier(n);
    MPI_Barrier(MPI_COMM_WORLD); /* all nodes have the result */
    if (i >= 0) barrier_s += MPI_Wtime() - start_s;
    wrong += wrong_words(i);
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &barrier_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (n->rank == 0) {
    printf("dsm %s: %d nodes, %d pages of %zu B a node, %d iterations\n", method_names[n->method], n->size,
           pages_a_node, memory.page_bytes, iterations);
    printf("time: %.6f s (%.3f ms a barrier)\n", barrier_s, 1e3 * barrier_s / iterations);
    printf("result: %s\n", wrong ? "WRONG" : "verified");
  }
  if (n->to_homes.schedule) antiphon_schedule_free(&n->to_homes.schedule);
  if (n->to_all.schedule) antiphon_schedule_free(&n->to_all.schedule);
  MPI_Finalize();
  exit(wrong ? 1 : 0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  struct node n;
  memset(&n, 0, sizeof n);
  MPI_Comm_rank(MPI_COMM_WORLD, &n.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n.size);
  int method = LEVEL1;
  if (argc > 1) {
    for (method = 0; method < METHODS && strcmp(argv[1], method_names[method]) != 0;) ++method;
  }
  const int pages = argc > 2 ? atoi(argv[2]) : 4;
  const int iterations = argc > 3 ? atoi(argv[3]) : 100;
  if (method == METHODS || pages < 1 || iterations < 1 || n.size < 2) {
    if (n.rank == 0)
      fprintf(stderr,
              "usage: dsm [level1|level2|level3|mpi|point-to-point [PAGES [ITERATIONS]]], on 2 nodes or more\n");
    MPI_Finalize();
    return 2;
  }
  n.method = (enum method)method;
  make_memory(pages * n.size);
  make_exchange(&n.to_homes, n.size);
  make_exchange(&n.to_all, n.size);
  run(&n, pages, iterations);
}
