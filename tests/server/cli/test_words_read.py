"""What a request in a file may say, and how what is wrong is named."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.cli.errors import InputError
from discreet.cli.messages import build
from discreet.cli.reading import Tree, parse_text
from discreet.cli.shapes import to_tree
from discreet.v1.common_pb2 import GROUNDING_BOUND, MOMENT_RETRIEVE, Value
from discreet.v1.disclosure_pb2 import CheckRequest
from discreet.v1.index_pb2 import DocumentInput, EvidenceInput, PutDocumentsRequest

REQUEST: dict[str, Tree] = {
    "tenant": "marlowe",
    "moment": "RETRIEVE",
    "principal": {"id": "ana"},
    "session_id": "s-1",
    "segments": [
        {
            "id": "seg-1",
            "kind": "answer",
            "grounding": "BOUND",
            "bindings": [{"record_id": "pep-0020", "version": "1", "digest": "ab" * 32}],
        }
    ],
}
YAML = """\
tenant: marlowe
moment: RETRIEVE
principal: {id: ana}
session_id: s-1
segments:
  - id: seg-1
    kind: answer
    grounding: BOUND
    bindings:
      - record_id: pep-0020
        version: "1"
        digest: "%s"
""" % ("ab" * 32)


def _refusal(tree: Tree, kind: type[CheckRequest | PutDocumentsRequest] = CheckRequest) -> str:
    with pytest.raises(InputError) as refused:
        build(kind, tree)
    return str(refused.value)


def test_json_and_yaml_say_the_same() -> None:
    """The form of the file has no meaning; names are those of the proto."""
    from_json = build(CheckRequest, parse_text(json.dumps(REQUEST).encode(), "a.json"))
    from_yaml = build(CheckRequest, parse_text(YAML.encode(), "a.yaml"))
    assert from_json == from_yaml
    assert from_yaml.moment == MOMENT_RETRIEVE
    assert from_yaml.segments[0].grounding == GROUNDING_BOUND


@pytest.mark.parametrize("word", ["RETRIEVE", "MOMENT_RETRIEVE"])
def test_enum_words_are_read_short_and_long(word: str) -> None:
    """Both forms name the same member."""
    assert build(CheckRequest, {"moment": word}).moment == MOMENT_RETRIEVE


def test_an_enum_word_that_is_none_is_refused_with_the_nearest() -> None:
    """The zero value cannot be chosen, and a slip gets a hint."""
    assert 'did you mean "RETRIEVE"?' in _refusal({"moment": "RETRIVE"})
    assert "moment" in _refusal({"moment": "UNSPECIFIED"})
    assert "moment is a number" in _refusal({"moment": 1})


@pytest.mark.parametrize("name", ["trusted_hit", "allowlisted"])
def test_a1_a_derived_field_of_a_binding_is_refused_as_derived(name: str) -> None:
    """A1: nobody supplies what is derived; the refusal names the field, and says that it is derived."""
    told = _refusal({"segments": [{"bindings": [{name: True}]}]})
    assert f"segments[0].bindings[0].{name} is derived" in told


@pytest.mark.parametrize("name", ["trusted_hit", "allowlisted", "collector"])
def test_a1_a_derived_field_of_a_document_is_refused_as_derived(name: str) -> None:
    """A1: a collector's file cannot vouch for itself, nor name another collector."""
    told = _refusal({"documents": [{name: True}]}, PutDocumentsRequest)
    assert f"documents[0].{name} is derived" in told


def test_an_unknown_field_is_refused_with_the_nearest_known_one() -> None:
    """A misspelt field is never silently left out."""
    assert """unknown field 'segments[0].bindngs'; did you mean "bindings"?""" in _refusal(
        {"segments": [{"bindngs": []}]}
    )


@pytest.mark.parametrize(
    "tree,path",
    [
        ({"segments": {}}, "segments"),
        ({"segments": [1]}, "segments[0]"),
        ({"principal": "ana"}, "principal"),
        ({"session_id": 7}, "session_id"),
        ({"session_id": None}, "session_id"),
        ({"need_numbers": "yes"}, "need_numbers"),
        ({"segments": [{"claim": {"about": {"start": "2026-01-01"}}}]}, "segments[0].claim.about.start"),
        ({"segments": [{"bindings": [{"version": 1}]}]}, "segments[0].bindings[0].version"),
        ({"principal": {"attributes": {"a": 2**63}}}, "principal.attributes.a"),
        ({"principal": {"attributes": {"a": float("nan")}}}, "principal.attributes.a"),
        ({"session_id": "\ud800"}, "session_id"),
        ([], "the request"),
    ],
)
def test_a_field_of_the_wrong_type_is_named_by_its_path(tree: Tree, path: str) -> None:
    """Each refusal says which field, and what would be right."""
    told = _refusal(tree)
    assert told.startswith(f"{path} ")
    assert "; " in told


def test_what_is_refused_is_never_repeated() -> None:
    """A request may be secret: errors name field and type, not the value."""
    assert "hunter2" not in _refusal({"principal": {"attributes": "hunter2"}})
    assert "hunter2" not in _refusal({"moment": "hunter2"})


@pytest.mark.parametrize(
    "text,name",
    [
        ('{"tenant": "a", "tenant": "b"}', "a.json"),
        ('{"segments": [{"id": "a", "id": "b"}]}', "a.json"),
        ("tenant: a\ntenant: b\n", "a.yaml"),
    ],
)
def test_a_key_that_stands_twice_is_refused(text: str, name: str) -> None:
    """Neither of two answers is chosen in silence."""
    with pytest.raises(InputError, match="twice"):
        parse_text(text.encode(), name)


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"[1",
        b"a: [",
        b"\xff\xfe",
        b'{"a": NaN}',
        b'{"a": 1e999999999999}',
        b"a: &x 1\nb: *x\n",
        b"a: 1\n---\nb: 2\n",
    ],
)
def test_what_is_neither_json_nor_yaml_is_refused(data: bytes) -> None:
    """Every broken text is an InputError, whatever is wrong with it, or becomes a value that a field refuses."""
    with pytest.raises(InputError):
        build(CheckRequest, parse_text(data, "request.yaml"))


def test_deep_nesting_is_refused() -> None:
    """Depth is bounded in both forms."""
    with pytest.raises(InputError):
        parse_text(b"[" * 100_000, "a.json")
    with pytest.raises(InputError):
        build(CheckRequest, {"principal": {"attributes": {"a": _nested(12)}}})


def _nested(depth: int) -> Tree:
    return [_nested(depth - 1)] if depth else 1


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@given(VALUES)
def test_attribute_values_survive_the_way_there_and_back(value: Tree) -> None:
    """What a file says of an attribute is what the message holds and what JSON output says again."""
    message = build(EvidenceInput, {"fields": {"x": value}})
    assert to_tree(message)["fields"] == {"x": value}


def test_times_and_enums_come_back_in_short_form() -> None:
    """What is printed as JSON can be read again."""
    tree: Tree = {"record_id": "a", "as_of": "2026-01-31T12:00:00.25+01:00", "attributes": {"n": 1.5}}
    shown = to_tree(build(DocumentInput, tree))
    assert shown["as_of"] == "2026-01-31T11:00:00.250000Z"
    assert shown["attributes"] == {"n": 1.5}
    assert shown["assessment_expires_at"] is None


def test_a_value_without_a_kind_is_null() -> None:
    """An unset value is shown as null, and never as a default of some type."""
    assert to_tree(Value()) == {}
    assert to_tree(EvidenceInput(fields={"x": Value()}))["fields"] == {"x": None}
