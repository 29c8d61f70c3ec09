"""`discreet policy`: start a policy set, check it, test it, compare it; publish it and take it back."""

from pathlib import Path

import click

from discreet.cli.commands.policy_diff import diff
from discreet.cli.commands.policy_explain import explain
from discreet.cli.commands.policy_fmt import fmt
from discreet.cli.commands.policy_publish import publish
from discreet.cli.commands.policy_replay import replay
from discreet.cli.commands.policy_revisions import revisions
from discreet.cli.commands.policy_rollback import rollback, unpin
from discreet.cli.commands.policy_testing import test
from discreet.cli.errors import InputError, PolicySetError
from discreet.cli.settings import current, shared_options

_NEXT_STEPS = """\
Next:
  discreet policy check {where}
  discreet policy test {where}
  git -C {where} init && git -C {where} add . && git -C {where} commit -m 'first policy set'
  discreet serve --policy {where}"""


@click.group()
def policy() -> None:
    """Start a policy set, check it, test it, explain it, compare it; publish it and take it back."""


policy.add_command(fmt)
policy.add_command(explain)
policy.add_command(diff)
policy.add_command(publish)
policy.add_command(rollback)
policy.add_command(unpin)
policy.add_command(revisions)
policy.add_command(replay)


@policy.command(epilog="\b\nExample:\n  discreet policy init policies")
@click.argument("directory", type=click.Path(path_type=Path))
@shared_options
def init(directory: Path) -> None:
    """Write a policy set to start from, with its tests. Never overwrites a file."""
    settings = current()
    from discreet.cli.printing import note, print_tree
    from discreet.policy.starter import starter_files

    files = starter_files()
    taken = [name for name in files if (directory / name).exists()]
    if taken:
        raise InputError(f"{directory / taken[0]} exists already", "name a new directory")
    try:
        for name, data in files.items():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            (directory / name).write_bytes(data)
    except OSError as error:
        raise InputError(f"{directory}: {(error.strerror or 'cannot be written').lower()}") from None
    if settings.output != "pretty":
        print_tree(settings, {"files": sorted(files)})
        return
    for name in sorted(files):
        note(f"wrote {directory / name}")
    note(_NEXT_STEPS.format(where=directory))


@policy.command(epilog="\b\nExample:\n  discreet policy check policies\n\nExit code: 0 good, 3 the set has problems.")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Warnings count as problems.")
@shared_options
def check(directory: Path, strict: bool) -> None:
    """Check a policy set: every problem at once, with file, line, column and what would be right."""
    settings = current()
    from discreet.cli.policy_problems import checked, counted, print_report, report_tree

    report = checked(read_folder(directory))
    if settings.output == "pretty":
        print_report(report)
    else:
        from discreet.cli.printing import print_tree

        print_tree(settings, report_tree(report))
    failed = len(report.problems) + (len(report.warnings) if strict else 0)
    if failed:
        raise PolicySetError(f"{counted(failed, 'problem')} in {directory}", "nothing of it can come into force")
    if settings.output == "pretty":
        from discreet.cli.printing import note

        warned = f", {counted(len(report.warnings), 'warning')}" if report.warnings else ""
        note(f"{directory}: good{warned}")


policy.add_command(test)


@policy.command(epilog="\b\nExample:\n  discreet policy schema > policies/.schema.json")
@shared_options
def schema() -> None:
    """Print the JSON Schema of policy files, for editors to complete and check by."""
    import json

    from discreet.policy.json_schema import json_schema

    click.echo(json.dumps(json_schema(), indent=2, ensure_ascii=False))


def read_folder(directory: Path) -> dict[str, bytes]:
    """The files of a policy set, as the server would read them with --dirty. Raises InputError, PolicySetError."""
    from discreet.server.policies.errors import SourceRefused, SourceUnavailable
    from discreet.server.policies.tree import files_of_folder

    if not directory.is_dir():
        raise InputError(f"{directory} is no directory", "name the directory of a policy set")
    try:
        return files_of_folder(directory)
    except SourceUnavailable as error:
        raise InputError(str(error)) from None
    except SourceRefused as error:
        raise PolicySetError(str(error)) from None
