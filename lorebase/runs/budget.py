"""What a run spends on models: counted while it spends, and stopped before the call that would pass its budget."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from lorebase.errors import BudgetExceededError, LorebaseError
from lorebase.models.ports import ModelUsage
from lorebase.recipes.model import Budget, Prices

TOKENS_A_PRICE = 1_000_000
_SAME_USD = 1e-9  # sums of equal amounts in another order differ by less
_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Spending:
    """What calls to models took, with what they cost."""

    usage: ModelUsage = field(default=ModelUsage())
    usd: float = 0.0

    def __add__(self, other: Spending) -> Spending:
        return Spending(self.usage + other.usage, self.usd + other.usd)

    def __sub__(self, other: Spending) -> Spending:
        taken = other.usage
        left = ModelUsage(
            self.usage.calls - taken.calls,
            self.usage.input_tokens - taken.input_tokens,
            self.usage.output_tokens - taken.output_tokens,
            self.usage.cached_calls - taken.cached_calls,
        )
        return Spending(left, self.usd - other.usd)

    @property
    def tokens(self) -> int:
        """Input and output tokens."""
        return self.usage.input_tokens + self.usage.output_tokens


class Reservation:
    """A part of the budget that is held for a call under way.

    Attributes:
        used: What the call took, once it has answered.
    """

    def __init__(self) -> None:
        self.used: ModelUsage | None = None

    def settle(self, usage: ModelUsage) -> None:
        """Say what the call took in the end."""
        self.used = usage


class RunBudget:
    """Limits, prices and spending of one run, over all its steps and task runs. Safe for threads and event loops.

    Args:
        limits: What the run may spend; without limits it only counts.
        prices: What models cost, by role; a role without a price costs nothing here.
    """

    def __init__(self, limits: Budget | None = None, prices: Prices | None = None) -> None:
        self._limits = limits or Budget()
        self._prices = prices or Prices()
        self._lock = threading.Lock()
        self._spent_by: defaultdict[str, Spending] = defaultdict(Spending)
        self._reserved = Spending()
        self._calls_under_way = 0
        self._refused: BudgetExceededError | None = None

    def cost_usd(self, role: str, usage: ModelUsage) -> float:
        """What a usage of the model of a role costs."""
        price = self._prices.of(role)
        if price is None:
            return 0.0
        return (
            usage.input_tokens * price.usd_per_million_input_tokens
            + usage.output_tokens * price.usd_per_million_output_tokens
        ) / TOKENS_A_PRICE

    def spent_by(self, step_name: str) -> Spending:
        """What a step has spent so far in this run, the calls of task runs that failed included."""
        with self._lock:
            return self._spent_by.get(step_name, Spending())

    @asynccontextmanager
    async def reserve(self, step_name: str, role: str, expected: ModelUsage) -> AsyncIterator[Reservation]:
        """Hold a part of the budget for a call; enter before it, leave when what it answered is written down.

        Waits while calls under way hold what this one would need. The refusal comes only after all calls under way
        have been left, so that no answer that was paid for is lost when the build stops.

        Args:
            step_name: Who calls.
            role: Role of the model, such as "embedding".
            expected: What the call will take at most, as well as it can be known.

        Raises:
            BudgetExceededError: The call would pass a limit; from then on every call of the run is refused.
        """
        wanted = Spending(expected, self.cost_usd(role, expected))
        await self._admit(step_name, wanted)
        reservation = Reservation()
        # A call that is broken off is counted as if it had been answered: endpoints bill what reached them.
        used = expected
        try:
            yield reservation
            used = reservation.used or ModelUsage()
        except LorebaseError as error:
            used = reservation.used or _told_by(error)
            raise
        finally:
            with self._lock:
                self._reserved -= wanted
                self._calls_under_way -= 1
                self._spent_by[step_name] += Spending(used, self.cost_usd(role, used))

    async def _admit(self, step_name: str, wanted: Spending) -> None:
        while True:
            with self._lock:
                spent = sum(self._spent_by.values(), Spending())
                if self._refused is None:
                    if passed_limit(self._limits, spent + self._reserved + wanted) is None:
                        self._reserved += wanted
                        self._calls_under_way += 1
                        return
                    if passed_limit(self._limits, spent + wanted) is not None:
                        self._refused = _refusal(self._limits, step_name, spent, wanted)
                if self._refused is not None and self._calls_under_way == 0:
                    # Counted again: the calls that were under way have been paid for since.
                    raise _refusal(self._limits, step_name, spent, wanted)
            await asyncio.sleep(_POLL_SECONDS)


def _told_by(error: LorebaseError) -> ModelUsage:
    """What a call took that failed: an answer that is of no use has its tokens, too."""
    told = (error.facts.get(name, 0) for name in ("calls", "input_tokens", "output_tokens"))
    calls, input_tokens, output_tokens = (amount if isinstance(amount, int) else 0 for amount in told)
    return ModelUsage(calls, input_tokens, output_tokens)


def passed_limit(limits: Budget, amount: Spending) -> str | None:
    """Name of the first limit that an amount passes."""
    amounts = {"max_model_calls": amount.usage.calls, "max_tokens": amount.tokens, "max_usd": amount.usd - _SAME_USD}
    for name, value in amounts.items():
        limit = getattr(limits, name)
        if limit is not None and value > limit:
            return name
    return None


def _refusal(limits: Budget, step_name: str, spent: Spending, wanted: Spending) -> BudgetExceededError:
    # A later call may be small enough to fit; it is refused for what the first one would have passed.
    name = passed_limit(limits, spent + wanted) or "its limits"
    allowed = getattr(limits, name, None)
    return BudgetExceededError(
        f"The next call of {step_name} would pass the budget's {name}{_shown_limit(name, allowed)}: "
        f"{in_words(spent)} are spent, the call takes {in_words(wanted)}.",
        remedy="Raise the budget and build again: what is paid for is kept, only what is missing is sent.",
        limit=name,
        allowed=allowed,
        model_calls=spent.usage.calls,
        tokens=spent.tokens,
        usd=spent.usd,
    )


def _shown_limit(name: str, allowed: float | None) -> str:
    if allowed is None:
        return ""
    return f" of {in_usd(allowed)}" if name == "max_usd" else f" of {allowed:,}"


def in_words(amount: Spending) -> str:
    """`3 model calls, 1,200 tokens` with the cost where there is one."""
    calls = "1 model call" if amount.usage.calls == 1 else f"{amount.usage.calls:,} model calls"
    cost = f", {in_usd(amount.usd)}" if amount.usd else ""
    return f"{calls}, {amount.tokens:,} tokens{cost}"


def in_usd(usd: float) -> str:
    """An amount of money: two decimals, or as many as a small amount needs."""
    return f"{usd:,.2f} USD" if usd >= 1 or usd == 0 else f"{usd:.2g} USD"
