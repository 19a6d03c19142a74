"""The command line, ``properly COMMAND …`` or ``python -m properly COMMAND …``, and its commands as functions.

A command is a module of this package and a line of `COMMANDS`. The module has no heavy import at its top (``import
properly`` is light: its submodules load on first use), so that help and wrong arguments are answered at once. It has

- a docstring, which is what ``--help`` shows; the last paragraph, an example, comes after the options;
- ``run``, the function that does the work, which Python can call as well: each argument of the command line is the
  keyword of the same name, and the summary that it returns, a dict, can be written as JSON; the rules that it is
  decorated with (`properly.cli.arguments.checked`) check the options of either caller;
- ``add_arguments(add)``, which declares these arguments; their defaults, help and rules are those of ``run``;
- ``show(summary, console)``, which prints the summary for a person, on a console of rich.
"""

from properly.cli.audit import audit_table
from properly.cli.calibrate import calibrate_table
from properly.cli.demo import run_demo
from properly.cli.export import export_model
from properly.cli.fit import fit_table
from properly.cli.main import COMMANDS, main
from properly.cli.maxent import maxent_table
from properly.cli.predict import predict_table

__all__ = [
    "COMMANDS",
    "audit_table",
    "calibrate_table",
    "export_model",
    "fit_table",
    "main",
    "maxent_table",
    "predict_table",
    "run_demo",
]
