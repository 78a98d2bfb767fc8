// The tests: the preparation of each, and its operation. If a call fails, the process ends, and writes the call and
// its error.

enum kind { GETPPID, PIPE, CONTEXT, OPEN, STAT, READ, WRITE, COPY, FORK, EXECL, SHELL, SOCKET, BIND, CONNECT, CONNECT_TCP, PTRACE, MOUNT, CAPABILITY };

// Tables contain no pointers: the program is loaded at a random address, and has no relocations.
static const struct test {
	char name[20];
	enum kind kind;
	int size;  // size of the data of one call in bytes, if tests differ in it
	int least; // number of operations in the smallest batch
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
	{"execl", EXECL, 0, 32}, // 32 make the fork of a batch small compared with the operations
	{"shell", SHELL, 0, 1},
	{"socket", SOCKET, 0, 1},
	{"bind", BIND, 0, 1},
	{"connect", CONNECT, 0, 1},
	{"connect-tcp", CONNECT_TCP, 0, 1},
	{"ptrace", PTRACE, 0, 1},
	{"mount", MOUNT, 0, 1},
	{"capability", CAPABILITY, 0, 1},
};

// The arguments of the process.
static struct {
	const struct test *test;
	int self;              // descriptor of this program's file
	const char *file;      // file for open and stat
	const char *directory; // directory for the files of read, write and copy, and for mount
	const char *path;      // "PATH=…", for the shell
} request;

#define FILE_SIZE (512 << 10) // size of the files of read, write and copy: a multiple of all block sizes

static byte block[4096];
static int from = -1, to = -1; // descriptors of files, or of the ends of a pipe
static int back[2], forth[2];  // pipes to and from a partner
static word left;              // number of blocks until the files are read or written from the beginning again
static int partner;            // process that takes part in the operations; 0: none
static int waits;              // set if an operation makes processes and waits for them
static struct sockaddr_in address;

static __attribute__((noreturn)) void fail(const char *what, long result) {
	filled = 0;
	text("{\"test\":\"");
	text(request.test ? request.test->name : "");
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

// must checks the calls of preparations, and expect those of operations: the result must be no error, or this number.
static long must(const char *what, long result) {
	if (result < 0)
		fail(what, result);
	return result;
}
static inline __attribute__((always_inline)) void expect(const char *what, long result, long wanted) {
	if (__builtin_expect(result != wanted, 0))
		fail(what, result);
}

// born makes a child process that is killed when this process ends.
static int born(void) {
	long pid = must("clone", sys(__NR_clone, SIGCHLD));
	if (pid == 0)
		sys(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL);
	return (int)pid;
}

// ended waits for a child, and fails unless its exit status is 0.
static inline __attribute__((always_inline)) void ended(const char *what, long pid) {
	int status = 0;
	expect("wait4", sys(__NR_wait4, pid, &status, __WALL, 0), pid);
	expect(what, status, 0);
}

// temporary opens an unnamed file of FILE_SIZE bytes in the directory.
static int temporary(void) {
	long fd = sys(__NR_openat, AT_FDCWD, request.directory, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (fd < 0) { // some file systems cannot make unnamed files
		static char name[4200];
		char buffer[24];
		word n = 0;
		for (const char *p = request.directory; *p && n < 4096; p++)
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
	left = FILE_SIZE / (word)request.test->size;
}

static void prepare(void) {
	int type = SOCK_STREAM | SOCK_CLOEXEC;
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = __builtin_bswap32(INADDR_LOOPBACK);
	switch (request.test->kind) {
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
		if (partner == 0) { // the partner ends when the other end of the pipe is closed
			sys(__NR_close, forth[1]);
			sys(__NR_close, back[0]);
			while (sys(__NR_read, forth[0], block, request.test->size) == request.test->size)
				expect("write", sys(__NR_write, back[1], block, request.test->size), request.test->size);
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
		address.sin_port = __builtin_bswap16(9); // port discard; no packet is sent
		from = (int)must("socket", sys(__NR_socket, AF_INET, type, 0));
		break;
	case CONNECT_TCP: { // a port that is bound, without a listener
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
		if (r < 0) // without the right to mount, use a new user namespace
			must("unshare", sys(__NR_unshare, CLONE_NEWUSER | CLONE_NEWNS));
		must("mount", sys(__NR_mount, 0, "/", 0, MS_REC | MS_PRIVATE, 0));
		break;
	}
	default:
		break;
	}
}

// chain is the program that execl executes: it executes itself this many times, and ends.
static void chain(word n) {
	if (n == 0)
		leave(0);
	char count[24], self[24];
	char mode[] = "chain", name[] = "probe";
	char *argv[] = {name, mode, digits(count, n - 1), digits(self, (word)request.self), 0}, *envp[] = {0};
	sys(__NR_execveat, request.self, "", argv, envp, AT_EMPTY_PATH);
	leave(1);
}

static void script(void) {
	// The commands of UnixBench's tst.sh without its files: five programs, one after the other.
	char shell[] = "/bin/sh", option[] = "-c", *envp[] = {(char *)request.path, 0};
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
	const int size = request.test->size;
	switch (request.test->kind) {
	case GETPPID:
		while (n--)
			if (__builtin_expect(sys(__NR_getppid) < 0, 0)) // 0 is a parent in another PID namespace
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
			expect("close", sys(__NR_close, must("open", sys(__NR_openat, AT_FDCWD, request.file, O_RDONLY | O_CLOEXEC, 0))), 0);
		break;
	case STAT: {
		word about[32]; // a struct stat, which has at most 144 bytes
		while (n--)
			expect("newfstatat", sys(__NR_newfstatat, AT_FDCWD, request.file, about, 0), 0);
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
			expect("mount", sys(__NR_mount, request.directory, request.directory, 0, MS_BIND, 0), 0);
			expect("umount2", sys(__NR_umount2, request.directory, MNT_DETACH), 0);
		}
		break;
	case CAPABILITY:
		// Asks for CAP_SYS_RESOURCE, and then fails because the address is invalid. The call has no effect, whether
		// or not the capability is there.
		while (n--) {
			long r = sys(__NR_prctl, PR_SET_MM, PR_SET_MM_BRK, -1L, 0, 0);
			if (__builtin_expect(r != -EPERM && r != -EINVAL, 0))
				fail("prctl", r);
		}
		break;
	}
}
