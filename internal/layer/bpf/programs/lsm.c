// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The hooks of a Linux security module, with rules of the kinds that vArmor has. They are called
// for every process of the machine, and look at rules for those in the arm's cgroup alone.
//
// Paths are compared byte by byte, up to the first that differs, as vArmor does. They are those
// that bpf_d_path gives, where vArmor walks directory entries by itself.

#include "rules.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

// What is used of the kernel's types. Where the fields are is found when the programs are loaded.
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct path {};
struct file {
	struct path f_path;
};
struct linux_binprm {
	struct file *file;
};
struct kernfs_node {
	__u64 id;
};
struct cgroup;
struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};
struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};
struct css_set {
	struct cgroup *dfl_cgrp;
};
struct task_struct {
	struct css_set *cgroups;
};
struct sockaddr {
	unsigned short sa_family;
};
struct cred {};
struct user_namespace {};
struct socket {};
#pragma clang attribute pop

#define EPERM 1
#define AF_INET 2
#define AF_INET6 10
#define TEXT 64     // bytes of a rule
#define LONGEST 256 // bytes of a path that is looked at
#define DEEPEST 16  // cgroups below each other that are looked at

enum hook { FILE_OPEN, EXEC, CONNECT, PTRACE, MOUNT, CAPABLE, HOOKS };
enum kind { FILES, PROGRAMS, SOURCES, KINDS }; // of rules that are texts
enum action { DENY_IT, AUDIT_IT, ALLOW_IT };

// Set before the programs are loaded.
const volatile __u32 action;
const volatile __u32 suffix;        // texts are ends of paths; else beginnings
const volatile __u64 capabilities;  // denied ones, as bits
const volatile __u64 group_id;      // the arm's cgroup

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} group SEC(".maps");

struct text {
	__u32 length;
	__u8 bytes[TEXT];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KINDS * MOST);
	__type(key, __u32);
	__type(value, struct text);
} texts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HOOKS);
	__type(key, __u32);
	__type(value, struct count);
} counts SEC(".maps");

struct buffer {
	__u8 bytes[LONGEST];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct buffer);
} buffers SEC(".maps");

// hit says whether the hook is hit by a process of the arm, and counts it.
static __always_inline struct count *hit(__u32 hook) {
	if (bpf_current_task_under_cgroup(&group, 0) != 1)
		return 0;
	struct count *c = bpf_map_lookup_elem(&counts, &hook);
	if (c)
		c->hits++;
	return c;
}

// matched is what a rule does to what it is for.
static __always_inline int matched(struct count *c) {
	c->matches++;
	return action == DENY_IT ? -EPERM : 0;
}

static __always_inline struct buffer *buffer(void) {
	__u32 zero = 0;
	return bpf_map_lookup_elem(&buffers, &zero);
}

struct walk {
	const struct buffer *of;
	__u32 length; // of the text there
	__u32 first;  // of the rules
	__u32 found;
};

// compare looks at one rule; 1 ends the walk.
static long compare(__u32 i, struct walk *w) {
	__u32 key = w->first + i;
	const struct text *r = bpf_map_lookup_elem(&texts, &key);
	if (!r)
		return 1;
	__u32 n = r->length;
	if (n > w->length)
		return 0;
	__u32 from = suffix ? w->length - n : 0;
	for (__u32 k = 0; k < TEXT; k++) {
		if (k >= n)
			break;
		if (w->of->bytes[(from + k) & (LONGEST - 1)] != r->bytes[k])
			return 0;
	}
	w->found = 1;
	return 1;
}

// walk looks for a rule of the kind that is for a text, of a length with its ending zero.
static __always_inline int walk(struct count *c, const struct buffer *of, long length, __u32 kind) {
	if (length < 2 || length > LONGEST)
		return 0;
	struct walk w = {.of = of, .length = (__u32)length - 1, .first = kind * MOST};
	bpf_loop(rules, compare, &w, 0);
	return w.found ? matched(c) : 0;
}

SEC("lsm/file_open")
int BPF_PROG(file_open, struct file *file, int ret) {
	struct count *c;
	struct buffer *b;
	if (ret || !(c = hit(FILE_OPEN)) || rules == 0 || !(b = buffer()))
		return ret;
	return walk(c, b, bpf_d_path(&file->f_path, (char *)b->bytes, LONGEST), FILES);
}

SEC("lsm/bprm_check_security")
int BPF_PROG(bprm_check_security, struct linux_binprm *bprm, int ret) {
	struct count *c;
	struct buffer *b;
	if (ret || !(c = hit(EXEC)) || rules == 0 || !(b = buffer()))
		return ret;
	return walk(c, b, bpf_d_path(&bprm->file->f_path, (char *)b->bytes, LONGEST), PROGRAMS);
}

SEC("lsm/sb_mount")
int BPF_PROG(sb_mount, const char *source, const struct path *path, const char *type, unsigned long flags, void *data, int ret) {
	struct count *c;
	struct buffer *b;
	if (ret || !(c = hit(MOUNT)) || rules == 0 || !(b = buffer()))
		return ret;
	return walk(c, b, bpf_probe_read_kernel_str(b->bytes, LONGEST, source), SOURCES);
}

SEC("lsm/socket_connect")
int BPF_PROG(socket_connect, struct socket *sock, struct sockaddr *address, int size, int ret) {
	struct count *c;
	// As struct sockaddr_in6 has it; of IPv4 the address stands where there the flow label is.
	struct {
		__u16 family, port;
		__u32 flow;
		__u32 address[4];
	} to = {};
	if (ret || !(c = hit(CONNECT)) || rules == 0)
		return ret;
	if (bpf_probe_read_kernel(&to, 8, address))
		return 0;
	if (to.family == AF_INET)
		return any4(to.flow, to.port) ? matched(c) : 0;
	if (to.family != AF_INET6 || size < (int)sizeof to || bpf_probe_read_kernel(&to, sizeof to, address))
		return 0;
	return any6(to.address[0], to.address[1], to.address[2], to.address[3], to.port) ? matched(c) : 0;
}

// outside says whether a process is outside of the arm.
static __always_inline int outside(struct task_struct *task) {
	struct cgroup *g = BPF_CORE_READ(task, cgroups, dfl_cgrp);
	for (int i = 0; i < DEEPEST && g; i++) {
		if (BPF_CORE_READ(g, kn, id) == group_id)
			return 0;
		struct cgroup_subsys_state *up = BPF_CORE_READ(g, self.parent);
		g = up ? BPF_CORE_READ(up, cgroup) : 0;
	}
	return 1;
}

// Whatever the number of rules: no process outside of the arm is read or traced by one inside.
SEC("lsm/ptrace_access_check")
int BPF_PROG(ptrace_access_check, struct task_struct *child, unsigned int mode, int ret) {
	struct count *c;
	if (ret || !(c = hit(PTRACE)) || rules == 0 || !outside(child))
		return ret;
	return matched(c);
}

// Whatever the number of rules: a set of bits.
SEC("lsm/capable")
int BPF_PROG(capable, const struct cred *cred, struct user_namespace *ns, int cap, unsigned int options, int ret) {
	struct count *c;
	if (ret || !(c = hit(CAPABLE)) || rules == 0 || cap < 0 || cap > 63 || !(capabilities >> cap & 1))
		return ret;
	return matched(c);
}
