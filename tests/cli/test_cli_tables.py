"""Tables are read as they were meant, and written so that they can be read back."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elliptope.cli.errors import CommandError
from elliptope.cli.selection import Selection, Wanted, check_names, resolve, split_items
from elliptope.cli.tables import WRITTEN_FORMATS, open_reader, text, write_table

X = np.array([[0.1, -2.5e-300, 3.0], [1 / 3, 1e22, np.pi], [5e-324, -0.0, 123456789.123456789]])


def reader(content, format="csv"):
    return open_reader(io.BytesIO(content), "in", format)


def numbers(content, format="csv"):
    table = reader(content, format)
    return table.read(table.default, [])[0]


class TestRoundTrip:
    @pytest.mark.parametrize("format", WRITTEN_FORMATS)
    def test_numbers_are_exact(self, format):
        stream = io.BytesIO()
        write_table({"z": X}, stream, format)
        np.testing.assert_array_equal(numbers(stream.getvalue(), format), X)

    @pytest.mark.parametrize("format", ["csv", "tsv", "parquet", "npz"])
    def test_other_columns_are_kept(self, format):
        texts = np.array(['a "quoted" one', "naïve, with comma\tand tab", " 3"], dtype=object)
        stream = io.BytesIO()
        write_table({"name": texts, "count": np.array([1, 2, 3]), "z": X}, stream, format)
        table = reader(stream.getvalue(), format)
        if format == "npz":
            assert table.names == [None, None, None, "name", "count"]
        else:
            assert table.names == ["name", "count", "z1", "z2", "z3"]
        read = table.read([table.names.index("count")], [table.names.index("name")])
        np.testing.assert_array_equal(read[0][:, 0], [1, 2, 3])
        # Blanks after a delimiter are no part of a cell.
        assert [text.strip() for text in read[1][0].tolist()] == [text.strip() for text in texts.tolist()]

    @given(
        st.lists(
            st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.text(st.characters(codec="utf-8"), min_size=1)),
            min_size=1,
            max_size=5,
        ),
        st.sampled_from(["csv", "tsv", "parquet"]),
    )
    def test_any_text_and_any_number(self, rows, format):
        values, texts = np.array([[row[0]] for row in rows]), np.array([row[1] for row in rows], dtype=object)
        stream = io.BytesIO()
        write_table({"z": values, "text": texts}, stream, format)
        if "\0" in "".join(texts) and format != "parquet":
            with pytest.raises(CommandError, match="NUL bytes"):
                reader(stream.getvalue(), format).read([0], [1])
            return
        read = reader(stream.getvalue(), format).read([0], [1])
        np.testing.assert_array_equal(read[0], values)
        assert [t.lstrip(" ") for t in read[1][0]] == [t.lstrip(" ") for t in texts]

    def test_a_large_table_is_read_in_seconds(self):
        # No benchmark: only that no step is quadratic, or a thousand times slower than it has to be.
        import time

        big = np.random.default_rng(0).standard_normal((100_000, 10))
        stream = io.BytesIO()
        np.savetxt(stream, big, delimiter=",", fmt="%.17g")
        begin = time.perf_counter()
        np.testing.assert_array_equal(numbers(stream.getvalue()), big)
        assert time.perf_counter() - begin < 30


class TestText:
    @pytest.mark.parametrize(
        ("first", "second", "expected"),
        [
            (["a", "b"], ["1", "2"], True),
            (["1", "2"], ["3", "4"], False),
            (["1.5", "setosa"], ["2.5", "setosa"], False),  # text is a column of its own
            (["name", "2001", "2002"], ["7", "1", "2"], True),
            (["name", "kind"], ["x", "y"], True),
            (["country", "2000", "2001"], ["A", "1", "2"], True),  # years
            (["plant", "7", "14", "21"], ["A", "1.5", "2", "9"], True),  # days
            (["A", "2000", "2001"], ["B", "2002", "2003"], False),
            (["A", "1", "2"], ["B", "7", "9"], False),
            (["A", "inf", "inf", "inf"], ["B", "7", "9", "1"], False),
            (["", "a"], ["0", "1.5"], True),  # an index that pandas wrote
            (["NaN", "1"], ["2", "3"], False),  # a missing value names nothing
            (["", "1"], ["2", "3"], False),
            (["a", "b"], None, True),
            (["1", "b"], None, False),
            (["1_000", "2"], ["3", "4"], True),
        ],
    )
    def test_header_is_found(self, first, second, expected):
        assert text.looks_like_header(first, second) == expected

    @pytest.mark.parametrize(
        "content",
        [
            b"\xef\xbb\xbfa,b\n1,2\n3,4\n",  # byte order mark
            b"a,b\r\n1,2\r\n3,4\r\n",
            b"a,b\r1,2\r3,4",
            b"a,b\n1,2\n\n3,4\n\n\n",  # lines without anything
            b'"a","b"\n"1", 2\n 3 ,"4"\n',
            b"a|b\n1|2\n3|4\n",
            b"2001,2002\n1,2\n3,4\n",
            b"a,b\n1e0,+2\n3.,0x4\n".replace(b"0x4", b"4E0"),
        ],
    )
    def test_the_same_table_in_many_ways(self, content):
        np.testing.assert_array_equal(numbers(content), [[1, 2], [3, 4]])

    def test_byte_order_mark_is_not_part_of_a_name(self):
        assert reader(b"\xef\xbb\xbfa,b\n1,2\n").names == ["a", "b"]

    def test_a_very_long_line_is_no_row(self, monkeypatch):
        monkeypatch.setattr(text, "_LONGEST_LINE", 20)
        with pytest.raises(CommandError, match="line 2: more than 20 characters in one line: this is not a table"):
            reader(b"a,b\n" + b"1" * 30)

    def test_line_numbers_count_lines_of_the_file(self):
        table = reader(b'a,t\n1,"two\nlines"\n\n2,x\nx,y\n')
        texts = table.read([0], [1]).texts[0]
        assert (table.row(int(texts.rows[0])), texts.cells) == ("row 3 (line 6)", ["x"])


class TestArrays:
    def save(self, **arrays):
        stream = io.BytesIO()
        np.savez(stream, **arrays)
        return stream.getvalue()

    def test_vectors_beside_a_matrix_are_no_features(self):
        table = reader(self.save(X=X, y=np.arange(3), other=np.arange(7)), "npz")
        assert table.names == [None, None, None, "y"]
        assert table.default == [0, 1, 2]

    def test_vectors_alone_are(self):
        table = reader(self.save(a=X[:, 0], b=X[:, 1]), "npz")
        assert table.names == ["a", "b"]
        np.testing.assert_array_equal(table.read(table.default, [])[0], X[:, :2])

    def test_several_matrices(self, tmp_path, monkeypatch):
        """The error has the line of Python that helps."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "in").write_bytes(self.save(train=X, test=2 * X))
        with pytest.raises(CommandError, match="several matrices, 'train', 'test': choose one in Python, as in") as error:
            reader((tmp_path / "in").read_bytes(), "npz")
        eval(str(error.value).partition("as in ")[2], {"numpy": np})
        np.testing.assert_array_equal(numbers((tmp_path / "new.npy").read_bytes(), "npy"), X)

    @pytest.mark.parametrize("dtype", ["f4", ">f8", "i2", "u1", "?"])
    def test_all_kinds_of_numbers(self, dtype):
        stream = io.BytesIO()
        values = np.array([[0, 1], [1, 1]], dtype=dtype)
        np.save(stream, np.asfortranarray(values))
        np.testing.assert_array_equal(numbers(stream.getvalue(), "npy"), [[0, 1], [1, 1]])


class TestParquet:
    def save(self, **columns):
        pyarrow = pytest.importorskip("pyarrow")
        import pyarrow.parquet as parquet

        stream = io.BytesIO()
        parquet.write_table(pyarrow.table(columns), stream)
        return stream.getvalue()

    def test_kinds_of_columns(self):
        from decimal import Decimal

        content = self.save(**{"a.b": [1, 2], "c": [True, False], "d": [Decimal("0.5"), Decimal("1.5")], "e": [1.5, None]})
        np.testing.assert_array_equal(numbers(content, "parquet"), [[1, 1, 0.5, 1.5], [2, 0, 1.5, np.nan]])

    def test_label_columns(self):
        import pyarrow as pa

        content = self.save(x=[1.0, 2.0, 3.0], c=pa.array(["u", None, "u"]).dictionary_encode(), k=[3, 1, 2])
        table = reader(content, "parquet")
        c, k = table.read([0], [1, 2]).others
        assert c.tolist() == ["u", "", "u"]
        assert k.tolist() == [3, 1, 2]

    def test_the_index_of_a_frame_is_no_feature(self):
        pandas = pytest.importorskip("pandas")
        stream = io.BytesIO()
        pandas.DataFrame({"a": [1.0, 2.0]}, index=[7, 9]).to_parquet(stream)
        table = reader(stream.getvalue(), "parquet")
        assert table.names == ["a", ""]
        roles = resolve(Selection(), table)
        assert (roles.features, roles.id, roles.names_rows) == ([0], 1, True)
        assert resolve(Selection(columns=["1-2"]), table).features == [0, 1]

    def test_an_index_of_several_columns(self):
        pandas = pytest.importorskip("pandas")
        stream = io.BytesIO()
        index = pandas.MultiIndex.from_arrays([[1, 2], [3, 4]], names=["i", "j"])
        pandas.DataFrame({"a": [1.0, 2.0]}, index=index).to_parquet(stream)
        with pytest.raises(CommandError, match="an index of several columns, 'i', 'j'; use --drop, and --id"):
            resolve(Selection(), reader(stream.getvalue(), "parquet"))


class TestSelection:
    TABLE = b"a,b,c,d,3\n1,2,3,4,5\n"

    def features(self, **selection):
        return resolve(Selection(**selection), reader(self.TABLE)).features

    @pytest.mark.parametrize(
        ("selection", "expected"),
        [
            ({}, [0, 1, 2, 3, 4]),
            ({"columns": ["c", "a"]}, [2, 0]),
            ({"columns": ["2-4", "1"]}, [1, 2, 3, 0]),
            ({"columns": ["3"]}, [4]),  # a name comes before a position
            ({"drop": ["b", "4"]}, [0, 2, 4]),
            ({"columns": ["1-4"], "drop": ["b"], "label": "d"}, [0, 2]),
            ({"label": "1", "id": "c", "weight": "d"}, [1, 4]),
        ],
    )
    def test_choices(self, selection, expected):
        assert self.features(**selection) == expected

    def test_roles(self):
        roles = resolve(Selection(label="b", id="1", weight="d"), reader(self.TABLE))
        assert (roles.features, roles.label, roles.id, roles.weight) == ([2, 4], 1, 0, 3)

    @pytest.mark.parametrize(
        ("selection", "message"),
        [
            ({"columns": ["x"]}, "--columns: there is no column 'x'; its columns are 'a', 'b', 'c', 'd', '3'"),
            ({"columns": ["6"]}, "--columns 6: columns are counted from 1 to 5"),
            ({"columns": ["4-2"]}, "--columns 4-2: columns are counted from 1 to 5"),
            ({"drop": ["0"]}, "--drop 0: columns are counted from 1"),
            ({"label": "1-2"}, "--label takes one column, got 1-2"),
            ({"columns": ["1-2", "a"]}, "--columns takes column 1 .'a'. twice"),
            ({"drop": ["1-5"]}, "no column is left to embed"),
        ],
    )
    def test_mistakes(self, selection, message):
        with pytest.raises(CommandError, match=f"^in: {message}"):
            self.features(**selection)

    def test_names_decide_for_a_model(self):
        table = reader(self.TABLE)
        wanted = Wanted(["d", "a"], [3, 0], 5)
        assert resolve(Selection(), table, wanted).features == [3, 0]
        assert resolve(Selection(columns=["1-2"]), table, wanted).features == [0, 1]
        assert resolve(Selection(), reader(b"1,2\n3,4\n"), wanted).features == [0, 1]
        assert resolve(Selection(), reader(b"1,2,3,4,5\n"), wanted).features == [3, 0]
        with pytest.raises(CommandError, match="the model needs 'y', 'z', which the table lacks; its columns are 'a'"):
            resolve(Selection(), table, Wanted(["y", "a", "z"], [0, 1, 2], 3))

    def test_repeated_names(self):
        table = reader(b"a,b,a\n1,2,3\n")
        with pytest.raises(CommandError, match=r"columns 1 and 3 are both named 'a'; rename one, or .* --drop 3"):
            check_names(table, resolve(Selection(), table), [0, 1, 2])
        with pytest.raises(CommandError, match="--drop a: columns 1, 3 have this name; give a position"):
            resolve(Selection(drop=["a"]), table)
        assert resolve(Selection(drop=["3"]), table).features == [0, 1]

    def test_items(self):
        assert split_items('a, 3-7,"b,c"') == ["a", "3-7", "b,c"]
        for bad in ("", "a,,b", ","):
            with pytest.raises(ValueError, match="separated by commas"):
                split_items(bad)
