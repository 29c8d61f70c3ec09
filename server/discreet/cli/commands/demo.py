"""`discreet demo`: the story of discreet.cli.demo, told."""

import click

from discreet.cli.settings import shared_options


@click.command(
    epilog="\b\nExamples:\n  discreet demo\n  discreet demo --keep   # then look around with the commands it prints"
)
@click.option("--keep", is_flag=True, help="Leave the server running at the end, until Ctrl-C.")
@shared_options
def demo(keep: bool) -> None:
    """Tell the whole story with real parts, in under a minute."""
    from discreet.cli.demo.story import tell

    tell(keep=keep)
