"""Reports: what an audit, a fit or a calibration found, on one page."""

from properly.report.pages import audit_page, calibrate_page, fit_page

__all__ = ["audit_page", "calibrate_page", "fit_page"]
