"""Data sets of questions from files: rows of JSON, SQuAD, BEIR; told apart by what they look like."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from lorebase.errors import InvalidDataSetError, NotFoundError
from lorebase.evaluation.beir import beir_cases
from lorebase.evaluation.faults import Faults
from lorebase.evaluation.json_rows import row_cases
from lorebase.evaluation.model import DataSet
from lorebase.evaluation.squad import squad_cases


def load_data_set(path: Path, *, split: str = "test") -> DataSet:
    """Read a data set.

    Args:
        path: A folder with queries.jsonl and qrels/ (BEIR), a .jsonl file of {question, ...} (our own form), or a
            .json file in the form of SQuAD.
        split: Which qrels of a BEIR folder.

    Raises:
        NotFoundError: There is no such file.
        InvalidDataSetError: Rows are faulty, each named by file and line; or there is no question.
    """
    faults = Faults()
    if path.is_dir():
        cases = beir_cases(path, split, faults)
    elif not path.is_file():
        raise NotFoundError(f"There is no data set {path}.", remedy="Name a .jsonl or .json file, or a BEIR folder.")
    elif path.suffix == ".jsonl":
        cases = row_cases(path, faults)
    elif path.suffix == ".json":
        cases = squad_cases(path, faults)
    else:
        raise InvalidDataSetError(f"{path} is no data set.", remedy="Name a .jsonl or .json file, or a BEIR folder.")
    for case_id, count in Counter(case.case_id for case in cases).items():
        if count > 1:
            faults.add(path, None, f"the id {case_id!r} stands {count} times")
    faults.raise_if_any(path)
    if not cases:
        raise InvalidDataSetError(f"{path} holds no question.", remedy="Add rows with a question.")
    return DataSet(name=path.stem, cases=tuple(cases))
