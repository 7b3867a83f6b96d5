/* SPDX-License-Identifier: Apache-2.0 */
/* The credit protocol of Alltoallv: receivers grant pieces, senders serve any grant they hold (docs/concepts/credit.md).
 *
 * N ranks make CALLS calls one after the other; no barrier lies between. How many pieces each has for each other is chosen freely
 * (0 … MOST), call by call, and only its two ends know it. Ranks grant, serve and take in in any order. Channels are unbounded
 * enough never to block: MPI buffers grants, and data are sent only to posted receives.
 *
 * PATIENCE: in each call each rank may keep in step at first. Then it grants a whole message at once, one after the other in an order of
 * its own, and serves in an order of its own; at any time it may lose its patience.
 *
 * Checked: no state in which somebody waits for ever (invalid end states), never more than WINDOW pieces under way to one rank
 * in one call, nobody sends what was not granted, and everything arrives exactly once.
 */
#ifndef N
#define N 3
#endif
#ifndef MOST
#define MOST 2
#endif
#ifndef WINDOW
#define WINDOW 2
#endif
#ifndef CALLS
#define CALLS 2
#endif

/* One run checks the patterns of one slice of so many, to need less memory. */
#ifndef SLICES
#define SLICES 1
#endif
#ifndef SLICE
#define SLICE 0
#endif

#define AT(a, b) ((a) * N + (b))
#define ROOM (CALLS * MOST)

/* pieces[call * N * N + AT(from, to)] */
byte pieces[CALLS * N * N];
/* grants[AT(receiver, sender)], data[AT(sender, receiver)]: in the order in which they were sent, as MPI keeps it */
chan grants[N * N] = [ROOM] of { byte }; /* pieces granted */
chan data[N * N] = [ROOM] of { byte };  /* the call that a piece belongs to */
byte at_end = 0;

/* STUBBORN: what goes wrong when both sides insist on an order of their own for ever, to see that the checks can fail. Senders serve
 * the next rank first, receivers grant the next rank first: a circle. */
#define NEXT ((me + 1) % N)
#define SERVES(i) (!in_step || (i) == NEXT || (held[NEXT] == 0 && to_get_granted[NEXT] == 0))
#define GRANTS(i) (!in_step || (under_way == 0 && ((i) == NEXT || to_take[NEXT] == 0)))
#ifdef PATIENCE
#define GRANTED(i) (in_step -> to_grant[i] : 1)
#else
#define GRANTED(i) 1
#endif

/* What a rank can do with peer i. The receiver grants a piece to any sender that has one left, while its window has room; the
 * sender takes a grant in, only as many as this call has pieces for that receiver; it serves any grant that it holds; the
 * receiver takes a piece in. */
#define STEPS(i) \
  :: atomic { to_grant[i] > 0 && under_way < WINDOW && GRANTS(i) -> \
       of_grant = GRANTED(i); \
       to_grant[i] = to_grant[i] - of_grant; \
       under_way = under_way + of_grant; \
       assert(in_step || under_way <= WINDOW); \
       grants[AT(me, i)] ! of_grant } \
  :: atomic { to_get_granted[i] > 0 && nempty(grants[AT(i, me)]) -> \
       grants[AT(i, me)] ? of_grant; \
       to_get_granted[i] = to_get_granted[i] - of_grant; \
       held[i] = held[i] + of_grant } \
  :: atomic { held[i] > 0 && SERVES(i) -> \
       held[i]--; \
       open--; \
       data[AT(me, i)] ! call } \
  :: atomic { to_take[i] > 0 && nempty(data[AT(i, me)]) -> \
       data[AT(i, me)] ? of_call; \
       assert(of_call == call); \
       to_take[i]--; \
       open--; \
       under_way-- }

proctype Rank(byte me) {
  byte to_grant[N], to_take[N], to_get_granted[N], held[N];
  byte call = 0, open = 0, i, of_call, of_grant;
  byte under_way = 0;  /* to this rank: granted and not yet received */
#ifdef STUBBORN
  bool in_step = true;
#else
  bool in_step = false;
#endif

  do
  :: call < CALLS ->
    d_step {
      open = 0;
      i = 0;
      do
      :: i < N ->
        to_grant[i] = pieces[call * N * N + AT(i, me)];
        to_take[i] = to_grant[i];
        to_get_granted[i] = pieces[call * N * N + AT(me, i)];
        open = open + to_take[i] + to_get_granted[i];
        held[i] = 0;
        i++
      :: else -> break
      od;
      i = 0
    }
#ifdef PATIENCE
    if
    :: in_step = true
    :: in_step = false
    fi;
#endif
    /* Any step that is possible, with any peer: neither the order of grants nor that of sends is fixed. Who can do nothing
     * waits here; if all do, that is a deadlock. */
    do
    :: open == 0 -> break
#ifdef PATIENCE
    :: in_step -> in_step = false
#endif
    STEPS(0)
    STEPS(1)
#if N > 2
    STEPS(2)
#endif
#if N > 3
    STEPS(3)
#endif
    od;
    call++
  :: else -> break
  od;
  at_end++
}

/* Digit k of a pattern's number, when counting of the ranks begins at rank `first`. */
#define DIGIT(k, first) pieces[(k) / (N * N) * (N * N) + AT(((k) % (N * N) / N + (first)) % N, ((k) % N + (first)) % N)]

init {
  byte k = 0, first = 0;
  int number[N];
  do
  :: k < CALLS * N * N ->
    if
    :: (k % (N * N)) / N == (k % N) -> pieces[k] = 0
    :: else ->
      if
      :: pieces[k] = 0
      :: pieces[k] = 1
#if MOST > 1
      :: pieces[k] = 2
#endif
      fi
    fi;
    k++
  :: else -> break
  od;
  first = 0;
  d_step {
    do
    :: first < N ->
      k = 0;
      do
      :: k < CALLS * N * N -> number[first] = number[first] * (MOST + 1) + DIGIT(k, first); k++
      :: else -> break
      od;
      first++
    :: else -> break
    od
  }
  /* Ranks are alike but for who comes after whom: of patterns that differ in where counting begins, one is enough. */
  if
  :: number[0] <= number[1] && number[0] <= number[N - 1] && number[0] % SLICES == SLICE -> skip
  :: else -> goto done
  fi;
  first = 0;
  d_step {
    do
    :: first < N -> number[first] = 0; first++
    :: else -> break
    od
  }
  atomic {
    k = 0;
    do
    :: k < N -> run Rank(k); k++
    :: else -> break
    od
  }
  /* All come to their end, and nothing is left over. */
  at_end == N;
  k = 0;
  do
  :: k < N * N -> assert(empty(grants[k]) && empty(data[k])); k++
  :: else -> break
  od;
done:
  skip
}
