"""Reports: what an audit or a fit found, on one page."""

from properly.report.pages import audit_page, fit_page

__all__ = ["audit_page", "fit_page"]
