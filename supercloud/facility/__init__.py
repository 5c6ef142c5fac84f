"""Where nodes stand, what they draw, how heat leaves. Knows nothing of how nodes are wired."""

from .energy import Year, year_of
from .racks import Fit, fit

__all__ = ["Fit", "Year", "fit", "year_of"]
