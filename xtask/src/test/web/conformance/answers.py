"""Reads answers of HTTP/1.1 as h11 does, for `cargo xtask test web-hosted/conformance`.

Each line of the input is a connection, as JSON: the methods of its requests, and the bytes that have come
back until the end, in hexadecimal. Each line of the output says what they are: the answers, how many bytes
lie behind the last one, and what is no HTTP, if anything is.
"""

import json
import sys

import h11


def answer(connection):
    """The next answer: its status, headers, content, and the statuses that came before it."""
    found = {"status": 0, "interim": [], "headers": [], "body": ""}
    body = b""
    while True:
        event = connection.next_event()
        if isinstance(event, h11.InformationalResponse):
            found["interim"].append(event.status_code)
        elif isinstance(event, h11.Response):
            found["status"] = event.status_code
            found["headers"] = [[n.decode("latin-1"), v.decode("latin-1")] for n, v in event.headers]
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage):
            found["body"] = body.decode("latin-1")
            return found
        else:
            raise ValueError(f"no answer, but {event!r} behind status {found['status']}")


def read(methods, data):
    result = {"answers": [], "left": len(data), "fault": None}
    connection = h11.Connection(h11.CLIENT)
    try:
        for method in methods:
            if not result["left"]:
                break
            if result["answers"]:
                connection.start_next_cycle()
            connection.send(h11.Request(method=method, target="/", headers=[("Host", "x")]))
            connection.send(h11.EndOfMessage())
            if not result["answers"]:
                connection.receive_data(data)
                connection.receive_data(b"")
            result["answers"].append(answer(connection))
            result["left"] = len(connection.trailing_data[0])
    except (h11.ProtocolError, ValueError) as fault:
        result["fault"] = str(fault)
    return result


def main():
    for line in sys.stdin:
        case = json.loads(line)
        print(json.dumps(read(case["methods"], bytes.fromhex(case["bytes"]))))


main()
