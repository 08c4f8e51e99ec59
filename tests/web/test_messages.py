"""Whatever arrives on the websocket is understood or refused; nothing else."""
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytracking.web.messages import Command, Correct, Drawn, MessageError, Start, Target, parse_message, to_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=10,
)


OBJECTS = '"objects": [{"id": 1, "box": [0, 0, 9, 9]}]'


def test_good_messages():
    objects = [{"id": 1, "box": [1, 2, 30, 40]}]
    start = {"type": "start", "video": "abc", "frame": 4, "objects": objects, "trackers": ["rls_dimp/default"]}
    target = Target(1, (1.0, 2.0, 30.0, 40.0))
    assert parse_message(json.dumps(start)) == Start("abc", 4, (target,), ("rls_dimp/default",))
    correct = {"type": "correct", "run": "r", "frame": 3, "objects": objects}
    assert parse_message(json.dumps(correct)) == Correct("r", 3, (target,))
    assert parse_message('{"type": "drawn", "run": "r", "index": 7}') == Drawn("r", 7)
    assert parse_message('{"type": "step", "run": "r"}') == Command("r", "step")


def box(text: str) -> str:
    return f'{{"type": "correct", "run": "r", "frame": 0, "objects": [{{"id": 1, "box": {text}}}]}}'


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "3", '{"type": "fly"}', '{"type": ["start"]}', '{"type": "drawn", "run": "r", "index": -1}',
        '{"type": "drawn", "run": "r", "index": true}', '{"type": "drawn", "index": 1}', '{"type": "stop"}',
        box("[1, 2, 3]"), box("[1, 2, NaN, 4]"), box("[1, 2, 1e400, 4]"), box("[1, 2, 1, 4]"), box('["1", 2, 3, 4]'),
        box("[" + "9" * 400 + ", 0, 5, 5]"), box("null"),
        '{"type": "correct", "run": "r", "frame": 0, "objects": []}',
        '{"type": "correct", "run": "r", "frame": 0, "objects": [3]}',
        '{"type": "start", "video": "", "frame": 0, ' + OBJECTS + ', "trackers": ["a/b"]}',
        '{"type": "start", "video": "v", "frame": 1.5, ' + OBJECTS + ', "trackers": ["a/b"]}',
        '{"type": "start", "video": "v", "frame": 0, ' + OBJECTS + ', "trackers": []}',
        '{"type": "start", "video": "v", "frame": 0, ' + OBJECTS + ', "trackers": ["a", "b", "c"]}',
        '{"type": "start", "video": "v", "frame": 0, ' + OBJECTS + ', "trackers": ["a", "a"]}',
        "[" * 5000, "x" * 10_000,
    ],
)  # fmt: skip
def test_bad_messages_are_refused(text):
    with pytest.raises(MessageError):
        parse_message(text)


@given(JSON, st.sampled_from(["start", "correct", "drawn", "step", "stop"]))
def test_any_json_is_parsed_or_refused(value, kind):
    message = {"type": kind, "run": "r", "video": value, "frame": 0, "trackers": value, "index": value}
    message["objects"] = [{"id": 1, "box": value}]
    try:
        parsed = parse_message(json.dumps(message))
    except MessageError:
        return
    assert isinstance(parsed, (Start, Correct, Drawn, Command))
    if isinstance(parsed, (Start, Correct)):
        assert all(target.box[2] >= 2 and target.box[3] >= 2 for target in parsed.objects)


@given(JSON)
def test_whatever_the_server_says_is_json(value):
    def is_nothing(name):
        raise AssertionError(name)

    json.loads(to_json({"value": value}), parse_constant=is_nothing)
