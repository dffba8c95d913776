-- SPDX-License-Identifier: Apache-2.0
-- What the command line needs of the C library and Lua has not: sockets, poll, signals as a descriptor, terminals,
-- starting a program. Linux with glibc, x86-64 and arm64, whose numbers and layouts are the same for all that is here.
-- Failures are `nil, text, errno`.
local bit = require "bit"
local ffi = require "ffi"

local M = {}

-- Structs have names of their own, so that declarations of others for the same calls do not clash.
ffi.cdef [[
struct luka_pollfd { int fd; short events; short revents; };
struct luka_sockaddr_un { unsigned short family; char path[108]; };
struct luka_winsize { unsigned short rows; unsigned short columns; unsigned short x; unsigned short y; };
struct luka_sigset { unsigned long bits[16]; };
struct luka_siginfo { uint32_t number; uint8_t rest[124]; };
struct luka_timespec { long seconds; long nanoseconds; };
struct luka_statx { uint8_t head[28]; uint16_t mode; uint8_t rest[226]; };
struct luka_opaque { long words[64]; };

int poll(struct luka_pollfd *fds, unsigned long count, int timeout_ms);
long read(int fd, void *buffer, size_t size);
long write(int fd, const void *buffer, size_t size);
int close(int fd);
int open(const char *path, int flags, ...);
int pipe2(int fds[2], int flags);
int socket(int domain, int type, int protocol);
int connect(int fd, const void *address, unsigned size);
int mkdir(const char *path, unsigned mode);
int flock(int fd, int operation);
int ftruncate(int fd, long size);
int statx(int folder, const char *path, int flags, unsigned mask, struct luka_statx *out);
int isatty(int fd);
int tcgetattr(int fd, struct luka_opaque *out);
int tcsetattr(int fd, int when, const struct luka_opaque *mode);
int ioctl(int fd, unsigned long request, ...);
int clock_gettime(int clock, struct luka_timespec *out);
char *strerror(int number);
char *setlocale(int category, const char *name);
char *nl_langinfo(int item);
int wcwidth(int32_t character);
int sigemptyset(struct luka_sigset *set);
int sigaddset(struct luka_sigset *set, int number);
int sigprocmask(int how, const struct luka_sigset *set, struct luka_sigset *old);
int kill(int pid, int number);
int signalfd(int fd, const struct luka_sigset *set, int flags);
void (*signal(int number, void (*handler)(int)))(int);
int posix_spawn(int *pid, const char *path, const struct luka_opaque *actions, const struct luka_opaque *attributes,
                const char *const *argv, char *const *environment);
int posix_spawn_file_actions_init(struct luka_opaque *actions);
int posix_spawn_file_actions_adddup2(struct luka_opaque *actions, int from, int to);
int posix_spawn_file_actions_destroy(struct luka_opaque *actions);
int posix_spawnattr_init(struct luka_opaque *attributes);
int posix_spawnattr_setflags(struct luka_opaque *attributes, short flags);
int posix_spawnattr_setsigmask(struct luka_opaque *attributes, const struct luka_sigset *set);
int posix_spawnattr_setsigdefault(struct luka_opaque *attributes, const struct luka_sigset *set);
int posix_spawnattr_destroy(struct luka_opaque *attributes);
int waitpid(int pid, int *status, int options);
extern char **environ;
]]

local C = ffi.C

M.EINTR, M.EAGAIN, M.EACCES, M.ENOENT, M.EPIPE, M.ECONNREFUSED = 4, 11, 13, 2, 32, 111
M.SIGHUP, M.SIGINT, M.SIGPIPE, M.SIGTERM, M.SIGCONT, M.SIGWINCH = 1, 2, 13, 15, 18, 28

local POLLIN, POLLOUT = 1, 4
local O_WRONLY, O_CREAT, O_APPEND, O_NONBLOCK, O_CLOEXEC = 1, 64, 1024, 2048, 524288
local LOCK_EX, LOCK_NB, LOCK_MS, LOCK_STEP_MS = 2, 4, 1000, 10
local AF_UNIX, SOCK_STREAM, SOCK_CLOEXEC, SOCK_NONBLOCK = 1, 1, 524288, 2048
local TIOCGWINSZ, TCSADRAIN, CLOCK_MONOTONIC, LC_CTYPE, CODESET = 0x5413, 1, 1, 0, 14
local SIG_BLOCK, SIG_IGN, SIGTSTP = 0, 1, 20
local SPAWN_SETSIGDEF, SPAWN_SETSIGMASK = 4, 8
local AT_FDCWD, STATX_TYPE, EEXIST = -100, 1, 17

--- The text of an errno, of the last failure by default.
---
---@param number integer?
---@return string
function M.error_text(number)
  return ffi.string(C.strerror(number or ffi.errno()))
end

local function failed()
  local number = ffi.errno()
  return nil, M.error_text(number), number
end

--- Milliseconds on a clock that nobody sets.
---
---@return number
function M.now_ms()
  local time = ffi.new "struct luka_timespec"
  C.clock_gettime(CLOCK_MONOTONIC, time)
  return tonumber(time.seconds) * 1000 + math.floor(tonumber(time.nanoseconds) / 1e6)
end

-- ---- descriptors ----

local READ_SIZE = 65536
local read_buffer = ffi.new("uint8_t[?]", READ_SIZE)

--- Reads what is there, at most 64 KiB; "" at the end.
---
---@param fd integer
---@return string? bytes
---@return string? err
---@return integer? errno
function M.read(fd)
  local count = tonumber(C.read(fd, read_buffer, READ_SIZE))
  if count < 0 then return failed() end
  return ffi.string(read_buffer, count)
end

--- Writes bytes of a text from position `from` on, as many as go in one call and at most `size`.
---
---@param fd integer
---@param text string
---@param from integer  from 1
---@param size integer?
---@return integer? written
---@return string? err
---@return integer? errno
function M.write(fd, text, from, size)
  local left = math.min(#text - from + 1, size or #text)
  local count = tonumber(C.write(fd, ffi.cast("const uint8_t *", text) + (from - 1), left))
  if count < 0 then return failed() end
  return count
end

--- Closes a descriptor.
---
---@param fd integer
function M.close(fd)
  C.close(fd)
end

--- Waits until one of the descriptors is ready.
---
---@param fds { fd: integer, is_output: boolean?, is_ready: boolean? }[]  is_ready is set
---@param timeout_ms integer?  nil: no end
function M.poll(fds, timeout_ms)
  local polled = ffi.new("struct luka_pollfd[?]", #fds)
  for i, item in ipairs(fds) do
    polled[i - 1].fd, polled[i - 1].events = item.fd, item.is_output and POLLOUT or POLLIN
  end
  local count = C.poll(polled, #fds, timeout_ms or -1)
  for i, item in ipairs(fds) do item.is_ready = count > 0 and polled[i - 1].revents ~= 0 end
end

--- Connects to a Unix socket. The descriptor does not block.
---
---@param path string
---@return integer? fd
---@return string? err
---@return integer? errno
function M.connect(path)
  local address = ffi.new "struct luka_sockaddr_un"
  if #path >= ffi.sizeof(address.path) then
    return nil, ("the path is longer than the %d bytes that a socket may have"):format(ffi.sizeof(address.path) - 1)
  end
  address.family = AF_UNIX
  ffi.copy(address.path, path)
  local fd = C.socket(AF_UNIX, bit.bor(SOCK_STREAM, SOCK_CLOEXEC, SOCK_NONBLOCK), 0)
  if fd < 0 then return failed() end
  if C.connect(fd, address, ffi.sizeof(address)) ~= 0 then
    local number = ffi.errno()
    C.close(fd)
    return nil, M.error_text(number), number
  end
  return fd
end

-- ---- files ----

local KINDS = { [0x4000] = "folder", [0x8000] = "file", [0xc000] = "socket" }

--- What a path names.
---
---@param path string
---@return "file"|"folder"|"socket"|"other"|nil kind
---@return string? err
---@return integer? errno
function M.kind(path)
  local out = ffi.new "struct luka_statx"
  if C.statx(AT_FDCWD, path, 0, STATX_TYPE, out) ~= 0 then return failed() end
  return KINDS[bit.band(out.mode, 0xf000)] or "other"
end

--- Makes a folder for its owner alone, and those above it that are missing.
---
---@param path string
---@return boolean? ok
---@return string? err
function M.make_folders(path)
  for position in (path .. "/"):gmatch "()/" do
    local part = path:sub(1, position - 1)
    if part ~= "" and C.mkdir(part, 448) ~= 0 and ffi.errno() ~= EEXIST then return failed() end
  end
  return true
end

--- Opens a file for writing that only its owner may read, and locks it against others who do the same.
---
---@param path string
---@param is_appending boolean  writes go to its end, otherwise to its beginning; nothing of it is lost by opening it
---@return integer? fd  close() unlocks
---@return string? err
function M.open_private(path, is_appending)
  local flags = bit.bor(O_WRONLY, O_CREAT, O_CLOEXEC, O_NONBLOCK, is_appending and O_APPEND or 0)
  local fd = C.open(path, flags, ffi.cast("int", 384))
  if fd < 0 then return failed() end
  local deadline = M.now_ms() + LOCK_MS
  while C.flock(fd, LOCK_EX + LOCK_NB) ~= 0 do
    local number = ffi.errno()
    if number ~= M.EAGAIN or M.now_ms() > deadline then
      C.close(fd)
      return nil, number == M.EAGAIN and "another program has locked it" or M.error_text(number)
    end
    M.poll({}, LOCK_STEP_MS)
  end
  return fd
end

--- Writes all of a text to a file.
---
---@param fd integer
---@param text string
---@return boolean? ok
---@return string? err
function M.write_all(fd, text)
  local at = 1
  while at <= #text do
    local count, err = M.write(fd, text, at)
    if not count then return nil, err end
    at = at + count
  end
  return true
end

--- Cuts a file off behind some bytes.
---
---@param fd integer
---@param size integer
---@return boolean? ok
---@return string? err
function M.cut(fd, size)
  if C.ftruncate(fd, size) ~= 0 then return failed() end
  return true
end

-- ---- terminals ----

--- Whether a descriptor is a terminal.
---
---@param fd integer
---@return boolean
function M.is_terminal(fd)
  return C.isatty(fd) == 1
end

--- Whether terminals can only print, by what the environment says of them.
---
---@return boolean
function M.is_dumb()
  local kind = os.getenv "TERM"
  return kind == nil or kind == "" or kind == "dumb"
end

--- Size of a terminal; nil when it does not say.
---
---@param fd integer
---@return integer? rows
---@return integer? columns
function M.window_size(fd)
  local size = ffi.new "struct luka_winsize"
  if C.ioctl(fd, TIOCGWINSZ, size) ~= 0 or size.rows == 0 or size.columns == 0 then return nil end
  return size.rows, size.columns
end

--- How a terminal treats what is typed; nil when it is none.
---
---@param fd integer
---@return ffi.cdata*? mode  for set_terminal_mode()
function M.terminal_mode(fd)
  local mode = ffi.new "struct luka_opaque"
  return C.tcgetattr(fd, mode) == 0 and mode or nil
end

---@param fd integer
---@param mode ffi.cdata*  of terminal_mode()
function M.set_terminal_mode(fd, mode)
  C.tcsetattr(fd, TCSADRAIN, mode)
end

--- Makes characters those of UTF-8, whatever the environment says: the texts of a broker are UTF-8. Numbers stay as in C.
function M.use_utf8()
  C.setlocale(LC_CTYPE, "")
  if ffi.string(C.nl_langinfo(CODESET)) ~= "UTF-8" then C.setlocale(LC_CTYPE, "C.UTF-8") end
end

--- Columns that a character takes on a terminal, after use_utf8(); -1 for one that is not printable.
---
---@param character integer  code point
---@return integer
function M.character_width(character)
  return C.wcwidth(character)
end

-- ---- signals and programs ----

local function signal_set(numbers)
  local set = ffi.new "struct luka_sigset"
  C.sigemptyset(set)
  for _, number in ipairs(numbers) do C.sigaddset(set, number) end
  return set
end

--- From here on these signals only come through the descriptor that is returned, and a broken pipe is an error of
--- write().
---
---@param numbers integer[]
---@return integer? fd
---@return string? err
function M.take_signals(numbers)
  local set = signal_set(numbers)
  C.signal(M.SIGPIPE, ffi.cast("void (*)(int)", SIG_IGN))
  C.sigprocmask(SIG_BLOCK, set, nil)
  local fd = C.signalfd(-1, set, bit.bor(SOCK_CLOEXEC, SOCK_NONBLOCK))
  if fd < 0 then return failed() end
  return fd
end

--- The next signal that has come; nil when there is none.
---
---@param fd integer  of take_signals()
---@return integer? number
function M.next_signal(fd)
  local info = ffi.new "struct luka_siginfo"
  if C.read(fd, info, ffi.sizeof(info)) ~= ffi.sizeof(info) then return nil end
  return info.number
end

--- Stops this process and those it works with, as Ctrl-Z does; returns when it goes on.
function M.suspend()
  C.kill(0, SIGTSTP)
end

local spawn_actions, spawn_attributes = ffi.new "struct luka_opaque", ffi.new "struct luka_opaque"

--- Starts a command of the shell with a pipe as its standard input and signals as they are by default.
---
---@param command string
---@return integer? pid
---@return integer|string fd  the pipe's other end, or why not
function M.spawn_reader(command)
  local ends = ffi.new "int[2]"
  if C.pipe2(ends, O_CLOEXEC) ~= 0 then return nil, M.error_text() end
  C.posix_spawn_file_actions_init(spawn_actions)
  C.posix_spawn_file_actions_adddup2(spawn_actions, ends[0], 0)
  C.posix_spawnattr_init(spawn_attributes)
  C.posix_spawnattr_setsigmask(spawn_attributes, signal_set {})
  C.posix_spawnattr_setsigdefault(spawn_attributes, signal_set { M.SIGPIPE })
  C.posix_spawnattr_setflags(spawn_attributes, SPAWN_SETSIGDEF + SPAWN_SETSIGMASK)
  local argv = ffi.new("const char *[4]", { "sh", "-c", command })
  local pid = ffi.new "int[1]"
  local number = C.posix_spawn(pid, "/bin/sh", spawn_actions, spawn_attributes, argv, C.environ)
  C.posix_spawnattr_destroy(spawn_attributes)
  C.posix_spawn_file_actions_destroy(spawn_actions)
  C.close(ends[0])
  if number ~= 0 then
    C.close(ends[1])
    return nil, M.error_text(number)
  end
  return pid[0], ends[1]
end

--- Waits for the end of a program.
---
---@param pid integer
---@return integer status  127: the shell did not find it
function M.wait(pid)
  local status = ffi.new "int[1]"
  while C.waitpid(pid, status, 0) < 0 and ffi.errno() == M.EINTR do end
  return bit.band(bit.rshift(status[0], 8), 255)
end

return M
