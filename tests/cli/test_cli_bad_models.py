"""Model files that are damaged or lie about their tables: one line says what is wrong; no file is left behind."""

import pytest

from commandline import X, check, snapshot
from common import fit
from elliptope.persistence import save


class TestModelFiles:
    @pytest.mark.parametrize("command", ["transform bad t.csv -o out.csv", "info bad", "report bad -o out.html"])
    @pytest.mark.parametrize("damage", ["cut", "flipped", "appended"])
    def test_damage(self, cli, folder, small_model, damage, command):
        flipped = bytearray(small_model)
        flipped[len(small_model) // 2] ^= 1
        content = {"cut": small_model[:1000], "flipped": bytes(flipped), "appended": small_model + b"x"}[damage]
        (folder / "bad").write_bytes(content)
        before = snapshot(folder)
        check(cli(*command.split()), 1, "'bad' cannot be loaded: it")
        assert snapshot(folder) == before

    @pytest.mark.parametrize(
        ("entry", "value"),
        [
            ("standardize", {"mean": [0, 0], "scale": [1, 1]}),
            ("standardize", {"mean": [0, 0, 0], "scale": [1, 0, 1]}),
            ("standardize", {"mean": [0, 0, None], "scale": [1, 1, 1]}),
            ("standardize", "yes"),
            ("label", {"name": "kind", "values": ["u"]}),
            ("label", {"name": "kind", "values": [["u"]] * 30}),
            ("id", {"name": 3, "values": ["u"] * 30}),
            ("source", ["t.csv"]),
            ("preparation", {"features": [["a", 0, "number", 1]]}),
        ],
    )
    def test_metadata_is_not_believed(self, cli, folder, entry, value):
        table = {"source": "t.csv", "standardize": None, "label": None, "id": None, entry: value}
        save(fit(X, bandwidth=2.0), folder / "bad", metadata={"table": table})
        check(cli("transform", "bad", "t.csv", "--drop", "kind"), 1, "bad: the description of its table is not valid")

    def test_metadata_that_is_no_table(self, cli, folder):
        save(fit(X, bandwidth=2.0), folder / "bad", metadata={"table": [1]})
        check(cli("info", "bad"), 1, "bad: the description of its table is not valid")
