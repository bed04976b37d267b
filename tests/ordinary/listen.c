// A server that needs no library: it has a socket that listens as descriptor 3, sends back what two clients send, one after
// the other, and ends. A client sees the end when it has shut down its own direction.
typedef struct {
  void *at;
  unsigned long length;
} Piece;

#define WASI(name) __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name)))

WASI(sock_accept) int sock_accept(int, int, int *);
WASI(sock_recv) int sock_recv(int, const Piece *, unsigned long, int, unsigned long *, unsigned short *);
WASI(sock_send) int sock_send(int, const Piece *, unsigned long, int, unsigned long *);
WASI(sock_shutdown) int sock_shutdown(int, int);
WASI(fd_close) int fd_close(int);
WASI(proc_exit) _Noreturn void proc_exit(int);

static char room[8192];

// What fails is the exit status; a standard stream is no socket.
static void check(int step, int errno, int wanted) {
  if (errno != wanted) proc_exit(step);
}

void _start(void) {
  unsigned long some, sent;
  unsigned short flags;
  int client;
  check(1, sock_shutdown(1, 2), 57);
  for (int number = 0; number < 2; number++) {
    check(2, sock_accept(3, 0, &client), 0);
    for (;;) {
      Piece piece = {room, sizeof room};
      check(3, sock_recv(client, &piece, 1, 0, &some, &flags), 0);
      if (some == 0) break;
      piece.length = some;
      check(4, sock_send(client, &piece, 1, 0, &sent), 0);
      check(5, sent == some, 1);
    }
    check(6, sock_shutdown(client, 2), 0);
    check(7, fd_close(client), 0);
  }
}
