"""Mail messages: the subject as heading, who wrote to whom and when, the body."""

from __future__ import annotations

import email.policy
from email import message_from_bytes
from email.message import EmailMessage

from lorebase.adapters.parsers.html import read_html
from lorebase.adapters.parsers.plain_text import read_plain_text
from lorebase.documents.building import DocumentBuilder
from lorebase.documents.encoding import decode_text
from lorebase.documents.unreadable import unreadable

# What the header parser of the standard library raises for headers beyond its grammar.
_FAULTS = (ValueError, LookupError, TypeError, AttributeError)
_SHOWN_HEADERS = ("From", "To", "Cc", "Date")


def read_mail(content: bytes, builder: DocumentBuilder, *, name: str) -> None:
    """Add a message to a document; attachments are named in a warning, not read."""
    try:
        _add_message(message_from_bytes(content, policy=email.policy.default), builder, name)
    except _FAULTS as error:
        raise unreadable(name, "CORRUPT", "no mail message can be made of it") from error


def _add_message(message: EmailMessage, builder: DocumentBuilder, name: str) -> None:
    builder.add_heading(str(message.get("Subject", "")), 1)
    shown = [f"{header}: {message[header]}" for header in _SHOWN_HEADERS if message.get(header)]
    builder.add_paragraph("\n".join(shown))
    body = message.get_body(("plain", "html"))
    if isinstance(body, EmailMessage):
        _add_body(body, builder, name)
    if attachments := [part.get_filename() or "unnamed" for part in message.iter_attachments()]:
        builder.warn(
            "ATTACHMENTS_LEFT_OUT", f"{len(attachments)} attachment(s) were not read: {', '.join(attachments)}."
        )


def _add_body(body: EmailMessage, builder: DocumentBuilder, name: str) -> None:
    payload = body.get_payload(decode=True)
    if not isinstance(payload, bytes) or not payload.strip():
        return
    try:
        text = payload.decode(body.get_content_charset("utf-8"))
    except (UnicodeDecodeError, LookupError):
        text = decode_text(payload, name=name).text
    if body.get_content_type() == "text/html":
        read_html(text, builder, name=name)
        return
    text, blocks = read_plain_text(text)
    for block in blocks:
        builder.add_paragraph(text[block.start : block.end])
