"""Drops all rights that a decoder does not need, before it opens an untrusted file.

Memory and descriptors are limited on every system with ``resource``. On Linux a seccomp filter also refuses network
access, starting programs, access to other processes, writing files, and changes of owner, permissions or attributes.
Elsewhere the only protection is FFmpeg's protocol whitelist.
"""
import ctypes
import errno
import platform
import struct
import sys

DESCRIPTORS = 64
M_ARENA_MAX = -8  # of mallopt: each arena reserves 64 MiB of address space
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, FILTER_MODE = 22, 38, 2
LOAD, JUMP_EQUAL, JUMP_ANY_BIT, JUMP_AT_LEAST, RETURN = 0x20, 0x15, 0x45, 0x35, 0x06  # BPF instructions
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000, 0x80000000  # what a filter returns
WRITING = 0o1 | 0o2 | 0o100 | 0o1000  # O_WRONLY, O_RDWR, O_CREAT, O_TRUNC
CLONE_THREAD = 0x10000
X32 = 0x40000000  # from here on: aliases of the same calls on x86-64
# system call numbers; the flags of "open" and "clone" are checked, those of "clone3" are invisible to the filter
CALLS = {
    "x86_64": {
        "architecture": 0xC000003E, "open": 2, "openat": 257, "clone": 56, "clone3": 435,
        # socket, socketpair, connect, bind, listen, fork, vfork, execve, execveat, ptrace, process_vm_*,
        # kill, tkill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo, pidfd_send_signal,
        # truncate, rename*, mkdir*, rmdir, creat, link*, unlink*, symlink*, mknod*, openat2, io_uring_setup,
        # chmod, fchmod, fchmodat*, chown, fchown, lchown, fchownat, setxattr*, removexattr*
        "refused": (41, 53, 42, 49, 50, 57, 58, 59, 322, 101, 310, 311, 62, 200, 234, 129, 297, 424,
                    76, 82, 264, 316, 83, 258, 84, 85, 86, 265, 87, 263, 88, 266, 133, 259, 437, 425,
                    90, 91, 268, 452, 92, 93, 94, 260, 188, 189, 190, 197, 198, 199),
    },
    "aarch64": {
        "architecture": 0xC00000B7, "open": None, "openat": 56, "clone": 220, "clone3": 435,
        "refused": (198, 199, 203, 200, 201, 221, 281, 117, 270, 271, 129, 130, 131, 138, 240, 424,
                    45, 38, 276, 34, 37, 35, 36, 33, 437, 425, 52, 53, 452, 54, 55, 5, 6, 7, 14, 15, 16),
    },
}  # fmt: skip


def confine(memory: int) -> None:
    """Restricts this process permanently; it may use ``memory`` more bytes of address space than it has now."""
    _limit_resources(memory)
    if sys.platform == "linux" and platform.machine() in CALLS:
        _refuse_calls(CALLS[platform.machine()])


def _limit_resources(memory: int) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    if sys.platform == "linux":
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 2)
        with open("/proc/self/statm") as stream:
            memory += int(stream.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _refuse_calls(calls: dict) -> None:
    program = b"".join(_program(calls))
    code = ctypes.create_string_buffer(program, len(program))
    libc = ctypes.CDLL(None, use_errno=True)
    # struct sock_fprog: the number of instructions, padding, their address
    fprog = ctypes.create_string_buffer(struct.pack("@H6xP", len(program) // 8, ctypes.addressof(code)))
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, FILTER_MODE, fprog, 0, 0):
        number = ctypes.get_errno()
        if number not in (errno.EINVAL, errno.ENOSYS):  # a kernel without seccomp
            raise OSError(number, "the decoder could not be confined")


def _program(calls: dict) -> list[bytes]:
    """Returns the filter's 8-byte instructions; jump distances count from the next instruction."""

    def step(code: int, k: int, if_true: int = 0, if_false: int = 0) -> bytes:
        return struct.pack("<HBBI", code, if_true, if_false, k)

    def argument(number: int) -> int:
        return 16 + 8 * number  # offset of its lower half in struct seccomp_data

    refuse = step(RETURN, REFUSE | errno.EACCES)
    steps = [step(LOAD, 4), step(JUMP_EQUAL, calls["architecture"], 1), step(RETURN, KILL), step(LOAD, 0)]
    steps += [step(JUMP_AT_LEAST, X32, 0, 1), refuse]
    for number in calls["refused"]:
        steps += [step(JUMP_EQUAL, number, 0, 1), refuse]
    # on ENOSYS callers fall back to clone
    steps += [step(JUMP_EQUAL, calls["clone3"], 0, 1), step(RETURN, REFUSE | errno.ENOSYS)]
    for number, flags in ((calls["open"], argument(1)), (calls["openat"], argument(2))):
        if number is not None:
            steps += [step(JUMP_EQUAL, number, 0, 4), step(LOAD, flags), step(JUMP_ANY_BIT, WRITING, 0, 1), refuse]
            steps += [step(RETURN, ALLOW)]
    steps += [step(JUMP_EQUAL, calls["clone"], 0, 3), step(LOAD, argument(0))]
    steps += [step(JUMP_ANY_BIT, CLONE_THREAD, 1), refuse]
    return [*steps, step(RETURN, ALLOW)]
