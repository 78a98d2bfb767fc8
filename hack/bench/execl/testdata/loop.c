// loop executes itself N times: loop N. Before each execution it spins SPIN times, an environment variable of
// fixed length. It has the shape of UnixBench's execl, whose source is under the GPL.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
	const char *spin = getenv("SPIN");
	char left[24];
	long n = argc > 1 ? atol(argv[1]) : 0;
	for (long i = spin ? atol(spin) : 0; i > 0; i--)
		__asm__ volatile("" ::: "memory");
	if (n == 0)
		return 0;
	snprintf(left, sizeof left, "%ld", n - 1);
	execl(argv[0], argv[0], left, (char *)0);
	perror(argv[0]);
	return 1;
}
