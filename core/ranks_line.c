#include "core/ranks_line.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/error.h"

enum { GREETING_MS = 3000 };

/* What a caller sends first, and rank 0 sends back. */
typedef struct Greeting {
  guint8 token[LINE_TOKEN];
  gint32 rank, pid;
  char host[LINE_HOST];
} Greeting;

void
line_host (char host[LINE_HOST])
{
  memset (host, 0, LINE_HOST);
  if (gethostname (host, LINE_HOST - 1) != 0)
    g_strlcpy (host, "a machine without a name", LINE_HOST);
}

/* 127.0.0.1 first: most ranks are on the machine of rank 0 or fail there at once. */
static void
list_addresses (SbAddress *address)
{
  struct ifaddrs *list = NULL;
  address->ipv4[0] = htonl (INADDR_LOOPBACK);
  address->n = 1;
  if (getifaddrs (&list) != 0)
    return;
  for (const struct ifaddrs *at = list; at != NULL && address->n < LINE_ADDRESSES; at = at->ifa_next) {
    struct sockaddr_in in;
    if (at->ifa_addr == NULL || at->ifa_addr->sa_family != AF_INET)
      continue;
    memcpy (&in, at->ifa_addr, sizeof in);
    if (in.sin_addr.s_addr != address->ipv4[0])
      address->ipv4[address->n++] = in.sin_addr.s_addr;
  }
  freeifaddrs (list);
}

int
line_listen (SbAddress *address, GError **error)
{
  struct sockaddr_in any = { .sin_family = AF_INET };
  socklen_t size = sizeof any;
  memset (address, 0, sizeof *address);
  for (guint i = 0; i < LINE_TOKEN; i++)
    address->token[i] = (guint8)g_random_int ();
  address->pid = getpid ();
  line_host (address->host);
  int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || bind (fd, (struct sockaddr *)&any, sizeof any) != 0 || listen (fd, 1024) != 0
      || getsockname (fd, (struct sockaddr *)&any, &size) != 0) {
    sb_fail (error, SB_ERROR_BACKEND, "Rank 0 cannot listen for the other ranks (%s); check the network of %s.",
             g_strerror (errno), address->host);
    if (fd >= 0)
      close (fd);
    return -1;
  }
  address->port = any.sin_port;
  list_addresses (address);
  return fd;
}

static gboolean
ready (int fd, short events)
{
  struct pollfd one = { fd, events, 0 };
  int n;
  do
    n = poll (&one, 1, GREETING_MS);
  while (n < 0 && errno == EINTR);
  return n == 1;
}

static gboolean
transfer (int fd, gpointer data, gsize bytes, gboolean out)
{
  for (gsize done = 0; done < bytes;) {
    char *at = (char *)data + done;
    gssize n = out ? send (fd, at, bytes - done, MSG_NOSIGNAL) : recv (fd, at, bytes - done, 0);
    if (n > 0)
      done += (gsize)n;
    else if (n == 0 || (errno != EAGAIN && errno != EINTR) || !ready (fd, out ? POLLOUT : POLLIN))
      return FALSE;
  }
  return TRUE;
}

static void
begin_line (SbLine *line, int fd, int rank, gint32 pid, const char *host)
{
  int yes = 1;
  setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  line->fd = fd;
  line->rank = rank;
  line->pid = pid;
  g_strlcpy (line->host, host, LINE_HOST);
  line->heard = g_get_monotonic_time ();
  line->in = g_byte_array_new ();
}

gboolean
line_accept (int listener, const SbAddress *address, int size, SbLine *line)
{
  Greeting greeting;
  int fd = accept4 (listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0)
    return FALSE;
  if (!transfer (fd, &greeting, sizeof greeting, FALSE) || memcmp (greeting.token, address->token, LINE_TOKEN) != 0
      || greeting.rank < 1 || greeting.rank >= size || !transfer (fd, (gpointer)address->token, LINE_TOKEN, TRUE)) {
    close (fd);
    return FALSE;
  }
  greeting.host[LINE_HOST - 1] = '\0';
  begin_line (line, fd, greeting.rank, greeting.pid, greeting.host);
  return TRUE;
}

/* One of rank 0's addresses; another machine may answer there, but it does not know the token. */
static int
call (const SbAddress *address, guint32 ipv4, int rank)
{
  struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = address->port, .sin_addr.s_addr = ipv4 };
  Greeting greeting = { .rank = rank, .pid = getpid () };
  guint8 answer[LINE_TOKEN];
  int problem = 0, fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  socklen_t size = sizeof problem;
  memcpy (greeting.token, address->token, LINE_TOKEN);
  line_host (greeting.host);
  if (fd < 0)
    return -1;
  gboolean good = connect (fd, (struct sockaddr *)&to, sizeof to) == 0
                  || (errno == EINPROGRESS && ready (fd, POLLOUT) && getsockopt (fd, SOL_SOCKET, SO_ERROR, &problem, &size) == 0
                      && problem == 0);
  if (good && transfer (fd, &greeting, sizeof greeting, TRUE) && transfer (fd, answer, sizeof answer, FALSE)
      && memcmp (answer, address->token, LINE_TOKEN) == 0)
    return fd;
  close (fd);
  return -1;
}

gboolean
line_connect (const SbAddress *address, int rank, SbLine *line, GError **error)
{
  for (guint i = 0; i < MIN (address->n, LINE_ADDRESSES); i++) {
    int fd = call (address, address->ipv4[i], rank);
    if (fd < 0)
      continue;
    begin_line (line, fd, 0, address->pid, address->host);
    return TRUE;
  }
  return sb_fail (error, SB_ERROR_BACKEND,
                  "Rank %d does not reach rank 0 on %s by TCP (port %d); open the ports between the "
                  "machines.",
                  rank, address->host, (int)ntohs (address->port));
}

void
line_say (const SbLine *line, const SbMessage *message, const char *text)
{
  struct {
    SbMessage head;
    char text[LINE_TEXT];
  } whole = { .head = *message };
  if (line->fd < 0)
    return;
  whole.head.length = text != NULL ? (guint32)g_strlcpy (whole.text, text, LINE_TEXT) : 0;
  whole.head.length = MIN (whole.head.length, LINE_TEXT - 1);
  if (send (line->fd, &whole, sizeof whole.head + whole.head.length, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
    return; /* gone: the reading side finds out */
}

gboolean
line_read (SbLine *line)
{
  guint8 buffer[4096];
  for (;;) {
    gssize n = recv (line->fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n > 0) {
      g_byte_array_append (line->in, buffer, (guint)n);
      line->heard = g_get_monotonic_time ();
    } else if (n < 0 && errno == EINTR)
      continue;
    else
      return n < 0 && errno == EAGAIN;
  }
}

gboolean
line_next (SbLine *line, SbMessage *message, char *text)
{
  if (line->in == NULL || line->in->len < sizeof *message)
    return FALSE;
  memcpy (message, line->in->data, sizeof *message);
  if (message->length >= LINE_TEXT || line->in->len < sizeof *message + message->length)
    return FALSE;
  memcpy (text, line->in->data + sizeof *message, message->length);
  text[message->length] = '\0';
  g_byte_array_remove_range (line->in, 0, (guint)sizeof *message + message->length);
  return TRUE;
}

void
line_close (SbLine *line)
{
  if (line->fd >= 0)
    close (line->fd);
  line->fd = -1;
  if (line->in != NULL)
    g_byte_array_unref (line->in);
  line->in = NULL;
}
