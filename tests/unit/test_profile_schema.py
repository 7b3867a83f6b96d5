# SPDX-License-Identifier: Apache-2.0
"""Checks that the profile's schema, the core's reader and the reference page describe the same document."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import pytest

from antiphon import core

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "python/antiphon/schemas/profile.schema.json").read_text())
DOCUMENT = json.loads((ROOT / "tests/fuzz/corpus/profile/two_switches.json").read_text())


def test_the_schema_takes_what_the_core_takes():
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(DOCUMENT, SCHEMA)
    assert core.query("profile", text=json.dumps(DOCUMENT))["nodes"] == 16


def test_the_page_s_example_can_be_read():
    page = (ROOT / "docs/reference/profile.md").read_text()
    example = re.search(r"```json\n(.*?)```", page, re.S).group(1)
    assert core.query("profile", text=example)["machine"] == "ethernet-16"


def _objects(schema, document, path=()):
    """Yields (path, schema) of every object in the document that has a fixed set of fields."""
    if "$ref" in schema:
        return
    if isinstance(document, dict) and schema.get("additionalProperties") is False:
        yield path
        for key, value in document.items():
            yield from _objects(schema["properties"][key], value, (*path, key))
    elif isinstance(document, list) and "items" in schema:
        for i, value in enumerate(document):
            yield from _objects(schema["items"], value, (*path, i))


@pytest.mark.parametrize("path", list(_objects(SCHEMA, DOCUMENT)), ids=str)
def test_the_core_refuses_unknown_fields_wherever_the_schema_does(path):
    document = copy.deepcopy(DOCUMENT)
    place = document
    for step in path:
        place = place[step]
    place["no_such_field"] = 1
    with pytest.raises(core.CoreError, match="unknown field.*no_such_field"):
        core.query("profile", text=json.dumps(document))


def test_the_core_takes_every_field_that_the_schema_has():
    document = copy.deepcopy(DOCUMENT)
    for path in list(_objects(SCHEMA, DOCUMENT)):
        place, schema = document, SCHEMA
        for step in path:
            place = place[step]
            schema = schema["items"] if isinstance(step, int) else schema["properties"][step]
        if "details" in schema["properties"]:
            place["details"] = {"anything": [1, 2]}
    core.query("profile", text=json.dumps(document))
