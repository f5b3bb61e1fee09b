"""A profile as one HTML page that works offline: on a screen, a phone and paper, light or dark.

The template of the page: `template.html`, with the parts that sections declare.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import jinja2

import uptack
from uptack.labels import label, lines
from uptack.privacy.guarantee import promise, short
from uptack.report.column import FIGURE_NAMES
from uptack.report.pictures import powers
from uptack.report.section import Section, SectionAnswer, registered_sections
from uptack.report.text import bill_lines, charges, masthead, sentence, summary, unanswered_columns

if TYPE_CHECKING:
    from uptack.report.profile import Profile


def template_text(sections: Sequence[Section]) -> str:
    """The template, with the styles and the parts of these sections."""
    text = resources.files("uptack.report").joinpath("template.html").read_text("utf-8")
    parts = [f'{{% if shown.name == "{one.name}" %}}\n{one.html}{{% endif %}}\n' for one in sections]
    styles = [one.style for one in sections]
    return text.replace("{# styles of sections #}\n", "".join(styles)).replace("{# sections #}\n", "".join(parts))


@cache
def template(text: str) -> jinja2.Template:
    """The compiled template. Whatever a name holds, it is text: escaped, and without what can't be printed."""
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: lines(value) if type(value) is str else value,
    )
    return environment.from_string(text)


def section_view(answer: SectionAnswer, profile: Profile) -> dict[str, Any]:
    """What the page shows of a section that was asked for, and what its part of the template draws."""
    section, replied = answer.section, answer.replied
    return {
        "name": section.name,
        "label": section.label,
        "title": answer.title(),
        "subject": answer.subject,
        "replied": replied,
        "note": answer.note,
        "cells": section.table(answer, label) if replied else None,
        "view": section.view(answer, profile) if replied else None,
    }


def brief(name: str) -> str:
    """A name for the list of contents, of about 56 letters: without its middle, since names often differ at their ends.

    >>> brief("a rather long name of a column that says all about measurement number 59 of these")
    'a rather long name of a colu … asurement number 59 of these'
    """
    return name if len(name) <= 56 else f"{name[:28].rstrip()} … {name[-28:].lstrip()}"


def to_html(profile: Profile) -> str:
    """One self-contained page. Whatever a name holds, it is text: escaped, and without what can't be printed."""
    cards = [column.part.card.view(f"c{i}", column, profile.unit) for i, column in enumerate(profile.columns, 1)]
    counted = [one.column.counts for one in cards if not one.column.part.card.numeric]
    notes = [counts.note for counts in counted if counts is not None]
    common = notes[0] if len(notes) > 1 and len(set(notes)) == 1 else ""
    cards = [one._replace(note=one.note.removeprefix(common).strip()) for one in cards]
    pictures = [one.picture for one in cards if one.picture is not None]
    answers = [profile.sections[one.name] for one in registered_sections() if one.name in profile.sections]
    return template(template_text([answer.section for answer in answers])).render(
        profile=profile,
        cards=[one for one in cards if one.column.answered],
        common=common,
        levels=any(line.interval.endswith(" quantile") for one in cards for line in one.figures),
        ones=any(line.label == "share of 1" for one in cards for line in one.figures),
        shapes={name for name in ("curve", "box", "column") if any(f'class="{name}"' in p for p in pictures)},
        silent=unanswered_columns(profile).items(),
        sections=[section_view(answer, profile) for answer in answers],
        summary=summary(profile),
        promise=promise(profile.spent),
        masthead=masthead(profile),
        meaning=sentence(profile.spent.explain().partition(": ")[2]),
        sentence=sentence,
        brief=brief,
        powers=powers,
        costs=bill_lines(profile),
        summed=sum(charge.cost.exact_epsilon for charge in charges(profile)) > profile.spent.exact_epsilon,
        short=short,
        figure_names=FIGURE_NAMES,
        label=label,
        version=uptack.__version__,
    )
