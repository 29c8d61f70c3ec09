"""How long a lease is: from the command line or the configuration file, within bounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.server.config import load_config
from discreet.server.errors import ConfigRefused


@pytest.mark.parametrize("seconds", [1.0, 5.0, 60.0])
def test_a_lease_within_the_bounds_is_taken(tmp_path: Path, seconds: float) -> None:
    """F1: at both ends of the bounds; an option wins over the file."""
    file = tmp_path / "discreet-server.yaml"
    file.write_text(f"policy: /p\nlease-s: {seconds}\n")
    assert load_config(file, {}).lease_s == seconds
    assert load_config(file, {"lease_s": 7.0}).lease_s == 7.0
    assert load_config(None, {"policy": "/p"}).lease_s == 5.0


@pytest.mark.parametrize("seconds", [0.0, 0.999, 60.001, float("nan"), float("inf")])
def test_a_lease_beyond_the_bounds_is_refused(seconds: float) -> None:
    """Limits: too short for any answer, or so long that nobody would wait for it."""
    with pytest.raises(ConfigRefused, match="lease: must be 1 to 60 seconds"):
        load_config(None, {"policy": "/p", "lease_s": seconds})
