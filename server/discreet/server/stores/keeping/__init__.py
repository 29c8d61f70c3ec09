"""What an operator does with a database itself: look it over, upgrade it, adopt it, copy it. Serves no call."""

from discreet.server.stores.keeping.acts import Adopted, Marks, adopt_database, upgrade_database
from discreet.server.stores.keeping.copying import back_up
from discreet.server.stores.keeping.finding import ExportedHead, Finding, Verified
from discreet.server.stores.keeping.looking import look_over, verify_chain
from discreet.server.stores.keeping.report import Fault, Report

__all__ = [
    "Adopted",
    "ExportedHead",
    "Fault",
    "Finding",
    "Marks",
    "Report",
    "Verified",
    "adopt_database",
    "back_up",
    "look_over",
    "upgrade_database",
    "verify_chain",
]
