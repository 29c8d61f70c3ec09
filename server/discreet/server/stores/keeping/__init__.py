"""What an operator does with a database itself: look it over, upgrade it, adopt it, copy it. Serves no call."""

from discreet.server.stores.keeping.acts import Adopted, Marks, adopt_database, upgrade_database
from discreet.server.stores.keeping.copying import back_up
from discreet.server.stores.keeping.looking import look_over
from discreet.server.stores.keeping.report import Fault, Report

__all__ = ["Adopted", "Fault", "Marks", "Report", "adopt_database", "back_up", "look_over", "upgrade_database"]
