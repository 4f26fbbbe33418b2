"""Makes each system call that the profile must refuse, with harmless arguments, and prints the errors as JSON."""

import ctypes
import errno
import json
import os
import platform

LIBC = ctypes.CDLL(None, use_errno=True)

# name: (number on x86_64, number on aarch64 or None where the call does not exist)
CALLS = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "get_mempolicy": (239, 236),
    "init_module": (175, 105),
    "io_setup": (206, 0),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "mbind": (237, 235),
    "memfd_secret": (447, 447),
    "migrate_pages": (256, 238),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "remap_file_pages": (216, 234),
    "request_key": (249, 218),
    "semget": (64, 190),
    "set_mempolicy": (238, 237),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "shmget": (29, 194),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "sync": (162, 81),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, None),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
    "vmsplice": (278, 75),
}
COLUMN = {"x86_64": 0, "aarch64": 1}[platform.machine()]


def call(number: int, *arguments: int) -> str:
    """Makes a system call and returns the name of its error, or "ok"."""
    ctypes.set_errno(0)
    result = LIBC.syscall(ctypes.c_long(number), *[ctypes.c_long(value) for value in arguments])
    return "ok" if result >= 0 else errno.errorcode.get(ctypes.get_errno(), "?")


answers = {
    name: call(numbers[COLUMN], *[-1] * 6)
    for name, numbers in CALLS.items()
    if numbers[COLUMN] is not None
}

# Calls that are refused for some arguments only.
CLONE, CLONE3, IOCTL, MKNODAT, PERSONALITY, SOCKET, SOCKETPAIR = (
    (56, 435, 16, 259, 135, 41, 53),
    (220, 435, 29, 33, 92, 198, 199),
)[COLUMN]
SIGCHLD = 17
for flag in ("NEWNS 20000", "NEWCGROUP 2000000", "NEWUTS 4000000", "NEWIPC 8000000", "NEWUSER 10000000",
             "NEWPID 20000000", "NEWNET 40000000"):
    label, bits = flag.split()
    answers[f"clone {label}"] = call(CLONE, int(bits, 16) | SIGCHLD, 0, 0, 0, 0)
answers["clone3"] = call(CLONE3, 0, 0)
answers["ioctl TIOCSTI"] = call(IOCTL, 0, 0x5412, 0)
answers["ioctl TIOCSTI with a high bit"] = call(IOCTL, 0, 0x1_0000_5412, 0)
answers["personality ADDR_NO_RANDOMIZE"] = call(PERSONALITY, 0x0040000)
answers["mknod of a device"] = call(MKNODAT, -1, 0, 0o020600, 0x103)
for family in range(64):
    if family not in (1, 2, 10):
        answers[f"socket family {family}"] = call(SOCKET, family, 2, 0)
        answers[f"socketpair family {family}"] = call(SOCKETPAIR, family, 2, 0, 0)
for family in (2, 10):
    for protocol in (1, 33, 41, 58, 132, 136, 255, 262):
        answers[f"socket family {family} protocol {protocol}"] = call(SOCKET, family, 1, protocol)
# Both AF_INET with a bit above what the kernel reads: no rule may take it for the family.
answers["socket family with a high bit"] = call(SOCKET, 0x1_0000_0000 | 16, 2, 0)


def call_in_child(number: int) -> str:
    """Makes a call in a child process, for the filter may kill it; a killed one counts as refused."""
    pid = os.fork()
    if pid == 0:
        os._exit(0 if call(number) == "ok" else 1)
    return "ok" if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0 else "EPERM"


if COLUMN == 0:
    # getpid under the x32 numbering, for which the rules would all be missing.
    answers["x32"] = call_in_child(0x4000_0000 + 39)

print(json.dumps(answers))
