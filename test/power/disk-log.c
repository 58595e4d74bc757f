/*
 * Preloaded into rowsync: writes down, in order, what a process does to the files below POWER_FOLDER, into the file POWER_LOG. From this
 * record a test rebuilds what a disk may show after a power cut. One mutex around an operation and its record keeps their order true.
 *
 * A record: kind (1 byte), inode (8), offset (8), length of the data (4), data. Little-endian. Data is what was written, or paths, each
 * ended by a zero byte.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { CREATE = 1, WRITE, TRUNCATE, SYNC, RENAME, UNLINK, LINK, MKDIR, SYNC_FOLDER };

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static const char *folder;
static int record_file = -1;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("POWER_LOG");
  folder = getenv("POWER_FOLDER");
  if (path == NULL || folder == NULL) return;
  record_file = REAL(open)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void record(enum kind kind, uint64_t inode, uint64_t offset, const struct iovec *data, int count, size_t bytes) {
  struct { uint8_t kind; uint64_t inode, offset; uint32_t bytes; } __attribute__((packed)) head = {kind, inode, offset, (uint32_t)bytes};
  struct iovec parts[64] = {{&head, sizeof head}};
  int used = 1;
  for (int i = 0; i < count && bytes > 0 && used < 64; i += 1) {
    parts[used] = data[i];
    if (parts[used].iov_len > bytes) parts[used].iov_len = bytes;
    bytes -= parts[used].iov_len;
    used += 1;
  }
  if (REAL(writev)(record_file, parts, used) < 0) abort();
}

/* The path behind a descriptor, if it is below the folder. */
static int is_ours(int fd, struct stat *found, char *path) {
  char link[64];
  if (record_file < 0 || fd == record_file || fstat(fd, found) != 0) return 0;
  if (!S_ISREG(found->st_mode) && !S_ISDIR(found->st_mode)) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strncmp(path, folder, strlen(folder)) == 0;
}

/* Paths are made whole, since a process may name them by where it stands. */
static int whole(const char *path, char *out) {
  if (record_file < 0 || path == NULL) return 0;
  if (path[0] == '/') snprintf(out, PATH_MAX, "%s", path);
  else {
    char here[PATH_MAX];
    if (getcwd(here, sizeof here) == NULL) return 0;
    snprintf(out, PATH_MAX, "%s/%s", here, path);
  }
  return strncmp(out, folder, strlen(folder)) == 0;
}

static void record_paths(enum kind kind, uint64_t inode, const char *one, const char *other) {
  struct iovec parts[2] = {{(void *)one, strlen(one) + 1}, {(void *)(other ? other : ""), other ? strlen(other) + 1 : 0}};
  record(kind, inode, 0, parts, 2, parts[0].iov_len + parts[1].iov_len);
}

static int opened(int fd, const char *path, int flags, int was_there) {
  char place[PATH_MAX];
  struct stat found;
  if (fd < 0 || !(flags & (O_CREAT | O_TRUNC)) || !is_ours(fd, &found, place) || !S_ISREG(found.st_mode)) return fd;
  if (!was_there) record_paths(CREATE, found.st_ino, place, NULL);
  else if (flags & O_TRUNC) record(TRUNCATE, found.st_ino, 0, NULL, 0, 0);
  return fd;
}

#define OPENS(name)                                            \
  int name(const char *path, int flags, ...) {                 \
    va_list rest;                                              \
    va_start(rest, flags);                                     \
    int mode = va_arg(rest, int);                              \
    va_end(rest);                                              \
    if (record_file < 0 || !(flags & (O_CREAT | O_TRUNC))) return REAL(name)(path, flags, mode); \
    pthread_mutex_lock(&order);                                \
    int was_there = access(path, F_OK) == 0;                   \
    int fd = opened(REAL(name)(path, flags, mode), path, flags, was_there); \
    pthread_mutex_unlock(&order);                              \
    return fd;                                                 \
  }
OPENS(open)
OPENS(open64)

static ssize_t written(int fd, const struct iovec *data, int count, off_t offset, ssize_t (*real)(int, const struct iovec *, int, off_t)) {
  char path[PATH_MAX];
  struct stat found;
  if (!is_ours(fd, &found, path) || !S_ISREG(found.st_mode)) return real(fd, data, count, offset);
  pthread_mutex_lock(&order);
  uint64_t at = (uint64_t)offset;
  if (offset < 0) {
    int flags = fcntl(fd, F_GETFL);
    fstat(fd, &found);
    at = flags & O_APPEND ? (uint64_t)found.st_size : (uint64_t)lseek(fd, 0, SEEK_CUR);
  }
  ssize_t bytes = real(fd, data, count, offset);
  if (bytes > 0) record(WRITE, found.st_ino, at, data, count, (size_t)bytes);
  pthread_mutex_unlock(&order);
  return bytes;
}

static ssize_t real_write(int fd, const struct iovec *data, int count, off_t offset) {
  if (offset < 0) return count == 1 ? REAL(write)(fd, data->iov_base, data->iov_len) : REAL(writev)(fd, data, count);
  return count == 1 ? REAL(pwrite64)(fd, data->iov_base, data->iov_len, offset) : REAL(pwritev)(fd, data, count, offset);
}

ssize_t write(int fd, const void *data, size_t bytes) { return written(fd, &(struct iovec){(void *)data, bytes}, 1, -1, real_write); }
ssize_t writev(int fd, const struct iovec *data, int count) { return written(fd, data, count, -1, real_write); }
ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at) { return written(fd, &(struct iovec){(void *)data, bytes}, 1, at, real_write); }
ssize_t pwrite64(int fd, const void *data, size_t bytes, off_t at) { return pwrite(fd, data, bytes, at); }
ssize_t pwritev(int fd, const struct iovec *data, int count, off_t at) { return written(fd, data, count, at, real_write); }
ssize_t pwritev64(int fd, const struct iovec *data, int count, off_t at) { return pwritev(fd, data, count, at); }

static int cut_to(int fd, off_t bytes) {
  char path[PATH_MAX];
  struct stat found;
  pthread_mutex_lock(&order);
  int result = REAL(ftruncate)(fd, bytes);
  if (result == 0 && is_ours(fd, &found, path)) record(TRUNCATE, found.st_ino, (uint64_t)bytes, NULL, 0, 0);
  pthread_mutex_unlock(&order);
  return result;
}
int ftruncate(int fd, off_t bytes) { return cut_to(fd, bytes); }
int ftruncate64(int fd, off_t bytes) { return cut_to(fd, bytes); }

static int synced(int fd, int (*real)(int)) {
  char path[PATH_MAX];
  struct stat found;
  pthread_mutex_lock(&order);
  int result = real(fd);
  if (result == 0 && is_ours(fd, &found, path)) record_paths(S_ISDIR(found.st_mode) ? SYNC_FOLDER : SYNC, found.st_ino, path, NULL);
  pthread_mutex_unlock(&order);
  return result;
}
int fsync(int fd) { return synced(fd, REAL(fsync)); }
int fdatasync(int fd) { return synced(fd, REAL(fdatasync)); }

#define NAMES(name, kind, before, declared, given, one, other)   \
  int name declared {                                            \
    char first[PATH_MAX], second[PATH_MAX];                      \
    struct stat found;                                           \
    pthread_mutex_lock(&order);                                  \
    int ours = whole(one, first);                                \
    if (other != NULL && !whole(other, second)) ours = 0;        \
    if (before && ours && lstat(first, &found) != 0) ours = 0;   \
    int result = REAL(name) given;                               \
    if (!before && ours && lstat(first, &found) != 0) ours = 0;  \
    if (result == 0 && ours) record_paths(kind, found.st_ino, first, other == NULL ? NULL : second); \
    pthread_mutex_unlock(&order);                                \
    return result;                                               \
  }
#define NONE ((const char *)NULL)
NAMES(rename, RENAME, 1, (const char *from, const char *to), (from, to), from, to)
NAMES(link, LINK, 1, (const char *from, const char *to), (from, to), from, to)
NAMES(unlink, UNLINK, 1, (const char *path), (path), path, NONE)
NAMES(rmdir, UNLINK, 1, (const char *path), (path), path, NONE)
NAMES(mkdir, MKDIR, 0, (const char *path, mode_t mode), (path, mode), path, NONE)
/* Node removes trees by unlinkat with absolute paths. */
NAMES(unlinkat, UNLINK, 1, (int at, const char *path, int flags), (at, path, flags), path, NONE)
