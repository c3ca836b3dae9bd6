"""The effects of rows of redo (see `hold_kernel`), from the columns of a fetched batch.

A column of texts is nine int64: the address of its validity bits (0: no row is null), the bit and
the address of the offset of its first row, whether offsets have 64 bits, the address of its bytes
and their number; then the row from which on texts are copied elsewhere, because kernels read up to
PADDING bytes after a text, the distance to the copies, and their bytes.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.equality import same_bytes
from headrace.connect.kernels.functions import entry, inlined_part, part
from headrace.connect.kernels.memory import (
    PADDING,
    load8,
    load32_signed,
    load64,
    load64_be,
    store8,
    store64,
)
from headrace.connect.kernels.text import hash_bytes
from headrace.connectors.oracle.streaming.transactions.hold_kernel import (
    ACTION,
    APART,
    CANCELS,
    CHANGES,
    CLIENT,
    ENDS,
    IMAGES,
    IMAGES_BYTES,
    KIND,
    LACKING_STATEMENT,
    MARK,
    NOTHING,
    REDO,
    REDO_BYTES,
    RELATION,
    ROW_HASH,
    ROW_ID,
    ROW_ID_BYTES,
    ROW_SIZE,
    RS_ID,
    SCN,
    SSN,
    TABLE,
    THREAD,
    US,
    USER,
    XID,
)

VALIDITY, FIRST_BIT, OFFSETS, IS_WIDE, DATA, DATA_BYTES, TAIL, MOVED, TAIL_BYTES = range(9)
TEXT_WORDS = 9
_TEXT_SIZE = 8 * TEXT_WORDS

# The arguments of `put_effects`: addresses of an int64 per row each (TIMES are AHEAD_US
# microseconds ahead of UTC); of a byte per row, whether it is the commit of a delivered
# transaction; of a byte per operation code, the effect of such a row, if it is not undone; of
# TextNumbers' words; of an int64 per table, which becomes one more than the number of its first
# row, 0: none; whether statements are shown; then the columns of texts.
(
    CODES,
    ROLLBACKS,
    STATUSES,
    SCNS,
    TIMES,
    AHEAD_US,
    THREADS,
    SSNS,  # 0: they are not shown
    DELIVERED,
    DOES,
    USERS,
    CLIENTS,
    TABLES,
    FIRST_ROWS,
    SHOWS_REDO,
    NEEDS_CARE,  # 1: a row is LACKING_STATEMENT or APART
    UNDOES,  # kind of the held frame of an undone change of a marked table; 0: not held
    CODE_BYTES,  # kind of the frame of a row that undoes a change of a marked table; 0: not held
    COMMIT_CODE,
    COMMIT_ROWS,  # the numbers of the rows that are commits, int64 each
    COMMIT_COUNT,
    LONGEST,  # bytes of the longest statement
    TEXTS,
) = range(23)
OWNERS, NAMES, ROW_IDS, RS_IDS, STATEMENTS, USERNAMES, CLIENT_IDS, XIDS = range(8)
TEXT_COLUMNS = 8
COLUMN_WORDS = TEXTS + TEXT_COLUMNS * TEXT_WORDS

MAX_CODES = 256
NOT_RECONSTRUCTED = 2
"""V$LOGMNR_CONTENTS.STATUS of a row for which LogMiner could not make a statement."""

# Numbers of texts: the mask of the hash table, its address, and the entry that was found last. An
# entry: the addresses and the bytes of a text and of another one (or none), and their number.
MASK, ENTRIES, LAST = range(3)
NUMBERS_WORDS = 3
ENTRY_WORDS = 5
_ENTRY_SIZE = 8 * ENTRY_WORDS
NEW = -2
"""The number of texts that have none yet."""

_SPACE = 32
_XID_BYTES = 8
_UNKNOWN_SEQUENCE = 0xFFFFFFFF  # the last half of an id whose sequence LogMiner does not know

# A found table: the relation version of its changes (-1: it is not captured), the address by which
# statements are read, the MARK of its rows, and the value that it adds to the hashes of their ids.
RELATION_OF, ADDRESS_OF, MARK_OF, HASH_OF = range(4)
FOUND_WORDS = 4


@inlined_part
def _column(columns, number):
    return columns + 8 * TEXTS + _TEXT_SIZE * number


@inlined_part
def _offset(column, row):
    offsets = column[OFFSETS]
    if column[IS_WIDE]:
        return offsets[row]
    return load32_signed(offsets + 4 * row)


@part
def _text(column, row):
    """Return the address of a text; 0: it is null."""
    validity = column[VALIDITY]
    if validity:
        bit = column[FIRST_BIT] + row
        if (load8(validity + (bit >> 3)) >> (bit & 7)) & 1 == 0:
            return np.int64(0)
    address = column[DATA] + _offset(column, row)
    return address + column[MOVED] if row >= column[TAIL] else address


@inlined_part
def _size(column, row):
    return _offset(column, row + 1) - _offset(column, row)


@entry
def find_tails(columns, count):
    """Find the tail of each column of texts: the rows that must be copied, because the memory may
    end after them."""
    for number in range(TEXT_COLUMNS):
        column = _column(columns, np.int64(number))
        size = column[DATA_BYTES]
        row = count
        while row > 0 and _offset(column, row) > size - PADDING:
            row -= 1
        column[TAIL] = row
        column[TAIL_BYTES] = _offset(column, count) - _offset(column, row)


@entry
def move_tails(columns, room):
    """Copy the tails to `room`, which has as many bytes, and PADDING more for each column."""
    for number in range(TEXT_COLUMNS):
        column = _column(columns, np.int64(number))
        row, size = column[TAIL], column[TAIL_BYTES]
        begin = column[DATA] + _offset(column, row)
        for at in range(size):
            store8(room + at, load8(begin + at))
        column[MOVED] = room - begin
        room += size + PADDING


@inlined_part
def _xid(column, row):
    """Return a transaction's id; 0: it is null. A shorter one has zeros in front."""
    raw = _text(column, row)
    size = _size(column, row) if raw else np.int64(0)
    if size == _XID_BYTES:
        return load64_be(raw)
    xid = np.int64(0)
    for at in range(min(size, np.int64(_XID_BYTES))):
        xid = xid << 8 | load8(raw + at)
    return xid


@inlined_part
def _is_entry(entry, first, first_size, second, second_size):
    return same_bytes(load64(entry), load64(entry + 8), first, first_size) and same_bytes(
        load64(entry + 16), load64(entry + 24), second, second_size
    )


@entry
def slot_of(numbers, first, first_size, second, second_size):
    """Return the entry of two texts among TextNumbers, or the one where they belong."""
    mask = numbers[MASK]
    place = hash_bytes(hash_bytes(np.int64(0), first, first_size), second, second_size)
    while True:
        entry = numbers[ENTRIES] + _ENTRY_SIZE * (place & mask)
        if load64(entry) == 0 or _is_entry(entry, first, first_size, second, second_size):
            return entry
        place += 1


@inlined_part
def _number(numbers, first, first_size, second, second_size):
    """Return the number of two texts, or NEW. Equal texts mostly follow one another."""
    entry = numbers[LAST]
    if entry == 0 or not _is_entry(entry, first, first_size, second, second_size):
        entry = slot_of(numbers, first, first_size, second, second_size)
        if load64(entry) == 0:
            return np.int64(NEW)
        numbers[LAST] = entry
    return load64(entry + 32)


@inlined_part
def _name(numbers, column, row):
    """Return the number of a name, -1 if it is null, or NEW."""
    text = _text(column, row)
    if text == 0:
        return np.int64(-1)
    return _number(numbers, text, _size(column, row), text, np.int64(0))


@inlined_part
def _table(columns, row):
    """Return the number of a row's table, -1 if it has none, or NEW."""
    owners, names = _column(columns, OWNERS), _column(columns, NAMES)
    owner, name = _text(owners, row), _text(names, row)
    if owner == 0 or name == 0:
        return np.int64(-1)
    return _number(columns[TABLES], owner, _size(owners, row), name, _size(names, row))


@inlined_part
def _put_trimmed(effects, at, text, size):
    """Put a text without the blanks around it."""
    while size > 0 and load8(text) <= _SPACE:
        text += 1
        size -= 1
    while size > 0 and load8(text + size - 1) <= _SPACE:
        size -= 1
    effects[at] = text
    effects[at + 1] = size


@inlined_part
def _put_shown(columns, row, effects, does):
    """Put the values that the source block shows of a row, and the hash of its id."""
    rs_ids, row_ids = _column(columns, RS_IDS), _column(columns, ROW_IDS)
    text = _text(rs_ids, row)
    _put_trimmed(effects, RS_ID, text, _size(rs_ids, row) if text else np.int64(0))
    text = _text(row_ids, row)
    size = _size(row_ids, row) if text else np.int64(0)
    # A rollback undoes changes of rows, and `lobs.merging` their values.
    effects[ROW_HASH] = 0 if does == APART else hash_bytes(np.int64(0), text, size)
    blanks = np.int64(0)
    while blanks < size and load8(text + blanks) <= _SPACE:
        blanks += 1
    effects[ROW_ID] = 0 if blanks == size else text
    effects[ROW_ID_BYTES] = 0 if blanks == size else size
    ssns = columns[SSNS]
    effects[SSN] = ssns[row] if ssns else np.int64(-1)


@entry
def put_effects(columns, first, count, effects):
    """Put the effects of the rows [first, count), EFFECT_WORDS each from `effects` on for the row
    0; RELATION is the number of the table. Returns `count`, or a row with a name that has no number
    yet, from which on it is called again."""
    codes, rollbacks = columns[CODES], columns[ROLLBACKS]
    for row in range(first, count):
        at = effects + ROW_SIZE * row
        user = _name(columns[USERS], _column(columns, USERNAMES), row)
        client = _name(columns[CLIENTS], _column(columns, CLIENT_IDS), row)
        if user == NEW or client == NEW:
            return np.int64(row)
        code = codes[row]
        does = np.int64(NOTHING)
        if 0 <= code < MAX_CODES:
            does = load8(columns[DOES] + code)
        is_apart = does == APART
        if does in (CHANGES, APART, LACKING_STATEMENT) and rollbacks[row]:
            does = np.int64(CANCELS if does == CHANGES else NOTHING)
        if load8(columns[DELIVERED] + row):
            does = np.int64(ENDS)
        table = np.int64(-1)
        if does in (CHANGES, CANCELS, APART, LACKING_STATEMENT):
            table = _table(columns, row)
            if table == NEW:
                return np.int64(row)
            if table < 0:
                does = np.int64(NOTHING)
            else:
                first_row = columns[FIRST_ROWS] + 8 * table
                if load64(first_row) == 0:
                    store64(first_row, row + 1)
        statements = _column(columns, STATEMENTS)
        statement = _text(statements, row)
        size = _size(statements, row) if statement else np.int64(0)
        if does == CHANGES:
            if columns[STATUSES][row] == NOT_RECONSTRUCTED:
                does = np.int64(LACKING_STATEMENT)
            elif size == 0:
                does = np.int64(NOTHING)
        if does in (LACKING_STATEMENT, APART):
            columns[NEEDS_CARE] = 1
        at[ACTION] = does
        at[SCN] = columns[SCNS][row]
        at[XID] = _xid(_column(columns, XIDS), row)
        time = columns[TIMES][row]
        at[US] = time - columns[AHEAD_US]
        at[THREAD] = columns[THREADS][row]
        at[USER] = user
        at[CLIENT] = client
        at[RELATION] = table
        at[KIND] = 0
        at[IMAGES] = statement
        at[IMAGES_BYTES] = size
        if size > columns[LONGEST]:
            columns[LONGEST] = size
        if code == columns[COMMIT_CODE]:
            commits = columns[COMMIT_COUNT]
            store64(columns[COMMIT_ROWS] + 8 * commits, row)
            columns[COMMIT_COUNT] = commits + 1
        at[TABLE] = 0
        at[MARK] = 0
        is_shown = columns[SHOWS_REDO]
        at[REDO] = statement if is_shown else np.int64(0)
        at[REDO_BYTES] = size if is_shown else np.int64(0)
        _put_shown(columns, row, at, np.int64(APART) if is_apart else does)
    return np.int64(count)


@inlined_part
def _hold_undone(columns, effects, code, table):
    """Hold a row that undoes a change of a table whose values the redo may store apart, so that the
    undone change is found when the transaction is complete."""
    effects[ACTION] = CHANGES
    effects[KIND] = columns[UNDOES]
    effects[ROW_HASH] = 0
    effects[IMAGES] = columns[CODE_BYTES] + code
    effects[IMAGES_BYTES] = 1
    effects[RELATION] = table[RELATION_OF]
    effects[MARK] = 1


@entry
def put_tables(columns, effects, count, found_tables):
    """Put the tables of the rows whose effects `put_effects` made: FOUND_WORDS each at
    `found_tables`, by number; rows of tables that are not captured do nothing."""
    for row in range(count):
        at = effects + ROW_SIZE * row
        does, number = at[ACTION], at[RELATION]
        table = found_tables + 8 * FOUND_WORDS * number
        if does not in (CHANGES, CANCELS, LACKING_STATEMENT, APART):
            continue
        relation = table[RELATION_OF]
        if relation < 0:
            at[ACTION] = NOTHING
            continue
        if does != APART:
            # Rows of two tables may have one id, or none.
            row_hash = at[ROW_HASH] ^ table[HASH_OF]
            at[ROW_HASH] = row_hash
        if does != CANCELS:
            at[RELATION] = relation
            at[TABLE] = table[ADDRESS_OF]
            at[MARK] = table[MARK_OF]
        elif columns[UNDOES]:
            is_known = (at[XID] & _UNKNOWN_SEQUENCE) != _UNKNOWN_SEQUENCE
            if is_known and table[MARK_OF]:
                _hold_undone(columns, at, columns[CODES][row], table)
