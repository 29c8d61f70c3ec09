"""What a commit may hold: plain files at safe paths within limits, read from its objects and from nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from dulwich.object_store import MemoryObjectStore
from dulwich.objects import Blob, ObjectID, Tree

from discreet.server.policies import tree
from discreet.server.policies.errors import SourceRefused
from discreet.server.policies.tree import files_of_folder, files_of_tree
from tests.server.policies.revisions import LISTED, in_force, refused
from tests.server.support import POLICY, PolicyRepo, Running, git

FILE, LINK, MODULE, FOLDER = 0o100644, 0o120000, 0o160000, 0o040000


def stored(objects: MemoryObjectStore, entries: Iterable[tuple[bytes, int, ObjectID]]) -> ObjectID:
    """A tree of these entries, whatever Git itself would say of their names."""
    one = Tree()
    for name, mode, sha in entries:
        one.add(name, mode, sha)
    objects.add_object(one)
    return one.id


def blob(objects: MemoryObjectStore, content: bytes = b"x") -> ObjectID:
    """A file's content."""
    one = Blob.from_string(content)
    objects.add_object(one)
    return one.id


@pytest.mark.parametrize(
    "name",
    [
        b"..",
        b".",
        b"a\\b.yaml",
        b"..\\a.yaml",
        "a\u200b.yaml".encode(),
        "a\u202e.yaml".encode(),
        b"a\x01.yaml",
        b"\xff.yaml",
    ],
)
@pytest.mark.parametrize("mode", [FILE, FOLDER])
def test_names_that_lead_elsewhere_or_look_like_others_are_refused(name: bytes, mode: int) -> None:
    """F2: dot segments, slashes of other systems, hidden and broken characters, of files and of folders."""
    objects = MemoryObjectStore()
    inside = blob(objects) if mode == FILE else stored(objects, [(b"a.yaml", FILE, blob(objects))])
    with pytest.raises(SourceRefused, match="holds a file whose name"):
        files_of_tree(objects, stored(objects, [(name, mode, inside)]), "")


@pytest.mark.parametrize("mode, what", [(LINK, "is a symbolic link"), (MODULE, "is a submodule")])
@pytest.mark.parametrize("name", [b"a.yaml", b"README", b"folder"])
def test_links_and_submodules_are_refused_wherever_they_stand(mode: int, what: str, name: bytes) -> None:
    """F2: at the top and below it, named like a policy file or not."""
    objects = MemoryObjectStore()
    odd = (name, mode, blob(objects, b"../../etc"))
    for root in (stored(objects, [odd]), stored(objects, [(b"d", FOLDER, stored(objects, [odd]))])):
        with pytest.raises(SourceRefused, match=f"{name.decode()}:1:1: {what}"):
            files_of_tree(objects, root, "")


def test_a_few_objects_that_spell_billions_of_files_are_refused_soon() -> None:
    """F2: ten levels of ten times the same folder: the number of entries that are looked at is bounded."""
    objects = MemoryObjectStore()
    root = stored(objects, [(b"a.txt", FILE, blob(objects))])
    for _ in range(10):
        root = stored(objects, [(f"d{n}".encode(), FOLDER, root) for n in range(10)])
    with pytest.raises(SourceRefused, match="one entry too many; at most 100000"):
        files_of_tree(objects, root, "")


def test_entries_that_are_no_policy_are_counted_up_to_the_limit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """At the limit it is taken, one past it is refused; of a commit and of a folder."""
    monkeypatch.setattr(tree, "ENTRIES_MAX", 10)
    objects, folder = MemoryObjectStore(), tmp_path
    names = [f"{n}.txt" for n in range(9)] + ["a.yaml"]
    for name in names:
        (folder / name).write_text("x")
    entries = [(name.encode(), FILE, blob(objects)) for name in names]
    assert set(files_of_tree(objects, stored(objects, entries), "")) == set(files_of_folder(folder)) == {"a.yaml"}
    (folder / "one.more").write_text("x")
    with pytest.raises(SourceRefused, match="one entry too many"):
        files_of_folder(folder)
    with pytest.raises(SourceRefused, match="one entry too many"):
        files_of_tree(objects, stored(objects, [*entries, (b"one.more", FILE, blob(objects))]), "")


@pytest.mark.parametrize("past", [0, 1])
def test_number_depth_and_size_are_taken_at_their_limits_and_refused_past_them(past: int) -> None:
    """F2: a thousand files, sixteen levels, a mebibyte a file, sixteen together; not one more of any."""
    objects = MemoryObjectStore()
    small = blob(objects)
    many = stored(objects, [(f"{n}.yaml".encode(), FILE, small) for n in range(tree.FILES_MAX + past)])
    deep = stored(objects, [(b"a.yaml", FILE, small)])
    for _ in range(tree.DEPTH_MAX + past):
        deep = stored(objects, [(b"d", FOLDER, deep)])
    large = stored(objects, [(b"a.yaml", FILE, blob(objects, b"x" * (tree.FILE_BYTES_MAX + past)))])
    full = blob(objects, b"x" * tree.FILE_BYTES_MAX)
    together = [(f"{n}.yaml".encode(), FILE, full) for n in range(tree.TOTAL_BYTES_MAX // tree.FILE_BYTES_MAX)]
    whole = stored(objects, [*together, *[(b"z.yaml", FILE, small)] * past])
    for root, said in (
        (many, "one file too many"),
        (deep, "directories deep"),
        (large, "at most"),
        (whole, "larger than"),
    ):
        if past:
            with pytest.raises(SourceRefused, match=said):
                files_of_tree(objects, root, "")
        else:
            assert files_of_tree(objects, root, "")


@pytest.mark.parametrize("odd", ["link", "submodule", "too many"])
async def test_a_commit_with_what_no_set_may_hold_is_refused_as_a_whole(
    running: Running, repo: PolicyRepo, odd: str
) -> None:
    """F2: nothing of the commit comes into force, status names the file, and a commit without it comes into force."""
    before = (await running.lines.operator.status()).policy
    names = {"link": "more.yaml", "submodule": "vendored", "too many": "many/"}
    if odd == "link":
        (repo.path / "more.yaml").symlink_to("../../../etc/passwd")
    elif odd == "submodule":
        head = git(repo.path, "rev-parse", "HEAD")
        git(repo.path, "update-index", "--add", "--cacheinfo", f"160000,{head},vendored")
        git(repo.path, "commit", "-q", "-m", "submodule")
        status = await refused(running, git(repo.path, "rev-parse", "HEAD"))
        assert (status.policy, "vendored:1:1: is a submodule" in status.policy_error) == (before, True)
        git(repo.path, "rm", "-q", "--cached", "vendored")
        await in_force(running, repo.commit({"sources.yaml": LISTED}))
        return
    else:
        for number in range(tree.FILES_MAX + 1):
            (repo.path / "many").mkdir(exist_ok=True)
            (repo.path / "many" / f"{number}.yaml").write_text("x")
    status = await refused(running, repo.commit({"sources.yaml": LISTED}))
    assert (status.policy, names[odd] in status.policy_error) == (before, True)
    git(repo.path, "rm", "-q", "-r", names[odd])
    await in_force(running, repo.commit({"sources.yaml": POLICY["sources.yaml"] + "# mended\n"}))
