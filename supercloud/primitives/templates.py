"""Text from templates; the only importer of jinja2.

Templates lie in the repository's ``templates/`` folder, one subfolder a target; the wheel carries them inside the
package. A name that a template uses and nobody gave is an error, never an empty text.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import jinja2

__all__ = ["fill"]

_PACKAGE = Path(__file__).parent.parent


@cache
def _environment() -> jinja2.Environment:
    inside, beside = _PACKAGE / "templates", _PACKAGE.parent / "templates"
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(inside if inside.is_dir() else beside),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def fill(template: str, **values: Any) -> str:
    """The text of a template (``slurm/slurm.conf.j2``) with values put in."""
    return _environment().get_template(template).render(**values)
