// SPDX-License-Identifier: Apache-2.0
// Replays traces of ranks in ns-3, packet by packet: TCP between hosts, switches whose ports have finite buffers.
// `antiphon simulate --simulator ns3` compiles this file against an installed ns-3, and writes what it reads:
//   set NAME VALUE                 send_s receive_s eager_bytes delay_s rate_bps buffer_bytes rounds
//   switch PARENT RATE_BPS BUFFER  −1: the top
//   node SWITCH                    one for each rank
//   RANK isend|irecv PEER TAG BYTES, RANK wait FROM TO TAG, RANK compute NANOSECONDS
// It prints the seconds of each round. Of several, the first finds connections cold.
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <deque>
#include <iostream>
#include <map>
#include <sstream>
#include <tuple>

using namespace ns3;

namespace {

/// PPP's frames have 12 bytes less of headers than Ethernet's, so links are as much slower.
constexpr double frame_share = 1502.0 / 1514.0;
constexpr std::uint32_t envelope_bytes = 32;
constexpr std::uint16_t first_port = 5000;
constexpr double connected_s = 2;

struct Settings {
  double send_s = 0, receive_s = 0, delay_s = 0, rate_bps = 1e8;
  std::uint64_t eager_bytes = 65536, buffer_bytes = 131072, rounds = 3;
} settings;

struct Message {
  std::uint64_t bytes = 0;
  bool posted = false, announced = false, sent = false, arrived = false;
};
using Key = std::tuple<int, int, int>;  ///< from, to, tag

struct Action {
  std::string kind;
  Key key;
  std::uint64_t amount = 0;  ///< bytes, or nanoseconds
};

enum class Part { whole, announcement, answer };

/// What travels on a stream of bytes: envelopes, with or without their message.
struct Item {
  Part part;
  Key key;
  std::uint64_t left;
};

class Replay {
 public:
  void read(std::istream& in);
  void build();
  void run();

 private:
  struct Stream {
    Ptr<Socket> socket;
    std::deque<Item> writing, reading;  ///< the second at the other end
  };
  struct Rank {
    std::vector<Action> actions;
    std::size_t next = 0;
    bool waits = false;
  };

  void add_action(int rank, std::istringstream& words);
  void link(Ptr<Node> below, Ptr<Node> above, double rate_bps, std::uint64_t buffer);
  void connect(int from, int to);
  void begin();
  void step(int rank);
  void end_wait(int rank, const Key& key);
  void hand_over(const Key& key);
  void put(int from, int to, const Item& item);
  void write(int from, int to);
  void take(int from, int to, Ptr<Socket> socket);
  void deliver(const Item& item);
  void wake(int rank);

  std::vector<std::tuple<int, double, std::uint64_t>> switches_;
  std::vector<int> switch_of_;
  NodeContainer hosts_, routers_;
  std::vector<Ipv4Address> address_;
  std::map<std::pair<int, int>, Stream> streams_;  ///< by sender and receiver
  std::map<Key, Message> messages_;
  std::vector<Rank> ranks_;
  std::size_t done_ = 0;
  std::uint64_t round_ = 0;
  double began_s_ = 0;
};

void set(const std::string& name, double value) {
  const std::map<std::string, double*> reals{{"send_s", &settings.send_s},
                                             {"receive_s", &settings.receive_s},
                                             {"delay_s", &settings.delay_s},
                                             {"rate_bps", &settings.rate_bps}};
  const std::map<std::string, std::uint64_t*> whole{
      {"eager_bytes", &settings.eager_bytes}, {"buffer_bytes", &settings.buffer_bytes}, {"rounds", &settings.rounds}};
  if (reals.count(name)) *reals.at(name) = value;
  if (whole.count(name)) *whole.at(name) = static_cast<std::uint64_t>(value);
}

void Replay::read(std::istream& in) {
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string first, name;
    words >> first;
    if (first == "set") {
      double value = 0;
      words >> name >> value;
      set(name, value);
    } else if (first == "switch") {
      int parent = 0;
      double rate = 0;
      std::uint64_t buffer = 0;
      words >> parent >> rate >> buffer;
      switches_.emplace_back(parent, rate, buffer);
    } else if (first == "node") {
      switch_of_.emplace_back();
      words >> switch_of_.back();
    } else if (!first.empty()) {
      add_action(std::stoi(first), words);
    }
  }
}

void Replay::add_action(int rank, std::istringstream& words) {
  ranks_.resize(std::max(ranks_.size(), static_cast<std::size_t>(rank) + 1));
  Action action;
  int a = 0, b = 0, c = 0;
  words >> action.kind >> a >> b >> c;
  if (action.kind == "isend" || action.kind == "irecv") {
    action.key = action.kind == "isend" ? Key{rank, a, b} : Key{a, rank, b};
    action.amount = messages_[action.key].bytes = static_cast<std::uint64_t>(c);
  } else if (action.kind == "wait") {
    action.key = {a, b, c};
  } else if (action.kind == "compute") {
    action.amount = static_cast<std::uint64_t>(a);
  } else {
    return;
  }
  ranks_[static_cast<std::size_t>(rank)].actions.push_back(action);
}

void Replay::link(Ptr<Node> below, Ptr<Node> above, double rate_bps, std::uint64_t buffer) {
  static Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
  PointToPointHelper cable;
  cable.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<std::uint64_t>(rate_bps * frame_share))));
  cable.SetChannelAttribute("Delay", TimeValue(Seconds(settings.delay_s / 2)));
  const NetDeviceContainer ends = cable.Install(below, above);
  // A host has a long queue of its own, a switch's port a short one.
  const bool host = below->GetId() < hosts_.GetN();
  const std::uint64_t held[2] = {host ? std::uint64_t{2} << 20 : buffer, buffer};
  for (std::uint32_t i = 0; i < 2; ++i) {
    DynamicCast<PointToPointNetDevice>(ends.Get(i))
        ->GetQueue()
        ->SetMaxSize(QueueSize(QueueSizeUnit::BYTES, static_cast<std::uint32_t>(held[i])));
  }
  const Ipv4InterfaceContainer interfaces = addresses.Assign(ends);
  addresses.NewNetwork();
  TrafficControlHelper().Uninstall(ends);
  if (host) address_.push_back(interfaces.GetAddress(0));
}

void Replay::build() {
  hosts_.Create(static_cast<std::uint32_t>(ranks_.size()));
  routers_.Create(static_cast<std::uint32_t>(switches_.size()));
  InternetStackHelper internet;
  internet.Install(hosts_);
  internet.Install(routers_);
  for (std::uint32_t host = 0; host < hosts_.GetN(); ++host) {
    link(hosts_.Get(host), routers_.Get(static_cast<std::uint32_t>(switch_of_[host])), settings.rate_bps,
         settings.buffer_bytes);
  }
  for (std::uint32_t i = 0; i < switches_.size(); ++i) {
    const auto& [parent, rate, buffer] = switches_[i];
    if (parent >= 0) link(routers_.Get(i), routers_.Get(static_cast<std::uint32_t>(parent)), rate, buffer);
  }
  Ipv4GlobalRoutingHelper::PopulateRoutingTables();
  std::map<std::pair<int, int>, bool> pairs;
  for (const auto& [key, message] : messages_) pairs[std::minmax(std::get<0>(key), std::get<1>(key))] = true;
  for (const auto& [pair, used] : pairs) connect(pair.first, pair.second);
}

/// One connection for both directions, as MPI libraries have it.
void Replay::connect(int from, int to) {
  const auto port = static_cast<std::uint16_t>(first_port + from);
  const Ptr<Socket> listener =
      Socket::CreateSocket(hosts_.Get(static_cast<std::uint32_t>(to)), TcpSocketFactory::GetTypeId());
  listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
  listener->Listen();
  const auto serve = [this](int own, int other, Ptr<Socket> socket) {
    streams_[{own, other}].socket = socket;
    socket->SetRecvCallback(Callback<void, Ptr<Socket>>([this, own, other](Ptr<Socket> s) { take(other, own, s); }));
    socket->SetSendCallback(Callback<void, Ptr<Socket>, std::uint32_t>(
        [this, own, other](Ptr<Socket>, std::uint32_t) { write(own, other); }));
  };
  listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                              Callback<void, Ptr<Socket>, const Address&>(
                                  [serve, from, to](Ptr<Socket> socket, const Address&) { serve(to, from, socket); }));
  const Ptr<Socket> socket =
      Socket::CreateSocket(hosts_.Get(static_cast<std::uint32_t>(from)), TcpSocketFactory::GetTypeId());
  serve(from, to, socket);
  Simulator::Schedule(Seconds(0.1), [this, socket, to, port] {
    socket->Connect(InetSocketAddress(address_[static_cast<std::size_t>(to)], port));
  });
}

void Replay::begin() {
  began_s_ = Simulator::Now().GetSeconds();
  done_ = 0;
  for (auto& [key, message] : messages_) message = {message.bytes};
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    ranks_[r].next = 0;
    Simulator::ScheduleNow([this, r] { step(static_cast<int>(r)); });
  }
}

/// Goes on with a rank's actions until one of them takes time.
void Replay::step(int rank) {
  Rank& own = ranks_[static_cast<std::size_t>(rank)];
  own.waits = false;
  while (own.next < own.actions.size()) {
    const Action& action = own.actions[own.next];
    Message& message = messages_[action.key];
    if (action.kind == "irecv") {
      message.posted = true;
      if (message.announced) put(rank, std::get<0>(action.key), {Part::answer, action.key, envelope_bytes});
      ++own.next;
    } else if (action.kind == "isend") {
      ++own.next;
      Simulator::Schedule(Seconds(settings.send_s), [this, rank, key = action.key] {
        hand_over(key);
        step(rank);
      });
      return;
    } else if (action.kind == "compute") {
      ++own.next;
      Simulator::Schedule(NanoSeconds(action.amount), [this, rank] { step(rank); });
      return;
    } else {
      const bool receives = std::get<1>(action.key) == rank;
      if (!(receives ? message.arrived : message.sent)) {
        own.waits = true;
        return;
      }
      ++own.next;
      if (!receives) continue;
      Simulator::Schedule(Seconds(settings.receive_s), [this, rank] { step(rank); });
      return;
    }
  }
  if (++done_ < ranks_.size()) return;
  std::cout << Simulator::Now().GetSeconds() - began_s_ << std::endl;
  if (++round_ == settings.rounds) Simulator::Stop();
  else Simulator::Schedule(Seconds(0.01), [this] { begin(); });
}

void Replay::hand_over(const Key& key) {
  Message& message = messages_[key];
  const auto [from, to, tag] = key;
  if (message.bytes > settings.eager_bytes) return put(from, to, {Part::announcement, key, envelope_bytes});
  message.sent = true;
  put(from, to, {Part::whole, key, envelope_bytes + message.bytes});
}

void Replay::put(int from, int to, const Item& item) {
  Stream& stream = streams_[{from, to}];
  stream.writing.push_back(item);
  stream.reading.push_back(item);
  write(from, to);
}

/// Writes as much as the socket's buffer takes.
void Replay::write(int from, int to) {
  Stream& stream = streams_[{from, to}];
  while (!stream.writing.empty()) {
    Item& item = stream.writing.front();
    const auto space = static_cast<std::uint64_t>(stream.socket->GetTxAvailable());
    const auto bytes = static_cast<std::uint32_t>(std::min({space, item.left, std::uint64_t{65536}}));
    if (bytes == 0 || stream.socket->Send(Create<Packet>(bytes)) < 0) return;
    item.left -= bytes;
    if (item.left > 0) continue;
    const Item written = item;
    stream.writing.pop_front();
    if (written.part != Part::whole) continue;
    messages_[written.key].sent = true;
    wake(from);
  }
}

/// Takes what has come from one rank to another.
void Replay::take(int from, int to, Ptr<Socket> socket) {
  Stream& stream = streams_[{from, to}];
  while (const Ptr<Packet> packet = socket->Recv()) {
    std::uint64_t bytes = packet->GetSize();
    if (bytes == 0) return;
    while (bytes > 0) {
      Item& item = stream.reading.front();
      const std::uint64_t part = std::min(bytes, item.left);
      item.left -= part;
      bytes -= part;
      if (item.left > 0) continue;
      const Item came = item;
      stream.reading.pop_front();
      deliver(came);
    }
  }
}

void Replay::deliver(const Item& item) {
  Message& message = messages_[item.key];
  const auto [from, to, tag] = item.key;
  if (item.part == Part::whole) {
    message.arrived = true;
    wake(to);
  } else if (item.part == Part::announcement) {
    message.announced = true;
    if (message.posted) put(to, from, {Part::answer, item.key, envelope_bytes});
  } else {
    put(from, to, {Part::whole, item.key, envelope_bytes + message.bytes});
  }
}

void Replay::wake(int rank) {
  if (!ranks_[static_cast<std::size_t>(rank)].waits) return;
  ranks_[static_cast<std::size_t>(rank)].waits = false;
  Simulator::ScheduleNow([this, rank] { step(rank); });
}

void Replay::run() {
  Simulator::Schedule(Seconds(connected_s), [this] { begin(); });
  Simulator::Run();
}

}  // namespace

int main() {
  Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(640 << 10));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));
  Config::SetDefault("ns3::TcpSocket::TcpNoDelay", BooleanValue(true));
  Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
  // As in Linux. By ns-3's own 200 ms, a sender that may send one packet meets its timeout again and again.
  Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
  Replay replay;
  replay.read(std::cin);
  replay.build();
  replay.run();
  return 0;
}
