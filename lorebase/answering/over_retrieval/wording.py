"""Fixed texts of the program, English and Chinese: nothing found, no subject, contradiction, hand-over, instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lorebase.extraction.languages import Language
from lorebase.registry.intents import Predicate

Wording = Mapping[Language, str]

NO_EVIDENCE: Final[Wording] = {
    "en": "The knowledge base holds no evidence for an answer to this question.",
    "zh": "知识库中没有可以回答这个问题的依据。",
}
NO_SUBJECT: Final[Wording] = {
    "en": "This names nothing that can be looked up in the documents. Name a subject: a thing, a person, a place, a "
    "rule. What the knowledge base holds is shown by `lorebase status` and `lorebase report`.",
    "zh": "这里没有提到可以在文档中查找的内容，请写明要问的对象，例如某个事物、人物、地点或规定。"
    "要了解知识库收录了什么，请用 `lorebase status` 和 `lorebase report`。",
}
HAND_OVER: Final[Wording] = {
    "en": "There is no checked answer to this question. Please ask a person who knows the subject.",
    "zh": "这个问题没有经过核对的答案，请转由人工答复。",
}
IN_OTHER_LANGUAGE: Final[Wording] = {
    "en": "What the knowledge base holds about this is written in another language: see {citations}.",
    "zh": "知识库中与此有关的内容是用另一种语言写的，请看{citations}。",
}
CONTRADICTION: Final[Wording] = {
    "en": "The documents contradict each other here:",
    "zh": "文档在这里互相矛盾：",
}

INSTEAD: Final[Mapping[Predicate, Wording]] = {
    Predicate.QUERY_BABEL_DATA: {
        "en": "Figures of Babel are not part of a knowledge base; ask them where Babel is served.",
        "zh": "Babel 的数据不在知识库中，请在 Babel 平台查询。",
    },
    Predicate.QUERY_SOURCE_TRUTH: {
        "en": "For the wording of a document use `lorebase search`: it shows the passages themselves.",
        "zh": "要看文档原文，请用 `lorebase search`，它直接显示原文段落。",
    },
    Predicate.QUERY_METADATA: {
        "en": "For facts about the base itself use `lorebase status` and `lorebase report`.",
        "zh": "要了解知识库本身的情况，请用 `lorebase status` 和 `lorebase report`。",
    },
    Predicate.QUERY_GRAPH: {
        "en": "For connections between things use `lorebase graph`.",
        "zh": "要查事物之间的关系，请用 `lorebase graph`。",
    },
    Predicate.ADD_SOURCE: {
        "en": "To add a document, put it where the recipe looks and run `lorebase build`.",
        "zh": "要添加文档，请把它放到配方所指的位置，再运行 `lorebase build`。",
    },
    Predicate.PROPOSE_WIKI_CARDS: {
        "en": "A question proposes no wiki cards; they are proposed and reviewed by commands of their own.",
        "zh": "提问不会提议知识卡片；卡片由专门的命令提议和审核。",
    },
    Predicate.REBUILD_KNOWLEDGE: {
        "en": "To build the base again use `lorebase build`.",
        "zh": "要重新构建知识库，请用 `lorebase build`。",
    },
    Predicate.SEND_MESSAGE: {
        "en": "A question sends nothing; send the answer with your own means.",
        "zh": "提问不会发送任何消息，请用您自己的方式发送答案。",
    },
    Predicate.EXPORT_ARTIFACT: {
        "en": "To take an answer along, ask with `lorebase ask --json` and write the output to a file.",
        "zh": "要导出答案，请用 `lorebase ask --json` 提问，并把输出写入文件。",
    },
}
"""What to use for a text that asks for something else than an answer out of the documents."""
