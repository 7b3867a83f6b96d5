#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows who sends to whom and when: runs tcpdump on nodes and links while one program calls algorithms.

  traces.py --cluster two-switches.toml --at 1 --at switch/up0a -o traces.jsonl allgather:65536:gather_bcast
  traces.py --cluster two-switches.toml --at 1 allgather:65536:concurrent_exchange+gather_bcast

A line has the samples, and for each place and pair of nodes the bytes per time slot of about the last second.
Algorithms joined by + take turns in one program. tcpdump is stopped while the program runs, and reads afterwards what
the kernel kept for it.
"""

from __future__ import annotations

import argparse
import json
import struct
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from antiphon.bench import collectives
from antiphon.bench.results import MODES
from antiphon.bench.testbed import LabTestbed
from antiphon.lab import Lab, load_cluster
from antiphon.mpi import Mpi, by_name

#: What the kernel keeps until tcpdump reads it, in KiB: a quarter of a million packets.
_KEPT_KIB = 65536
_LONGEST_S = 60


class Packet(NamedTuple):
    """A TCP segment with data."""

    time_s: float
    sender: int
    receiver: int
    bytes: int


def segments(path: Path) -> Iterator[Packet]:
    """Read the segments of a tcpdump file; a node's number is the last byte of its address."""
    data = path.read_bytes()
    at = 24
    while at + 16 <= len(data):
        seconds, micros, kept, _ = struct.unpack_from("<IIII", data, at)
        packet = data[at + 16 : at + 16 + kept]
        at += 16 + kept
        if len(packet) < 54 or packet[12:14] != b"\x08\x00" or packet[23] != 6:
            continue
        header = (packet[14] & 15) * 4
        payload = struct.unpack_from(">H", packet, 16)[0] - header - (packet[14 + header + 12] >> 4) * 4
        if payload > 0:
            yield Packet(seconds + micros / 1e6, packet[29], packet[33], payload)


def slots(path: Path, slot_s: float, last_s: float) -> dict[str, list[int]]:
    """Return the bytes in each slot of the trace's last `last_s` seconds, by pair of nodes ("1>9")."""
    packets = list(segments(path))
    end = max((p.time_s for p in packets), default=0.0)
    begin = max(end - last_s, min((p.time_s for p in packets), default=0.0))
    count = int((end - begin) / slot_s) + 1
    pairs: dict[str, list[int]] = defaultdict(lambda: [0] * count)
    for p in packets:
        if p.time_s >= begin:
            pairs[f"{p.sender}>{p.receiver}"][int((p.time_s - begin) / slot_s)] += p.bytes
    return {pair: row for pair, row in sorted(pairs.items()) if sum(row) > 8192}


def listen(lab: Lab, place: str, file: Path, stop: Path) -> None:
    """Listen until the file `stop` exists."""
    node, _, device = place.partition("/")
    script = (
        f"tcpdump -i {device or 'eth0'} -s 100 -B {_KEPT_KIB} -w {file} -Z root tcp & p=$!; sleep 0.7; kill -STOP $p;"
        f" i=0; while [ ! -e {stop} ] && [ $i -lt {_LONGEST_S * 5} ]; do sleep 0.2; i=$((i + 1)); done;"
        " kill -CONT $p; sleep 0.7; kill -INT $p; wait $p"
    )
    lab.execute(int(node) if node.isdigit() else node, ["sh", "-c", script])


def trace(lab: Lab, mpi: Mpi, contender: str, args: argparse.Namespace, directory: Path) -> list[dict[str, Any]]:
    """Trace one program."""
    collective, size, choices = contender.split(":", 2)
    benchmark = collectives.CollectiveBenchmark(
        [collective], [int(size)], [args.mode], [f"{collective}:{c}" for c in choices.split("+")], args.budget
    )
    stop = directory / "stop"
    stop.unlink(missing_ok=True)
    files = {place: directory / f"{place.replace('/', '-')}.pcap" for place in args.at}
    listeners = [
        threading.Thread(target=listen, args=(lab, place, file, stop), daemon=True) for place, file in files.items()
    ]
    for listener in listeners:
        listener.start()
    time.sleep(1.5)
    try:
        results = collectives.run(LabTestbed(lab), mpi, args.n or lab.spec.ranks, benchmark, lambda event: None)
    finally:
        stop.touch()
        for listener in listeners:
            listener.join()
    samples = {m.chosen: [round(s, 6) for s in m.samples] for m in results.measurements}
    common = {"cluster": lab.spec.name, "ranks": results.ranks, "collective": collective, "bytes": int(size)}
    return [
        common
        | {"samples": samples, "at": place, "slot_s": args.slot / 1e3, "sent": slots(file, args.slot / 1e3, args.last)}
        for place, file in files.items()
    ]


def show(row: dict[str, Any]) -> None:
    pairs = list(row["sent"])
    print(f"{row['collective']} {row['bytes']} {row['samples']} at {row['at']}, KB in each {1e3 * row['slot_s']:g} ms")
    print("ms".rjust(6), *(pair.rjust(7) for pair in pairs))
    for i, sent in enumerate(zip(*row["sent"].values(), strict=True)):
        print(f"{1e3 * i * row['slot_s']:6.0f}", *(f"{b / 1e3:7.1f}" if b else "      ." for b in sent))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("contenders", nargs="+", metavar="COLLECTIVE:BYTES:CHOICE[+CHOICE…]")
    parser.add_argument("--mpi", default="openmpi", help="the library (default: openmpi)")
    parser.add_argument("--cluster", required=True, help="the lab's cluster: a name, or a file")
    parser.add_argument(
        "--at", action="append", required=True, metavar="PLACE", help="a node's number, or switch/DEVICE"
    )
    parser.add_argument("-n", type=int, help="number of ranks (default: all)")
    parser.add_argument("--mode", default="sync", choices=MODES, help="as bench's (default: sync)")
    parser.add_argument("--budget", type=float, default=0.3, help="seconds of samples for each (default: 0.3)")
    parser.add_argument("--slot", type=float, default=20, help="milliseconds (default: 20)")
    parser.add_argument("--last", type=float, default=1, help="seconds of the trace that count, the last (default: 1)")
    parser.add_argument("-o", "--output", type=Path, help="file to append a line to for each place")
    args = parser.parse_args()
    mpi = by_name(args.mpi)
    with Lab(load_cluster(args.cluster)) as lab, tempfile.TemporaryDirectory() as directory:
        for contender in args.contenders:
            for row in trace(lab, mpi, contender, args, Path(directory)):
                show(row)
                if args.output:
                    with args.output.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(row, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
