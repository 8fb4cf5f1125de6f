// A disk that fails, for tests: a preloaded library between a process and the system
// (faulty-disk.fixture.ts).
//
//   FAULTY_DISK_CONTROL   a file of int32: [0] what fails next: 0 nothing, 1 a write of pages, 2 a
//                         sync, 3 the write of lmdb's meta page, which is the moment of the commit;
//                         [1] how many times; [2] with which errno
//   FAULTY_DISK_LOG       a file that receives the path of everything that is synced, one per line
//
// Only a store's data.mdb fails, and not that of its door, in which nothing is ever written.
// Only a store's data.mdb fails, and not that of its door, in which nothing is ever written.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NOTHING, PAGES, SYNC, META };
// lmdb has two meta pages, at the beginning of the file.
static const off_t META_END = 2 * 8192;

static volatile int32_t *control(void) {
  static volatile int32_t *mapped;
  if (mapped) return mapped;
  const char *name = getenv("FAULTY_DISK_CONTROL");
  int file = name ? open(name, O_RDWR) : -1;
  if (file < 0) return 0;
  void *map = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return map == MAP_FAILED ? 0 : (mapped = map);
}

static int path_of(int fd, char *path, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, size - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return 1;
}

static int is_store(int fd) {
  char path[4096];
  if (!path_of(fd, path, sizeof path)) return 0;
  size_t length = strlen(path);
  return length >= 9 && strcmp(path + length - 9, "/data.mdb") == 0 && !strstr(path, "/door/");
}

static int fails(int fd, int what) {
  volatile int32_t *given = control();
  if (!given || given[0] != what || given[1] <= 0 || !is_store(fd)) return 0;
  given[1]--;
  errno = given[2];
  return 1;
}

static int write_fails(int fd, off_t offset) {
  return fails(fd, offset < META_END ? META : PAGES);
}

static void log_sync(int fd) {
  const char *name = getenv("FAULTY_DISK_LOG");
  char path[4097];
  if (!name || !path_of(fd, path, 4096)) return;
  int file = open(name, O_WRONLY | O_APPEND);
  if (file < 0) return;
  strcat(path, "\n");
  if (write(file, path, strlen(path)) < 0) abort();
  close(file);
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name)

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) { REAL(pwrite); return write_fails(fd, at) ? -1 : real(fd, bytes, size, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) { REAL(pwrite64); return write_fails(fd, at) ? -1 : real(fd, bytes, size, at); }
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) { REAL(pwritev); return write_fails(fd, at) ? -1 : real(fd, parts, count, at); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) { REAL(pwritev64); return write_fails(fd, at) ? -1 : real(fd, parts, count, at); }
ssize_t writev(int fd, const struct iovec *parts, int count) { REAL(writev); return write_fails(fd, lseek(fd, 0, SEEK_CUR)) ? -1 : real(fd, parts, count); }
int fdatasync(int fd) { REAL(fdatasync); log_sync(fd); return fails(fd, SYNC) ? -1 : real(fd); }
int fsync(int fd) { REAL(fsync); log_sync(fd); return fails(fd, SYNC) ? -1 : real(fd); }
