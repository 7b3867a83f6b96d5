# SPDX-License-Identifier: Apache-2.0
"""Gives every command what it cannot use: files of each kind, damaged in each way, and values that mean nothing.

The answer is always an exit code with `error:` and what is wrong, within 5 s, never a stack trace.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from antiphon import cli, core, mpi
from antiphon.trace import Call, Communicator, RankTrace, Shape, Trace
from antiphon.trace.writer import encode

DATA = Path(__file__).resolve().parents[1] / "data"
PROFILE = DATA / "ethernet-16.openmpi.json"
TRACE_BEGIN = b"\x89ATR\r\n\x1a\n"


def npy(header: bytes) -> bytes:
    """Returns an array's file with this header."""
    return b"\x93NUMPY\x02\x00" + len(header).to_bytes(4, "little") + header + bytes(64)


#: Damage that any file may have, then what some readers take for their own.
CONTENTS = {
    "empty": b"",
    "text": b"hello world\n",
    "latin-1": b"caf\xe9 slots=4\n",
    "zeros": bytes(100),
    "noise": bytes(i * 7919 % 256 for i in range(5000)),
    "object": b"{}",
    "array": b"[]",
    "number": b"1e999",
    "deep": b"[" * 100_000,
    "cut-gzip": gzip.compress(PROFILE.read_bytes(), 1)[:200],
    "cut-profile": PROFILE.read_bytes()[:20_000],
    "retyped-profile": PROFILE.read_bytes().replace(b'"link_classes": [', b'"link_classes": 7, "x": [', 1),
    "tuneless-profile": PROFILE.read_bytes().replace(b'"measurements": {', b'"measurements": 7, "x": {', 1),
    "rankless-profile": b'{"topology": {"nodes": [{"port_bytes_per_s": 1e7}]}, "machine": {"ranks_per_node": 0}}',
    "cut-trace": TRACE_BEGIN + b'\x01\x05{"a"',
    "wrong-trace": TRACE_BEGIN + b"\x01\x02{}\x01\x7f\xff\xff\xff\xff",
    "plan": b'{"version": 1, "patterns": [{"size": 2}]}',
    "huge-pattern": b'{"version": 1, "size": 2, "messages": [[0, 1, 1e400]]}',
    "placement": b'{"format": "antiphon-placement", "version": 1, "nodes": [3], "node_of_rank": ["x"]}',
    "results": b'{"results": [{"a": 1}]}',
    "summary": b'{"version": 1, "ranks": 2, "collectives": [{"collective": 3}]}',
    "archive": b"PK\x03\x04" + bytes(50),
    "messages": b"1GSM" + b"\xff" * 28,
    "npy": b'\x93NUMPY\x01\x00v\x00{"descr"',
    "npy-untyped": npy(b"{'descr': '', 'shape': ()}"),
    "npy-deep": npy(b"-" * 60_000 + b"1"),
    "toml": b"nodes = 'many'\n",
    "huge-toml": b"nodes = 2\nrate = '" + b"9" * 400 + b"gbit'\n",
    "elf": b"\x7fELF\x02\x01\x01" + bytes(60),
}
#: The measurements that a cluster is fitted to.
TO_FIT = ("calls", "one-way", "pairs", "ring")
PLAIN_RUN = ["run", "--dry-run", "--mpi", "mpich"]
#: What reads files: FILE is the damaged one.
READERS = {
    "report": ["report", "FILE", "-o", "page.html", "--overwrite"],
    "report-profile": ["report", "run.trace", "--profile", "FILE", "-o", "page.html"],
    "report-placement": ["report", "run.trace", "--placement", "FILE", "-o", "page.html"],
    "explain": ["explain", "bcast", "-n", "4", "--bytes", "1k", "--profile", "FILE"],
    "explain-plan": ["explain", "--plan", "FILE"],
    "explain-pattern": ["explain", "--pattern", "FILE"],
    "predict": ["predict", "barrier", "-n", "2", "--no-sweep", "--profile", "FILE"],
    "export-rules": ["export", "--to", "openmpi-rules", "--profile", "FILE"],
    "export-tree": ["export", "--to", "mpich-json", "--profile", str(PROFILE), "--libmpi", "FILE"],
    "map": ["map", "FILE", str(PROFILE)],
    "map-own": ["map", "run.trace", "FILE", "--own"],
    "map-machine": ["map", "run.trace", "FILE"],
    "traffic": ["traffic", "FILE"],
    "traffic-own": ["traffic", "run.trace", "--own", "--profile", "FILE"],
    "traffic-joint": ["traffic", "run.trace", "--joint", "--profile", "FILE"],
    "compile": ["compile", "FILE", "-o", "plan.out", "--overwrite"],
    "trace-show": ["trace", "--show", "FILE"],
    "probe-again": ["probe", "--again", "FILE", "-o", "new.json"],
    "bench-results": ["bench", "--profile", str(PROFILE), "--results", "FILE"],
    "bench-codecs": ["bench", "codecs", "--messages", "FILE", "--budget", "0.001", "--generated", "none"],
    "compress": ["compress-test", "FILE", "--codecs", "copy", "--budget", "0.001"],
    "compress-trace": ["compress-test", "--trace", "FILE", "--link-rate", "1gbit"],
    "compress-profile": ["compress-test", str(PROFILE), "--profile", "FILE"],
    "tune": ["tune", "--model", "--mpi", "mpich", "--profile", "FILE", "-n", "4", "--dry-run"],
    "run": ["run", "--dry-run", "FILE"],
    "run-mpi": ["run", "--dry-run", "--mpi", "FILE", "/bin/true"],
    "run-profile": [*PLAIN_RUN, "--profile", "FILE", "/bin/true"],
    "run-plan": [*PLAIN_RUN, "--plan", "FILE", "/bin/true"],
    "run-placement": [*PLAIN_RUN, "--placement", "FILE", "/bin/true"],
    "run-hostfile": [*PLAIN_RUN, "--hostfile", "FILE", "/bin/true"],
    "run-apply": [*PLAIN_RUN, "--apply", "FILE", "--profile", str(PROFILE), "/bin/true"],
    "env": ["env", "FILE"],
    "lab-cluster": ["lab", "run", "--cluster", "FILE", "/bin/no-such-program"],
    "plan": ["plan", "FILE", "-o", "plan.out", "--overwrite", "--link-rate", "1gbit"],
    "plan-profile": ["plan", "run.trace", "-o", "plan.out", "--overwrite", "--profile", "FILE"],
    "plan-cluster": ["plan", "run.trace", "-o", "plan.out", "--overwrite", "--cluster", "FILE"],
    "plan-summary": ["plan", "run.trace", "-o", "p", "--overwrite", "--link-rate", "1gbit", "--summary", "FILE"],
    "report-trace": ["report", "run.json", "--trace", "FILE", "-o", "page.html", "--overwrite"],
    "predict-cluster": ["predict", "bcast", "--cluster", "FILE", "--no-sweep"],
    "cluster-show": ["cluster", "show", "FILE"],
    "cluster-fit": ["cluster", "fit", "--rate", "1gbit", *(f"--{name}=FILE" for name in TO_FIT)],
    "simulate-cluster": ["simulate", "bcast", "--cluster", "FILE", "--smpirun", "/bin/false"],
    "simulate-profile": ["simulate", "bcast", "--profile", "FILE", "-n", "2", "--smpirun", "/bin/false"],
    "simulate-plan": ["simulate", "--plan", "FILE", "--cluster", "ethernet-16", "--smpirun", "/bin/false"],
    "profile-use": ["profile", "use", "FILE"],
    "profile-hosts": ["profile", "use", str(PROFILE), "--hostfile", "FILE"],
    "trace-to": ["trace", "--to", "perfetto", "--overwrite", "-o", "out.json", "FILE"],
    "selftest-hosts": ["selftest", "--mpi", "nothing", "--hostfile", "FILE"],
    "selftest-lab": ["selftest", "--mpi", "mpich", "--lab", "./FILE"],
    "doctor-profile": ["doctor", "--profile", "FILE", "--mpi", "nothing", "/bin/true"],
    "doctor-hosts": ["doctor", "--mpi", "nothing", "--hostfile", "FILE"],
    "doctor-program": ["doctor", "FILE"],
}
WORDS_LIKE_HOSTS = {"text", "number", "toml", "huge-toml"}
#: What each reader can use: all that is no damaged container is data, and the first word of a line may be a host.
USABLE = {
    "compress": CONTENTS.keys() - {"empty", "messages", "npy", "npy-deep"},
    "compress-profile": {"retyped-profile", "tuneless-profile"},
    "profile-hosts": WORDS_LIKE_HOSTS,
    "run-hostfile": WORDS_LIKE_HOSTS,
}

VALUES = """
run|run -n 0 x|run -n x x|run -n -1 x|run -n 1e3 x|run --launcher-args 'x /bin/true
run --compress maybe /bin/true|run --force x /bin/true|run --mpi  /bin/true|run --mpi /bin/true /bin/true
run --mpi ~nosuchuser/x /bin/true|env --mpi ~nosuchuser/x
run --hostfile|run --pin x /bin/true|run ''|run --apply x /bin/true|run --no-such /bin/true|run /|run .
run ./no-such|run no/such|run --summary=/no/dir/x /bin/true|env|env --shell ksh /bin/true|env --slurm --json x
env --mpi nothing|bench nothing|bench --bytes x|bench --bytes -1|bench --bytes 1k,,2k|bench --modes x
bench --algorithms x bcast --mpi nothing|bench --budget x|bench --root -1 bcast --mpi no|bench --against x
bench --list nothing|bench --svg x.svg|bench --pattern x:y --mpi nothing|bench --link-rate quick
bench --contenders x --pattern random --mpi nothing|bench codecs bcast|bench codecs --codecs x --generated all
bench codecs --generated x|bench codecs --modes x|bench codecs --bytes x|bench --launcher-args "x --mpi nothing
explain|explain nothing|explain bcast|explain bcast -n 0 --bytes 1|explain bcast -n x
explain bcast -n 4 --bytes x|explain bcast -n 4 --bytes -1|explain bcast -n 4 --bytes 1 --algorithm x
explain bcast -n 4 --bytes 1 --algorithm chain:x=1|explain bcast -n 4 --bytes 1 --root 4
explain bcast -n 4 --bytes 1 --link-rate x|explain bcast -n 4 --bytes 1 --link-rate 0
explain bcast -n 99999999999999999999 --bytes 1|explain bcast -n 4 --bytes 99999999999999999999g
explain --pattern x|explain --pattern random:x -n 4|explain --pattern random -n 4 --switches x
explain --pattern random -n 4 --switches 1,1|explain --pattern random -n -4
explain allreduce -n 4 --bytes 8 --element-bytes 0|explain bcast -n 4 --bytes 1 --ranks-per-node 0
explain bcast -n 4 --bytes 1 --mpi lam|predict|predict nothing -n 2|predict bcast|predict bcast -n 1
predict bcast -n 2 --bytes x|predict bcast -n 2 --sweep x|predict bcast -n 2 --sweep 2k-1k
predict bcast -n 2 --sweep --|predict bcast -n 2 --root 9|predict bcast -n 2 --link-rate -1
predict bcast -n 2 --link-rate nan|predict bcast -n 2 --link-rate 1e400|predict bcast -n 2 --ranks-per-node 0
export|export --to nothing|export --to goal|export --to goal nothing|export --to goal bcast
export --to goal bcast -n 0|export --to goal bcast -n 4 --bytes x|export --to ucc bcast
export --to openmpi-rules --reader-version x|map|map a b c|map --launcher x a b|map --launcher slurm a b
map --phase x a b|map --between x a b|map --objective x|map --pin a a b|traffic|traffic --phases 0 x
traffic --between x x|traffic --library x x|traffic --joint x y|traffic --verify --collectives x --mpi nothing
traffic --verify --bytes x --mpi nothing|traffic --joint|compile|compile x --min-calls 0|compile x --link-rate x
compile x --min-calls x|compress-test|compress-test x|compress-test x --trace y|compress-test x --type f16
compress-test x --message-bytes x|compress-test x --codecs x|compress-test x --link-rate x
compress-test x --budget x|trace|trace -n 0 x|trace --memory x x|trace --memory -1 no-such|trace --show
trace --recover x|trace no-such|probe --budget 1|probe -n 1|probe --mpi nothing|probe --lab nothing|probe -n x
probe --hostfile nothing|probe --budget nan --mpi nothing|tune nothing|tune --budget x|tune --modes x
tune --bytes x|tune --mpi nothing|tune --model --profile x|tune -n 0 --mpi nothing|report|report x|report x -o
report --list --json x y|doctor x|demo --rounds 0|demo --rounds x|demo --mpi nothing
demo --cluster nothing --mpi mpich|lab|lab nothing|lab up --cluster nothing|lab up --nodes 0
lab up --link-rate x|lab up --buffer x|lab up --switches x|lab up --offloads maybe|lab up --loss x
lab up --loss 101|lab up --loss-nodes x|lab up --uplink-rate 1gbit|lab up --name A/b|lab run
lab run --name nothing /bin/true|lab run -n 0 /bin/true|lab run --map-by x y|lab run --timeout x y|lab exec
lab exec 1|lab exec --name nothing 1 true|lab down --name nothing|lab down --name nothing --all
run -n 2 --placement nothing /bin/true|run --placement nothing --strict-placement /bin/true
run --budget x /bin/true|run -np|run --phase x --apply y /bin/true|bench --results nothing --profile nothing
bench --json /no/dir/x --results y --profile z|bench --overhead --mpi nothing|bench --pattern-seed x
explain --plan nothing --svg /no/dir/x|predict bcast -n 2 --svg /no/dir/x
export --to goal bcast -n 4 --bytes 1 -o /no/dir/x|trace -o /no/dir/x y|tune --dry-run --mpi nothing
traffic x -o /no/dir/x|nothing|--nothing|help nothing|lab status x|run -n|tune --lab nothing --mpi mpich
bench --lab nothing bcast --mpi mpich
plan|plan no-such|plan --parts x y|plan --min-calls 0 y|plan --min-calls x y|plan --cluster nothing run.trace
plan --link-rate x run.trace|plan --link-rate 1gbit --map-by x run.trace|plan --summary run.json /bin/true
plan --link-rate 1gbit --profile x run.trace|plan --link-rate 1gbit -o /no/dir/x run.trace|plan run.trace
plan --link-rate 1gbit --lab x run.trace|plan --link-rate 1gbit --library x run.trace|traffic --library x run.trace
cluster|cluster nothing|cluster show|cluster show nothing|cluster show --profile-out /no/dir/x ethernet-16
cluster fit|cluster fit --rate x --calls x --one-way x --pairs x --ring x|cluster show '' --json
predict --cluster nothing|predict bcast --cluster nothing|predict bcast --cluster ethernet-16 -n 0 --bytes 1
predict bcast --cluster ethernet-16 -n 9999999999|predict bcast --cluster ethernet-16 --link-rate 1gbit
simulate|simulate nothing|simulate bcast|simulate bcast --cluster nothing|simulate nothing --cluster ethernet-16
simulate bcast --cluster ethernet-16 --bytes x|simulate bcast --cluster ethernet-16 --smpirun /no/such
simulate bcast --cluster ethernet-16 --smpirun /bin/false --algorithms x|simulate bcast --simulator x
simulate bcast --cluster ethernet-16 -n 0 --smpirun /bin/false|simulate --plan x --cluster ethernet-16
simulate bcast --cluster ethernet-16 --timeout 0|simulate bcast --cluster ethernet-16 --profile x
profile|profile nothing|profile show nothing|profile use|profile use nothing|profile forget|profile forget nothing
profile list x|module|module -o|module -o . --name a/b|module -o . --switch-on lam|module -o . --set x
module -o . --set X=1|module -o /proc/no|module -o . --name ''|selftest --budget 1|selftest -n 1|selftest x
selftest --mpi nothing|selftest --lab nothing --mpi mpich|selftest --link-rate x|selftest --budget nan
selftest --hostfile nothing|doctor no-such|doctor -n 3|doctor --hostfile nothing|doctor --profile nothing
doctor --launcher x|doctor --mpi nothing /bin/true|doctor --link-rate x --hostfile nothing
completion|completion ksh|completion man|completion bash -o /proc/no|prefix x|prefix --nothing|prefix --lib --json
trace --to x y|trace --to perfetto|trace --to perfetto no-such|trace --to perfetto run.trace -o x
trace --to perfetto -o /no/dir/x run.trace
report run.json --trace no-such|report run.json -o /no/dir/x|run --metrics /no/dir/x /bin/true
run --trace /no/dir/x /bin/true|run --topology x= /bin/true|run --topology x=a;y=a /bin/true|run --codec x /bin/true
run --adapt x /bin/true|run --progress x /bin/true|run --shared-memory x /bin/true|run --capture /no/dir/x /bin/true
bench --presence --launches 0 --mpi nothing|bench --presence --launches x|bench --pattern-seed 1 --presence --mpi no
demo x y|map --pin x run.trace|explain --plan run.trace|lab up --connection-rate x|lab trace|compress-test --json
bench --budget inf --mpi nothing|tune --budget nan --mpi nothing|lab run --timeout inf /bin/true
compare|compare --rounds 2 /bin/true|compare --rounds x /bin/true|compare --max-time nan /bin/true|compare no-such
compare --max-time 0 /bin/true|compare --stdin no-such /bin/true|compare --json=/no/dir/x /bin/true|compare /bin/true
compare --hostfile nothing --mpi mpich /bin/true|compare --lab=nothing --mpi mpich /bin/true|compare --off /bin/true
compare --placement nothing --mpi mpich /bin/true|compare --profile nothing --mpi mpich /bin/true
"""
#: Wrong values that would be taken, or refused late or for another reason: what is said of them. HUGE has 400 digits.
REFUSED = """
map run.trace --phase ²: --phase ²: expected K|map run.trace --phase 1/²: --phase 1/²: expected K
map run.trace --phase 1/99999999999: 99999999999 phases: at most|map run.trace --pin ²:a: --pin ²:a: not RANK:NODE
map run.trace --phase HUGE: expected K|map run.trace --between 5:1: --between 5:1: ends before it begins
map run.trace --cores-per-node -3: '-3' is not a number above zero|map run.trace --max-per-node 0: '0' is not a number
map run.trace --max-per-node ²: '²' is not a number
traffic run.trace --phases 99999999999: 99999999999 phases: at most
traffic run.trace --between 5:5: ends before it begins
explain bcast -n 4 --bytes 8 --switches 0,0: --switches: '0,0' is no list
explain --pattern uniform --switches 2,-1: --switches: '2,-1' is no list
explain --pattern uniform -n 4 --switches 99999999999,1 --uplink-rate x: --uplink-rate: 'x' is not a rate
explain bcast -n 4 --bytes HUGE: is too large|explain bcast -n 4 --bytes 8 --link-rate HUGEgbit: is too large
predict bcast -n 4 --sweep 1k-HUGE: is too large|compress-test run.trace --message-bytes HUGE: is too large
compress-test run.trace --message-bytes 0: --message-bytes: '0' is not a size|lab up --buffer HUGEkb: is too large
compress-test run.trace --budget -5: --budget -5: is below zero|bench codecs --budget -5: --budget -5: is below zero
bench codecs --link-rate x: --link-rate: 'x' is not a rate|bench codecs --bytes 0: --bytes: '0' is not a size
doctor --link-rate 1gbit: --link-rate is for checks of nodes|doctor --transport ofi: --transport is for checks of nodes
doctor --map-by node: --map-by is for checks of nodes|doctor --launcher-args x: --launcher-args is for checks of nodes
doctor --profile nothing: profile nothing: No such file
bench bcast --transport ofi: --transport is for a lab|bench bcast --map-by node: --map-by is for a lab
probe -n 2 --transport ofi: --transport is for a lab|tune -n 2 --map-by node: --map-by is for a lab
selftest -n 2 --transport ucx: --transport is for a lab|doctor --hostfile nodes --map-by node: --map-by is for a lab
traffic run.trace -n 4: -n is for --verify|traffic run.trace --mpi mpich: --mpi is for --verify
traffic run.trace --hostfile nodes: --hostfile is for --verify|traffic run.trace --lab: --lab is for --verify
traffic run.trace --bytes 8k: --bytes is for --verify|traffic run.trace --tolerance 1: --tolerance is for --verify
traffic run.trace --collectives bcast: --collectives is for --verify
tune --model --hostfile nodes: --hostfile is about measuring|tune --model --launcher srun: --launcher is about measuring
tune --model --link-rate 1gbit: --link-rate is about measuring|tune --model --budget 60: --budget is about measuring
tune --model --transport ofi: --transport is about measuring|tune --model --restart: --restart is about measuring
tune --model --launcher-args x: --launcher-args is about measuring
tune --model --map-by node: --map-by is about measuring
"""
WRONG_VALUES = [words.split(" ") for line in VALUES.strip().splitlines() for words in line.split("|")]
#: Answers by design: a hint instead of an error where nothing is named, and a list that ignores the rest.
FINE = {"report --list --json x y"}


def trace() -> bytes:
    """Returns a trace of two ranks that broadcast."""
    world = Communicator(1, "MPI_COMM_WORLD", (0, 1))
    shape = Shape("MPI_Bcast", world, root=0, send_count=1000, send_size=8)
    ranks = [RankTrace(rank, [world], [shape], [Call(shape, 1_000, 500)] * 3, 0, 10**6, 0) for rank in range(2)]
    return encode(Trace(2, ("MPI_Bcast",), {"nodes": [0, 1], "hosts": ["a", "b"], "mpi": "MPICH"}, ranks))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a good trace alone, on a machine without jobs of a batch system, where nothing is started."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "run.trace").write_bytes(trace())
    monkeypatch.setattr(os, "execvpe", lambda *command: pytest.fail(f"{command[:2]} would be started"))
    for name in os.environ:
        if name.startswith(("ANTIPHON", "SLURM")):
            monkeypatch.delenv(name)
    return tmp_path


def answer(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Runs a command in this process; any exception but an exit is the failure that these tests look for."""
    try:
        code = cli.main(words)
    except SystemExit as exit:
        code = exit.code if isinstance(exit.code, int) else 1
    return code, capsys.readouterr().err


@pytest.mark.parametrize("reader", READERS)
def test_damaged_files(reader: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "folder").mkdir()
    for name, content in CONTENTS.items():
        (here / name).write_bytes(content)
        (here / name).chmod(0o755)
    for name in [*CONTENTS, "folder", "missing"]:
        code, err = answer([word.replace("FILE", f"./{name}") for word in READERS[reader]], capsys)
        assert code in (0, 1, 2, 3), (name, err)
        assert (code == 0) == (name in USABLE.get(reader, ())), (name, err)
        assert code == 0 or "error: " in err, (name, err)


INCAST = {"senders": 15, "bytes": 1092, "ratio": 0.9, "lost": 0, "trials": 5}
#: Parts of a profile that are no longer what they should be, what reads it, and what it says.
FIELDS = {
    "processors": ({"processors": None}, "map run.trace FILE --own", ""),
    "cores": ({"processors": {"cores_per_node": None}}, "map run.trace FILE", ""),
    "guess": ({"processors": None, "decisions": None}, "predict bcast -n 2 --no-sweep --profile FILE", ""),
    "measurements": ({"measurements": 7}, "explain bcast -n 4 --bytes 8 --profile FILE",
                     "FILE: measurements: expected an object"),
    "incast": ({"contention": {"incast": [INCAST, INCAST | {"bytes": 1e308}]}}, "report FILE", "FILE: is damaged"),
    "tune": ({"measurements": {"tune": [7]}}, "explain bcast -n 4 --bytes 8 --profile FILE",
             "measurements.tune is damaged"),
}  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
def test_damaged_fields(field: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN a field of a profile that is null THEN it counts as absent; of another form, the error names it."""
    damage, line, said = FIELDS[field]
    (here / "FILE").write_text(json.dumps(json.loads(PROFILE.read_text()) | damage))
    code, err = answer(line.split(), capsys)
    assert (code, said in err) == (2 if said else 0, True), err


def test_there_are_about_300_wrong_values() -> None:
    assert len(WRONG_VALUES) > 290


@pytest.mark.parametrize("words", WRONG_VALUES, ids=lambda words: " ".join(words))
def test_wrong_values(words: list[str], here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    began_s = time.process_time()
    code, err = answer([word.replace("''", "") for word in words], capsys)
    # The processor's time, which other programs on this machine do not change.
    assert time.process_time() - began_s < 5
    if " ".join(words) not in FINE:
        assert code in (1, 2, 3) and err.startswith(("error: ", "hint: ", "usage: ")), (code, err)
        assert "error: " in err or "usage: " in err


@pytest.mark.parametrize("case", [case for line in REFUSED.strip().splitlines() for case in line.split("|")])
def test_what_is_said_of_wrong_values(case: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN a value that would be ignored, or end in a stack trace THEN the error names it, before anything is done."""
    line, _, said = case.partition(": ")
    words = line.replace("HUGE", "9" * 400).split()
    with pytest.raises(SystemExit) as ended:
        sys.exit(cli.main(words))
    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (2, "") and said in err, err


@pytest.mark.parametrize("seed", range(8))
def test_damaged_programs(seed: int, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN a real program with bytes changed or cut off THEN that is said, or that it has no MPI."""
    whole = core.LIBRARY.read_bytes()[: 1 << 20]
    random_ = random.Random(seed)
    damaged = bytearray(whole[: random_.choice([20, 64, 500, len(whole) // 2, len(whole)])])
    for _ in range(random_.randrange(30)):
        damaged[random_.randrange(min(len(damaged), 2000))] = random_.randrange(256)
    damaged[:4] = b"\x7fELF"
    program = here / "program"
    program.write_bytes(damaged)
    program.chmod(0o755)
    for words in (["run", "--dry-run", "./program"], ["env", "./program"], ["env", "--mpi", "./program"]):
        code, err = answer(words, capsys)
        assert code == 2 and err.startswith("error: "), err


def test_a_program_that_may_not_be_read(here: Path, capsys, monkeypatch) -> None:
    """GIVEN the right to execute a program but not to read it THEN --mpi makes up for it."""
    program = here / "program"
    program.write_bytes(b"\x7fELF" + bytes(60))
    program.chmod(0o711)
    real_open, real_access = Path.open, os.access

    def refuse(path: Path, *arguments, **options):
        if path == program:
            raise PermissionError(13, "Permission denied", str(path))
        return real_open(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(os, "access", lambda path, mode: real_access(path, mode) and not (
        Path(path) == program and mode == os.R_OK))  # fmt: skip
    code, err = answer(["run", "--dry-run", "./program"], capsys)
    assert code == 2 and "may not be read" in err and "hint: name the MPI with --mpi" in err
    if any(found.launcher for found in mpi.discover()):
        library = next(found for found in mpi.discover() if found.launcher)
        assert answer(["run", "--dry-run", "-n", "2", "--mpi", str(library.libmpi), "./program"], capsys) == (0, "")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437", "utf-16"])
def test_other_encodings(encoding: str) -> None:
    """GIVEN an output that lacks signs such as × and µ THEN others stand for them, on both streams."""
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    for words in (["explain", "bcast", "-n", "4", "--bytes", "64k"], ["predict", "barrier", "-n", "2", "--no-sweep"],
                  ["run", "caf\udce9"]):  # fmt: skip
        command = [sys.executable, "-m", "antiphon", *words]
        ended = subprocess.run(command, env=env, capture_output=True, timeout=60, check=False)
        assert ended.returncode in (0, 2) and b"Traceback" not in ended.stderr, ended.stderr
        ended.stdout.decode(encoding)


@pytest.mark.parametrize("redirection", [">/dev/full", ">&-", "2>&-", ">&- 2>&-", "2>/dev/full"])
def test_streams_that_take_nothing(redirection: str) -> None:
    line = f'exec "{sys.executable}" -m antiphon --help {redirection}'
    ended = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in ended.stderr and "Exception" not in ended.stderr, ended.stderr
    assert ended.returncode == (1 if redirection == ">/dev/full" else 0)
