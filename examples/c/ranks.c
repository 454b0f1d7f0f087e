#include "ranks.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS = 60 };

static void address_of(const ranks *r, int rank, struct sockaddr_un *address) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  snprintf(address->sun_path, sizeof address->sun_path, "%s/%d", r->folder, rank);
}

static void pause_ms(long ms) {
  struct timespec time;
  time.tv_sec = ms / 1000;
  time.tv_nsec = ms % 1000 * 1000000;
  nanosleep(&time, NULL);
}

/* A rank that is gone must not leave the others waiting for ever. */
static int bounded(int socket_fd) {
  struct timeval limit;
  limit.tv_sec = SECONDS;
  limit.tv_usec = 0;
  setsockopt(socket_fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  return socket_fd;
}

static int receive_all(int from, void *bytes, size_t count) {
  for (size_t at = 0; at < count;) {
    const ssize_t got = recv(from, (char *)bytes + at, count - at, 0);
    if (got <= 0 && errno != EINTR) return -1;
    if (got > 0) at += (size_t)got;
  }
  return 0;
}

static int send_all(int to, const void *bytes, size_t count) {
  return send(to, bytes, count, MSG_NOSIGNAL) == (ssize_t)count ? 0 : -1;
}

/* Ranks connect to those before them, and say who they are. The folder is the user's own, so nobody else gets in. */
static int connect_all(ranks *r) {
  struct sockaddr_un address;
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  address_of(r, r->rank, &address);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, MOST_RANKS) != 0) return -1;
  bounded(listener);
  for (int p = 0; p < r->world; p++) r->sockets[p] = -1;
  for (int p = 0; p < r->rank; p++) {
    r->sockets[p] = bounded(socket(AF_UNIX, SOCK_STREAM, 0));
    address_of(r, p, &address);
    for (int tries = 0; connect(r->sockets[p], (struct sockaddr *)&address, sizeof address) != 0; tries++) {
      if (tries == SECONDS * 100) return -1;
      pause_ms(10);
    }
    if (send_all(r->sockets[p], &r->rank, sizeof r->rank) != 0) return -1;
  }
  for (int p = r->rank + 1; p < r->world; p++) {
    int peer = -1;
    const int accepted = accept(listener, NULL, NULL);
    if (accepted < 0 || receive_all(bounded(accepted), &peer, sizeof peer) != 0) return -1;
    if (peer <= r->rank || peer >= r->world || r->sockets[peer] >= 0) return -1;
    r->sockets[peer] = accepted;
  }
  close(listener);
  address_of(r, r->rank, &address);
  unlink(address.sun_path);
  return 0;
}

static int run_one(ranks *r, int (*body)(ranks *, void *), void *data) {
  int code = 1;
  if (connect_all(r) == 0) code = body(r, data);
  else fprintf(stderr, "rank %d: the ranks do not find each other in %s\n", r->rank, r->folder);
  for (int p = 0; p < r->world; p++)
    if (r->sockets[p] >= 0) close(r->sockets[p]);
  return code;
}

int run_ranks(int world, int (*body)(ranks *, void *), void *data) {
  ranks r;
  pid_t children[MOST_RANKS];
  int first = 0;
  const char *rank = getenv("RANK"), *size = getenv("WORLD_SIZE"), *folder = getenv("RUN_DIR");
  memset(&r, 0, sizeof r);
  r.world = world;
  if (rank != NULL && size != NULL && folder != NULL) {
    r.rank = atoi(rank);
    if (atoi(size) != world || r.rank < 0 || r.rank >= world || strlen(folder) >= sizeof r.folder) {
      fprintf(stderr, "RANK=%s of WORLD_SIZE=%s in RUN_DIR=%s is not one of %d ranks\n", rank, size, folder, world);
      return 2;
    }
    strcpy(r.folder, folder);
    return run_one(&r, body, data);
  }
  strcpy(r.folder, "/tmp/collc-example-XXXXXX");
  if (mkdtemp(r.folder) == NULL) return perror(r.folder), 1;
  /* Before anything of CUDA: its state does not survive a fork. */
  fflush(NULL);
  for (int p = 0; p < world; p++) {
    children[p] = fork();
    if (children[p] == 0) {
      r.rank = p;
      first = run_one(&r, body, data);
      fflush(NULL);
      _exit(first);
    }
  }
  for (int left = world; left > 0; left--) {
    int status = 0;
    const pid_t ended = wait(&status);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    for (int p = 0; p < world; p++)
      if (children[p] == ended) children[p] = -1;
    if (code == 0 || first != 0) continue;
    first = code;
    for (int p = 0; p < world; p++)
      if (children[p] > 0) kill(children[p], SIGTERM);
  }
  for (int p = 0; p < world; p++) {
    struct sockaddr_un address;
    address_of(&r, p, &address);
    unlink(address.sun_path);
  }
  rmdir(r.folder);
  return first;
}

int ranks_gather(ranks *r, const void *mine, size_t bytes, void *all) {
  for (int p = 0; p < r->world; p++)
    if (p != r->rank && send_all(r->sockets[p], mine, bytes) != 0) return -1;
  memcpy((char *)all + bytes * (size_t)r->rank, mine, bytes);
  for (int p = 0; p < r->world; p++)
    if (p != r->rank && receive_all(r->sockets[p], (char *)all + bytes * (size_t)p, bytes) != 0) return -1;
  return 0;
}

int ranks_meet(ranks *r) {
  char here = 1, all[MOST_RANKS];
  return ranks_gather(r, &here, 1, all);
}

/* A message of one byte with a descriptor beside it (SCM_RIGHTS). */
union control {
  struct cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int))];
};

static void message_of(struct msghdr *message, struct iovec *part, char *byte, union control *control) {
  memset(message, 0, sizeof *message);
  memset(control, 0, sizeof *control);
  part->iov_base = byte;
  part->iov_len = 1;
  message->msg_iov = part;
  message->msg_iovlen = 1;
  message->msg_control = control->bytes;
  message->msg_controllen = sizeof control->bytes;
}

static int send_descriptor(int to, int descriptor) {
  struct msghdr message;
  struct iovec part;
  union control control;
  struct cmsghdr *header;
  char byte = 0;
  message_of(&message, &part, &byte, &control);
  header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  return sendmsg(to, &message, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

static int receive_descriptor(int from) {
  struct msghdr message;
  struct iovec part;
  union control control;
  struct cmsghdr *header;
  char byte;
  int descriptor = -1;
  message_of(&message, &part, &byte, &control);
  if (recvmsg(from, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
  header = CMSG_FIRSTHDR(&message);
  if (header != NULL && header->cmsg_type == SCM_RIGHTS) memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return descriptor;
}

int ranks_gather_descriptors(ranks *r, int mine, int *all) {
  int code = 0;
  for (int p = 0; p < r->world; p++) all[p] = -1;
  for (int p = 0; p < r->world; p++)
    if (p != r->rank && send_descriptor(r->sockets[p], mine) != 0) return -1;
  for (int p = 0; p < r->world; p++)
    if (p != r->rank && (all[p] = receive_descriptor(r->sockets[p])) < 0) code = -1;
  return code;
}
