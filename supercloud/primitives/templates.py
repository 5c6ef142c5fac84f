"""Text from templates; the only importer of jinja2.

Templates are in the repository's ``templates/`` directory, one subdirectory per target; the wheel has them inside the
package. An undefined name in a template is an error, never an empty text.

Values are data and never become code. Shell templates (``*.sh.j2``) accept unfiltered only values of characters
without a meaning in the shell; any other value requires a filter, and is an error without one:

- ``sh``: one word, quoted if needed;
- ``sh_words``: a list of words, each quoted, with spaces between;
- ``comment``: a text in a comment, on one line;
- ``yaml``: a scalar of YAML, quoted if it would not be read as text (``*.yaml.j2``);
- ``hcl``: a string of HCL with its quotes (``*.hcl.j2``, which accept the same unfiltered values as shell templates).

No value can insert a line break into other line-based files. :class:`Quoted` marks a text that Python
code has already quoted.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import yaml
from jinja2.runtime import Context

__all__ = ["Quoted", "has_template", "render_template", "quote_hcl", "quote_shell", "quote_yaml"]

_PACKAGE_DIRECTORY = Path(__file__).parent.parent

# Characters without a meaning for the shell, inside double quotes or outside, and of which only the space ends a word.
# Brackets
# are in ranges of hosts.
_SHELL_SAFE = re.compile(r"[A-Za-z0-9_@%+=:,./ \[\]-]*")
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# HTML pages are quoted by their own code (``targets/pictures/svg.py``, ``targets/report``).
_HTML_TEMPLATES = ("report/", "pictures/")


class Quoted(str):
    """A text that is already quoted for its file: no template quotes it again."""


def quote_shell(value: object) -> Quoted:
    """One word of a shell's command line."""
    return Quoted(shlex.quote(_CONTROL_CHARACTERS.sub(" ", str(value))))


def _quote_words(values: Iterable[object]) -> Quoted:
    return Quoted(" ".join(map(quote_shell, values)))


def _keep_on_line(value: object) -> Quoted:
    return Quoted(_CONTROL_CHARACTERS.sub(" ", str(value)))


def quote_yaml(value: object) -> Quoted:
    """A text as a scalar of YAML, of either version: quoted if it would be a number, a truth value or structure."""
    text = str(value)
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_./-]*", text) and yaml.safe_load(text) == text
    return Quoted(text if plain else json.dumps(text))


def quote_hcl(value: object) -> Quoted:
    """A text as a string of HCL, in which nothing is an expression."""
    text = json.dumps(_CONTROL_CHARACTERS.sub(" ", str(value)), ensure_ascii=False)
    return Quoted(text.replace("${", "$${").replace("%{", "%%{"))


@jinja2.pass_context
def _check_value(context: Context, value: object) -> object:
    """The value of an expression for the file; raises if it would be read as more than a value."""
    name = context.name or ""
    if isinstance(value, Quoted | int | float) or name.startswith(_HTML_TEMPLATES):
        return value
    text = str(value)
    if name.endswith(".sh.j2") and not _SHELL_SAFE.fullmatch(text):
        raise ValueError(f"{name}: {text[:60]!r} is unquoted in a shell script: use the filter sh, sh_words or comment")
    if name.endswith(".hcl.j2") and not _SHELL_SAFE.fullmatch(text):
        raise ValueError(f"{name}: {text[:60]!r} is unquoted in HCL: use the filter hcl or comment")
    if _CONTROL_CHARACTERS.search(text):
        raise ValueError(f"{name}: {text[:60]!r} contains a control character")
    return value


@cache
def _build_environment() -> jinja2.Environment:
    installed, checkout = _PACKAGE_DIRECTORY / "templates", _PACKAGE_DIRECTORY.parent / "templates"
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(installed if installed.is_dir() else checkout),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_check_value,
    )
    environment.filters |= {
        "sh": quote_shell,
        "sh_words": _quote_words,
        "comment": _keep_on_line,
        "yaml": quote_yaml,
        "hcl": quote_hcl,
    }
    return environment


def has_template(template: str) -> bool:
    """Whether there is a template of this name."""
    try:
        _build_environment().get_template(template)
    except jinja2.TemplateNotFound:
        return False
    return True


def render_template(template: str, **values: Any) -> str:
    """Render a template (``slurm/slurm.conf.j2``) with values; raises :class:`LookupError` with the name of a missing
    template, also of one that it includes.
    """
    try:
        return _build_environment().get_template(template).render(**values)
    except jinja2.TemplateNotFound as error:
        raise LookupError(f"templates/{error.name} does not exist, which {template} requires") from error
