# SPDX-License-Identifier: Apache-2.0
"""What a host can do besides its link: the core's table src/profile/hosts.json, and a cluster file's [host] table."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from antiphon import core
from antiphon.errors import AntiphonError

#: The order of a value's three numbers.
VARIANTS = ("fast", "typical", "slow")
#: Where the values of a row come from.
BASES = ("measured", "published", "assumed")


@dataclass(frozen=True)
class Host:
    """One host, in the units of the table. Rates count both directions together."""

    #: One way, a short message between two nodes on one switch.
    latency_us: float
    #: Processor time to send and to receive a short message.
    send_us: float
    receive_us: float
    #: What one rank's core moves to and from other nodes.
    core_mb_per_s: float
    #: What one connection between two ranks carries; 0: no limit of its own.
    connection_mb_per_s: float
    #: A message within a node.
    memory_us: float
    memory_mb_per_s: float
    #: Each further switch on the way.
    switch_us: float


FIELDS = tuple(field.name for field in fields(Host))
#: Rates without which nothing would ever arrive.
_LEAST = {"core_mb_per_s": 0.001, "memory_mb_per_s": 0.001}


@dataclass(frozen=True)
class HostRange:
    """A row of the table: for each field a fast, a typical and a slow value."""

    name: str
    basis: str
    source: str
    link_bits_per_s: int
    eager_bytes: int
    values: Mapping[str, tuple[float, float, float]]

    def host(self, variant: str = "typical") -> Host:
        """Returns one of the three."""
        place = VARIANTS.index(variant)
        return Host(**{name: three[place] for name, three in self.values.items()})

    def changed(self, table: Mapping[str, Any], where: str) -> HostRange:
        """Returns the row with the values of a cluster file's [host] table, which are numbers or lists of three."""
        known: dict[str, type] = {"name": str, "source": str, "basis": str, "eager_bytes": int}
        changes: dict[str, Any] = {"name": f"{self.name}, changed"}
        values = dict(self.values)
        for key, value in table.items():
            if key in FIELDS:
                values[key] = three_of(value, f"{where}: field 'host.{key}'", _LEAST.get(key, 0))
            elif key in known and type(value) is known[key]:
                changes[key] = value
            else:
                raise AntiphonError(
                    f"{where}: field 'host.{key}' is unknown, or does not hold {value!r}",
                    hint=f"known fields: {', '.join((*known, *FIELDS))}",
                )
        row = replace(self, values=values, **changes)
        if row.basis not in BASES or row.eager_bytes < 0:
            raise AntiphonError(f"{where}: 'host.basis' is one of {', '.join(BASES)}; 'host.eager_bytes' is at least 0")
        return row

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "basis": self.basis,
            "source": self.source,
            "link_bits_per_s": self.link_bits_per_s,
            "eager_bytes": self.eager_bytes,
            "values": {name: dict(zip(VARIANTS, three, strict=True)) for name, three in self.values.items()},
        }


def three_of(value: Any, what: str, least: float = 0) -> tuple[float, float, float]:
    """Reads a number, or [fast, typical, slow]."""
    listed: Sequence[Any] = value if isinstance(value, list) else [value] * 3
    if len(listed) != 3 or not all(type(one) in (int, float) and least <= one < 1e9 for one in listed):
        raise AntiphonError(f"{what} must be a number from {least:g} on, or [fast, typical, slow], not {value!r}")
    fast, typical, slow = (float(one) for one in listed)
    return fast, typical, slow


@functools.lru_cache(maxsize=1)
def table() -> Mapping[str, HostRange]:
    """Returns the rows by name."""
    rows = {}
    for row in core.query("hosts")["hosts"]:
        values = {field: three_of(row[field], f"hosts.json: {row['name']}.{field}") for field in FIELDS}
        rows[row["name"]] = HostRange(
            row["name"], row["basis"], row["source"], row["link_bits_per_s"], row["eager_bytes"], values
        )
    return rows


def named(name: str, where: str) -> HostRange:
    """Returns a row of the table."""
    rows = table()
    if name not in rows:
        raise AntiphonError(f"{where}: there are no hosts named {name!r}", hint=f"one of {', '.join(rows)}")
    return rows[name]


def for_rate(bits_per_s: float) -> HostRange:
    """Returns the row with the next faster link, or the fastest."""
    rows = sorted(table().values(), key=lambda row: row.link_bits_per_s)
    return next((row for row in rows if row.link_bits_per_s >= bits_per_s), rows[-1])
