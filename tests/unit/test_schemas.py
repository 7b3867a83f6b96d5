# SPDX-License-Identifier: Apache-2.0
"""Checks that the schemas, which the pages of file formats are made from, fit what is read and written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from antiphon import core

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = {file.name.partition(".")[0]: json.loads(file.read_text(encoding="utf-8"))
           for file in sorted((ROOT / "python/antiphon/schemas").glob("*.schema.json"))}  # fmt: skip
RULE = SCHEMAS["rules"]["$defs"]["rule"]["properties"]
#: A value that each field of a rule may hold.
VALUES: dict[str, Any] = {"collective": "bcast", "use": "chain", "why": "a test", "mpi": "mpich", "transport": "tcp"}


def value_of(field: str) -> Any:
    """Returns something that the field may hold."""
    kind = RULE[field].get("type") or RULE[field].get("$ref", "").rpartition("/")[2]
    return VALUES.get(field, {"bounds": [0, None], "boolean": True, "integer": 1, "seconds": 1.0}.get(kind))


def rules_with(field: str, value: object) -> str:
    rule = {"collective": "bcast", "use": "chain"} | {field: value}
    return json.dumps({"decisions": {"version": 1, "rules": [rule]}})


def test_each_is_a_schema() -> None:
    assert SCHEMAS.keys() >= {"placement", "plan", "profile", "rules", "summary"}
    for schema in SCHEMAS.values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_the_default_table_fits() -> None:
    jsonschema.validate(json.loads((ROOT / "src/select/rules.json").read_text(encoding="utf-8")), SCHEMAS["rules"])


@pytest.mark.parametrize("field", sorted(RULE))
def test_the_core_reads_a_rule_s_fields(field: str) -> None:
    """GIVEN a field that the schema has THEN the core takes a good value, and refuses a bad one by the field's name."""
    question = core.Question("bcast", 16, 16, 1, 65536, link_bits_per_s=10**9, mpi="mpich")
    assert core.choose(question, rules_with(field, value_of(field)))
    with pytest.raises(core.CoreError, match=field):
        core.choose(question, rules_with(field, {"no": "value"}))


def test_the_core_refuses_other_fields_of_a_rule() -> None:
    question = core.Question("bcast", 16, 16, 1, 65536)
    with pytest.raises(core.CoreError, match="no_such_field"):
        core.choose(question, rules_with("no_such_field", 1))


def test_a_plan_and_its_placement_fit() -> None:
    plan = json.loads((ROOT / "tests/data/grid.plan").read_text(encoding="utf-8"))
    jsonschema.validate(plan, SCHEMAS["plan"])
    jsonschema.validate(plan["placement"], SCHEMAS["placement"])


def test_each_field_of_a_page_has_a_meaning() -> None:
    """GIVEN the pages that are made from schemas THEN no row lacks its meaning, but for a document's own name."""
    for page in sorted((ROOT / "docs/reference").glob("*.md")):
        for table in re.findall(r"<!-- fields: .*?<!-- end of fields -->", page.read_text(encoding="utf-8"), re.DOTALL):
            empty = re.findall(r"^\| `(\w+)` \|.*\|  \|$", table, re.MULTILINE)
            assert set(empty) <= {"format", "version"}, page.name
