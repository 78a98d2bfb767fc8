// SPDX-License-Identifier: MIT OR GPL-2.0-only
// What the programs share: how often a hook was hit, and rules on addresses.

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#define MOST 64 // rules of a kind

char terms[] SEC("license") = "Dual MIT/GPL";

// Set before the programs are loaded.
const volatile __u32 rules; // of each kind

// What a hook did in the arm. Each CPU counts for itself.
struct count {
	__u64 hits;
	__u64 matches;
};

// An address with a prefix, and a port; both as they are in a packet. Addresses of IPv4 are the
// first four bytes.
struct place {
	__u32 address[4];
	__u32 mask[4];
	__u32 port;
};

struct places {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST);
	__type(key, __u32);
	__type(value, struct place);
};

struct places rules4 SEC(".maps");
struct places rules6 SEC(".maps");

// any4 says whether a rule is for that address and port.
static __always_inline int any4(__u32 address, __u32 port) {
	for (__u32 i = 0; i < MOST; i++) {
		__u32 key = i;
		if (i >= rules)
			break;
		struct place *r = bpf_map_lookup_elem(&rules4, &key);
		if (!r)
			break;
		if ((address & r->mask[0]) == r->address[0] && port == r->port)
			return 1;
	}
	return 0;
}

static __always_inline int any6(__u32 a, __u32 b, __u32 c, __u32 d, __u32 port) {
	for (__u32 i = 0; i < MOST; i++) {
		__u32 key = i;
		if (i >= rules)
			break;
		struct place *r = bpf_map_lookup_elem(&rules6, &key);
		if (!r)
			break;
		if ((a & r->mask[0]) == r->address[0] && (b & r->mask[1]) == r->address[1] && (c & r->mask[2]) == r->address[2] &&
		    (d & r->mask[3]) == r->address[3] && port == r->port)
			return 1;
	}
	return 0;
}
