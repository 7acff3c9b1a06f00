"""Reads networks that somebody has written down link by link, and packs them for the simulator.

Whatever the format of a file, its switches, nodes and links are turned into one binary form, that of
``simulator/topologies/link_table.hpp``.
"""

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter
from pydantic_core import PydanticCustomError, ValidationError

from tramontane.errors import InputError, show
from tramontane.study.networks.link_names import INJECTION
from tramontane.study.reading.names import ALLOWED, is_name
from tramontane.study.reading.reading import read_json
from tramontane.study.values.units import Bandwidth, Latency
from tramontane.support import column_files

ENDS = ("source", "target")
PORTS = ("source_port", "target_port")
NUMBERS = {"preference": 2**16 - 1, "spread": 2**31 - 1, "ring": 2**8 - 1}
"""Columns of whole numbers from 0, and the largest."""
DATELINES = ("", "before", "after")
COLUMNS = (*ENDS, "class", "bandwidth", "latency", *PORTS, *NUMBERS, "dateline")
NODE = "node"
"""The class of rows that attach a node, their source, to a switch, their target."""
CLASS = "network"
"""The class of links where the file says none."""
MOST_LINKS = 100_000_000
MOST_PORTS = 2**16 - 1
MOST_CLASSES = 2**16 - 2
_OF_NODES = ("ejection", INJECTION)
"""Classes of the links between nodes and switches, which every network has."""
_HAS_NODES, _HAS_SPREAD, _HAS_DATELINE = 1, 2, 4
_FORMAT = b"TRMGRAP1"
_HEADER = np.dtype(
    [("format", "S8"), *((name, "<i8") for name in ("switches", "links", "nodes", "classes", "text", "columns"))]
)
_LINK = np.dtype(
    [
        ("ends", "<u4", 2),
        ("spread", "<u4"),
        ("ports", "<u2", 2),
        ("class", "<u2"),
        ("preference", "<u2"),
        ("ring", "u1"),
        ("dateline", "u1"),
        ("unused", "<u2"),
    ]
)
_PARTS = re.compile(r"\d+|\D+")
_WHOLE = re.compile(r"\d{1,12}")

Texts = NDArray[np.object_]
Integers = NDArray[np.int64]


@dataclass
class Rows:
    """What a file says, as text.

    Attributes
    ----------
    columns : dict of array of str
        Of the rows, links and nodes.
    row : callable
        Says where row i stands in the file.
    counts : dict or None
        Nodes of each switch, where the file lists its switches.
    """

    columns: dict[str, Texts]
    row: Callable[[int], str]
    counts: dict[str, int] | None = None

    def __len__(self) -> int:
        return len(self.columns["source"])


def pack(path: Path) -> memoryview:
    """Return the binary form of the graph in a file.

    Parameters
    ----------
    path : Path
        ``.csv`` with a heading, node-link ``.json`` of networkx, or ``.txt`` with two names a line.

    Raises
    ------
    InputError
        With file, row or key, what was found and what is allowed.
    """
    failures = (OSError, ValueError, KeyError, TypeError, AttributeError, Warning)
    return _Graph(path, column_files.read_by_suffix(path, _READERS, failures)).packed()


def links_of(table: Path) -> tuple[NDArray[Any], dict[str, Texts]]:
    """Return the links that a binary form holds, and what its file says of their routing, as text by column."""
    content = table.read_bytes()
    header = np.frombuffer(content, _HEADER, 1)[0]
    links = np.frombuffer(content, _LINK, int(header["links"]), _HEADER.itemsize)
    says = {"spread": _HAS_SPREAD, "dateline": _HAS_DATELINE}
    said = [name for name in (*NUMBERS, "dateline") if header["columns"] & says.get(name, 0) or links[name].any()]
    columns = {name: links[name].astype(str).astype(object) for name in said}
    if "dateline" in columns:
        columns["dateline"] = np.array(DATELINES, dtype=object)[links["dateline"]]
    return links, columns


class _Graph:
    """Switches, nodes and links by numbers, each checked."""

    def __init__(self, path: Path, rows: Rows) -> None:
        self.path, self.rows = path, rows
        if len(rows) > MOST_LINKS:
            raise InputError(path, "", len(rows), f"at most {MOST_LINKS}", problem=f"found {len(rows)} rows")
        for end in ENDS:
            if len(empty := np.flatnonzero(rows.columns[end] == "")):
                raise self._wrong(int(empty[0]), end, "", "a name")
        self.classes = rows.columns.get("class", np.full(len(rows), CLASS, dtype=object))
        attached = self.classes == NODE
        self.node_rows, self.link_rows = np.flatnonzero(attached), np.flatnonzero(~attached)
        self._number_switches()
        self._number_nodes()
        self._check_links()

    def _wrong(self, row: int, column: str, found: object, allowed: str, problem: str | None = None) -> InputError:
        key = f"{self.rows.row(row)}, {column}" if column else self.rows.row(row)
        return InputError(
            self.path, key, found, allowed, problem=problem or f"found {show(found) if found else 'nothing'}"
        )

    def _column(self, name: str) -> Texts | None:
        """Return a column of the rows of links."""
        own = self.rows.columns.get(name)
        return None if own is None else own[self.link_rows]

    # --- who there is --------------------------------------------------------------------------------------------

    def _number_switches(self) -> None:
        """Give numbers to switches in the order of their names, in which s2 goes before s10."""
        from pandas import factorize  # noqa: PLC0415 - slow to import

        columns, links, nodes = self.rows.columns, self.link_rows, self.node_rows
        named = np.concatenate([columns["source"][links], columns["target"][links], columns["target"][nodes]])
        listed = np.array(list(self.rows.counts or ()), dtype=object)
        codes, names = factorize(np.concatenate([named, listed]))
        order = sorted(range(len(names)), key=lambda i: _natural(str(names[i])))
        number = np.empty(len(names), dtype=np.int64)
        number[order] = np.arange(len(names))
        self.names = [str(names[i]) for i in order]
        self.number = {name: place for place, name in enumerate(self.names)}
        codes = number[codes]
        self.ends: Integers = codes[: 2 * len(links)].reshape(2, -1).T
        self.switch_of_row = codes[2 * len(links) : len(named)]
        if not self.names:
            raise InputError(self.path, "", None, "a link or more", problem="no link in it")

    def _number_nodes(self) -> None:
        """Give numbers to nodes switch by switch, and there by port or name."""
        self.has_nodes = bool(len(self.node_rows)) or any((self.rows.counts or {}).values())
        count = np.zeros(len(self.names), dtype=np.int64)
        for name, nodes in (self.rows.counts or {}).items():
            count[self.number[name]] = nodes
        seen: dict[str, tuple[int, int]] = {}
        names = self.rows.columns["source"][self.node_rows]
        for place, (row, name) in enumerate(zip(self.node_rows.tolist(), names.tolist(), strict=True)):
            switch = int(self.switch_of_row[place])
            if name in self.number:
                problem = f"found '{name}', which is a switch, too"
                raise self._wrong(row, "source", name, "a name that no switch has", problem)
            if name in seen:
                other, before = seen[name]
                where = self.rows.row(before)
                problem = (
                    f"found node '{name}' again, as in {where}"
                    if other == switch
                    else f"found node '{name}' on switch '{self.names[switch]}', on '{self.names[other]}' in {where}"
                )
                raise self._wrong(row, "source", name, "each node once, on one switch", problem)
            seen[name] = switch, row
            if count[switch] and self.rows.counts and self.rows.counts.get(self.names[switch]):
                raise self._wrong(
                    row, "", name, "nodes by number or by name", f"found '{name}' beside a number of nodes"
                )
        self.nodes = count + np.bincount(self.switch_of_row, minlength=len(self.names))

    # --- links ---------------------------------------------------------------------------------------------------

    def _check_links(self) -> None:
        source, target = self.ends.T
        if len(own := np.flatnonzero(source == target)):
            row = int(self.link_rows[own[0]])
            raise self._wrong(row, "target", self.names[source[own[0]]], "another switch than the source")
        number = len(self.names)
        key = np.minimum(source, target) * number + np.maximum(source, target)
        order = np.argsort(key, kind="stable")
        turned = (key[order][1:] == key[order][:-1]) & (source[order][1:] != source[order][:-1])
        if turned.any():
            place = int(np.flatnonzero(turned)[0])
            first, again = (self.rows.row(int(self.link_rows[order[i]])) for i in (place, place + 1))
            allowed = "a link once, for both directions; parallel links with one source"
            raise InputError(self.path, again, None, allowed, problem=f"found the link of {first} the other way round")
        self._check_connected()

    def _check_connected(self) -> None:
        parts, label = connected_parts(len(self.names), self.ends)
        if parts > 1:
            other = self.names[int(np.flatnonzero(label != label[0])[0])]
            found = f"found {parts} parts: no way from switch '{self.names[0]}' to '{other}'"
            raise InputError(self.path, "", None, "a graph that is connected", problem=found)

    def _ports(self) -> tuple[Integers, Integers]:
        """Return the ports of links, and those of nodes in their order: as said, else in the order of the rows."""
        said = [name for name in PORTS if name in self.rows.columns]
        if len(said) == 1:
            missing = next(name for name in PORTS if name not in said)
            raise InputError(self.path, missing, None, "both ports, or none", problem=f"no column '{missing}'")
        nodes = int(self.nodes.sum())
        if said:
            ports = np.stack([self._numbers(name, MOST_PORTS - 1, empty=False) for name in PORTS], axis=1)
            own = self._numbers("target_port", MOST_PORTS - 1, empty=False, nodes=True)
            if len(own) != nodes:
                raise InputError(self.path, "target_port", None, "nodes by name where ports are said")
            order = np.lexsort((own, self.switch_of_row))
            at_port = own[order]
            self._refuse_taken(ports, own)
        else:
            ends = self.ends.ravel()
            order = np.argsort(ends, kind="stable")
            degree = np.bincount(ends, minlength=len(self.names))
            ports = np.empty(len(ends), dtype=np.int64)
            ports[order] = np.arange(len(ends)) - np.repeat(np.cumsum(degree) - degree, degree)
            ports = ports.reshape(-1, 2)
            first = int(degree.max(initial=0))
            at_port = first + np.arange(nodes) - np.repeat(np.cumsum(self.nodes) - self.nodes, self.nodes)
        if max(ports.max(initial=0), at_port.max(initial=0)) >= MOST_PORTS:
            problem = f"found a switch of {max(ports.max(initial=0), at_port.max(initial=0)) + 1} ports"
            raise InputError(self.path, "", None, f"at most {MOST_PORTS} ports", problem=problem)
        return ports, at_port

    def _refuse_taken(self, ports: Integers, of_nodes: Integers) -> None:
        at = np.concatenate([self.ends.ravel(), self.switch_of_row])
        port = np.concatenate([ports.ravel(), of_nodes])
        row = np.concatenate([np.repeat(self.link_rows, 2), self.node_rows])
        order = np.lexsort((row, port, at))
        again = np.flatnonzero((at[order][1:] == at[order][:-1]) & (port[order][1:] == port[order][:-1]))
        if len(again):
            first, other = order[again[0]], order[again[0] + 1]
            where = self.rows.row(int(row[first]))
            problem = f"found port {port[other]} of switch '{self.names[at[other]]}' again, as in {where}"
            raise InputError(self.path, self.rows.row(int(row[other])), None, "a port for each", problem=problem)

    def _numbers(self, name: str, most: int, *, empty: bool = True, nodes: bool = False) -> Integers:
        """Return a column of whole numbers, of links or of nodes; 0 where it is missing, or empty and may be."""
        rows = self.node_rows if nodes else self.link_rows
        column = self.rows.columns.get(name)
        if column is None:
            return np.zeros(len(rows), dtype=np.int64)
        found: dict[str, int] = {}
        for text in set(column[rows].tolist()):
            if text == "" and empty:
                found[text] = 0
            elif _WHOLE.fullmatch(text) and int(text) <= most:
                found[text] = int(text)
            else:
                row = int(rows[np.flatnonzero(column[rows] == text)[0]])
                raise self._wrong(row, name, text, f"a whole number, 0 to {most}")
        return np.array([found[text] for text in column[rows].tolist()], dtype=np.int64)

    def _rates(self, name: str, kind: Any) -> Integers:
        """Return bandwidths [B/s] or latencies [ps] of links, 0 where the file says none."""
        column = self._column(name)
        if column is None:
            return np.zeros(len(self.link_rows), dtype=np.int64)
        adapter, found = TypeAdapter[int](kind), {}
        for text in set(column.tolist()):
            row = int(self.link_rows[np.flatnonzero(column == text)[0]])
            try:
                found[text] = adapter.validate_python(text)
            except (ValidationError, PydanticCustomError) as error:
                context = (
                    error.errors()[0].get("ctx", {}) if isinstance(error, ValidationError) else error.context or {}
                )
                problem = context.get("problem") if text else "found nothing"
                raise self._wrong(row, name, text, str(context.get("allowed", f"a {name}")), problem) from None
        return np.array([found[text] for text in column.tolist()], dtype=np.int64)

    def _link_classes(self) -> tuple[Integers, list[tuple[str, int, int]]]:
        """Return the class of each link, and name, bandwidth and latency of each; links of a class are all alike.

        Where those of one name differ they are classes of their own, numbered by latency and bandwidth.
        """
        from pandas import factorize  # noqa: PLC0415

        bandwidth, latency = self._rates("bandwidth", Bandwidth), self._rates("latency", Latency)
        codes, names = factorize(self.classes[self.link_rows])
        for code, name in enumerate(names):
            if not is_name(name) or name in _OF_NODES:
                row, own = int(self.link_rows[np.flatnonzero(codes == code)[0]]), " and ".join(_OF_NODES)
                raise self._wrong(row, "class", name, f"a name of {ALLOWED}, or {NODE}; {own} are those of nodes")
        kinds, place = np.unique(np.stack([codes, latency, bandwidth], axis=1), axis=0, return_inverse=True)
        if len(kinds) > MOST_CLASSES:
            problem = f"found {len(kinds)} different kinds of links"
            raise InputError(self.path, "", None, f"at most {MOST_CLASSES}", problem=problem)
        several = np.bincount(kinds[:, 0], minlength=len(names)) if len(kinds) else np.zeros(0, dtype=np.int64)
        told: dict[int, int] = {}
        classes = []
        for code, own_latency, own_bandwidth in kinds.tolist():
            told[code] = told.get(code, 0) + 1
            name = names[code] if several[code] == 1 else f"{names[code]}-{told[code]}"
            classes.append((str(name), own_bandwidth, own_latency))
        order = sorted(range(len(classes)), key=lambda i: (_natural(classes[i][0]), i))
        number = np.empty(len(order), dtype=np.int64)
        number[order] = np.arange(len(order))
        classes = [classes[i] for i in order]
        known = [name for name, _, _ in classes]
        if len(set(known)) < len(known):
            twice = next(name for name in known if known.count(name) > 1)
            problem = f"found class '{twice}', and links of another that are numbered so"
            raise InputError(self.path, "class", None, "other names", problem=problem)
        return number[place.ravel()] if order else place.ravel(), classes

    def _datelines(self) -> Integers:
        column = self._column("dateline")
        if column is None:
            return np.zeros(len(self.link_rows), dtype=np.int64)
        for text in set(column.tolist()) - set(DATELINES):
            row = int(self.link_rows[np.flatnonzero(column == text)[0]])
            raise self._wrong(row, "dateline", text, "before, after, or nothing")
        return np.array([DATELINES.index(text) for text in column.tolist()], dtype=np.int64)

    def packed(self) -> memoryview:
        """Return the binary form."""
        links = np.zeros(len(self.link_rows), dtype=_LINK)
        links["ends"] = self.ends
        links["ports"], at_port = self._ports()
        links["class"], classes = self._link_classes()
        for name, most in NUMBERS.items():
            links[name] = self._numbers(name, most)
        links["dateline"] = self._datelines()
        header = np.zeros(1, dtype=_HEADER)
        says = {"spread": _HAS_SPREAD, "dateline": _HAS_DATELINE}
        columns = sum(flag for name, flag in says.items() if name in self.rows.columns)
        columns |= _HAS_NODES if self.has_nodes else 0
        text = b"".join(name.encode() + b"\0" for name, _, _ in classes)
        numbers = (len(self.names), len(links), int(self.nodes.sum()), len(classes), len(text), columns)
        header[0] = (_FORMAT, *numbers)
        parts = [header.tobytes(), links.tobytes()]
        if self.has_nodes:
            own = self.nodes.astype("<u4").tobytes() + at_port.astype("<u2").tobytes()
            parts += [own, b"\0" * (-len(own) % 8)]
        parts += [np.array([[b, latency] for _, b, latency in classes], dtype="<i8").tobytes(), text]
        return memoryview(b"".join(parts))


def connected_parts(switches: int, ends: Integers) -> tuple[int, Integers]:
    """Return how many parts a graph consists of that no link joins, and the part of each switch."""
    from scipy.sparse import coo_array  # noqa: PLC0415 - slow to import
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    matrix = coo_array((np.ones(len(ends), dtype=np.int8), (*ends.T,)), shape=(switches, switches))
    parts, label = connected_components(matrix.tocsr(), directed=False)
    return parts, label


def _natural(name: str) -> tuple[tuple[bool, int, str], ...]:
    """Return a key by which s2 goes before s10."""
    return tuple((part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in _PARTS.findall(name))


def _read_csv(path: Path) -> Rows:
    from pandas import read_csv  # noqa: PLC0415 - slow to import
    from pandas.errors import ParserError, ParserWarning  # noqa: PLC0415

    names = column_files.heading(path)
    column_files.check_names(path, names, COLUMNS, ENDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ParserWarning)
            read = read_csv(path, dtype=object, header=0, names=names, index_col=False, na_filter=False,
                            skipinitialspace=True, encoding="utf-8-sig")  # fmt: skip
    except (ParserError, ParserWarning):
        column_files.rows(path, names)  # refuses the first row that has not a value for each column
        raise
    stripped = {name: _stripped(np.asarray(read[name], dtype=object)) for name in names}
    return Rows(stripped, lambda row: f"row {row + 1}")


def _stripped(column: Texts) -> Texts:
    """Return texts without blanks around them; each text is looked at once."""
    known = {text: "" if text != text else str(text).strip() for text in set(column.tolist())}  # noqa: PLR0124 - NaN
    return np.array([known[text] for text in column.tolist()], dtype=object)


def _read_text(path: Path) -> Rows:
    """Read lines of two names; what follows a # is a remark."""
    lines, ends = [], []
    with path.open(encoding="utf-8-sig") as stream:
        for number, line in enumerate(stream, start=1):
            words = line.split("#")[0].split()
            if words[2:] == ["{}"]:  # networkx ends a line so
                words = words[:2]
            if not words:
                continue
            if len(words) != 2:
                problem = f"found {len(words)} words"
                raise InputError(path, f"line {number}", None, "two names, source and target", problem=problem)
            lines.append(number)
            ends.append(words)
    columns = np.array(ends, dtype=object).reshape(-1, 2)
    return Rows(dict(zip(ENDS, columns.T, strict=True)), lambda row: f"line {lines[row]}")


def _read_json(path: Path) -> Rows:
    """Read what networkx's ``node_link_data`` returns; `nodes` of a switch is the number of its nodes."""
    data = read_json(path)
    allowed = "node-link data of networkx: nodes, and edges or links"
    key = next((key for key in ("edges", "links") if isinstance(data, dict) and isinstance(data.get(key), list)), None)
    if not isinstance(data, dict) or key is None or not isinstance(data.get("nodes"), list):
        raise InputError(path, "", None, allowed, problem="found something else")
    counts: dict[str, int] = {}
    for place, node in enumerate(data["nodes"]):
        where = f"nodes[{place}]"
        column_files.check_names(path, list(node), ("id", "nodes"), ("id",), where)
        name, nodes = str(node["id"]), node.get("nodes", 0)
        if name in counts:
            raise InputError(path, f"{where}.id", name, "each name once", problem=f"found '{name}' again")
        if not isinstance(nodes, int) or isinstance(nodes, bool) or not 0 <= nodes < 2**31:
            raise InputError(path, f"{where}.nodes", nodes, "a whole number of nodes, 0 or more")
        counts[name] = nodes
    entries = data[key]
    told = dict.fromkeys(name for entry in entries for name in entry if name != "key")
    names = tuple(dict.fromkeys((*ENDS, *told)))
    for place, entry in enumerate(entries):
        if not {*ENDS} <= entry.keys() <= {*COLUMNS, "key"}:
            given = [name for name in entry if name != "key"]
            column_files.check_names(path, given, COLUMNS, ENDS, f"{key}[{place}]")
        for end in ENDS:
            if str(entry[end]) not in counts:
                raise InputError(path, f"{key}[{place}].{end}", entry[end], "the id of one of the nodes")
    places = np.arange(len(entries))
    if data.get("directed"):
        places = _both_ways(path, key, entries)
    columns = {name: np.array([str(entries[place].get(name, "")) for place in places], dtype=object) for name in names}
    attached = {row for row, entry in enumerate(entries) if entry.get("class") == NODE}
    for row in attached:  # the ends of these rows are no switches
        counts.pop(str(entries[row]["source"]), None)
    return Rows(columns, lambda row: f"{key}[{places[row]}]", counts)


def _both_ways(path: Path, key: str, entries: list[dict[str, Any]]) -> Integers:
    """Return one of the two directions of each link of a directed graph; both must be there and alike."""

    def sorted_(entry: dict[str, Any], ends: tuple[str, str]) -> tuple[str, ...]:
        others = sorted((name, str(value)) for name, value in entry.items() if name not in (*ENDS, *PORTS, "key"))
        return str(entry[ends[0]]), str(entry[ends[1]]), str(others)

    waiting: dict[tuple[str, ...], list[int]] = {}
    kept = []
    for place, entry in enumerate(entries):
        if entry.get("class") == NODE:
            kept.append(place)
        elif back := waiting.get(sorted_(entry, ("target", "source"))):
            kept.append(back.pop())
        else:
            waiting.setdefault(sorted_(entry, ("source", "target")), []).append(place)
    alone = sorted(place for places in waiting.values() for place in places)
    if alone:
        entry = entries[alone[0]]
        problem = f"found a link from '{entry['source']}' to '{entry['target']}' with none like it back"
        raise InputError(path, f"{key}[{alone[0]}]", None, "links of both directions", problem=problem)
    return np.array(sorted(kept), dtype=np.int64)


_READERS: dict[str, Callable[[Path], Rows]] = {".csv": _read_csv, ".json": _read_json, ".txt": _read_text}
