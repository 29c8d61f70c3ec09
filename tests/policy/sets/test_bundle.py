"""The canonical bundle: policy files and nothing else, in one spelling, and back."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.policy.bundle import MAGIC, BadBundle, bundle, bundle_digest, files_of, is_policy, is_test
from discreet.policy.engine import ENGINE, engine_needed
from tests.policy.sets.sets import RULES, a_set, compiled

PATHS = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=8), min_size=1, max_size=3
).map("/".join)
FOLDERS = st.dictionaries(PATHS.flatmap(lambda path: st.sampled_from([path, f"{path}.yaml"])), st.binary(max_size=40))


@given(FOLDERS)
def test_a_bundle_gives_back_the_policy_files(files: dict[str, bytes]) -> None:
    """F2: what is stored is what was compiled; bundling it again gives the same bytes."""
    data = bundle(files)
    back = files_of(data)
    assert set(back) == {path for path in files if is_policy(path)}
    assert bundle(back) == data


def test_a_bundle_compiles_to_the_same_revision() -> None:
    """F2: a worker that compiles the bundle has the revision that the publisher compiled from Git, digest included."""
    files = a_set(rules=b"\xef\xbb\xbf" + RULES.replace("\n", "\r\n").encode()) | {
        "README.md": b"x",
        "a_test.yaml": b"?",
    }
    snapshot = compiled(files)
    assert compiled(files_of(bundle(files))) == snapshot
    assert snapshot.digest == bundle_digest(files) == hashlib.sha256(bundle(files)).hexdigest()


def test_only_policies_count() -> None:
    """Tests, hidden folders and other files are no part of the policy: changing them is no other revision."""
    digest = bundle_digest(a_set())
    for path in ("a_test.yaml", "x/b_test.yml", ".github/ci.yaml", ".hidden.yaml", "README.md", "a.json"):
        assert bundle_digest(a_set() | {path: b"x"}) == digest
    assert bundle_digest(a_set() | {"x/y.yml": b"x"}) != digest
    assert is_test("x/b_test.yml")
    assert not is_test(".x/b_test.yml")


def test_names_and_contents_cannot_run_into_each_other() -> None:
    """F2: what moves between a path and its content, or between files, gives another digest."""
    folders = [{"a.yaml": b"b"}, {"ab.yaml": b""}, {"a.yaml": b"b.yaml"}, {"a.yaml": b"", "b.yaml": b""}, {}]
    assert len({bundle_digest(folder) for folder in folders}) == len(folders)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"discreet-bundle/2\n",
        MAGIC + b"\0",
        MAGIC + b"\0\0\0\x05a.yaml",
        bundle(a_set())[:-1],
        bundle(a_set()) + b"\0\0\0\0",
        MAGIC + b"\0\0\0\x06b.yaml\0\0\0\0\0\0\0\x06a.yaml\0\0\0\0",
        MAGIC + b"\0\0\0\x06a.yaml\0\0\0\x02\r\n",
        MAGIC + b"\0\0\0\x04a.md\0\0\0\0",
        MAGIC + b"\0\0\0\x06\xff.yaml\0\0\0\0",
    ],
)
def test_only_what_bundle_makes_is_a_bundle(data: bytes) -> None:
    """E2: a well-formed lie in a cache is refused: cut off, out of order, in another spelling, with other files."""
    with pytest.raises(BadBundle):
        files_of(data)


def test_a_bundle_says_which_engine_it_needs() -> None:
    """E2: both forms of bundles need the first engine, which is the newest; any other form is of a later program."""
    files = {"discreet.yaml": b"apiVersion: discreet/v1\n"}
    for environment in ("", "live"):
        assert engine_needed(bundle(files, environment)) == ENGINE == 1
    for other in (b"", b"discreet-bundle/3\n", MAGIC[:-1]):
        with pytest.raises(BadBundle, match="no policy bundle of this version"):
            engine_needed(other)
