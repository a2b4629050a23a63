"""What the two extraction steps share: by model or by rule, chunk by chunk, and never silently."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Literal

from pydantic import Field

from lorebase.errors import DependencyError
from lorebase.extraction.items import ExtractionItem
from lorebase.extraction.languages import LanguageSetting
from lorebase.extraction.mentions import ExtractionMode
from lorebase.extraction.prompts.wording import PromptWording
from lorebase.extraction.readers import MentionRow, ModelReader, RuleReader
from lorebase.extraction.reading_run import ReadingRun
from lorebase.extraction.rules.tagging import tagger_versions
from lorebase.models.chat import CHAT_ROLE, ChatModel
from lorebase.runs.records import Issue, Subject
from lorebase.runs.step import Partition, PartitionReport, Step, StepExecutionContext

RULES_VERSION = 1
"""Raised whenever the rules would read the same text in another way."""


class ExtractionStep(Step):
    """Reads every chunk once, by model or by rule.

    Class attributes:
        prompt: What the model is told.
        mention_name: What it reads, in the plural, for messages.
    """

    mode: Literal["auto", "model", "rules"] = Field(
        "auto",
        description='Who reads: the recipe\'s chat model, or rules. "auto" takes the model where the recipe has one.',
        json_schema_extra={"affects_result": False},  # what was decided is part of the identity
    )
    language: LanguageSetting = Field(
        "auto", description='Language of the prompt: "en", "zh", or "auto" for that of each chunk.'
    )

    optional_models: ClassVar[tuple[str, ...]] = (CHAT_ROLE,)
    segment_items: ClassVar[int] = 64  # the call ledger has written each answer down at once
    prompt: ClassVar[PromptWording]
    mention_name: ClassVar[str]

    def mode_in(self, context: StepExecutionContext) -> ExtractionMode:
        """Who reads in a build."""
        if self.mode == "auto":
            return "rules" if context.chat is None else "model"
        return self.mode

    def called_models(self) -> tuple[str, ...]:
        """The chat model, unless rules are to read."""
        return () if self.mode == "rules" else (CHAT_ROLE,)

    def identity(self, context: StepExecutionContext) -> dict[str, str]:
        """Who reads: the model with its prompt, or the rules with their taggers.

        Raises:
            ConfigurationError: A model is to read, and the recipe has none.
        """
        if self.mode_in(context) == "rules":
            return {
                "extraction": "rules",
                "extraction.asked": self.mode,  # decides what the report says about it
                "rules.version": str(RULES_VERSION),
                "rules.taggers": tagger_versions(),
            }
        profile = context.require_chat(self.type_name).profile
        return {
            "extraction": "model",
            "model.provider": profile.provider,
            "model.name": profile.model,
            "model.profile": profile.profile_id,
            "prompt": self.prompt.version,
        }

    def notices(self, context: StepExecutionContext) -> tuple[Issue, ...]:
        """That rules read in place of a model."""
        if self.mode_in(context) == "model":
            return ()
        subject = Subject(kind="step", id=self.type_name)
        if self.mode == "rules":
            said = f"The {self.mention_name} were read by rules, as the recipe asks."
            return (self.issue("RULES_EXTRACTION", said, subject, severity="info", extraction="rules"),)
        said = (
            f"Model extraction unavailable: the recipe has no chat model, so the {self.mention_name} were read by "
            "rules, which see less. Add `models: {chat: {provider: ..., model: ...}}`, or say `mode: rules` to mean it."
        )
        return (self.issue("MODEL_SEAM_MISSING", said, subject, extraction="rules"),)

    async def run_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[Any]]:
        """Read the chunks of all partitions together, each distinct text once."""
        run = await ReadingRun.begin(partitions, self.produces, self._items)
        if self.mode_in(context) == "rules":
            await run.read_by_rules(self._rule_reader())
        else:
            model = context.require_chat(partitions[0].step_name)
            await run.read_by_model(self._model_reader(model, context))
        return self._reports(run, context)

    async def plan_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[Any]]:
        """Count the distinct texts that the ledger does not hold, and what the model would be asked for them."""
        if self.mode_in(context) == "rules":
            return await self.run_partitions(partitions, context)
        run = await ReadingRun.begin(partitions, self.produces, self._items)
        run.pretend(self._model_reader(context.require_chat(partitions[0].step_name), context))
        return self._reports(run, context)

    def _reports(self, run: ReadingRun, context: StepExecutionContext) -> list[PartitionReport[Any]]:
        return run.reports(context.budget, self._issue_of, partial(self._issue_of_dropped, self.mode_in(context)))

    def _issue_of(self, item: ExtractionItem, failure: DependencyError) -> Issue:
        subject = Subject(kind="chunk", id=item.chunk.chunk_id, name=item.document_name)
        return self.issue(f"EXTRACTION_{failure.code}", str(failure), subject, severity="error", reason=failure.message)

    def _issue_of_dropped(
        self, mode: ExtractionMode, rows: Sequence[MentionRow], items: Sequence[ExtractionItem]
    ) -> Issue:
        """One issue for the mentions of a partition that were left out; it names the first chunk."""
        chunks = [(item, row.dropped) for item, row in zip(items, rows, strict=True) if row.dropped]
        first, dropped = chunks[0][0], sum(count for _, count in chunks)
        why = "over the limit, or not stated by the text" if mode == "model" else "over the limit"
        return self.issue(
            "MENTIONS_DROPPED",
            f"{dropped} {self.mention_name} of {len(chunks)} chunks were left out: {why}.",
            Subject(kind="chunk", id=first.chunk.chunk_id, name=first.document_name),
            severity="info",
            dropped=dropped,
            chunks=len(chunks),
        )

    @abstractmethod
    def _items(self, partition: Partition) -> list[ExtractionItem]:
        """Items of a partition, in the order of its chunks."""

    @abstractmethod
    def _model_reader(self, model: ChatModel, context: StepExecutionContext) -> ModelReader:
        """Who reads with a model."""

    @abstractmethod
    def _rule_reader(self) -> RuleReader:
        """Who reads by rule."""
