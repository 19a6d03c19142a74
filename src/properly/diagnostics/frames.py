"""Results as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from properly.extras import require


def as_frame(columns: Mapping[str, Any]) -> Any:
    """A pandas DataFrame with these columns."""
    return require("pandas", "frames").DataFrame(dict(columns))
