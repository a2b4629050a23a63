"""The step that proposes wiki cards from evidence."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from lorebase.artifacts.kinds import CHUNKS, ArtifactKind
from lorebase.cards.choices import CardTypeChoice
from lorebase.cards.items import CardItem, card_items
from lorebase.cards.kinds import WIKI_CARDS, ProposedCard
from lorebase.cards.model_writer import CardModelWriter
from lorebase.cards.prompt import PROMPT_VERSION
from lorebase.cards.proposing import ProposalRun
from lorebase.cards.rules import RULES_VERSION
from lorebase.cards.subjects import CardSubject, subjects_given, subjects_of_entities, subjects_of_headings
from lorebase.extraction.folding import folded
from lorebase.extraction.languages import LanguageSetting
from lorebase.extraction.resolution_kinds import RESOLVED_ENTITIES
from lorebase.models.chat import CHAT_ROLE
from lorebase.runs.records import Issue, Subject
from lorebase.runs.step import Partition, PartitionReport, Step, StepExecutionContext

SubjectsFrom = Literal["auto", "entities", "headings", "given"]


class ProposeCards(Step):
    """Fill the sections and fields of card types from evidence. `index_cards` makes the cards searchable.

    Cards enter as proposals: none is shown to searches before a person has accepted it with `lorebase cards`. A
    proposal whose evidence has not changed is not made again.
    """

    card_types: tuple[CardTypeChoice, ...] = Field(
        (CardTypeChoice(id="concept"),),
        min_length=1,
        max_length=20,
        description="Ids of built-in card types, or definitions of the recipe's own.",
    )
    subjects: tuple[str, ...] = Field((), max_length=1000, description="What cards are about, beside what is found.")
    subjects_from: SubjectsFrom = Field(
        "auto",
        description="What else cards are about: resolved entities, headings, or only what is given. "
        '"auto" takes the entities where the recipe resolves some, otherwise what is given, otherwise the headings.',
    )
    mode: Literal["auto", "model", "rules"] = Field(
        "auto",
        description='Who writes: the recipe\'s chat model, or rules that copy sentences of the evidence. "auto" takes '
        "the model where the recipe has one.",
        json_schema_extra={"affects_result": False},  # what was decided is part of the identity
    )
    language: LanguageSetting = Field(
        "auto", description='Language of the prompt: "en", "zh", or "auto" for that of the evidence.'
    )
    max_cards: int = Field(100, ge=1, le=10_000, description="Most cards; subjects of most chunks come first.")
    max_evidence_chunks: int = Field(8, ge=1, le=50, description="Most chunks that one card is made of.")

    type_name: ClassVar[str] = "propose_cards"
    requires: ClassVar[tuple[ArtifactKind[Any], ...]] = (CHUNKS,)
    reads_if_present: ClassVar[tuple[ArtifactKind[Any], ...]] = (RESOLVED_ENTITIES,)
    produces: ClassVar[ArtifactKind[Any]] = WIKI_CARDS
    item_name: ClassVar[str] = "cards"
    optional_models: ClassVar[tuple[str, ...]] = (CHAT_ROLE,)
    spans_partitions: ClassVar[bool] = True
    segment_items: ClassVar[int] = 16

    @field_validator("card_types")
    @classmethod
    def _each_once(cls, value: tuple[CardTypeChoice, ...]) -> tuple[CardTypeChoice, ...]:
        repeated = [type_id for type_id, count in Counter(choice.id for choice in value).items() if count > 1]
        if repeated:
            raise ValueError(f"card types stand twice: {', '.join(repeated)}")
        return value

    @field_validator("subjects")
    @classmethod
    def _plain_subjects(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        subjects = tuple(dict.fromkeys(" ".join(subject.split()) for subject in value))
        if "" in subjects:
            raise ValueError("a subject is blank")
        return subjects

    def called_models(self) -> tuple[str, ...]:
        """The chat model, unless rules are to write."""
        return () if self.mode == "rules" else (CHAT_ROLE,)

    def uses_model(self, context: StepExecutionContext) -> bool:
        """Whether a model writes in a build."""
        return context.chat is not None if self.mode == "auto" else self.mode == "model"

    def identity(self, context: StepExecutionContext) -> dict[str, str]:
        """Who writes: the model with its prompt, or the rules.

        Raises:
            ConfigurationError: A model is to write, and the recipe has none.
        """
        if not self.uses_model(context):
            # What was asked for decides what the report says about it.
            return {"writing": "rules", "writing.asked": self.mode, "rules.version": str(RULES_VERSION)}
        profile = context.require_chat(self.type_name).profile
        return {
            "writing": "model",
            "model.provider": profile.provider,
            "model.name": profile.model,
            "model.profile": profile.profile_id,
            "prompt": PROMPT_VERSION,
        }

    def notices(self, context: StepExecutionContext) -> tuple[Issue, ...]:
        """That rules wrote in place of a model."""
        if self.uses_model(context):
            return ()
        subject = Subject(kind="step", id=self.type_name)
        if self.mode == "rules":
            said = "The cards were filled by rules, as the recipe asks: with sentences of the evidence."
            return (self.issue("RULES_CARDS", said, subject, severity="info", writing="rules"),)
        said = (
            "No model writes cards: the recipe has no chat model, so they were filled by rules, with sentences of the "
            "evidence. Add `models: {chat: {provider: ..., model: ...}}`, or say `mode: rules` to mean it."
        )
        return (self.issue("MODEL_SEAM_MISSING", said, subject, writing="rules"),)

    async def run_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[ProposedCard]]:
        """Propose the cards of the whole base."""
        return [await self._proposed(partition, context, pretends=False) for partition in partitions]

    async def plan_partitions(
        self, partitions: Sequence[Partition], context: StepExecutionContext
    ) -> list[PartitionReport[ProposedCard]]:
        """Count the cards that are not proposed yet, and what the model would be asked for them."""
        return [await self._proposed(partition, context, pretends=True) for partition in partitions]

    async def _proposed(
        self, partition: Partition, context: StepExecutionContext, *, pretends: bool
    ) -> PartitionReport[ProposedCard]:
        items, issues = await asyncio.to_thread(self._items, partition)
        run = await ProposalRun.begin(partition, items)
        writer = self._writer(partition, context)
        if pretends and writer is not None:
            run.pretend(writer)
        elif writer is None:
            await run.write_by_rules()
        else:
            await run.write_by_model(writer)
        rows = run.rows()
        issues += [self._failure(item, run) for item in items if item.key in run.failures]
        issues += [issue for row in rows if (issue := self._faulty(row)) is not None]
        return PartitionReport(
            rows=rows,
            items=len(items),
            computed_items=len(items) - run.from_ledger,
            ledger_items=run.from_ledger,
            failed_items=len(run.failures),
            documents=len({document_id for row in rows for document_id in row.card.document_ids}),
            usage=run.usage,
            usd=context.budget.cost_usd(CHAT_ROLE, run.usage),
            issues=tuple(issues),
        )

    def _writer(self, partition: Partition, context: StepExecutionContext) -> CardModelWriter | None:
        if not self.uses_model(context):
            return None
        model = context.require_chat(partition.step_name)
        return CardModelWriter(model, language=self.language, session_id=f"knowledge:{context.base_name}")

    def _items(self, partition: Partition) -> tuple[list[CardItem], list[Issue]]:
        subjects = self._subjects(partition)
        items = list(card_items(subjects, self.card_types, max_evidence_chunks=self.max_evidence_chunks))
        issues = []
        step = Subject(kind="step", id=self.type_name)
        if silent := [subject.name for subject in subjects if not subject.chunks]:
            message = f"Nothing says anything of {', '.join(silent[:5])}: {len(silent)} given subjects get no card."
            issues.append(self.issue("CARD_SUBJECT_UNKNOWN", message, step, subjects=len(silent)))
        if not items:
            message = "There is nothing to make cards of: no entities, no headings, no given subjects with evidence."
            issues.append(self.issue("NO_CARD_SUBJECTS", message, step))
        if len(items) > self.max_cards:
            left = len(items) - self.max_cards
            message = f"{left} cards were left out: max_cards is {self.max_cards}. Raise it, or name subjects."
            issues.append(self.issue("CARDS_LEFT_OUT", message, step, cards=left))
        return items[: self.max_cards], issues

    def _subjects(self, partition: Partition) -> list[CardSubject]:
        """Subjects that somebody names first, then what is found. A name that is found is not looked for again."""
        chunks = partition.rows(CHUNKS)
        given = self.subjects
        found: list[CardSubject] = []
        if self.subjects_from in {"auto", "entities"}:
            found = subjects_of_entities(partition.rows(RESOLVED_ENTITIES), chunks)
        if self.subjects_from == "headings" or (self.subjects_from == "auto" and not found and not given):
            found = subjects_of_headings(chunks)
        named = [*given, *(name for choice in self.card_types for name in choice.subjects)]
        known = {folded(name): subject for subject in reversed(found) for name in subject.names}
        looked_for = subjects_given([name for name in named if folded(name) not in known], chunks)
        first = [known[folded(name)] for name in named if folded(name) in known]
        return list({subject.key: subject for subject in (*first, *looked_for, *found)}.values())

    def _failure(self, item: CardItem, run: ProposalRun) -> Issue:
        error = run.failures[item.key]
        subject = Subject(kind="card", id=item.card_id, name=item.subject.name)
        return self.issue(f"CARD_{error.code}", str(error), subject, severity="error", reason=error.message)

    def _faulty(self, row: ProposedCard) -> Issue | None:
        card = row.card
        if not card.faults:
            return None
        told = "; ".join(f"{fault.place}: {fault.message}" for fault in card.faults[:3])
        subject = Subject(kind="card", id=card.version_id, name=card.title)
        message = f"The proposed {card.card_type} card {card.title!r} has {len(card.faults)} faults: {told}"
        return self.issue("CARD_HAS_FAULTS", message, subject, faults=len(card.faults))
