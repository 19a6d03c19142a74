import json
import re

import pytest

from properly.report.html import Markup, data_script, element, markup, page, section, table

NASTY = "<script>alert(1)</script>\"'&"


def test_text_is_escaped_wherever_it_enters():
    built = page(
        NASTY,
        element("p", NASTY, title=NASTY),
        table([NASTY], [[NASTY, NASTY]], NASTY),
        section(NASTY, NASTY, id="one"),
        data_script({NASTY: NASTY}, "data"),
    )
    assert "<script>alert" not in built
    assert "alert(1)</script>" not in built


def test_markup_is_escaped_once():
    assert element("p", element("b", "a & b")) == "<p><b>a &amp; b</b></p>"
    assert markup(Markup("<br>"), "<br>") == "<br>&lt;br&gt;"


def test_data_survive_the_way_into_a_script():
    data = {"a": [1, 2.5, None], NASTY: "\u2028 é"}
    script = data_script(data, "data")
    content = re.fullmatch(r'<script type="application/json" id="data">(.*)</script>', script)
    assert not set("<>&") & set(content[1])
    assert json.loads(content[1]) == data


def test_data_that_json_does_not_know_are_refused():
    with pytest.raises(ValueError):
        data_script([float("inf")], "data")


def test_a_stacked_table_repeats_its_headings():
    assert 'data-label="rows"' in table(["group", "rows"], [["a", "1"]], "caption", stacked=True)
    assert "data-label" not in table(["group", "rows"], [["a", "1"]], "caption")


def test_only_long_tables_may_be_printed_on_several_pages():
    assert 'class="scroll"' in table(["group"], [["a"]] * 15, "caption")
    assert 'class="scroll long"' in table(["group"], [["a"]] * 16, "caption")


def test_attributes():
    assert element("input", type="range", hidden=True, aria_label="x", for_=None, checked=False) == (
        '<input type="range" hidden aria-label="x">'
    )


def test_the_page_forbids_everything_from_outside():
    built = page("title", Markup("<p>text</p>"))
    assert "default-src 'none'" in built
    assert "http://" not in built
    assert "https://" not in built
    assert "unsafe-inline'; script-src 'sha256-" in built


def test_a_percent_sign_stays_with_its_number():
    assert element("p", "a 95 % interval, a % b") == "<p>a 95\N{NO-BREAK SPACE}% interval, a % b</p>"
