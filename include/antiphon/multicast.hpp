// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "antiphon/error.hpp"

/// Reliable multicast over UDP, for collectives: one copy on the wire, and every byte arrives (paper 1, section 4.1).
/// Nothing here needs MPI. Members open a group by exchanging plain bytes, which the caller moves by any means:
///
///     auto mine = choose_address(all, index);           // `all`: gathered from local_addresses() of every member
///     Endpoint endpoint = Endpoint::open(mine);         // then gather endpoint.place() of every member
///     auto d = Description::create(places, options);    // on one member, which broadcasts d.pack()
///     Group group(Description::unpack(bytes), index, std::move(endpoint));
///     Ticket t = is_root ? group.send(data) : group.receive(root, data);
///     while (!group.done(t) && !group.failure()) group.progress();
///
/// docs/reference/multicast-packets.md describes the packets, docs/concepts/multicast-transport.md gives the reasons.
namespace antiphon::multicast {

/// Thrown if the network does not offer what is needed (no interface, a refused socket); the text has the system's
/// reason.
class NetworkError : public Error {
 public:
  using Error::Error;
};

/// An address of a host, IPv4 or IPv6. It is plain bytes, so machines of any byte order can exchange it.
struct Address {
  std::uint8_t family = 0;               ///< 4 or 6; 0: none
  std::uint8_t prefix_bits = 0;          ///< of its network; 0 where that does not matter
  std::array<std::uint8_t, 2> port{};    ///< big-endian
  std::array<std::uint8_t, 16> bytes{};  ///< IPv4 uses the first four
  bool operator==(const Address&) const = default;
  [[nodiscard]] std::string text() const;  ///< "10.77.0.3:4321"
};
static_assert(sizeof(Address) == 20);

/// This host's addresses on interfaces that are up and can do multicast, at most `most`. `only`, if not empty, names an
/// interface ("eth0") or a network ("10.77.0.0/16"). The loopback counts only if it is named or the only one.
std::vector<Address> local_addresses(const std::string& only = {}, std::size_t most = 8);

/// Chooses which of this member's addresses the others should use. The system tells its route to each address of each
/// other member (connect on UDP, then getsockname). The address with the most members as neighbours on its network
/// wins, among equal ones that of the lowest network; one that another host has too leads nowhere. `all[i]` is what
/// local_addresses gave on member i. Throws NetworkError if there is no route to any member.
Address choose_address(std::span<const std::vector<Address>> all, int index);

/// How to reach a member, and how much its socket holds. Plain bytes like Address.
struct Place {
  Address address;
  std::array<std::uint8_t, 4> receive_buffer{};  ///< big-endian: SO_RCVBUF in bytes, as the system reports it
  bool operator==(const Place&) const = default;
};
static_assert(sizeof(Place) == 24);

/// A member's own socket. It sends all packets of the member and receives those for it alone.
class Endpoint {
 public:
  /// Binds a free port of `address` and asks for a receive buffer of `receive_buffer_bytes`; the system may grant less.
  static Endpoint open(const Address& address, int receive_buffer_bytes = 4 << 20);
  Endpoint(Endpoint&&) noexcept;
  Endpoint& operator=(Endpoint&&) noexcept;
  ~Endpoint();
  [[nodiscard]] const Place& place() const { return place_; }
  /// Hands the socket over and leaves the object empty.
  int release();

 private:
  Endpoint(int socket, const Place& place) : socket_(socket), place_(place) {}
  int socket_ = -1;
  Place place_;
};

/// How lost packets are detected and repaired.
enum class Strategy : std::uint8_t {
  /// Receivers ask for what they miss. Acknowledgements are gathered along a tree and only move the window on.
  nack = 0,
  /// Paper 1's protocol, for comparison: every receiver acknowledges every packet, and the sender repeats late ones.
  ack = 1,
};

/// What all members of a group have in common. The times are bounds; measured round trips decide within them.
struct Options {
  Strategy strategy = Strategy::nack;
  int packet_bytes = 1472;  ///< UDP payload that fits an Ethernet frame; includes all headers of this protocol
  /// Most packets of one sender that some member has not acknowledged; 0: as the smallest receive buffer allows.
  int window_packets = 0;
  int tree_arity = 4;                       ///< children of a node in the tree that gathers acknowledgements
  std::int64_t rate_bytes_per_s = 0;        ///< limit of a sender's rate; 0: as fast as its window allows
  std::int64_t first_retry_ns = 1'000'000;  ///< before a round trip has been measured
  std::int64_t least_retry_ns = 100'000;
  std::int64_t most_retry_ns = 50'000'000;
  std::int64_t lost_after_ns = 6'000'000'000;  ///< a member that answers nothing for this long is lost
};

/// Everything that the members of a group must know: members in order, group address, port, session and key. Whoever
/// has it can read and forge the group's packets, so send it only over a channel that is trusted with the messages.
struct Description {
  std::vector<Place> members;
  /// Administratively scoped (239.192.0.0/14 or 239.255.0.0/16; ff15::/16), drawn at random together with its port.
  Address group;
  std::uint64_t session = 0;
  std::array<std::uint8_t, 32> key{};
  Options options;

  /// Draws address, port, session and key from the system's random source. Throws InvalidArgument for fewer than 2 or
  /// more than 65534 members, mixed families, or options out of range.
  static Description create(std::span<const Place> members, const Options& options = {});
  [[nodiscard]] std::vector<std::byte> pack() const;
  /// Throws FormatError for bytes that pack() did not write.
  static Description unpack(std::span<const std::byte> bytes);
  /// Throws InvalidArgument if a field is out of range.
  void check() const;
};

/// Errors that a test injects between the socket and the protocol: each is a probability per received packet.
struct Faults {
  std::uint64_t seed = 1;
  double loss = 0, duplicate = 0, corrupt = 0, reorder = 0, delay = 0;
  std::int64_t delay_ns = 1'000'000;  ///< most that a delayed packet is late
  int reorder_depth = 4;              ///< most packets that overtake a reordered one
  [[nodiscard]] bool any() const { return loss > 0 || duplicate > 0 || corrupt > 0 || reorder > 0 || delay > 0; }
};

/// Options that each member sets for itself.
struct LocalOptions {
  /// A thread of the process keeps the group moving (repairs, acknowledgements, signs of life) while the caller
  /// computes or is blocked in another call. Without it, a member that does not call progress() for `lost_after_ns` is
  /// lost.
  bool keeper = true;
  std::int64_t copy_bytes = 256 << 10;  ///< most bytes of sends that are copied and not yet acknowledged by all
  Faults faults;
};

/// The caller's receipt for one message of a group.
struct Ticket {
  std::int32_t sender = -1;
  std::uint32_t sequence = 0;  ///< number of the message among those of its sender, from 0
  bool operator==(const Ticket&) const = default;
};

/// A run of a message's bytes that is wanted, and its destination.
struct Part {
  std::int64_t offset_bytes = 0;  ///< within the message
  std::span<std::byte> buffer;
};

struct SendOptions {
  /// Copies the bytes if there is room (LocalOptions::copy_bytes). The send is then done as soon as they are sent, and
  /// the caller need not wait for the slowest member. Otherwise the bytes must not change until the send is done.
  bool copy = false;
  /// The number of members that send at about the same time; they share the window.
  int concurrent = 1;
  /// Most packets of this sender in transit, for example what a switch's ports can hold; 0: no extra limit.
  int window_packets = 0;
};

/// Why a group can no longer be used. A failure is final.
struct Failure {
  enum class Kind : std::uint8_t {
    member_lost,    ///< `member` has not answered for Options::lost_after_ns, or another member says so
    size_mismatch,  ///< a message of `member` differs in size from what the receiver expects
    network,        ///< the system refused to send or receive
  };
  Kind kind = Kind::network;
  int member = -1;
  std::string text;  ///< what is wrong, where, and a hint
};

/// Counts of what has happened on this member.
struct Statistics {
  std::uint64_t packets_sent = 0, bytes_sent = 0;            ///< all of UDP, including headers
  std::uint64_t packets_received = 0, bytes_received = 0;    ///< with a correct tag
  std::uint64_t data_sent = 0, data_received = 0;            ///< packets with new data
  std::uint64_t repairs_unicast = 0, repairs_multicast = 0;  ///< repeated data packets
  std::uint64_t nacks_sent = 0, nacks_received = 0, nacks_suppressed = 0;
  std::uint64_t acks_sent = 0, acks_received = 0;
  std::uint64_t heartbeats_sent = 0, polls_sent = 0;
  std::uint64_t duplicates = 0;                     ///< data received twice
  std::uint64_t early_held = 0, early_refused = 0;  ///< data that came before its receive was posted
  std::uint64_t forged = 0;                         ///< packets with a wrong tag
  std::uint64_t replayed = 0;                       ///< packets with a correct tag that have come before
  std::uint64_t foreign = 0;                        ///< packets of other groups or other programs
  std::uint64_t malformed = 0;                      ///< packets with a correct tag and invalid contents
  std::uint64_t socket_overflows = 0;  ///< packets that the system dropped for lack of room in a socket, as it reports
  std::uint64_t rejoined = 0;          ///< times the group was joined again because nothing sent to all arrived
  std::uint64_t system_calls = 0;
  std::int64_t round_trip_ns = 0;  ///< smoothed; 0: not measured yet
};

/// What a receiver has seen of a run of raw packets (Group::probe).
struct ProbeCount {
  int sender = -1;
  std::uint32_t run = 0;
  std::uint32_t packets = 0;   ///< as the sender announces
  std::uint32_t received = 0;  ///< without duplicates
  std::int64_t bytes = 0;
  std::int64_t first_ns = 0, last_ns = 0;  ///< by the steady clock of this host
};

/// A member's side of a group. Any thread may call any function; only progress() with patience blocks.
///
/// Messages need no names: the n-th send of a member matches the n-th receive that each other member posts for it. So
/// all members post, for each sender, the same messages in the same order; a member that wants nothing of a message
/// posts it without parts. Several messages of one sender, and several senders, may be in transit at once.
///
/// A member may destroy its group once drained() holds on all members, because until then others may need repairs or
/// acknowledgements from it. The caller must make sure of that, for example by a barrier after drained().
class Group {
 public:
  /// Joins the group. Throws NetworkError or InvalidArgument.
  Group(const Description& description, int index, Endpoint endpoint, const LocalOptions& local = {});
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Sends to all others. The first packets are sent before this returns, and receivers need do nothing first.
  Ticket send(std::span<const std::byte> bytes, const SendOptions& options = {});
  /// Posts the receive of `sender`'s next message into `buffer`, which must have exactly its length.
  Ticket receive(int sender, std::span<std::byte> buffer);
  /// Posts the receive of only `parts` of a message of `message_bytes`. Bytes outside the parts are neither awaited nor
  /// repaired.
  Ticket receive(int sender, std::int64_t message_bytes, std::span<const Part> parts);

  /// Does what there is to do. Returns false if that was nothing; it then waits up to `patience_ns` for a packet.
  bool progress(std::int64_t patience_ns = 0);

  /// A receive is done when all its bytes have come. A send is done when all members have it or it was copied; the
  /// buffer is then the caller's again.
  [[nodiscard]] bool done(const Ticket& ticket) const;
  /// For a receive: the number of bytes from the message's start that have come; unwanted bytes count as present. Once
  /// the receive is done, it is at least the whole length.
  [[nodiscard]] std::int64_t ready_bytes(const Ticket& ticket) const;
  /// Tells whether all members have acknowledged all that this one sent, and all that it posted has come.
  [[nodiscard]] bool drained() const;
  /// A number that changes whenever something may have completed. Unlike done(), it does no work.
  [[nodiscard]] std::uint64_t changes() const;
  /// Set once the group can no longer be used. Nothing more happens then, and done() has no meaning.
  [[nodiscard]] std::optional<Failure> failure() const;

  [[nodiscard]] int index() const;
  [[nodiscard]] int size() const;
  /// The window in packets.
  [[nodiscard]] int window_packets() const;
  /// The bytes of a message that one packet carries.
  [[nodiscard]] int payload_bytes() const;
  [[nodiscard]] Statistics statistics() const;

  /// Sends `packets` raw packets of `packet_bytes` (UDP payload) to all, unrepaired, at `rate_bytes_per_s` at most (0:
  /// no limit); progress() does the sending. This shows whether multicast gets through, how fast, and with what loss.
  /// `run` distinguishes runs, of which several may be under way.
  void probe(std::uint32_t run, std::uint32_t packets, int packet_bytes, std::int64_t rate_bytes_per_s = 0);
  [[nodiscard]] bool probe_sent() const;
  [[nodiscard]] std::vector<ProbeCount> probed(std::uint32_t run) const;

 private:
  class Implementation;
  std::shared_ptr<Implementation> implementation_;
};

}  // namespace antiphon::multicast
