# SPDX-License-Identifier: Apache-2.0
"""Collectives of mpi4py, on buffers and on pickled objects. Exit code 1 means that a result is wrong.

antiphon run -n 4 python3 collectives.py
"""

import sys
from array import array

from mpi4py import MPI

BLOCK = 10_000


def buffers(comm: MPI.Comm) -> dict[str, bool]:
    """Use the upper-case methods, which pass memory to MPI unchanged."""
    rank, size = comm.Get_rank(), comm.Get_size()
    ok = {}

    data = array("q", [7 * i if rank == 0 else 0 for i in range(BLOCK)])
    comm.Bcast(data, root=0)
    ok["Bcast"] = all(value == 7 * i for i, value in enumerate(data))

    data = array("q", range(rank, rank + BLOCK))
    comm.Allreduce(MPI.IN_PLACE, data, op=MPI.SUM)
    ok["Allreduce"] = all(value == size * i + size * (size - 1) // 2 for i, value in enumerate(data))

    outgoing = array("q", [100 * rank + to for to in range(size) for _ in range(BLOCK)])
    incoming = array("q", bytes(8 * size * BLOCK))
    comm.Alltoall(outgoing, incoming)
    ok["Alltoall"] = all(incoming[i] == 100 * (i // BLOCK) + rank for i in range(size * BLOCK))

    mine = array("q", [rank] * (rank + 1))
    counts = [r + 1 for r in range(size)]
    everyone = array("q", bytes(8 * sum(counts)))
    comm.Allgatherv(mine, [everyone, counts])
    ok["Allgatherv"] = list(everyone) == [r for r in range(size) for _ in range(r + 1)]
    return ok


def objects(comm: MPI.Comm) -> dict[str, bool]:
    """Use the lower-case methods, which take anything that can be pickled and learn sizes at run time."""
    rank, size = comm.Get_rank(), comm.Get_size()
    ok = {}
    ok["bcast"] = comm.bcast({"text": "x" * 5000, "from": 0} if rank == 0 else None, root=0)["from"] == 0
    ok["allgather"] = comm.allgather(("rank", rank)) == [("rank", r) for r in range(size)]
    ok["alltoall"] = comm.alltoall([f"{rank}>{to}" for to in range(size)]) == [f"{r}>{rank}" for r in range(size)]
    ok["allreduce"] = comm.allreduce([rank], op=MPI.SUM) == list(range(size))  # lists do not commute
    return ok


def main() -> int:
    """Run all and print what failed."""
    comm = MPI.COMM_WORLD
    results = buffers(comm) | objects(comm)
    wrong = comm.allreduce([f"{name} on rank {comm.Get_rank()}" for name, right in results.items() if not right])
    if comm.Get_rank() == 0:
        print("\n".join(f"WRONG: {what}" for what in wrong) or f"verified on {comm.Get_size()} ranks")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
