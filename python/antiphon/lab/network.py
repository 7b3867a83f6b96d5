# SPDX-License-Identifier: Apache-2.0
"""Describes the network of a lab as input for `ip -batch`, `bridge` and `tc -batch`: not hundreds of processes."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Collection
from pathlib import Path

from antiphon.errors import AntiphonError
from antiphon.lab import kernel
from antiphon.lab.spec import ClusterSpec, Loss, Uplink

SUBNET = "10.77.0"
PORT_MTU = 1500
_LONGEST_PACKET_BYTES = 65536
#: The kernel holds so many packets of a cable whose packets a process carries, until that takes them.
_TAP_PACKETS = 10000
MODULES_HINT = "the kernel needs these modules; as root: modprobe -a veth bridge sch_tbf"
CONTAINER_HINT = (
    "in a container, start it with --privileged, or with --cap-add SYS_ADMIN --cap-add NET_ADMIN "
    "--security-opt apparmor=unconfined and a seccomp profile that allows unshare"
)
_TOOLS = {"ip": "iproute2", "tc": "iproute2"}
_SEARCH_PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/bin:/bin"


def address(number: int) -> str:
    return f"{SUBNET}.{number}"


def mac(number: int) -> str:
    """Returns a hardware address that is locally administered, and the same in every lab."""
    return f"02:00:0a:4d:00:{number:02x}"


def port(number: int) -> str:
    """Returns the name of the switch's end of the cable to a node."""
    return f"port{number:02d}"


def far_end(number: int) -> str:
    """Returns the name of a node's end of its cable until the node has it, where it is not made there."""
    return f"far{number:02d}"


def bridge(switch_name: str) -> str:
    return f"sw-{switch_name}"


def find_tool(name: str, package: str | None = None) -> str:
    path = shutil.which(name, path=_SEARCH_PATH)
    if path is None:
        package = package or _TOOLS.get(name, name)
        raise AntiphonError(
            f"the program `{name}` is not installed", hint=f"install {package}, for example: apt install {package}"
        )
    return path


def check_tools(spec: ClusterSpec) -> None:
    """Say what is missing before anything is made."""
    for name in _TOOLS:
        find_tool(name)
    if spec.loss:
        find_tool("nft", "nftables")


def run_batch(tool: str, lines: list[str]) -> None:
    """Give lines to `ip -batch -` or `tc -batch -`; the first line that fails is an error."""
    result = subprocess.run(
        [find_tool(tool), "-batch", "-"], input="\n".join(lines) + "\n", text=True, capture_output=True, check=False
    )
    if result.returncode != 0 or result.stderr.strip():
        raise AntiphonError(
            f"{tool} refused to set up the network: {_explain(result.stderr, lines)}",
            hint=CONTAINER_HINT if "not permitted" in result.stderr else MODULES_HINT,
        )


def _explain(stderr: str, lines: list[str]) -> str:
    text = " ".join(stderr.split())
    if "Command failed -:" in text:
        number = text.rpartition("Command failed -:")[2].split()[0]
        if number.isdigit() and 0 < int(number) <= len(lines):
            return f"{text} ({lines[int(number) - 1]})"
    return text or "no reason given"


def switch_links(spec: ClusterSpec, namespaces: list[str], made: Collection[str] = ()) -> list[str]:
    """Make bridges, uplinks, and a cable to each node, whose far end is in that node's namespace, given by a path.

    `made` names the ends of cables that exist already.
    """
    lines = ["link set lo up"]
    for index, switch in enumerate(spec.switches):
        name = bridge(switch.name)
        # IGMPv3 is needed: a version 2 report that a bridge floods in its first seconds keeps other members from
        # reporting themselves, and the switch never learns of them.
        lines.append(
            f"link add {name} address 02:00:0a:4d:ff:{index + 1:02x} type bridge mcast_snooping 1 mcast_querier 1"
            " mcast_igmp_version 3 mcast_mld_version 2"
        )
        lines.append(f"link set {name} up")
    for index, uplink in enumerate(spec.uplinks):
        left, right = uplink_ports(index)
        if left in made:
            lines += [f"link set {end} mtu {PORT_MTU} txqueuelen {_TAP_PACKETS}" for end in (left, right)]
        else:
            lines.append(f"link add {left} mtu {PORT_MTU} type veth peer name {right} mtu {PORT_MTU}")
        for end, switch_name in zip((left, right), uplink.between, strict=True):
            lines.append(f"link set {end} master {bridge(switch_name)} up")
            # Membership reports travel towards routers only, so without this a switch would not learn of members behind
            # it.
            lines.append(f"link set {end} type bridge_slave mcast_router 2")
    for number, namespace in enumerate(namespaces, start=1):
        if port(number) in made:
            lines.append(f"link set {port(number)} txqueuelen {_TAP_PACKETS}")
            lines.append(f"link set {far_end(number)} txqueuelen {_TAP_PACKETS}")
            lines.append(f"link set {far_end(number)} netns {namespace} name eth0 address {mac(number)}")
        else:
            lines.append(f"link add {port(number)} type veth peer name eth0 address {mac(number)} netns {namespace}")
        lines.append(f"link set {port(number)} master {bridge(spec.switches[spec.switch_of(number)].name)} up")
    return lines


def uplink_ports(index: int) -> tuple[str, str]:
    return f"up{index}a", f"up{index}b"


def switch_shaping(spec: ClusterSpec, made: Collection[str] = ()) -> list[str]:
    """Set the output buffer of each switch port, which is the cause of incast. The ports of `made` have theirs."""
    lines = [
        _tbf(port(number), spec.rate_bits_per_s, spec.burst_bytes, spec.port_buffer_bytes)
        for number in range(1, spec.nodes + 1)
        if port(number) not in made
    ]
    for index, uplink in enumerate(spec.uplinks):
        lines += [
            _tbf(end, uplink.rate_bits_per_s, uplink_burst(spec, uplink), uplink.buffer_bytes)
            for end in uplink_ports(index)
            if end not in made
        ]
    return lines


def uplink_burst(spec: ClusterSpec, uplink: Uplink) -> int:
    """Returns a burst of as much time as a node's burst, so that a faster uplink reaches its rate."""
    return max(spec.burst_bytes, spec.burst_bytes * uplink.rate_bits_per_s // spec.rate_bits_per_s)


def _tbf(interface: str, rate_bits_per_s: int, burst_bytes: int, limit_bytes: int) -> str:
    return f"qdisc add dev {interface} root tbf rate {rate_bits_per_s}bit burst {burst_bytes} limit {limit_bytes}"


def node_links(spec: ClusterSpec, number: int, congestion_control: str) -> list[str]:
    """Run inside a node: address, routes, and the neighbours' hardware addresses.

    The route names the congestion control: a namespace may not choose one that the machine's administrator has not
    allowed, but a route of its own may, so no setting of the host changes. Neighbours are fixed because the kernel's
    table of learned ones is shared by all namespaces and overflows at about 30 nodes.
    """
    net = f"{SUBNET}.0/24"
    lines = [
        "link set lo up",
        f"addr add {address(number)}/24 broadcast {SUBNET}.255 dev eth0",
        "link set eth0 up",
        f"route replace {net} dev eth0 proto kernel scope link src {address(number)} congctl {congestion_control}"
        + (" features ecn" if spec.ecn_bytes else ""),
        "route add 224.0.0.0/4 dev eth0",
    ]
    # The link cuts packets that are longer than its burst into frames, which takes as long as sending frames. A queue
    # that holds only one packet drops the next.
    longest_bytes = min(spec.burst_bytes, spec.smallest_buffer_bytes // 2)
    if spec.offloads and longest_bytes < _LONGEST_PACKET_BYTES:
        lines.append(f"link set eth0 gso_max_size {longest_bytes * 9 // 10}")
    lines += [
        f"neigh replace {address(other)} lladdr {mac(other)} dev eth0 nud permanent"
        for other in range(1, spec.nodes + 1)
        if other != number
    ]
    return lines


def node_shaping(spec: ClusterSpec) -> list[str]:
    """Shape a node's own end: the same rate, with a queue as deep as a network card's and the kernel's above it."""
    return [_tbf("eth0", spec.rate_bits_per_s, spec.burst_bytes, spec.node_buffer_bytes)]


def apply_loss(loss: Loss) -> None:
    """Run inside a node: drop a share of what arrives by a firewall rule, because there may be no netem."""
    protocols = "{ tcp, udp }" if loss.protocol == "both" else loss.protocol
    rules = f"""
table inet antiphon {{
  chain loss {{
    type filter hook input priority 0; policy accept;
    iifname "eth0" meta l4proto {protocols} numgen random mod 100000 < {round(loss.percent * 1000)} counter drop
  }}
}}
"""
    result = subprocess.run(
        [find_tool("nft", "nftables"), "-f", "-"], input=rules, text=True, capture_output=True, check=False
    )
    if result.returncode != 0:
        raise AntiphonError(
            f"nft refused the loss rule: {' '.join(result.stderr.split())}",
            hint="the kernel needs nf_tables with nft_numgen; without root these modules must be loaded already",
        )


def choose_congestion_control(marks: bool = False) -> str:
    """Choose cubic, as on the emulated clusters; never bbr, which paces and hides what a switch's buffer does.

    Where switches mark packets it is dctcp, if the kernel has it: cubic takes a mark for a loss.
    """
    try:
        available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="ascii").split()
    except OSError:
        return "reno"
    for name in ["dctcp"] * marks + ["cubic"]:
        if name in available or _loads(name):
            return name
    return "reno"


def _loads(congestion_control: str) -> bool:
    """A route that names it loads its module where that is allowed; this tries it on the namespace's loopback."""
    ip, route = find_tool("ip"), [f"{SUBNET}.254/32", "dev", "lo"]
    subprocess.run([ip, "link", "set", "lo", "up"], capture_output=True, check=False)
    probe = [ip, "route", "add", *route, "congctl", congestion_control]
    if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        return False
    subprocess.run([ip, "route", "del", *route], capture_output=True, check=False)
    return True


def set_offloads(interfaces: list[str], enabled: bool) -> None:
    for interface in interfaces:
        kernel.set_offloads(interface, enabled)


def switch_interfaces(spec: ClusterSpec) -> list[str]:
    ports = [port(number) for number in range(1, spec.nodes + 1)]
    return ports + [end for index in range(len(spec.uplinks)) for end in uplink_ports(index)]


def hosts_file(spec: ClusterSpec) -> str:
    lines = ["127.0.0.1 localhost", "::1 localhost"]
    lines += [f"{address(number)} {spec.node_name(number)}" for number in range(1, spec.nodes + 1)]
    return "\n".join(lines) + "\n"
