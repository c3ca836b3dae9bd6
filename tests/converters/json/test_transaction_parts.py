"""The parts of a program that are kept for the rows of a transaction."""

from __future__ import annotations

from headrace.connect.records import Image
from headrace.converters import instructions as code
from headrace.converters.json.transaction_parts import transaction_parts
from headrace.converters.program import Places

OF_ROW = [code.ROW_INT, 0, 0, 0]
NUMBER = [code.TRANSACTION_INT, 0, 0, 0]
IN_TEXT = [code.TRANSACTION_INT, 0, 3, 0]
CELL = [code.CELL, int(Image.TRANSACTION), 0, 0]
CELL_OF_ROW = [code.CELL, int(Image.EXTRA), 0, 0]
IF_IMAGE = [code.STRUCT, int(Image.TRANSACTION), 0, 0]


def test_what_a_transaction_says_is_a_part_between_what_its_rows_say() -> None:
    program = [OF_ROW, NUMBER, CELL, OF_ROW, CELL, CELL_OF_ROW, CELL, NUMBER]
    assert transaction_parts(program, []) == [(1, 3), (4, 5), (6, 8)]


def test_one_number_alone_and_numbers_in_texts_are_no_part() -> None:
    assert transaction_parts([OF_ROW, NUMBER, OF_ROW, IN_TEXT, IN_TEXT, OF_ROW], []) == []


def test_a_part_ends_before_a_jump_that_leaves_it() -> None:
    program = [CELL, IF_IMAGE, CELL, OF_ROW, OF_ROW]
    assert transaction_parts(program, [(1, code.B, 4)]) == [(0, 1), (2, 3)]
    assert transaction_parts(program, [(1, code.B, 3)]) == [(0, 3)]


def test_a_part_ends_where_a_jump_from_elsewhere_leads() -> None:
    program = [OF_ROW, CELL, CELL, CELL, OF_ROW]
    assert transaction_parts(program, [(0, code.B, 2)]) == [(1, 2), (2, 4)]


def test_jumps_lead_to_the_same_instructions_when_parts_are_marked() -> None:
    # Marked, the program is 0 [1 2] 3 [4] 5, with a mark on each side of a part.
    places = Places([(1, 3), (4, 5)])
    assert [places.of(number) for number in range(6)] == [0, 2, 3, 5, 7, 9]
    assert places.target(0, 1) == 1
    assert places.target(1, 2) == 3
    assert places.target(1, 3) == 4
    assert places.target(0, 4) == 6
    assert places.target(-1, 3) == 5
    assert places.target(0, 5) == 9
