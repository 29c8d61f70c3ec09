"""Policy repositories for the server's tests, made with Git."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

POLICY: Mapping[str, str] = {
    "discreet.yaml": "apiVersion: discreet/v1\nkind: PolicySet\nname: test\nuse-within: 2s\nstore-within: 10m\n",
    "sources.yaml": """apiVersion: discreet/v1
kind: SourceList
name: sources
sources:
  - {label: handbook, title: Handbook, duty: DOCUMENT_STORE, collectors: [collector]}
  - {label: prices, title: Prices, duty: DATA_CHANNEL, collectors: [collector], max-age: 1d}
  - {label: sums, title: Sums, duty: DERIVATION, collectors: [collector]}
  - {label: mixed, title: Mixed case, duty: DOCUMENT_STORE, collectors: [collector], record-ids: case-sensitive}
  - {label: foreign, title: Somebody's, duty: DOCUMENT_STORE, collectors: [somebody-else]}
  - {label: notes, title: Internal notes, duty: DOCUMENT_STORE, collectors: [collector], listed: false}
""",
    "rules.yaml": """apiVersion: discreet/v1
kind: DisclosurePolicy
name: rules
rules:
  - id: allow-sources
    effect: ALLOW
    moments: [RETRIEVE, PUBLISH, REPLAY]
    sources: [handbook, prices, sums, mixed]
  - id: no-secret
    effect: WITHHOLD
    moments: [PUBLISH]
    sources: [handbook]
    when: has(document.attributes.status) && document.attributes.status == "secret"
    custom-reason: SECRET
  - id: small-talk
    effect: ALLOW
    moments: [PUBLISH, REPLAY]
    grounding: UNBOUND
    kinds: [small-talk]
""",
}


def git(directory: Path, *arguments: str) -> str:
    """What a git command says, run in a directory with an identity of its own."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(directory),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in _WHO.items()},
    }
    done = subprocess.run(["git", *arguments], cwd=directory, env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


_WHO = {"NAME": "Ana", "EMAIL": "ana@example.org"}


@dataclass(frozen=True, slots=True)
class PolicyRepo:
    """A Git repository with a policy set."""

    path: Path

    def commit(self, files: Mapping[str, str], message: str = "change") -> str:
        """The id of a commit of these files on top of what is there."""
        for name, content in files.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        git(self.path, "add", "-A")
        git(self.path, "commit", "-q", "-m", message)
        return git(self.path, "rev-parse", "HEAD")


def make_repo(path: Path, files: Mapping[str, str] = POLICY) -> PolicyRepo:
    """A repository on branch main with one commit."""
    shutil.copytree(_made(tuple(sorted(files.items()))), path)
    return PolicyRepo(path)


@cache
def _made(files: tuple[tuple[str, str], ...]) -> Path:
    """A repository of these files to be copied, which costs less than Git's processes; once a test process."""
    path = Path(mkdtemp(prefix="repo-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    git(path, "init", "-q", "-b", "main")
    PolicyRepo(path).commit(dict(files), "first")
    return path
