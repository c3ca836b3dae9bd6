"""The compiled pass that removes excluded fields from BSON, and renames fields.

A rule has a path of field names (nodes); it removes the field at its end or renames the last node.
Rules are applied one after the other, each to the result of the rule before. A renamed field moves
to the end of its document. The rules on memory are those of `headrace.connect.kernels.memory`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.equality import same_bytes
from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.memory import (
    copy,
    load8,
    load64,
    stack_memory,
    store8,
    store32,
    store64,
)
from headrace.documents.bson import ARRAY, DOCUMENT, NO_ROOM, STRING, TRAILING_BYTES
from headrace.documents.kernels.value_sizes import name_end, value_size

MAX_NODES = 100
"""The most nodes of a path."""
RULE_WORDS = 4
"""Words (int64) of a rule: count and address of its nodes, address and length of the new name of
the last one (address 0: the field is removed). A node is an address and a length."""
FIELD_EXISTS = -20
"""The fault of a rename to the name of an existing field."""
NAME_TAKEN = 0
"""The type byte, which BSON does not have, of a cell that replaces such a document: it has no
value, and its decoder raises `headrace.documents.fields.field_exists`."""

# Relations of a dotted name to the path of a rule.
_ELSEWHERE, _ABOVE, _EQUAL, _BELOW = 0, 1, 2, 3
_DOT = ord(".")

# A frame of the walk: the beginning of the container in the output, its end, its node, whether it
# is an array, and the value that is renamed: its place and size (0: none), its type, whether the
# new name is taken.
_FRAME = 64
_OUT, _LAST, _NODE, _IS_ARRAY, _PLACE, _SIZE, _KIND, _IS_TAKEN = range(0, _FRAME, 8)
_allocate_frames = stack_memory(_FRAME * (2 * MAX_NODES + 2))


@part
def _is_node(rule, node, name, length):
    """Whether a name is a node of the rule's path."""
    entry = load64(rule + 8) + 16 * node
    return same_bytes(load64(entry), load64(entry + 8), name, length)


@part
def _part_end(place, end):
    while place < end and load8(place) != _DOT:
        place += 1
    return place


@part
def _is_index(place, end):
    """Whether a part of a dotted name is a number."""
    for byte in range(place, end):
        digit = load8(byte) - 48
        if digit < 0 or digit > 9:
            return False
    return end > place


@part
def _skips_indexes(name, end):
    """Whether the numbers in a dotted name are array indexes: the first part is followed by others,
    and no two numbers are adjacent."""
    place = _part_end(name, end)
    if place == end:
        return False
    was_index = _is_index(name, place)
    while place < end:
        place += 1
        part = place
        place = _part_end(part, end)
        is_index = _is_index(part, place)
        if is_index and was_index:
            return False
        was_index = is_index
    return True


@part
def _relation(rule, name, length):
    """Return the relation of a dotted name to the rule's path, and the number of its nodes that
    match."""
    end = name + length
    nodes = load64(rule)
    skips = _skips_indexes(name, end)
    count = np.int64(0)
    place = name
    while True:
        part_end = _part_end(place, end)
        if not (skips and _is_index(place, part_end)):
            if count == nodes:
                return _BELOW, count
            if not _is_node(rule, count, place, part_end - place):
                return _ELSEWHERE, count
            count += 1
        if part_end == end:
            break
        place = part_end + 1
    return (_EQUAL if count == nodes else _ABOVE), count


@part
def _is_path(rule, name, length):
    """Whether a dotted name is literally the rule's path, whatever its parts mean."""
    place, end = name, name + length
    for node in range(load64(rule)):
        if node:
            if place == end or load8(place) != _DOT:
                return False
            place += 1
        entry = load64(rule + 8) + 16 * node
        size = load64(entry + 8)
        if size > end - place or not same_bytes(load64(entry), size, place, size):
            return False
        place += size
    return place == end


@part
def _put_new_path(rule, name, length, out):
    """Write the rule's path, which `name` is, with the new name instead of its last node; returns
    its end."""
    last = load64(rule + 8) + 16 * (load64(rule) - 1)
    out = copy(name, length - load64(last + 8), out)
    return copy(load64(rule + 16), load64(rule + 24), out)


@part
def _put_renamed(rule, name, length, out):
    """Write a dotted name with the rule's new name instead of its last node; returns its end.
    Numbers do not count as nodes."""
    end = name + length
    last = load64(rule) - 1
    count = np.int64(0)
    place = name
    while True:
        part_end = _part_end(place, end)
        if _is_index(place, part_end):
            out = copy(place, part_end - place, out)
        else:
            if count == last:
                out = copy(load64(rule + 16), load64(rule + 24), out)
            else:
                out = copy(place, part_end - place, out)
            count += 1
        if part_end == end:
            return out
        store8(out, _DOT)
        out += 1
        place = part_end + 1


@part
def _put_element(kind, name, name_length, value, size, out):
    store8(out, kind)
    out = copy(name, name_length, out + 1)
    store8(out, 0)
    return copy(value, size, out + 1)


@part
def _open(frame, place, size, node, is_array, out):
    store64(frame + _OUT, out)
    store64(frame + _LAST, place + size - 1)
    store64(frame + _NODE, node)
    store64(frame + _IS_ARRAY, is_array)
    store64(frame + _PLACE, 0)
    store64(frame + _IS_TAKEN, 0)
    return place + 4


@part
def _walk(rule, place, size, node, is_array, out, limit):
    """Write a document or array after one rule, whose nodes count from `node`; returns its end, or
    a fault. `size` is checked; nothing is written after `limit`."""
    frame = _allocate_frames()
    bottom = frame
    last_node = load64(rule) - 1
    new_name, new_length = load64(rule + 16), load64(rule + 24)
    place = _open(frame, place, size, node, is_array, out)
    out += 4
    while True:
        last = load64(frame + _LAST)
        if place == last:
            value = load64(frame + _PLACE)
            if value:
                if load64(frame + _IS_TAKEN):
                    return np.int64(FIELD_EXISTS)
                length = load64(frame + _SIZE)
                if out + new_length + length + 64 > limit:
                    return np.int64(NO_ROOM)
                out = _put_element(load64(frame + _KIND), new_name, new_length, value, length, out)
            store8(out, 0)
            out += 1
            start = load64(frame + _OUT)
            store32(start, out - start)
            place += 1
            if frame == bottom:
                return out
            frame -= _FRAME
            continue
        kind = load8(place)
        name = place + 1
        name_last = name_end(name, last)
        value = name_last + 1
        length = value_size(kind, value, last - value)
        if length < 0:
            return length
        if out + (value - place) + length + 64 > limit:
            return np.int64(NO_ROOM)
        node = load64(frame + _NODE)
        opens = False
        if load64(frame + _IS_ARRAY):
            opens = kind == DOCUMENT
        elif _is_node(rule, node, name, name_last - name):
            if node == last_node:
                place = value + length
                if new_name:
                    store64(frame + _PLACE, value)
                    store64(frame + _SIZE, length)
                    store64(frame + _KIND, kind)
                    if same_bytes(name, name_last - name, new_name, new_length):
                        store64(frame + _IS_TAKEN, 1)
                continue
            opens = kind in (DOCUMENT, ARRAY)
            node += 1
        elif node == last_node and same_bytes(name, name_last - name, new_name, new_length):
            store64(frame + _IS_TAKEN, 1)
        if opens:
            out = copy(place, value - place, out)
            frame += _FRAME
            place = _open(frame, value, length, node, np.int64(kind == ARRAY), out)
            out += 4
        else:
            out = copy(place, value + length - place, out)
            place = value + length


@part
def _has_name(document, end, name, length):
    """Whether an unfinished document, written up to `end`, has a field of this name."""
    place = document + 4
    while place < end:
        name_last = name_end(place + 1, end)
        if same_bytes(place + 1, name_last - place - 1, name, length):
            return True
        value = name_last + 1
        place = value + value_size(load8(place), value, end - value)
    return False


@part
def _path_element(rule, document, last):
    """Return the place of the element whose dotted name is literally the rule's path; 0 if there is
    no such element; or a fault. A number in such a name is the name of a field."""
    place = document + 4
    while place < last:
        name = place + 1
        name_last = name_end(name, last)
        if _is_path(rule, name, name_last - name):
            return place
        value = name_last + 1
        length = value_size(load8(place), value, last - value)
        if length < 0:
            return length
        place = value + length
    return np.int64(0)


@part
def _filter_change(rule, document, size, out, limit):
    """Write updated fields, whose names are dotted, after one rule. If the name of one of them is
    literally the rule's path, the rule applies only to that field."""
    start = out
    last = document + size - 1
    whole = _path_element(rule, document, last)
    if whole < 0:
        return whole
    new_length = load64(rule + 24)
    for renames in range(2):
        place = document + 4
        if renames == 0:
            out += 4
        while place < last:
            kind = load8(place)
            name = place + 1
            name_last = name_end(name, last)
            value = name_last + 1
            length = value_size(kind, value, last - value)
            if length < 0:
                return length
            if out + (value - place) + length + new_length + 64 > limit:
                return np.int64(NO_ROOM)
            relation, count = np.int64(_ELSEWHERE), np.int64(0)
            if whole == 0:
                relation, count = _relation(rule, name, name_last - name)
            is_hit = whole == place or relation in (_EQUAL, _BELOW)
            if renames == 1:
                if is_hit:
                    store8(out, kind)
                    if whole:
                        end = _put_new_path(rule, name, name_last - name, out + 1)
                    else:
                        end = _put_renamed(rule, name, name_last - name, out + 1)
                    if _has_name(start, out, out + 1, end - out - 1):
                        return np.int64(FIELD_EXISTS)
                    store8(end, 0)
                    out = copy(value, length, end + 1)
            elif relation == _ABOVE and kind in (DOCUMENT, ARRAY):
                out = copy(place, value - place, out)
                out = _walk(rule, value, length, count, np.int64(kind == ARRAY), out, limit)
                if out < 0:
                    return out
            elif not is_hit:
                out = copy(place, value + length - place, out)
            place = value + length
        if load64(rule + 16) == 0:
            break
    store8(out, 0)
    store32(start, out + 1 - start)
    return out + 1


@entry
def filter_fields(rules, count, is_change, document, size, spare, out, capacity):
    """Write a document after `count` rules; returns the end of the result at `out`, or a fault.

    `is_change`: its names are dotted, like those of updated fields. `spare` and `out` have space
    for `capacity` bytes and `PADDING` more each; if that may be too little, the result is NO_ROOM.
    """
    whole = value_size(DOCUMENT, document, size)
    if whole != size:
        return whole if whole < 0 else np.int64(TRAILING_BYTES)
    target = out
    for i in range(count):
        rule = rules + 8 * RULE_WORDS * i
        limit = target + capacity
        if is_change:
            end = _filter_change(rule, document, size, target, limit)
        else:
            end = _walk(rule, document, size, np.int64(0), np.int64(0), target, limit)
        if end < 0:
            return end
        document = target
        size = end - target
        target = spare if target == out else out
    if document != out:
        if size > capacity:
            return np.int64(NO_ROOM)
        copy(document, size, out)
    return out + size


@part
def _put_name(rules, count, name, length, goes_above, out):
    """Write the name of a removed field or a truncated array after the first rule that applies to
    it: to the field itself, a field inside it, or one around it, which an exclude removes if
    `goes_above`. Returns its end, or -1 if it is removed. The path of an array is first compared
    literally."""
    for i in range(count):
        rule = rules + 8 * RULE_WORDS * i
        if not goes_above and _is_path(rule, name, length):
            if load64(rule + 16):
                return _put_new_path(rule, name, length, out)
            return np.int64(-1)
        relation, _ = _relation(rule, name, length)
        if relation == _ELSEWHERE:
            continue
        if load64(rule + 16):
            return _put_renamed(rule, name, length, out)
        if relation != _ABOVE or goes_above:
            return np.int64(-1)
    return copy(name, length, out)


@part
def _put_named_document(rules, count, document, size, out):
    """Write a truncated array, `{field, newSize}`; returns its end, `out` if it is removed, or a
    fault. An array that contains an excluded field is truncated nevertheless, and stays."""
    start = out
    last = document + size - 1
    place = document + 4
    out += 4
    while place < last:
        kind = load8(place)
        name_last = name_end(place + 1, last)
        value = name_last + 1
        length = value_size(kind, value, last - value)
        if length < 0:
            return length
        if kind == STRING and same_bytes(place + 1, name_last - place - 1, _FIELD.ctypes.data, 5):
            out = copy(place, value - place, out)
            end = _put_name(rules, count, value + 4, length - 5, False, out + 4)
            if end < 0:
                return start
            store8(end, 0)
            store32(out, end + 1 - out - 4)
            out = end + 1
        else:
            out = copy(place, value + length - place, out)
        place = value + length
    store8(out, 0)
    store32(start, out + 1 - start)
    return out + 1


_FIELD = np.frombuffer(b"field\0\0\0", np.uint8)


@entry
def filter_names(rules, count, array, size, longest, out, capacity):
    """Write an array of names (removed fields), or of documents with a name in `field` (truncated
    arrays), after the rules; arguments and results as in `filter_fields`. `longest` is the length
    of the longest new name in bytes."""
    whole = value_size(ARRAY, array, size)
    if whole != size:
        return whole if whole < 0 else np.int64(TRAILING_BYTES)
    start = out
    limit = out + capacity
    last = array + size - 1
    place = array + 4
    out += 4
    while place < last:
        kind = load8(place)
        value = name_end(place + 1, last) + 1
        length = value_size(kind, value, last - value)
        if length < 0:
            return length
        if out + (value - place) + length + longest + 64 > limit:
            return np.int64(NO_ROOM)
        head = copy(place, value - place, out)
        end = head
        if kind == STRING:
            end = _put_name(rules, count, value + 4, length - 5, True, head + 4)
            if end >= 0:
                store8(end, 0)
                store32(head, end + 1 - head - 4)
                out = end + 1
        elif kind == DOCUMENT:
            end = _put_named_document(rules, count, value, length, head)
            if end < 0:
                return end
            if end != head:
                out = end
        else:
            out = copy(value, length, head)
        place = value + length
    store8(out, 0)
    store32(start, out + 1 - start)
    return out + 1
