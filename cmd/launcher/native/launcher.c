// The launcher stands in front of a program: it restricts itself as its arguments say, and becomes the
// program. It has no C library and no memory of its own to speak of, so that its weight is that of an exec.
//
//   launcher [OPTION VALUE]... -- PROGRAM [ARGUMENT]...
//
// Options are carried out in their order. Descriptors were opened by whoever starts the launcher.
//
//   -x FD         close the descriptor
//   -n 1          set no_new_privs
//   -s FD         install the filter of system calls that the descriptor holds (struct sock_filter, one after the other)
//   -l FD         restrict itself by the descriptor's Landlock ruleset
//   -c BITS       drop the capabilities, a decimal number by bits, and never get them again
//   -a PROFILE    have the program be in the profile of AppArmor
//   -u UID:GID    be root in a user namespace of its own, and that user outside
//   -m DIRECTORY  mount an empty file system in memory there, in a mount namespace of its own
//   -f FD         write what the descriptor holds to config.json in that file system
//
// It ends with 127 where there is no such program, and with 126 where anything else fails.

#include "system.h"

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#define AMBIENT_CLEAR_ALL 4
#define SYS_landlock_restrict_self 446

static byte data[BPF_MAXINSNS * sizeof(struct sock_filter)];

static void say(const char *what) {
	word n = 0;
	while (what[n])
		n++;
	sys(__NR_write, 2, what, n);
}

static __attribute__((noreturn)) void fail(const char *what, const char *value, long error) {
	char buffer[24];
	say("tare-launcher: ");
	say(what);
	say(" ");
	say(value);
	say(": errno ");
	say(digits(buffer, (word)-error));
	say("\n");
	leave(error == -ENOENT && equal(what, "start") ? 127 : 126);
}

// content reads all that a descriptor holds.
static word content(const char *fd) {
	word n = 0;
	for (;;) {
		long got = sys(__NR_pread64, number(fd), data + n, sizeof data - n, n);
		if (got < 0)
			fail("read descriptor", fd, got);
		if (got == 0)
			return n;
		n += (word)got;
	}
}

static long overwrite(const char *file, int flags, const void *text, word n) {
	long fd = sys(__NR_openat, AT_FDCWD, file, O_WRONLY | O_CLOEXEC | flags, 0600);
	if (fd < 0)
		return fd;
	long wrote = sys(__NR_write, fd, text, n);
	sys(__NR_close, fd);
	return wrote < 0 ? wrote : 0;
}

static word length(const char *text) {
	word n = 0;
	while (text[n])
		n++;
	return n;
}

static void filter(const char *fd) {
	struct sock_fprog program = {.len = (unsigned short)(content(fd) / sizeof(struct sock_filter)), .filter = (void *)data};
	sys(__NR_close, number(fd));
	long error = sys(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
	if (error == -EACCES) { // this user may install one only with no_new_privs
		sys(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1);
		error = sys(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
	}
	if (error < 0)
		fail("install the filter of descriptor", fd, error);
}

static void landlock(const char *fd) {
	long error = sys(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1);
	if (error == 0)
		error = sys(SYS_landlock_restrict_self, number(fd), 0);
	if (error < 0)
		fail("restrict itself by the ruleset of descriptor", fd, error);
	sys(__NR_close, number(fd));
}

static void drop(const char *bits) {
	word set = number(bits);
	for (int i = 0; i < 64; i++) {
		if (!(set >> i & 1))
			continue;
		long error = sys(__NR_prctl, PR_CAPBSET_DROP, i);
		// EINVAL: the kernel does not know it. Who is not root and has none needs no bound.
		if (error < 0 && error != -EINVAL && !(error == -EPERM && sys(__NR_geteuid) != 0))
			fail("drop from the bounding set the capabilities", bits, error);
	}
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct has[2];
	long error = sys(__NR_prctl, PR_CAP_AMBIENT, AMBIENT_CLEAR_ALL);
	if (error == 0)
		error = sys(__NR_capget, &header, has);
	for (int i = 0; i < 2; i++) {
		unsigned rest = ~(unsigned)(set >> (32 * i));
		has[i].effective &= rest;
		has[i].permitted &= rest;
		has[i].inheritable &= rest;
	}
	if (error == 0)
		error = sys(__NR_capset, &header, has);
	if (error < 0)
		fail("drop the capabilities", bits, error);
}

static void confine(const char *profile) {
	word n = 5 + length(profile);
	if (n > sizeof data)
		fail("ask for the profile", profile, -ENAMETOOLONG);
	memcpy(data, "exec ", 5);
	memcpy(data + 5, profile, n - 5);
	long error = overwrite("/proc/thread-self/attr/apparmor/exec", 0, data, n);
	if (error == -ENOENT) // before Linux 5.8
		error = overwrite("/proc/thread-self/attr/exec", 0, data, n);
	if (error < 0)
		fail("ask for the profile", profile, error);
}

// map maps root inside to one user or group outside.
static long map(const char *file, const char *id) {
	byte line[40] = "0 ";
	word n = 2;
	while (*id >= '0' && *id <= '9' && n < 30)
		line[n++] = (byte)*id++;
	memcpy(line + n, " 1\n", 3);
	return overwrite(file, 0, line, n + 3);
}

static void user(const char *ids) {
	const char *group = ids;
	while (*group && *group++ != ':')
		;
	long error = sys(__NR_unshare, CLONE_NEWUSER);
	if (error == 0)
		error = overwrite("/proc/self/setgroups", 0, "deny", 4);
	if (error == 0)
		error = map("/proc/self/uid_map", ids);
	if (error == 0)
		error = map("/proc/self/gid_map", group);
	if (error < 0)
		fail("be root in a user namespace, and outside", ids, error);
}

static void memory(const char *directory) {
	long error = sys(__NR_unshare, CLONE_NEWNS);
	if (error == 0)
		error = sys(__NR_mount, "", "/", "", 0x44000, ""); // MS_PRIVATE | MS_REC
	if (error == 0)
		error = sys(__NR_mount, "tare", directory, "tmpfs", 0, "mode=0700");
	if (error < 0)
		fail("have a file system in memory on", directory, error);
}

// config copies what a descriptor holds.
static void config(const char *fd, const char *directory) {
	byte name[4096];
	word n = length(directory);
	long error = -ENAMETOOLONG, to = -1;
	if (n + 13 <= sizeof name) {
		memcpy(name, directory, n);
		memcpy(name + n, "/config.json", 13);
		error = to = sys(__NR_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	}
	for (word at = 0; error >= 0;) {
		long got = error = sys(__NR_pread64, number(fd), data, sizeof data, at);
		if (got <= 0)
			break;
		at += (word)got;
		for (long sent = 0; error >= 0 && sent < got; sent += error)
			error = sys(__NR_write, to, data + sent, got - sent);
	}
	if (error < 0)
		fail("write config.json from descriptor", fd, error);
	sys(__NR_close, to);
	sys(__NR_close, number(fd));
}

// start becomes the program, which is looked for in PATH as a shell does.
static __attribute__((noreturn)) void start(char **args, char **environment) {
	const char *path = "/usr/local/bin:/usr/bin:/bin";
	int whole = 0;
	for (const char *c = args[0]; *c; c++)
		whole |= *c == '/';
	if (whole)
		fail("start", args[0], sys(__NR_execve, args[0], args, environment));
	for (char **v = environment; *v; v++) {
		static const char named[] = "PATH=";
		word n = 0;
		while (n < 5 && (*v)[n] == named[n])
			n++;
		if (n == 5)
			path = *v + 5;
	}
	long error = -ENOENT;
	for (word name = length(args[0]);; path++) {
		char file[4096];
		word n = 0;
		while (*path && *path != ':' && n + name + 2 < sizeof file)
			file[n++] = *path++;
		if (n == 0)
			file[n++] = '.';
		file[n++] = '/';
		if (n + name < sizeof file) {
			memcpy(file + n, args[0], name + 1);
			long failed = sys(__NR_execve, file, args, environment);
			if (failed != -ENOENT && failed != -ENOTDIR)
				error = failed;
		}
		while (*path && *path != ':')
			path++;
		if (!*path)
			fail("start", args[0], error);
	}
}

__attribute__((noreturn, used)) void begin(word *stack) {
	char **args = (char **)(stack + 1), **environment = args + stack[0] + 1;
	const char *directory = "";
	for (args++; args[0] && !equal(args[0], "--"); args += 2) {
		char *value = args[1];
		if (args[0][0] != '-' || !value)
			fail("take the argument", args[0], -EINVAL);
		switch (args[0][1]) {
		case 'x': sys(__NR_close, number(value)); break;
		case 'n': sys(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1); break;
		case 's': filter(value); break;
		case 'l': landlock(value); break;
		case 'c': drop(value); break;
		case 'a': confine(value); break;
		case 'u': user(value); break;
		case 'm': memory(directory = value); break;
		case 'f': config(value, directory); break;
		default: fail("take the option", args[0], -EINVAL);
		}
	}
	if (!args[0] || !args[1])
		fail("start", "a program: none is given", -EINVAL);
	start(args + 1, environment);
}
