"""A server of HTTP that does what its paths say, well or not: the other side of components that ask.

Says its port on standard output, and ends with standard input.
"""

import socket
import socketserver
import struct
import sys
import threading
import time

MANY = threading.Barrier(20)


def body_of(lines, file):
    """The body of a request, and how its length was said."""
    fields = dict(line.lower().split(": ", 1) for line in lines[1:])
    if fields.get("transfer-encoding") == "chunked":
        body = b""
        while size := int(file.readline(), 16):
            body += file.read(size)
            assert file.readline() == b"\r\n"
        assert file.readline() == b"\r\n"
        return body, "chunked"
    length = fields.get("content-length")
    return file.read(int(length or 0)), length or "none"


class Handler(socketserver.StreamRequestHandler):
    """One connection, for one request."""

    def say(self, text, body=b""):
        self.wfile.write(text.replace("\n", "\r\n").encode() + body)
        self.wfile.flush()

    def handle(self):
        lines = []
        while line := self.rfile.readline().decode().strip():
            lines.append(line)
        if not lines:
            return
        method, target, version = lines[0].split(" ")
        assert version == "HTTP/1.1" and "connection: close" in lines, lines
        assert any(line.startswith("host: 127.0.0.1:") or line.startswith("host: localhost:") for line in lines), lines
        path, _, query = target.partition("?")
        getattr(self, path.strip("/").replace("-", "_"))(lines, query)

    def text(self, _lines, _query):
        self.say("HTTP/1.1 200 OK\nX-A: b\nContent-Length: 5\n\nhello")

    def chunks(self, _lines, _query):
        self.say("HTTP/1.1 100 Continue\n\nHTTP/1.1 200 OK\nTransfer-Encoding: chunked\nTrailer: X-Sum\n\n5\nhel")
        time.sleep(0.05)
        self.say("lo\n8;x=y\n, chunks\n0\nX-Sum: 9\n\n")

    def until_closed(self, _lines, _query):
        self.say("HTTP/1.0 200 OK\n\nall of it")

    def reset(self, _lines, _query):
        # Its answer might end here, as that of `until_closed` does.
        self.say("HTTP/1.0 200 OK\n\nhello")
        time.sleep(0.3)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.rfile.close()
        self.connection.close()

    def echo(self, lines, _query):
        body, length = body_of(lines, self.rfile)
        asked = next((line[9:] for line in lines if line.startswith("x-asked: ")), "nothing")
        self.say(f"HTTP/1.1 200 OK\nX-Length: {length}\nX-Asked: {asked}\nContent-Length: {len(body)}\n\n", body)

    def many(self, _lines, query):
        # Nobody is answered before all have come.
        MANY.wait(timeout=30)
        self.say(f"HTTP/1.1 200 OK\nContent-Length: {len(query)}\n\n{query}")

    def missing(self, _lines, _query):
        self.say("HTTP/1.1 404 Not Found\nContent-Length: 4\n\nnone")

    def early(self, _lines, _query):
        self.say("HTTP/1.1 200 OK\nContent-Length: 100\n\nhello")

    def bad_chunk(self, _lines, _query):
        self.say("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhello\nzzz\n")

    def two_lengths(self, _lines, _query):
        self.say("HTTP/1.1 200 OK\nContent-Length: 5\nContent-Length: 6\n\nhello!")

    def half_a_head(self, _lines, _query):
        self.say("HTTP/1.1 200 OK\nContent-Le")

    def nothing(self, _lines, _query):
        pass

    def junk(self, _lines, _query):
        self.say("SSH-2.0-OpenSSH_9.9\n\n")

    def long_head(self, _lines, _query):
        self.say("HTTP/1.1 200 OK\n" + "X: y\n" * 20_000)

    def slow(self, _lines, _query):
        # Until the client has gone.
        self.rfile.read(1)

    def stall(self, _lines, _query):
        self.say("HTTP/1.1 200 OK\nContent-Length: 100\n\nhello")
        self.rfile.read(1)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        # A client that goes is no fault here.
        if not isinstance(sys.exc_info()[1], (ConnectionError, BrokenPipeError)):
            super().handle_error(request, client_address)


if __name__ == "__main__":
    with Server(("127.0.0.1", 0), Handler) as server:
        print(server.server_address[1], flush=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.read()
