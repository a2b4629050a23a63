"""Ends with 0 where the service of this container answers LOREBASE_HEALTH_URL with a success, otherwise with 1."""

from __future__ import annotations

import os
import sys
import urllib.error
import urllib.request

TIMEOUT_SECONDS = 4.0


def is_healthy(url: str) -> bool:
    """Whether a GET succeeds; proxies of the environment are not for the container's own service."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=TIMEOUT_SECONDS) as answer:
            return bool(200 <= answer.status < 300)  # noqa: PLR2004 (HTTP's successes)
    except (urllib.error.URLError, TimeoutError, ConnectionError, ValueError):
        return False


if __name__ == "__main__":
    sys.exit(0 if is_healthy(os.environ.get("LOREBASE_HEALTH_URL", "")) else 1)
