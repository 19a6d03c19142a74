"""Links: strictly increasing maps between a real score v and a probability p.

A link is the quantile function of a distribution: ``link(p)`` gives v, ``inverse(v)`` gives p. All links are accurate
in both tails and never clip. Where p rounds to 1, q = 1 - p (``inverse_pair``) keeps its digits, and the losses work
with the logarithms of both, which stay finite where p or q underflows.
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

    Parameters
    ----------
    link : str or Link
        A key of `LINKS`, or a link, which is returned as it is.

    Examples
    --------
    >>> get_link("probit")
    Probit()
    """
    return link if isinstance(link, Link) else choose(link, LINKS, "link")()


__all__ = ["GEV", "LINKS", "Cauchit", "Cloglog", "Link", "Logit", "Loglog", "Probit", "get_link"]
