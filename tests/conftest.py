"""What holds for every suite: how hard the property tests try, and where files lie; nothing of any one area."""

from __future__ import annotations

import gc
import os

from hypothesis import HealthCheck, settings

from tests import scratch

scratch.choose()

# No deadline for one example: the machines that run the suite are small and shared, and slow is not wrong.
settings.register_profile("suite", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fuzz", parent=settings.get_profile("suite"), max_examples=5_000)
if "CI" not in os.environ:  # there hypothesis takes its own profile, which tries the same examples on every run
    settings.load_profile("suite")


def pytest_collection_finish() -> None:
    """What is loaded now stays to the end: not looking through it again and again saves a twentieth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
