"""`discreet policy fmt`: policy files in the one layout. Writes whole files or none; what is wrong stays as it is."""

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.errors import InputError, PolicySetError
from discreet.cli.settings import Settings, current, shared_options

if TYPE_CHECKING:
    from discreet.policy.problems import PolicyProblem

_EPILOG = """\b
Examples:
  discreet policy fmt policies
  discreet policy fmt --check policies/disclosure.yaml policies/notes_test.yaml

Exit code: 0 done, 3 a file cannot be read, or with --check is laid out otherwise. Comments stay, decisions stay.
"""


@click.command(epilog=_EPILOG)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")
@click.option("--check", "only_check", is_flag=True, help="Write nothing; say which files would change.")
@shared_options
def fmt(paths: tuple[Path, ...], only_check: bool) -> None:
    """Lay out policy files and tests in the one way: key order, indents, quotes. Writes nothing where one fails."""
    settings = current()
    from discreet.policy.fmt import formatted
    from discreet.policy.problems import PolicyProblems

    changed: dict[Path, bytes] = {}
    problems: list[PolicyProblem] = []
    for path, data in _files(paths).items():
        try:
            laid_out = formatted(path.as_posix(), data)
        except PolicyProblems as wrong:
            problems += wrong.problems
            continue
        if laid_out != data:
            changed[path] = laid_out
    if problems:
        _refuse(settings, problems)
    if not only_check:
        for path, laid_out in changed.items():
            _write(path, laid_out)
    _report(settings, sorted(changed), only_check)


def _files(paths: tuple[Path, ...]) -> dict[Path, bytes]:
    """The files that are named, and those of the folders that are: each with its bytes, in the order of their paths."""
    from discreet.cli.commands.policy import read_folder

    found: dict[Path, bytes] = {}
    for path in paths:
        if path.is_dir():
            found |= {path / name: data for name, data in read_folder(path).items()}
        elif path.is_symlink() or not path.is_file():
            raise InputError(f"{path} is no file", "name policy files, or the directory of a policy set")
        else:
            found[path] = _read(path)
    return dict(sorted(found.items()))


def _read(path: Path) -> bytes:
    from discreet.policy.yaml.source import FILE_BYTES_MAX

    try:
        with path.open("rb") as stream:
            return stream.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None


def _write(path: Path, data: bytes) -> None:
    """Puts a file in the place of the old one, whole, with the old one's mode. Raises InputError; the old one stays."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            Path(name).chmod(path.stat().st_mode & 0o7777)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or 'cannot be written').lower()}") from None


def _refuse(settings: Settings, problems: "list[PolicyProblem]") -> None:
    from discreet.cli.policy_problems import print_problems

    print_problems(settings, tuple(problems))
    counted = f"{len(problems)} problem{'' if len(problems) == 1 else 's'}"
    raise PolicySetError(counted, "nothing was written; mend what `discreet policy check` tells first")


def _report(settings: Settings, changed: list[Path], only_check: bool) -> None:
    from discreet.cli.escaping import safe
    from discreet.cli.printing import note, print_tree

    names = [path.as_posix() for path in changed]
    if settings.output != "pretty":
        print_tree(settings, {"would_change" if only_check else "changed": list(names)})
    else:
        for name in names:
            click.echo(safe(name))
    if only_check and names:
        counted = f"{len(names)} file{' is' if len(names) == 1 else 's are'}"
        raise PolicySetError(f"{counted} laid out otherwise", "run `discreet policy fmt` on the same paths")
    if not names and settings.output == "pretty":
        note("every file is laid out already")
