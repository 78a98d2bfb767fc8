// The probe is the program that the workload syscalls measures. It performs small operations of the kernel by raw
// system calls, and takes the times itself. It has no library, no relocations, and no threads. It is loaded at a
// random address.
//
//   probe run     TEST MILLISECONDS PROCESSES CPU SELF FILE DIRECTORY PATH
//   probe one     TEST MILLISECONDS 1         CPU SELF FILE DIRECTORY PATH
//   probe exactly TEST OPERATIONS   1         CPU SELF FILE DIRECTORY PATH
//
// run starts PROCESSES processes one after the other. Each executes this program again from the descriptor SELF, so
// that each has its own memory layout. one is such a process: it finds the number of operations that take about a
// millisecond of CPU time, measures batches of this size until the time is up, and writes one line of JSON. exactly
// does OPERATIONS operations without times. The processes are pinned to CPUs: the first to the CPU with index CPU
// among the allowed ones, each further process to the next.

#include "system.h"
#include "tests.h"

#define BATCH 1000000      // shortest CPU time of a batch, in ns
#define LONG_BATCH 8000000 // wall clock in ns after which a batch is not made larger
#define BATCHES 4096
#define FEWEST 3

static word cpu[BATCHES], wall[BATCHES];

static word at(int clock) {
	struct __kernel_timespec now = {0, 0};
	long r = sys(__NR_clock_gettime, clock, &now);
	if (r < 0)
		fail("clock_gettime", r);
	return (word)now.tv_sec * 1000000000 + (word)now.tv_nsec;
}

// used returns the CPU time, in ns, of this process, of its partner, and of the children that it has waited for.
static word used(void) {
	word sum = at(CLOCK_PROCESS_CPUTIME_ID);
	if (partner)
		sum += at((int)(~(unsigned)partner << 3 | 2)); // CPU clock of another process: clock_getcpuclockid(3)
	if (waits) {
		struct rusage u;
		must("getrusage", sys(__NR_getrusage, RUSAGE_CHILDREN, &u));
		sum += (word)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 + (word)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
	}
	return sum;
}

// batch times one batch of n operations by both clocks. The times include reading the clocks; with n = 0 they are
// only that.
static struct took { word cpu, wall; } batch(word n) {
	struct took t;
	t.cpu = used(), t.wall = at(CLOCK_MONOTONIC);
	if (n)
		operate(n);
	t.wall = at(CLOCK_MONOTONIC) - t.wall, t.cpu = used() - t.cpu;
	return t;
}

static struct took reading(void) {
	struct took least = batch(0);
	for (int i = 0; i < 100; i++) {
		struct took t = batch(0);
		least.cpu = t.cpu < least.cpu ? t.cpu : least.cpu;
		least.wall = t.wall < least.wall ? t.wall : least.wall;
	}
	return least;
}

// step returns the step of the CPU clock, in ns. The clock of some sandboxes advances in ticks.
static word step(void) {
	word first = at(CLOCK_PROCESS_CPUTIME_ID), begun = at(CLOCK_MONOTONIC), now;
	while ((now = at(CLOCK_PROCESS_CPUTIME_ID)) == first)
		if (at(CLOCK_MONOTONIC) - begun > 50000000)
			return 50000000;
	return now - first;
}

// pin pins the process to the CPU with index n among the allowed ones, and returns the CPU's number; -1 if pinning is
// not allowed.
static long pin(word n) {
	static byte mask[1024];
	long size = sys(__NR_sched_getaffinity, 0, sizeof mask, mask);
	word count = 0;
	for (long i = 0; i < size * 8; i++)
		count += mask[i / 8] >> i % 8 & 1;
	if (size <= 0 || count == 0)
		return -1;
	n %= count;
	for (long i = 0; i < size * 8; i++)
		if (mask[i / 8] >> i % 8 & 1 && n-- == 0) {
			memset(mask, 0, sizeof mask);
			mask[i / 8] = (byte)(1 << i % 8);
			return sys(__NR_sched_setaffinity, 0, size, mask) < 0 ? -1 : i;
		}
	return -1;
}

static void sort(word *list, word n) {
	for (word gap = n / 2; gap; gap = gap / 2) // Shell 1959
		for (word i = gap; i < n; i++) {
			word value = list[i], k = i;
			for (; k >= gap && list[k - gap] > value; k -= gap)
				list[k] = list[k - gap];
			list[k] = value;
		}
}

static void figures(const char *name, const char *total, word *list, word n) {
	word sum = 0;
	for (word i = 0; i < n; i++)
		sum += list[i];
	sort(list, n);
	figure(name, (list[(n - 1) / 2] + list[n / 2]) / 2);
	figure(total, sum);
}

static void one(word milliseconds, word number) {
	memset(cpu, 1, sizeof cpu); // the pages are allocated before times are taken
	memset(wall, 1, sizeof wall);
	long on = pin(number);
	word ticks = step();
	prepare();
	struct took empty = reading();
	word begun = at(CLOCK_MONOTONIC), end = begun + milliseconds * 1000000;
	word n = (word)request.test->least, batches = 0;
	for (;; n *= 2) {
		struct took t = batch(n);
		if (t.cpu >= BATCH || t.wall >= LONG_BATCH || at(CLOCK_MONOTONIC) - begun > milliseconds * 250000)
			break;
	}
	while (batches < BATCHES && (batches < FEWEST || at(CLOCK_MONOTONIC) < end)) {
		struct took t = batch(n);
		cpu[batches] = t.cpu > empty.cpu ? t.cpu - empty.cpu : 0;
		wall[batches++] = t.wall > empty.wall ? t.wall - empty.wall : 0;
	}
	text("{\"test\":\"");
	text(request.test->name);
	text("\"");
	figure("operations", n);
	figure("batches", batches);
	figures("cpu", "cpuTotal", cpu, batches);
	figures("wall", "wallTotal", wall, batches);
	figure("step", ticks);
	if (on >= 0)
		figure("on", (word)on);
	text("}\n");
	flush();
}

// run starts the processes. It stops after the first process that fails.
static int run(char **argv, word processes, word first) {
	static char mode[] = "one", number[24];
	char *envp[] = {0};
	argv[1] = mode;
	for (word i = 0; i < processes; i++) {
		argv[5] = digits(number, first + i);
		long pid = born();
		if (pid == 0) {
			sys(__NR_execveat, request.self, "", argv, envp, AT_EMPTY_PATH);
			leave(127);
		}
		int status = 0;
		long r;
		while ((r = sys(__NR_wait4, pid, &status, 0, 0)) == -EINTR)
			;
		expect("wait4", r, pid);
		if (status & 0x7f) { // the process was ended by a signal and wrote nothing
			text("{\"test\":\"");
			text(request.test->name);
			text("\",\"failed\":\"the process\"");
			figure("signal", (word)(status & 0x7f));
			text("}\n");
			flush();
		}
		if (status)
			return 1;
	}
	return 0;
}

static __attribute__((used, noreturn)) void begin(word *stack) {
	char **argv = (char **)(stack + 1);
	word argc = stack[0];
	if (argc == 4 && equal(argv[1], "chain")) {
		request.self = (int)number(argv[3]);
		chain(number(argv[2]));
	}
	if (argc != 10)
		leave(2);
	for (word i = 0; i < sizeof tests / sizeof tests[0]; i++)
		if (equal(argv[2], tests[i].name))
			request.test = &tests[i];
	if (!request.test)
		fail("no such test", 0);
	request.self = (int)number(argv[6]);
	request.file = argv[7], request.directory = argv[8], request.path = argv[9];
	if (equal(argv[1], "run"))
		leave(run(argv, number(argv[4]), number(argv[5])));
	if (equal(argv[1], "exactly")) {
		prepare();
		operate(number(argv[3]));
	} else if (equal(argv[1], "one")) {
		one(number(argv[3]), number(argv[5]));
	} else {
		leave(2);
	}
	if (partner) { // the partner must not be left as a child for other processes
		sys(__NR_kill, partner, SIGKILL);
		sys(__NR_wait4, partner, 0, __WALL, 0);
	}
	leave(0);
}
