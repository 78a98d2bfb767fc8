// The tests: what each prepares, and what one operation of it is. What cannot be done ends the
// process, with the call that failed and its error.

enum kind { GETPPID, PIPE, CONTEXT, OPEN, STAT, READ, WRITE, COPY, FORK, EXECL, SHELL, SOCKET, BIND, CONNECT, CONNECT_TCP, PTRACE, MOUNT, CAPABILITY };

// No pointers are in tables: the program is loaded anywhere, and has no relocations.
static const struct test {
	char name[20];
	enum kind kind;
	int size;  // bytes of a call, where that is what differs
	int least; // operations of the smallest batch
} tests[] = {
	{"getppid", GETPPID, 0, 1},
	{"pipe", PIPE, 512, 1},
	{"context-switch", CONTEXT, 4, 1},
	{"open", OPEN, 0, 1},
	{"stat", STAT, 0, 1},
	{"read-256", READ, 256, 1},
	{"read-1024", READ, 1024, 1},
	{"read-4096", READ, 4096, 1},
	{"write-256", WRITE, 256, 1},
	{"write-1024", WRITE, 1024, 1},
	{"write-4096", WRITE, 4096, 1},
	{"copy-256", COPY, 256, 1},
	{"copy-1024", COPY, 1024, 1},
	{"copy-4096", COPY, 4096, 1},
	{"fork", FORK, 0, 1},
	{"execl", EXECL, 0, 32}, // so that the fork of a batch is little beside them
	{"shell", SHELL, 0, 1},
	{"socket", SOCKET, 0, 1},
	{"bind", BIND, 0, 1},
	{"connect", CONNECT, 0, 1},
	{"connect-tcp", CONNECT_TCP, 0, 1},
	{"ptrace", PTRACE, 0, 1},
	{"mount", MOUNT, 0, 1},
	{"capability", CAPABILITY, 0, 1},
};

// What the process was told.
static struct {
	const struct test *test;
	int self;              // descriptor of this program's file
	const char *file;      // that open and stat are about
	const char *directory; // of the files of read, write and copy, and of mount
	const char *path;      // "PATH=…", for the shell
} told;

#define FILE_SIZE (512 << 10) // of the files of read, write and copy: a whole number of blocks of any size

static byte block[4096];
static int from = -1, to = -1; // descriptors: of files, or the ends of a pipe
static int back[2], forth[2];  // pipes to and from a partner
static word left;              // blocks until the files begin anew
static int partner;            // a process that takes part; 0: none
static int waits;              // whether an operation makes processes and waits for them
static struct sockaddr_in address;

static __attribute__((noreturn)) void fail(const char *what, long result) {
	filled = 0;
	text("{\"test\":\"");
	text(told.test ? told.test->name : "");
	text("\",\"failed\":\"");
	text(what);
	text("\"");
	if (result < 0)
		figure("errno", (word)-result);
	else
		figure("result", (word)result);
	text("}\n");
	flush();
	leave(1);
}

// must is for preparations, expect for operations: they succeed, or give that many bytes.
static long must(const char *what, long result) {
	if (result < 0)
		fail(what, result);
	return result;
}
static inline __attribute__((always_inline)) void expect(const char *what, long result, long wanted) {
	if (__builtin_expect(result != wanted, 0))
		fail(what, result);
}

// born makes a process that ends with this one.
static int born(void) {
	long pid = must("clone", sys(__NR_clone, SIGCHLD));
	if (pid == 0)
		sys(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL);
	return (int)pid;
}

// ended waits for a child and wants it to have ended well.
static inline __attribute__((always_inline)) void ended(const char *what, long pid) {
	int status = 0;
	expect("wait4", sys(__NR_wait4, pid, &status, __WALL, 0), pid);
	expect(what, status, 0);
}

// temporary opens a file of FILE_SIZE bytes in the directory that has no name.
static int temporary(void) {
	long fd = sys(__NR_openat, AT_FDCWD, told.directory, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (fd < 0) { // not all file systems can
		static char name[4200];
		char buffer[24];
		word n = 0;
		for (const char *p = told.directory; *p && n < 4096; p++)
			name[n++] = *p;
		for (const char *p = "/.tare-probe-"; *p; p++)
			name[n++] = *p;
		for (char *p = digits(buffer, (word)sys(__NR_getpid)); *p; p++)
			name[n++] = *p;
		name[n] = 0;
		fd = must("open", sys(__NR_openat, AT_FDCWD, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
		must("unlink", sys(__NR_unlinkat, AT_FDCWD, name, 0));
	}
	for (int i = 0; i < FILE_SIZE / (int)sizeof block; i++)
		expect("write", sys(__NR_write, fd, block, sizeof block), sizeof block);
	return (int)fd;
}

static void rewind(void) {
	if (from >= 0)
		expect("lseek", sys(__NR_lseek, from, 0, 0), 0);
	if (to >= 0)
		expect("lseek", sys(__NR_lseek, to, 0, 0), 0);
	left = FILE_SIZE / (word)told.test->size;
}

static void prepare(void) {
	int type = SOCK_STREAM | SOCK_CLOEXEC;
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = __builtin_bswap32(INADDR_LOOPBACK);
	switch (told.test->kind) {
	case PIPE: {
		int ends[2];
		must("pipe2", sys(__NR_pipe2, ends, O_CLOEXEC));
		from = ends[0], to = ends[1];
		break;
	}
	case CONTEXT:
		must("pipe2", sys(__NR_pipe2, forth, 0));
		must("pipe2", sys(__NR_pipe2, back, 0));
		partner = born();
		if (partner == 0) { // which ends when the other end does
			sys(__NR_close, forth[1]);
			sys(__NR_close, back[0]);
			while (sys(__NR_read, forth[0], block, told.test->size) == told.test->size)
				expect("write", sys(__NR_write, back[1], block, told.test->size), told.test->size);
			leave(0);
		}
		sys(__NR_close, forth[0]);
		sys(__NR_close, back[1]);
		break;
	case READ:
		from = temporary();
		rewind();
		break;
	case WRITE:
		to = temporary();
		rewind();
		break;
	case COPY:
		from = temporary(), to = temporary();
		rewind();
		break;
	case FORK:
	case EXECL:
	case SHELL:
		waits = 1;
		break;
	case CONNECT:
		type = SOCK_DGRAM | SOCK_CLOEXEC;
		address.sin_port = __builtin_bswap16(9); // discard; nothing is sent there
		from = (int)must("socket", sys(__NR_socket, AF_INET, type, 0));
		break;
	case CONNECT_TCP: { // a port that is taken, and nobody listens at
		int size = sizeof address;
		to = (int)must("socket", sys(__NR_socket, AF_INET, type, 0));
		must("bind", sys(__NR_bind, to, &address, sizeof address));
		must("getsockname", sys(__NR_getsockname, to, &address, &size));
		from = (int)must("socket", sys(__NR_socket, AF_INET, type, 0));
		break;
	}
	case PTRACE:
		partner = born();
		if (partner == 0)
			for (;;)
				sys(__NR_ppoll, 0, 0, 0, 0, 0);
		break;
	case MOUNT: {
		long r = sys(__NR_unshare, CLONE_NEWNS);
		if (r < 0) // without the right, inside of a user namespace of its own
			must("unshare", sys(__NR_unshare, CLONE_NEWUSER | CLONE_NEWNS));
		must("mount", sys(__NR_mount, 0, "/", 0, MS_REC | MS_PRIVATE, 0));
		break;
	}
	default:
		break;
	}
}

// chain is what execl runs: it executes itself that many times, and ends.
static void chain(word n) {
	if (n == 0)
		leave(0);
	char count[24], self[24];
	char mode[] = "chain", name[] = "probe";
	char *argv[] = {name, mode, digits(count, n - 1), digits(self, (word)told.self), 0}, *envp[] = {0};
	sys(__NR_execveat, told.self, "", argv, envp, AT_EMPTY_PATH);
	leave(1);
}

static void script(void) {
	// What UnixBench's tst.sh does, without files: five programs in a row.
	char shell[] = "/bin/sh", option[] = "-c", *envp[] = {(char *)told.path, 0};
	char line[] = "echo 'the quick brown fox' | sort | od | sort -n -k 1 | tee /dev/null | wc > /dev/null";
	char *argv[] = {shell, option, line, 0};
	long pid = must("clone", sys(__NR_clone, SIGCHLD));
	if (pid == 0) {
		sys(__NR_execve, shell, argv, envp);
		leave(127);
	}
	ended("/bin/sh", pid);
}

// operate does n operations.
static void operate(word n) {
	const int size = told.test->size;
	switch (told.test->kind) {
	case GETPPID:
		while (n--)
			if (__builtin_expect(sys(__NR_getppid) < 0, 0)) // 0 is a parent in another process id namespace
				fail("getppid", sys(__NR_getppid));
		break;
	case PIPE:
		while (n--) {
			expect("write", sys(__NR_write, to, block, size), size);
			expect("read", sys(__NR_read, from, block, size), size);
		}
		break;
	case CONTEXT:
		while (n--) {
			expect("write", sys(__NR_write, forth[1], block, size), size);
			expect("read", sys(__NR_read, back[0], block, size), size);
		}
		break;
	case OPEN:
		while (n--)
			expect("close", sys(__NR_close, must("open", sys(__NR_openat, AT_FDCWD, told.file, O_RDONLY | O_CLOEXEC, 0))), 0);
		break;
	case STAT: {
		word about[32]; // struct stat, of 144 bytes or fewer
		while (n--)
			expect("newfstatat", sys(__NR_newfstatat, AT_FDCWD, told.file, about, 0), 0);
		break;
	}
	case READ:
	case WRITE:
	case COPY:
		while (n--) {
			if (from >= 0)
				expect("read", sys(__NR_read, from, block, size), size);
			if (to >= 0)
				expect("write", sys(__NR_write, to, block, size), size);
			if (--left == 0)
				rewind();
		}
		break;
	case FORK:
		while (n--) {
			long pid = must("clone", sys(__NR_clone, SIGCHLD));
			if (pid == 0)
				leave(0);
			ended("the child", pid);
		}
		break;
	case EXECL: {
		long pid = must("clone", sys(__NR_clone, SIGCHLD));
		if (pid == 0)
			chain(n);
		ended("execveat", pid);
		break;
	}
	case SHELL:
		while (n--)
			script();
		break;
	case SOCKET:
		while (n--)
			expect("close", sys(__NR_close, must("socket", sys(__NR_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))), 0);
		break;
	case BIND:
		while (n--) {
			long fd = must("socket", sys(__NR_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
			expect("bind", sys(__NR_bind, fd, &address, sizeof address), 0);
			expect("close", sys(__NR_close, fd), 0);
		}
		break;
	case CONNECT:
		while (n--)
			expect("connect", sys(__NR_connect, from, &address, sizeof address), 0);
		break;
	case CONNECT_TCP:
		while (n--)
			expect("connect", sys(__NR_connect, from, &address, sizeof address), -ECONNREFUSED);
		break;
	case PTRACE:
		while (n--) {
			int status;
			expect("ptrace", sys(__NR_ptrace, PTRACE_ATTACH, partner, 0, 0), 0);
			expect("wait4", sys(__NR_wait4, partner, &status, __WALL, 0), partner);
			expect("ptrace", sys(__NR_ptrace, PTRACE_DETACH, partner, 0, 0), 0);
		}
		break;
	case MOUNT:
		while (n--) {
			expect("mount", sys(__NR_mount, told.directory, told.directory, 0, MS_BIND, 0), 0);
			expect("umount2", sys(__NR_umount2, told.directory, MNT_DETACH), 0);
		}
		break;
	case CAPABILITY:
		// Asks for CAP_SYS_RESOURCE, and then finds that the address is none: it has no effect
		// whatever the answer.
		while (n--) {
			long r = sys(__NR_prctl, PR_SET_MM, PR_SET_MM_BRK, -1L, 0, 0);
			if (__builtin_expect(r != -EPERM && r != -EINVAL, 0))
				fail("prctl", r);
		}
		break;
	}
}
