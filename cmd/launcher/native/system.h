// The way into the kernel: raw system calls, and the entry point. There is no C library.
// Nothing that runs while time is taken comes from anywhere else than these files.

#include <asm/errno.h>
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/in.h>
#include <linux/mman.h>
#include <linux/mount.h>
#include <linux/prctl.h>
#include <linux/ptrace.h>
#include <linux/resource.h>
#include <linux/sched.h>
#include <linux/signal.h>
#include <linux/socket.h>
#include <linux/time.h>
#include <linux/wait.h>

// What the kernel's own headers leave to those of a C library.
#define AF_INET 2
#define SOCK_STREAM 1
#define SOCK_DGRAM 2
#define SOCK_CLOEXEC O_CLOEXEC
#define MNT_DETACH 2

typedef unsigned long word;
typedef unsigned char byte;

#if defined(__x86_64__)
static inline __attribute__((always_inline)) long call(long number, long a, long b, long c, long d, long e, long f) {
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall"
	                 : "=a"(result)
	                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
	                 : "rcx", "r11", "memory");
	return result;
}
__asm__(".globl _start\n_start:\n"
        "xor %ebp, %ebp\n"
        "mov %rsp, %rdi\n"
        "and $-16, %rsp\n"
        "call begin\n"
        "hlt\n");
#elif defined(__aarch64__)
static inline __attribute__((always_inline)) long call(long number, long a, long b, long c, long d, long e, long f) {
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc #0"
	                 : "+r"(x0)
	                 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
	                 : "memory");
	return x0;
}
__asm__(".globl _start\n_start:\n"
        "mov x29, #0\n"
        "mov x30, #0\n"
        "mov x0, sp\n"
        "bl begin\n"
        "brk #0\n");
#else
#error "this is written for x86-64 and arm64"
#endif

#define SIX(n, a, b, c, d, e, f, ...) call(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define sys(...) SIX(__VA_ARGS__, 0, 0, 0, 0, 0, 0)

static __attribute__((noreturn)) void leave(int status) {
	for (;;)
		sys(__NR_exit_group, status);
}

// The compiler may ask for these two wherever it likes.
void *memcpy(void *to, const void *from, word n) {
	for (word i = 0; i < n; i++)
		((volatile byte *)to)[i] = ((const byte *)from)[i];
	return to;
}
void *memset(void *to, int value, word n) {
	for (word i = 0; i < n; i++)
		((volatile byte *)to)[i] = (byte)value;
	return to;
}

static int equal(const char *a, const char *b) {
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

// number reads digits; anything else ends it.
static word number(const char *text) {
	word n = 0;
	while (*text >= '0' && *text <= '9')
		n = n * 10 + (word)(*text++ - '0');
	return n;
}

// digits writes a number to the end of a buffer of 24 bytes, and gives its beginning.
static char *digits(char *buffer, word n) {
	char *at = buffer + 23;
	*at = 0;
	do
		*--at = (char)('0' + n % 10);
	while (n /= 10);
	return at;
}

// Output is gathered, and written at once.
static char out[1024];
static word filled;

static void text(const char *s) {
	while (*s && filled < sizeof out)
		out[filled++] = *s++;
}

static void figure(const char *name, word n) {
	char buffer[24];
	text(",\"");
	text(name);
	text("\":");
	text(digits(buffer, n));
}

static void flush(void) {
	sys(__NR_write, 1, out, filled);
	filled = 0;
}
