/* SPDX-License-Identifier: Apache-2.0 */
/* Repair in the reliable multicast (docs/concepts/multicast-transport.md): a sender, and RECEIVERS receivers in a chain, which is the
 * tree of acknowledgements in its deepest form: receiver 0 tells the sender how far it and all behind it are.
 *
 * Any packet to any receiver, any acknowledgement, any request may be lost, LOSSES in all. Timers run out only when nothing else
 * can happen (spin's `timeout`): a timer that runs out too early sends something twice, which DUPLICATES models.
 *
 * Checked: the sender gives a packet up only when all have it; it always comes to its end; heartbeats and repeated requests are bounded
 * by what was lost, so nothing goes on for ever.
 */
#ifndef RECEIVERS
#define RECEIVERS 2
#endif
#ifndef PACKETS
#define PACKETS 3
#endif
#ifndef WINDOW
#define WINDOW 2
#endif
#ifndef LOSSES
#define LOSSES 2
#endif
#ifndef DUPLICATES
#define DUPLICATES 1
#endif
#define ROOM 8

mtype = { DATA, LAST, BEAT };  /* LAST: data that asks for an acknowledgement */

chan down[RECEIVERS] = [ROOM] of { mtype, byte };  /* to each receiver: packets, and how far the sender is */
chan asked = [ROOM] of { byte, byte };             /* to the sender: who misses what */
chan up[RECEIVERS] = [ROOM] of { byte };           /* up[r]: from receiver r to what is before it */

byte first[RECEIVERS];  /* all packets before this one are there */
byte lost = 0, twice = 0, beats = 0;
bool done = false;

/* Into the channel, or lost, or both twice; a full channel is a socket that overflows, which is a loss within the budget too. */
#define SEND(channel, what) \
  if \
  :: nfull(channel) -> channel ! what \
  :: lost < LOSSES -> lost++ \
  :: twice < DUPLICATES && len(channel) < ROOM - 1 -> twice++; channel ! what; channel ! what \
  fi

proctype Sender() {
  byte base = 0, sent = 0, r, upto, who, which;
  mtype kind;
  do
  :: base == PACKETS -> break
  :: atomic { sent < PACKETS && sent - base < WINDOW ->
       kind = DATA;
       if
       :: sent + 1 == PACKETS || sent + 1 - base == WINDOW -> kind = LAST
       :: else -> skip
       fi;
       r = 0;
       do
       :: r < RECEIVERS -> SEND(down[r], kind(sent)); r++
       :: else -> break
       od;
       sent++ }
  :: atomic { up[0] ? upto ->
       if
       :: upto > base -> base = upto
       :: else -> skip
       fi;
       r = 0;
       do
       :: r < RECEIVERS -> assert(first[r] >= base); r++
       :: else -> break
       od }
  :: atomic { asked ? who, which ->
       if
       :: which >= base && which < sent -> SEND(down[who], DATA(which))
       :: else -> skip
       fi }
#ifndef NO_HEARTBEAT
  :: atomic { timeout && base < sent ->
       beats++;
       assert(beats <= LOSSES + 1);
       r = 0;
       do
       :: r < RECEIVERS -> SEND(down[r], BEAT(sent)); r++
       :: else -> break
       od }
#endif
  od;
  done = true
}

#ifdef HASTY
#define ALL_BEHIND first[me]
#else
#define ALL_BEHIND (behind < first[me] -> behind : first[me])
#endif

proctype Receiver(byte me) {
  bool have[PACKETS];
  byte seen = 0, behind = 0, wanted = 0, told = 0, value, k, asked_upto = 0;
  bool now = false;
  if
  :: me == RECEIVERS - 1 -> behind = PACKETS
  :: else -> skip
  fi;
end:
  do
  :: atomic { down[me] ? DATA(value) -> goto take }
  :: atomic { down[me] ? LAST(value) ->
       if
       :: value + 1 > wanted -> wanted = value + 1
       :: else -> skip
       fi;
       goto take }
  :: atomic { down[me] ? BEAT(value) ->
       seen = (value > seen -> value : seen);
       wanted = (value > wanted -> value : wanted);
       now = true;
       asked_upto = first[me]  /* what was asked for and has not come by now is asked for again */
     }
  :: atomic { me < RECEIVERS - 1 && nempty(up[(me + 1) % RECEIVERS]) ->
       up[(me + 1) % RECEIVERS] ? value;
       behind = (value > behind -> value : behind) }
  /* An acknowledgement: when asked, and when all that is asked for is there. */
  :: atomic { now || (ALL_BEHIND >= wanted && wanted > told) ->
       now = false;
       told = (ALL_BEHIND > told -> ALL_BEHIND : told);
       SEND(up[me], ALL_BEHIND) }
  /* A packet that is missing, asked for once; again when a heartbeat comes. */
  :: atomic { asked_upto < seen ->
       if
       :: !have[asked_upto] -> SEND(asked, me(asked_upto))
       :: else -> skip
       fi;
       asked_upto++ }
  od;

take:
  atomic {
    have[value] = true;
    seen = (value + 1 > seen -> value + 1 : seen);
    do
    :: first[me] < PACKETS && have[first[me]] -> first[me]++
    :: else -> break
    od;
    goto end
  }
}

init {
  byte k = 0;
  atomic {
    do
    :: k < RECEIVERS -> run Receiver(k); k++
    :: else -> break
    od;
    run Sender()
  }
  /* A deadlock anywhere leaves this waiting, which is an invalid end. */
  done;
  k = 0;
  do
  :: k < RECEIVERS -> assert(first[k] == PACKETS); k++
  :: else -> break
  od
}
