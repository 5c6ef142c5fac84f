"""Descriptions of quantities in the JSON Schema, which editors show."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter

from supercloud.primitives.quantity import Money, Quantity, Rate


@pytest.mark.parametrize("kind, start", [(Money, "An amount of money with"), (Rate, "A ")])
def test_a_description_starts_with_the_article_of_its_noun(kind: type[Quantity], start: str) -> None:
    """Editors showed the text "A amount of money with its unit" for five fields."""
    assert TypeAdapter(kind).json_schema()["description"].startswith(start)
