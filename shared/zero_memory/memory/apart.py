"""Work on many memories so that one that cannot be worked on holds up no other."""

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from zero_memory.ports.search_index import IndexUnavailable
from zero_memory.ports.table import TableUnavailable

R = TypeVar("R")

_log = logging.getLogger(__name__)


def apart(
    do: Callable[[Sequence[str]], Sequence[R]],
    memory_ids: Sequence[str],
    *,
    fault: type[Exception] = Exception,
) -> tuple[list[R], list[str]]:
    """What `do` makes of these memories, of either half of them where it fails on all at once.

    And the ids of those that it fails on alone: they hold nobody up. `do` must bear being repeated,
    and is not asked for no memories. Raises what is no memory's `fault`: anything else, and always
    IndexUnavailable and TableUnavailable.
    """
    if not memory_ids:
        return [], []
    try:
        return [*do(memory_ids)], []
    except (IndexUnavailable, TableUnavailable):
        raise
    except fault as failure:
        if len(memory_ids) == 1:
            _log.error("%s cannot be read: %s", *memory_ids, type(failure).__name__)
            return [], list(memory_ids)
    middle = len(memory_ids) // 2
    made, failed = apart(do, memory_ids[:middle], fault=fault)
    more_made, more_failed = apart(do, memory_ids[middle:], fault=fault)
    return [*made, *more_made], [*failed, *more_failed]
