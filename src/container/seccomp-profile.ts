/**
 * The system calls that the sandbox may use: an allow-list, ours, the same for both engines. What is not listed fails
 * with EPERM. Grouped by what the calls are for; each refusal that matters is named in the comments, because a call
 * that is missing by intent looks like one that was forgotten.
 */

type Op = "SCMP_CMP_EQ" | "SCMP_CMP_MASKED_EQ";

interface Condition {
  readonly index: number;
  readonly op: Op;
  readonly value: number;
  readonly valueTwo?: number;
}

interface Rule {
  readonly names: readonly string[];
  readonly action: "SCMP_ACT_ALLOW" | "SCMP_ACT_ERRNO";
  readonly errnoRet?: number;
  readonly args?: readonly Condition[];
  readonly excludes?: { readonly arches: readonly string[] };
}

/** The format that podman and docker read: OCI's, with architectures by machine. */
export interface SeccompProfile {
  readonly defaultAction: "SCMP_ACT_ERRNO";
  readonly archMap: readonly {
    readonly architecture: string;
    readonly subArchitectures: readonly string[];
  }[];
  readonly syscalls: readonly Rule[];
}

/** Who applies the profile: the machine's kernel, or gVisor to the calls that it answers itself. */
export type Interpreter = "kernel" | "gvisor";

const ENOSYS = 38;

/** Files by path and descriptor. No handles (open_by_handle_at leaves the mount), no quotas, no sync of whole disks. */
const FILES = `
  access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 fadvise64
  fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr flistxattr flock fremovexattr
  fsetxattr fstat fstatfs fsync ftruncate futimesat getcwd getdents getdents64 getxattr lchown lgetxattr link linkat
  listxattr llistxattr lremovexattr lseek lsetxattr lstat mkdir mkdirat newfstatat open openat openat2 pread64 preadv
  preadv2 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv removexattr rename renameat renameat2
  rmdir sendfile setxattr splice stat statfs statx symlink symlinkat sync_file_range tee truncate umask unlink
  unlinkat utime utimensat utimes write writev`;

/** Memory. No userfaultfd, remap_file_pages, memfd_secret, process_vm_*, nor NUMA placement. */
const MEMORY = `
  brk madvise map_shadow_stack membarrier memfd_create mincore mlock mlock2 mlockall mmap mprotect mremap mseal msync
  munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect`;

/**
 * Processes and threads; clone has its own rules. No ptrace, kcmp, pidfd_getfd, process_madvise or setns: they reach
 * into other processes, the supervisor among them. modify_ldt and the 32-bit calls are old roads into the kernel.
 */
const PROCESSES = `
  arch_prctl execve execveat exit exit_group fork get_robust_list getpgid getpgrp getpid getppid getpriority getrlimit
  getrusage getsid gettid ioprio_get ioprio_set kill pidfd_open pidfd_send_signal prctl prlimit64 restart_syscall rseq
  sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler
  sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield
  set_robust_list set_tid_address setpgid setpriority setrlimit setsid vfork wait4 waitid`;

/** Who the process is. Without capabilities the setters can only give up what it has. */
const IDENTITY = `
  capget capset getegid geteuid getgid getgroups getresgid getresuid getuid setfsgid setfsuid setgid setgroups setregid
  setresgid setresuid setreuid setuid`;

const SIGNALS = `
  alarm pause rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait
  rt_tgsigqueueinfo sigaltstack signalfd signalfd4 tgkill tkill`;

/** Reading clocks and waiting; none is set. */
const TIME = `
  clock_getres clock_gettime clock_nanosleep getitimer gettimeofday nanosleep setitimer time timer_create timer_delete
  timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime times`;

/** Event loops and locks. No io_uring (its work skips this filter), no kernel AIO, no fanotify. */
const EVENTS = `
  epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 futex futex_requeue
  futex_wait futex_waitv futex_wake inotify_add_watch inotify_init inotify_init1 inotify_rm_watch pipe pipe2 poll ppoll
  pselect6 select`;

/** What works on a socket once it exists; which sockets can exist is below. */
const SOCKETS = `
  accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg sendmmsg sendmsg
  sendto setsockopt shutdown`;

/** Facts about the machine, randomness, and the calls by which a process confines itself further. */
const SYSTEM = `
  getcpu getrandom landlock_add_rule landlock_create_ruleset landlock_restrict_self seccomp sysinfo uname`;

/** pselect6, by which the C library waits for select, as gVisor calls it; it drops names that it does not know. */
const GVISOR_NAMES = "pselect";

const CLONE_NAMESPACES = 0x7e020000; // CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const FILE_TYPE_MASK = 0o170000;
const TIOCSTI = 0x5412;

const equals = (index: number, value: number): Condition => ({ index, op: "SCMP_CMP_EQ", value });
const masked = (index: number, mask: number, value: number): Condition => ({
  index,
  op: "SCMP_CMP_MASKED_EQ",
  value: mask,
  valueTwo: value,
});
const allow = (names: string, ...args: Condition[]): Rule => ({
  names: names.trim().split(/\s+/),
  action: "SCMP_ACT_ALLOW",
  ...(args.length === 0 ? {} : { args }),
});

/** A thread or a process, but no new namespace: a user namespace would give every capability inside it. */
function cloneRules(interpreter: Interpreter): Rule[] {
  return [
    // s390 takes the flags in the second argument, where this rule would check nothing: refused there as a whole.
    { ...allow("clone", masked(0, CLONE_NAMESPACES, 0)), excludes: { arches: ["s390", "s390x"] } },
    // Its flags are behind a pointer that a filter cannot follow. ENOSYS makes the C library fall back to clone. gVisor
    // knows no refusal but EPERM, which would leave Python without threads; a namespace there is gVisor's own alone.
    interpreter === "gvisor"
      ? allow("clone3")
      : { names: ["clone3"], action: "SCMP_ACT_ERRNO", errnoRet: ENOSYS },
  ];
}

/**
 * Families by equality: rules of one call are joined by OR, so two "not this family" rules would let both through.
 * AF_VSOCK and AF_NETLINK are not confined by a network namespace or an own surface, AF_ALG is the kernel's crypto.
 * Of the internet protocols only those that the empty network can use; others make the kernel load modules.
 */
function socketRules(): Rule[] {
  const protocols = [0, 6, 17]; // the type's own, TCP, UDP
  return [
    allow("socket", equals(0, AF_UNIX)),
    allow("socketpair", equals(0, AF_UNIX)),
    ...[AF_INET, AF_INET6].flatMap((family) =>
      protocols.map((protocol) => allow("socket", equals(0, family), equals(2, protocol))),
    ),
  ];
}

/** FIFOs, sockets and plain files, never device nodes. */
function mknodRules(): Rule[] {
  return [0, 0o010000, 0o100000, 0o140000].flatMap((type) => [
    allow("mknod", masked(1, FILE_TYPE_MASK, type)),
    allow("mknodat", masked(2, FILE_TYPE_MASK, type)),
  ]);
}

/**
 * Every ioctl but TIOCSTI, which types into a terminal. The kernel looks at the low 32 bits of the request, a filter
 * compares 64, so "not equal" could be passed with a high bit set. Instead: allowed if any of the 32 bits differs.
 */
function ioctlRules(): Rule[] {
  return Array.from({ length: 32 }, (_, bit) => {
    const mask = 2 ** bit;
    return allow("ioctl", masked(1, mask, (TIOCSTI & mask) === 0 ? mask : 0));
  });
}

/** The usual personality and the question which it is; others turn off address randomization. */
function personalityRules(): Rule[] {
  return [0, 0xffffffff].map((persona) => allow("personality", equals(0, persona)));
}

/** Builds the profile. SysV IPC and message queues are absent: they outlive processes and escape rlimits. */
export function buildSeccompProfile(interpreter: Interpreter = "kernel"): SeccompProfile {
  const groups = [FILES, MEMORY, PROCESSES, IDENTITY, SIGNALS, TIME, EVENTS, SOCKETS, SYSTEM];
  return {
    defaultAction: "SCMP_ACT_ERRNO",
    // No 32-bit sub-architectures: their call numbers would each need these rules again, socketcall included.
    archMap: ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"].map((architecture) => ({
      architecture,
      subArchitectures: [],
    })),
    syscalls: [
      ...groups.map((names) => allow(names)),
      ...(interpreter === "gvisor" ? [allow(GVISOR_NAMES)] : []),
      ...cloneRules(interpreter),
      ...socketRules(),
      ...mknodRules(),
      ...ioctlRules(),
      ...personalityRules(),
    ],
  };
}
