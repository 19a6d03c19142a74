"""Links: the two-way street between a real score v and a probability p.

Every link is a strictly increasing distribution function read backwards: ``link(p)`` gives v, ``inverse(v)`` gives p.
All of them are accurate in both tails and never clip; a tail that float64 cannot hold as p is still there as q = 1 - p
(``inverse_pair``) and in the logarithms that the losses work with.
"""

from collections.abc import Callable

from properly.inputs.options import choose
from properly.links.base import Link
from properly.links.extreme import GEV, Cloglog, Loglog
from properly.links.symmetric import Cauchit, Logit, Probit

LINKS: dict[str, Callable[[], Link]] = {
    "logit": Logit,
    "probit": Probit,
    "cloglog": Cloglog,
    "loglog": Loglog,
    "cauchit": Cauchit,
    "gev": GEV,
}


def get_link(link: str | Link) -> Link:
    """A link from its key or the link itself.

    >>> get_link("probit")
    Probit()
    """
    return link if isinstance(link, Link) else choose(link, LINKS, "link")()


__all__ = ["GEV", "LINKS", "Cauchit", "Cloglog", "Link", "Logit", "Loglog", "Probit", "get_link"]
