"""The compiled template: kept where compiled modules are, and nothing but time depends on it."""

import sys

import pytest

from uptack.report.page import TemplateCache, template, template_text


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The file that it is kept in, which is not there."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return TemplateCache().path()


def made():
    return template.__wrapped__(template_text())


def blocks(template):
    return template.root_render_func.__code__.co_code


def test_it_is_compiled_once(kept, monkeypatch):
    first = made()
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]
    monkeypatch.setattr("jinja2.Environment.compile", lambda *_: pytest.fail("compiled twice"))
    assert blocks(made()) == blocks(first)


@pytest.mark.parametrize("spoiled", [b"", b"j2", b"\x80\x05no", lambda whole: whole[:-9], lambda whole: b"x" + whole])
def test_what_is_spoiled_is_made_anew(kept, spoiled):
    first, whole = made(), kept.read_bytes()
    kept.write_bytes(spoiled(whole) if callable(spoiled) else spoiled)
    assert blocks(made()) == blocks(first)
    assert kept.read_bytes() == whole


def test_another_text_is_compiled_anew(kept, monkeypatch):
    made()
    monkeypatch.setattr("jinja2.BytecodeCache.get_source_checksum", lambda *_: "another")
    before = kept.read_bytes()
    made()
    assert kept.read_bytes() != before


def test_nothing_is_kept_where_nothing_may_be(kept, monkeypatch):
    kept.parent.parent.mkdir(parents=True)
    kept.parent.write_text("a file in place of the folder")
    made()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    made()
    assert not kept.exists()
