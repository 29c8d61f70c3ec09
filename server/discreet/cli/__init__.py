"""The command line, `discreet`. Thin: it reads what a person typed, makes calls, prints answers; it decides nothing.

Importing this package must stay quick: every command's module, and everything heavy, is imported when it is used.
"""


def main() -> None:
    """Runs the command line and ends the process with one of the exit codes of `discreet.cli.exit_codes`."""
    import gc

    # What modules make while they load stays: looking through it again and again took a tenth of a command's time.
    gc.set_threshold(10_000, 20, 20)
    from discreet.cli.app import run

    run()
