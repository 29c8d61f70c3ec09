"""A policy set to start from: what `discreet policy init` writes. The files lie beside this module as package data."""

from importlib.resources import files

NAMES = ("discreet.yaml", "sources.yaml", "disclosure.yaml", "texts.yaml", "notes_test.yaml")


def starter_files() -> dict[str, bytes]:
    """Returns the starter set, path to content; it passes `policy check` and `policy test`."""
    return {name: files(__name__).joinpath(name).read_bytes() for name in NAMES}
