"""Whatever arrives on the websocket is understood or refused; nothing else."""
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytracking.web.messages import Command, Correct, Drawn, MessageError, Start, parse_message

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=10,
)


def test_good_messages():
    start = {"type": "start", "video": "abc", "box": [1, 2, 30, 40], "trackers": ["rls_dimp/default"]}
    assert parse_message(json.dumps(start)) == Start("abc", (1.0, 2.0, 30.0, 40.0), ("rls_dimp/default",))
    assert parse_message('{"type": "correct", "box": [0, 0, 5, 5]}') == Correct((0.0, 0.0, 5.0, 5.0))
    assert parse_message('{"type": "drawn", "index": 7}') == Drawn(7)
    assert parse_message('{"type": "step"}') == Command("step")


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "3", '{"type": "fly"}', '{"type": ["start"]}', '{"type": "drawn", "index": -1}',
        '{"type": "drawn", "index": true}', '{"type": "correct", "box": [1, 2, 3]}',
        '{"type": "correct", "box": [1, 2, NaN, 4]}', '{"type": "correct", "box": [1, 2, 1e400, 4]}',
        '{"type": "correct", "box": [1, 2, 1, 4]}', '{"type": "correct", "box": ["1", 2, 3, 4]}',
        '{"type": "start", "video": "", "box": [0, 0, 9, 9], "trackers": ["a/b"]}',
        '{"type": "start", "video": "v", "box": [0, 0, 9, 9], "trackers": []}',
        '{"type": "start", "video": "v", "box": [0, 0, 9, 9], "trackers": ["a", "b", "c"]}',
        '{"type": "correct", "box": [' + "9" * 400 + ', 0, 5, 5]}', "[" * 5000, "x" * 10_000,
    ],
)  # fmt: skip
def test_bad_messages_are_refused(text):
    with pytest.raises(MessageError):
        parse_message(text)


@given(JSON, st.sampled_from(["start", "correct", "drawn", "step", "stop"]))
def test_any_json_is_parsed_or_refused(value, kind):
    message = {"type": kind, "video": value, "box": value, "trackers": value, "index": value}
    try:
        parsed = parse_message(json.dumps(message))
    except MessageError:
        return
    assert isinstance(parsed, (Start, Correct, Drawn, Command))
    if isinstance(parsed, (Start, Correct)):
        assert parsed.box[2] >= 2 and parsed.box[3] >= 2
