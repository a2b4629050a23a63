"""No link and no image that the evidence does not hold: what a document smuggles in cannot send anything out."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

import regex
from markdown_it import MarkdownIt
from markdown_it.token import Token

from lorebase.answering.ready_checks.grounded import GroundedAnswer, excerpt
from lorebase.operation.check_results import CheckResult, result_of
from lorebase.operation.context import OperationContext
from lorebase.operation.issues import CheckIssue

_BARE = regex.compile(
    r"""(?:\b[a-z][a-z0-9+.-]{1,20}:(?://|\\\\)|\bwww\.|(?<![\w:/])//(?=[\w-]+\.))[^\s<>"'`()（）【】「」『』，。；！？、\p{Han}]+
      |\b(?:javascript|vbscript|data|mailto|tel|file):[^\s<>"'`()（）]+""",
    regex.VERBOSE | regex.IGNORECASE,
)
_ATTRIBUTE = regex.compile(
    r"""\b(?:src|href|srcset|action|formaction|poster|data|background|cite|ping|xlink:href)\s*=\s*
        (?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""",
    regex.VERBOSE | regex.IGNORECASE,
)
_STYLE_URL = regex.compile(r"url\(\s*['\"]?([^'\")]+)", regex.IGNORECASE)
_EXTERNAL = regex.compile(r"(?:[a-z][a-z0-9+.-]*:|//|\\\\|www\.)", regex.IGNORECASE)
_ORIGIN = regex.compile(r"[a-z][a-z0-9+.-]*:(?://[^/?#]*)?", regex.IGNORECASE)
_IMAGE_TAG = regex.compile(r"<\s*(?:img|image|picture|source|video|audio|iframe|embed|object|link)\b", regex.IGNORECASE)
_TRAILING = ".,;:!?*_~]}'\""


@dataclass(frozen=True, slots=True)
class OnlyEvidenceLinks:
    """Links lead only where a passage leads, letter for letter: LINK_OUTSIDE_EVIDENCE, IMAGE_OUTSIDE_EVIDENCE.

    A link is an address anywhere in the text: in Markdown, in HTML, or bare. An image is fetched without anybody
    clicking on it, and its address can carry away what the model knows; so an external one needs its host to be allowed
    as well.

    Attributes:
        image_hosts: Beginnings of addresses whose images may be shown, such as `https://static.example.org`.
    """

    id: str = "only-evidence-links"
    image_hosts: tuple[str, ...] = ()

    def check(self, value: GroundedAnswer, context: OperationContext[object]) -> CheckResult[GroundedAnswer]:
        """Compare the addresses of the answer with those of its passages."""
        del context
        held = {address for passage in value.passages for address, _image in _addresses(passage.text)}
        shown: dict[str, bool] = {}
        for address, image in _addresses(value.text):
            shown[address] = image or shown.get(address, False)
        return result_of(
            tuple(
                CheckIssue(
                    code="IMAGE_OUTSIDE_EVIDENCE" if image else "LINK_OUTSIDE_EVIDENCE",
                    message=f"The answer must not {'show' if image else 'lead to'} {excerpt(address)}",
                )
                for address, image in shown.items()
                if address not in held or (image and not self._may_show(address))
            )
        )

    def _may_show(self, address: str) -> bool:
        origin = _ORIGIN.match(address)
        return origin is not None and origin.group() in [_normal(host).rstrip("/") for host in self.image_hosts]


def _addresses(text: str) -> Iterator[tuple[str, bool]]:
    """External addresses with whether they are shown as images, each as often as it is found."""
    bare = ((match.group(), False) for match in _BARE.finditer(html.unescape(text)))
    for address, image in (*_marked(text), *_in_html(text), *bare):
        normal = _normal(address)
        if _EXTERNAL.match(normal):
            yield normal, image


def _marked(text: str) -> Iterator[tuple[str, bool]]:
    """Links and images of Markdown, those with their address at another place included."""
    for token in MarkdownIt("commonmark").parse(text):
        for child in token.children or [token]:
            yield from _of_token(child)


def _of_token(token: Token) -> Iterator[tuple[str, bool]]:
    if token.type == "link_open":
        yield str(token.attrGet("href") or ""), False
    elif token.type == "image":
        yield str(token.attrGet("src") or ""), True


def _in_html(text: str) -> Iterator[tuple[str, bool]]:
    for tag in regex.findall(r"<[^<>]*>?", text):
        is_image = _IMAGE_TAG.match(tag) is not None
        for match in _ATTRIBUTE.finditer(tag):
            # A source set lists several addresses, each followed by its width.
            for address in (match[1] or match[2] or match[3] or "").split(","):
                yield address.strip().split(" ")[0], is_image
        yield from ((match[1], True) for match in _STYLE_URL.finditer(tag))


def _normal(address: str) -> str:
    plain = unquote(html.unescape(address)).strip().rstrip(_TRAILING)
    origin = _ORIGIN.match(plain)
    return plain[: origin.end()].lower() + plain[origin.end() :] if origin else plain
