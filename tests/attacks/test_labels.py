"""Names out of data do nothing but name, wherever they are printed."""

import datetime as dt
import json
import re
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import uptack as ut
from uptack.cli import command_support, main
from uptack.cli.command_support import as_text
from uptack.discrete import Histogram
from uptack.grouping import Groups
from uptack.labels import MISSING, json_text, label, lines, markdown, printable
from uptack.privacy import Privacy, loss
from uptack.release import Release
from uptack.report import profile, to_html, to_json, to_markdown, to_text

HOSTILE = [
    "\x1b[2J\x1b[1;31mred",
    "\x1b]0;title\x07",
    "over\rwritten",
    "back\b\b\bspace",
    "evil\u202egnp.exe",
    "c1\x9b31m",
    "line\u2028separator",
    "tag\U000e0041",
    "zero\u200bwidth",
    "lone\ud800surrogate",
    "two\nlines",
    "tab\tbed",
    "![picture](https://example.org/pixel.png?who=ann)",
    "[link](javascript:alert(1))",
    "<img src=x onerror=alert(1)>",
    '"><script>alert(1)</script>',
    "a|b|c",
    "`code`",
    "www.example.org",
    "{{ 7 * 7 }}",
    "",
    " ",
    "missing",
    MISSING,
    "'missing'",
    "None",
    "a\\x1b",
]
N = 200 * len(HOSTILE)


def release(value):
    return Release(value, Privacy(1), "histogram", loss.Pure(1))


def safe(text, keep="\n\t"):
    return all(c.isprintable() or c in keep for c in text)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_label_is_printable_and_tells_texts_apart(text):
    assert safe(label(text), "")
    others = [other for other in [*HOSTILE, None, 0] if other != text]
    assert label(text) not in [label(other) for other in others]


def test_a_missing_value_is_not_the_text():
    assert label(None) == MISSING
    assert label("missing") == "'missing'"
    assert label("north") == "north"
    assert label((None, "a\x1b")) == "(∅ (missing), 'a\\x1b')"
    assert label(Decimal("1.5")) == "1.5"
    assert label(dt.date(2020, 1, 2)) == "2020-01-02"
    assert label(np.str_("a\rb")) == "'a\\rb'"


def test_objects_that_print_badly():
    class Odd:
        def __str__(self):
            return "\x1b[2J"

        __repr__ = __str__

    assert safe(label(Odd()), "")
    assert safe(repr(release(Odd())))
    assert safe(repr(Groups({Odd(): release(Odd())})))
    assert safe(repr(Histogram((Odd(),), np.array([1]))))


@pytest.mark.parametrize("text", HOSTILE)
def test_json_is_exact(text):
    written = json_text({"cells": [text]}, indent=2)
    assert safe(written, "\n")
    written.encode("utf-8")
    assert json.loads(written) == {"cells": [text]}


def test_markdown_fetches_nothing_and_links_nowhere():
    assert "![" not in markdown("![x](https://example.org/a.png)")
    assert "](" not in markdown("[x](y)").replace("\\](", "")
    assert "https://" not in markdown("see https://example.org")
    assert "www." not in markdown("www.example.org")
    assert "<" not in markdown("<b>")
    assert markdown("a\nb|c`d`") == "'a\\\\nb\\|c\\`d\\`'"
    assert markdown("wait_minutes") == "wait_minutes"
    assert markdown("_x_") == "\\_x\\_"


def test_lines_keep_their_shape():
    assert lines("a\tb\nc\rd") == "a\tb\nc\\rd"
    assert printable("a\tb\n") == "a\\tb\\n"


@pytest.mark.parametrize("text", HOSTILE)
def test_answers_on_a_terminal(text):
    shown = as_text(release(Histogram((None, text), np.array([3, 4]))))
    assert safe(shown)
    assert len(shown.splitlines()) == 3
    names = [line.split("\t")[0] for line in shown.splitlines()[:2]]
    assert len(set(names)) == 2
    assert safe(as_text(release(Groups({text: release(1.0)}))))
    assert safe(repr(release(Groups({text: release(text)}))))
    assert safe(repr(release(Histogram((text,), np.array([4])))))


@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(1)
    table = {
        "\x1b[2J<b>\u202e": rng.normal(size=N),
        "Regression of \x1b[2J<b>\u202e": rng.normal(size=N),
        "town": [*HOSTILE, None] * 200,
    }
    table["town"] = (table["town"] * 2)[:N]
    return profile(
        ut.open(table, entropy=ut.SeededEntropy(1)), 50, 1e-6, title="\x1b]0;x\x07", target="\x1b[2J<b>\u202e"
    )


@pytest.mark.parametrize("write", [to_html, to_markdown, to_text, to_json])
def test_a_report_is_printable_in_every_form(report, write):
    text = write(report)
    assert safe(text, "\n")
    text.encode("utf-8")


def test_a_report_shows_every_category_once(report):
    rows = [
        line.split(" | ")[0].removeprefix("| ").rstrip()
        for line in to_text(report).splitlines()
        if line.startswith("| ")
    ]
    assert [row for row in rows if row == MISSING] == [MISSING]
    assert rows.count("'missing'") == 1
    assert "missing" not in rows
    found = json.loads(to_json(report))["columns"][2]["figures"][0]["value"]["cells"]
    assert set(found) == {*HOSTILE, None}


def test_a_report_loads_nothing(report):
    class Reader(HTMLParser):
        tags, attributes, links = set(), set(), set()

        def handle_starttag(self, tag, attrs):
            self.tags.add(tag)
            self.attributes |= {name for name, _ in attrs}
            self.links |= {value for name, value in attrs if name == "href"}

    reader = Reader()
    reader.feed(to_html(report))
    assert not reader.tags & {"script", "img", "link", "b", "iframe", "object"}
    assert not {name for name in reader.attributes if name.startswith("on") or name in ("src", "srcset")}
    assert all(re.fullmatch(r"#[a-z]+\d*", link) for link in reader.links)  # places on the page itself
    assert "{{ 7 * 7 }}" in to_html(report)
    assert "![" not in to_markdown(report)


def test_what_a_column_is_called_does_not_swap_pictures(report):
    page = to_html(report)
    assert page.count('class="bars effects"') <= 1
    assert page.count("data-regression") == 1


def test_columns_and_plans_and_errors_on_a_terminal(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("age\x1b[2J,b\n" + "1,x\n" * 2000, "utf-8")
    assert main(["report", str(path), "-e", "9", "--plan"]) == 0
    assert main(["median", str(path), "agf\x1b[2J", "-e", "1"]) == 2
    assert main(["median", str(path), "--\x1b[2J"]) == 2
    assert main(["median", str(tmp_path / "\x1b[2J.csv"), "age", "-e", "1"]) == 2
    printed = capsys.readouterr()
    assert safe(printed.out + printed.err)
    described = ut.open({"a\x1b[2J": np.arange(5.0)}).describe()
    assert safe(described)


def test_everything_goes_through_one_printer():
    """No command prints by itself."""
    for source in Path(command_support.__file__).parent.glob("*.py"):
        text = source.read_text()
        assert text.count("click.echo(") == (source.name == "command_support.py"), source
        assert "print(" not in text
