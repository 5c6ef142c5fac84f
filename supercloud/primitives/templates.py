"""Text from templates; the only importer of jinja2.

Templates lie in the repository's ``templates/`` folder, one subfolder a target; the wheel carries them inside the
package. A name that a template uses and nobody gave is an error, never an empty text.

Values are data and never become code. What a shell reads (``*.sh.j2``) takes as they are only values made of characters
that mean nothing to it; every other goes through a filter, and one that does not is an error:

- ``sh``: one word, quoted where that is needed;
- ``sh_words``: a list of words, each quoted, with spaces between;
- ``comment``: a text in a comment, kept on its line;
- ``yaml``: a scalar of YAML, quoted where it would be read as something else (``*.yaml.j2``).

No value brings a line break into any other file that is read line by line. :class:`Quoted` marks a text that Python
code has quoted already.
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

__all__ = ["Quoted", "render_template", "quote_shell", "quote_yaml"]

_PACKAGE_DIRECTORY = Path(__file__).parent.parent

# Characters without a meaning for the shell, inside double quotes or outside, that end no word but the space. Brackets
# stand in ranges of hosts.
_SHELL_SAFE = re.compile(r"[A-Za-z0-9_@%+=:,./ \[\]-]*")
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# Pages for browsers quote by themselves (``targets/pictures/svg.py``, ``targets/report``).
_HTML_TEMPLATES = ("report/", "pictures/")


class Quoted(str):
    """A text that is as the reader of the file takes it: no template quotes it again."""


def quote_shell(value: object) -> Quoted:
    """One word of a shell's command line."""
    return Quoted(shlex.quote(_CONTROL_CHARACTERS.sub(" ", str(value))))


def _quote_words(values: Iterable[object]) -> Quoted:
    return Quoted(" ".join(map(quote_shell, values)))


def _keep_on_line(value: object) -> Quoted:
    return Quoted(_CONTROL_CHARACTERS.sub(" ", str(value)))


def quote_yaml(value: object) -> Quoted:
    """A text as a scalar of YAML, of either version: quoted where it would be a number, a truth value or structure."""
    text = str(value)
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_./-]*", text) and yaml.safe_load(text) == text
    return Quoted(text if plain else json.dumps(text))


@jinja2.pass_context
def _check_value(context: Context, value: object) -> object:
    """The value of an expression as it goes into the file; refuses what would be read as more than a value."""
    name = context.name or ""
    if isinstance(value, Quoted | int | float) or name.startswith(_HTML_TEMPLATES):
        return value
    text = str(value)
    if name.endswith(".sh.j2") and not _SHELL_SAFE.fullmatch(text):
        raise ValueError(f"{name}: {text[:60]!r} goes into a shell script: use the filter sh, sh_words or comment")
    if _CONTROL_CHARACTERS.search(text):
        raise ValueError(f"{name}: {text[:60]!r} has a control character")
    return value


@cache
def _build_environment() -> jinja2.Environment:
    inside, beside = _PACKAGE_DIRECTORY / "templates", _PACKAGE_DIRECTORY.parent / "templates"
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(inside if inside.is_dir() else beside),
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
    }
    return environment


def render_template(template: str, **values: Any) -> str:
    """The text of a template (``slurm/slurm.conf.j2``) with values put in."""
    return _build_environment().get_template(template).render(**values)
