"""A client of the web server in Python, by its standard library alone, for `cargo xtask test
web-hosted/clients`: `client.py PORT` asks by http.client, by urllib and by sockets of asyncio."""

import asyncio
import http.client
import sys
import urllib.error
import urllib.request

PORT = int(sys.argv[1])
HOST = "127.0.0.1"
URL = f"http://{HOST}:{PORT}"
# The file that is asked for.
FILE = b"0123456789" * 200


def kept():
    """Many requests of all kinds over one connection of http.client, which opens no second one."""
    connection = http.client.HTTPConnection(HOST, PORT, timeout=60)
    connection.connect()
    connection.auto_open = 0

    def ask(method, path, body=None, **headers):
        chunked = not isinstance(body, (bytes, type(None)))
        connection.request(method, path, body, headers, encode_chunked=chunked)
        answer = connection.getresponse()
        return answer, answer.read()

    for _ in range(10):
        answer, body = ask("GET", "/f.txt")
        assert (answer.status, body) == (200, FILE), (answer.status, body)
    tag = answer.getheader("ETag")
    answer, body = ask("GET", "/f.txt", **{"If-None-Match": tag})
    assert (answer.status, body) == (304, b""), (answer.status, body)
    answer, body = ask("GET", "/f.txt", Range="bytes=-5")
    assert (answer.status, body) == (206, b"56789"), (answer.status, body)
    answer, body = ask("HEAD", "/f.txt")
    assert (answer.status, answer.getheader("Content-Length")) == (200, "2000"), answer.headers
    answer, body = ask("POST", "/try/count", b"x" * 100_000)
    assert (answer.status, body) == (200, b"POST 100000\n"), (answer.status, body)
    answer, body = ask("POST", "/try/echo", iter([b"in ", b"chunks"]), **{"Transfer-Encoding": "chunked"})
    assert (answer.status, body) == (200, b"in chunks"), (answer.status, body)
    answer, body = ask("GET", "/try/stream?bytes=300000")
    assert (answer.status, body) == (200, b"x" * 300_000), (answer.status, len(body))
    answer, body = ask("GET", "/none")
    assert answer.status == 404, answer.status
    connection.close()


def opened():
    """Requests of urllib, which follow where they are sent, and fail as they should."""
    with urllib.request.urlopen(f"{URL}/d", timeout=60) as answer:
        assert answer.geturl() == f"{URL}/d/" and answer.read() == b"the page of d\n", answer.geturl()
    with urllib.request.urlopen(f"{URL}/try/count", data=b"abcde", timeout=60) as answer:
        assert answer.read() == b"POST 5\n"
    for path, status in [("/none", 404), ("/try/crash", 500), ("/%2e%2e/web.conf", 400)]:
        try:
            urllib.request.urlopen(f"{URL}{path}", timeout=60)
            raise AssertionError(f"{path} is answered")
        except urllib.error.HTTPError as error:
            assert error.code == status, (path, error.code)
            error.read()


async def at_once(number):
    """Five requests that are sent before any is answered, and answered in their order."""
    reader, writer = await asyncio.open_connection(HOST, PORT)
    names = [f"{number}-{n}" for n in range(5)]
    lines = [f"GET /hello?name={name} HTTP/1.1\r\nHost: x\r\n\r\n" for name in names]
    writer.write("".join(lines).encode())
    await writer.drain()
    for name in names:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        assert head.startswith("HTTP/1.1 200 "), head
        headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:-2])
        body = await reader.readexactly(int(headers["Content-Length"]))
        assert body.startswith(f"Hello, {name}, from".encode()), body
    # It ends its direction, as a client may, and gets what it has asked for before.
    writer.write(b"GET /f.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    writer.write_eof()
    rest = await reader.read()
    assert rest.startswith(b"HTTP/1.1 200 ") and rest.endswith(FILE), rest[:80]
    writer.close()


async def many():
    await asyncio.wait_for(asyncio.gather(*(at_once(n) for n in range(12))), 60)


kept()
opened()
asyncio.run(many())
print("all as it should be")
