// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The filter of connections of a cgroup: it walks the rules, and denies with EPERM what one of
// them is for.

#include "rules.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct count);
} counts SEC(".maps");

enum { DENY, ALLOW }; // what the kernel takes

static __always_inline struct count *hit(void) {
	__u32 zero = 0;
	struct count *c = bpf_map_lookup_elem(&counts, &zero);
	if (c)
		c->hits++;
	return c;
}

static __always_inline int matched(struct count *c) {
	if (c)
		c->matches++;
	return DENY;
}

SEC("cgroup/connect4")
int connect4(struct bpf_sock_addr *to) {
	struct count *c = hit();
	return any4(to->user_ip4, to->user_port) ? matched(c) : ALLOW;
}

SEC("cgroup/connect6")
int connect6(struct bpf_sock_addr *to) {
	struct count *c = hit();
	return any6(to->user_ip6[0], to->user_ip6[1], to->user_ip6[2], to->user_ip6[3], to->user_port) ? matched(c) : ALLOW;
}
