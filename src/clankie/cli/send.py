"""`clankie send`: one message from a script or a shell, stored once however often repeated."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from clankie.cli import reads
from clankie.cli.client import Send, new_delivery_id
from clankie.cli.failures import CommandError
from clankie.cli.files import named, upload
from clankie.cli.frame import Frame, framed

if TYPE_CHECKING:
    from rich.console import RenderableType

    from clankie.cli.wire import Json


@click.command()
@click.argument("conversation")
@click.argument("text")
@click.option(
    "--id", "delivery_id", metavar="ID", help="Repeat a send under its id; never stored twice."
)
@click.option("--wait", is_flag=True, help="Wait for the answer and print it.")
@click.option("--steer", "mode", flag_value="steer", help="Join the answer that is being written.")
@click.option(
    "--queue", "mode", flag_value="queue", help="Wait until the running answer has ended."
)
@click.option(
    "--attach", multiple=True, metavar="FILE", help="A picture or a text file; may be repeated."
)
@framed
def send(  # noqa: PLR0913 - one parameter an option
    frame: Frame,
    conversation: str,
    text: str,
    delivery_id: str | None,
    mode: str | None,
    attach: tuple[str, ...],
    *,
    wait: bool,
) -> None:
    """Send TEXT to CONVERSATION (a name or an id); - reads it from standard input."""
    words = _standard_input() if text == "-" else text
    if not words.strip():
        raise click.UsageError("The text is blank.")
    target = reads.conversation(frame.client, conversation)["id"]
    message = Send(
        conversation=target,
        text=words,
        delivery_id=delivery_id or new_delivery_id(),
        mode=mode or "auto",
        attachments=tuple(named(frame.client.call(upload(one))) for one in attach),
    )
    admitted = frame.client.admit(message)
    if not wait:
        frame.emit(admitted, lambda: _receipt_line(admitted))
        return
    _answer(frame, message.delivery_id)


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise CommandError(f"Standard input is not UTF-8 ({error}).", code="bad_text") from error


def _receipt_line(admitted: Json) -> RenderableType:
    from rich.text import Text  # noqa: PLC0415 - only for people

    from clankie.cli.look import safe, state_text  # noqa: PLC0415 - only for people

    delivery = admitted["delivery"]
    shown = Text.assemble(("✓ ", "good"), "Stored as ", safe(delivery["id"], "accent"), ", ")
    return shown.append_text(state_text(str(delivery["state"]))).append(".")


def _answer(frame: Frame, delivery_id: str) -> None:
    frame.progress(
        f"Stored as {delivery_id}. Waiting for the answer; Ctrl-C stops the waiting only."
    )
    delivery = reads.settled(frame.client, delivery_id)
    answer = reads.reply(frame.client, delivery)
    if answer is None:
        state = str(delivery["state"])
        detail = (
            delivery.get("detail") or f"The message is {state.replace('_', ' ')}; no answer came."
        )
        raise CommandError(detail, code=str(delivery.get("code") or state), delivery=delivery)

    def shown() -> RenderableType:
        from clankie.cli.look import body  # noqa: PLC0415 - only for people

        return body(answer)

    frame.emit({"delivery": delivery, "answer": answer}, shown)
