"""Results of policy tests as JUnit XML, for CI: a suite for each test of each file. Runs nothing itself."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree as ET

from discreet.cli.errors import InputError
from discreet.cli.escaping import safe
from discreet.policy.testing import CaseResult


def write_junit(path: Path, results: Sequence[CaseResult]) -> None:
    """Writes the file. Raises InputError where that cannot be done."""
    try:
        path.write_bytes(junit(results))
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or 'cannot be written').lower()}", "name another file") from None


def junit(results: Sequence[CaseResult]) -> bytes:
    """The document. Names are escaped as for a terminal: XML has no place for control characters."""
    failed = sum(not result.passed for result in results)
    root = ET.Element("testsuites", name="discreet policy test", tests=str(len(results)), failures=str(failed))
    for (file, test, environment), cases in groupby(results, _suite):
        found = list(cases)
        name = f"{file}: {test}" + (f" in {environment}" if environment else "")
        suite = ET.SubElement(
            root, "testsuite", name=safe(name), tests=str(len(found)),
            failures=str(sum(not case.passed for case in found)), errors="0", skipped="0",
        )  # fmt: skip
        for case in found:
            _case(suite, case)
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _suite(result: CaseResult) -> tuple[str, str, str]:
    return result.file, result.test, result.environment


def _case(suite: ET.Element, result: CaseResult) -> None:
    classname = f"{result.file.removesuffix('.yaml').removesuffix('.yml')}.{result.test}"
    case = ET.SubElement(
        suite, "testcase", name=safe(result.name), classname=safe(classname), file=safe(result.file),
        line=str(result.line), time="0",
    )  # fmt: skip
    if not result.passed:
        told = [safe(str(difference)) for difference in result.differences]
        failure = ET.SubElement(case, "failure", message=told[0], type="difference")
        failure.text = "\n".join([safe(str(result.place)), *told])
