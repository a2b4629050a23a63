"""Trees for migrations: what they hold, as one value that can be compared."""

from __future__ import annotations

import os
from pathlib import Path

Content = dict[str, bytes | str | None]
"""By path: bytes of a file, text of a link, None of a folder."""

OLD_TREE: Content = {
    "01_source_truth": None,
    "01_source_truth/制度.md": "员工手册".encode(),
    "01_source_truth/cafe\u0301.txt": b"decomposed",
    "01_source_truth/caf\u00e9.txt": b"composed",
    "01_source_truth/empty": None,
    "01_source_truth/again.md": "制度.md",
    "02_wiki": None,
    "02_wiki/deep": None,
    "02_wiki/deep/card.md": b"# Card\n",
    "02_wiki/to_compiled": "../03_compiled/vectors.bin",
    "03_compiled": None,
    "03_compiled/vectors.bin": bytes(range(256)) * 40,
    "04_memory": None,
    "04_memory/说过的话.jsonl": b"{}\n",
    "05_diagnosis": None,
}


def make(folder: Path, content: Content) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path, value in content.items():
        place = folder / path
        if value is None:
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(value, bytes):
                place.write_bytes(value)
            else:
                place.symlink_to(value)


def read(folder: Path) -> Content:
    """Everything below a folder."""
    found: Content = {}
    for parent, folders, files in os.walk(folder):
        for name in folders + files:
            path = Path(parent, name)
            key = path.relative_to(folder).as_posix()
            if path.is_symlink():
                found[key] = str(path.readlink())
            else:
                found[key] = None if path.is_dir() else path.read_bytes()
    return found


def moved(content: Content) -> Content:
    """What a tree holds once it has moved."""
    return {
        path.replace("01_source_truth", "01_source_raw"): value
        for path, value in content.items()
        if not path.startswith("04_memory") and path[:2] in {"01", "02", "03", "05"}
    }


def memory_of(content: Content) -> Content:
    return {path.removeprefix("04_memory/"): value for path, value in content.items() if path.startswith("04_memory/")}
