package pod

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/testbed/kube/pods"
)

const (
	restricted = "restricted"
	baseline   = "baseline"
	privileged = "privileged"
)

var levels = []string{restricted, baseline, privileged} // the levels of the Pod Security Standards, the strictest first

const enforce = "pod-security.kubernetes.io/enforce" // the label that gives a namespace its level

const container = pods.Container

// addable are the capabilities that a pod may add at the level baseline.
var addable = []corev1.Capability{"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
	"NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"}

// tunable are the sysctls that a pod may set at the level baseline.
var tunable = []string{"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
	"net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start", "net.ipv4.ip_local_reserved_ports",
	"net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
	"net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}

// security returns the Pod Security levels that the layer needs, with the reasons. It considers every level of the
// layer's factors.
func (c *Config) security() []experiment.PodSecurity {
	var needs []experiment.PodSecurity
	for _, v := range c.variants() {
		pod := pristine()
		if v.shape(pod) != nil {
			continue
		}
		for _, n := range judge(pod) {
			n.Why += " (layer " + name + ")"
			if !slices.Contains(needs, n) {
				needs = append(needs, n)
			}
		}
	}
	return needs
}

// variants returns a copy of the layer for each combination of levels of runtimeClass, seccomp and appArmor, the
// factors that matter to Pod Security.
func (c *Config) variants() []Config {
	levels := func(l factor.Levels[string]) []factor.Levels[string] {
		if len(l) == 0 {
			return []factor.Levels[string]{nil}
		}
		return slices.Collect(slices.Chunk(l, 1))
	}
	var out []Config
	for _, class := range levels(c.RuntimeClass) {
		for _, seccomp := range levels(c.Seccomp) {
			for _, appArmor := range levels(c.AppArmor) {
				v := *c
				v.RuntimeClass, v.Seccomp, v.AppArmor = class, seccomp, appArmor
				out = append(out, v)
			}
		}
	}
	return out
}

// least returns the strictest level of Pod Security that meets all of the given needs.
func least(needs []experiment.PodSecurity) string {
	level := restricted
	for _, n := range needs {
		if n.Level == privileged {
			return privileged
		}
		level = baseline
	}
	return level
}

// judge lists the reasons why a pod does not meet the level restricted of the Pod Security Standards of Kubernetes
// 1.34.
func judge(pod *corev1.Pod) []experiment.PodSecurity {
	j := &judgement{}
	j.pod(&pod.Spec)
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			j.container(&pod.Spec, &containers[i])
		}
	}
	for _, v := range pod.Spec.Volumes {
		j.volume(v)
	}
	return j.found
}

type judgement struct{ found []experiment.PodSecurity }

func (j *judgement) when(broken bool, level, why string, args ...any) {
	n := experiment.PodSecurity{Level: level, Why: fmt.Sprintf(why, args...)}
	if broken && !slices.Contains(j.found, n) {
		j.found = append(j.found, n)
	}
}

func (j *judgement) pod(spec *corev1.PodSpec) {
	j.when(spec.HostNetwork, privileged, "hostNetwork")
	j.when(spec.HostPID, privileged, "hostPID")
	j.when(spec.HostIPC, privileged, "hostIPC")
	s := spec.SecurityContext
	if s == nil {
		return
	}
	for _, sysctl := range s.Sysctls {
		j.when(!slices.Contains(tunable, sysctl.Name), privileged, "sysctl %s", sysctl.Name)
	}
	j.profiles(s.SeccompProfile, s.AppArmorProfile, s.SELinuxOptions)
	j.when(s.RunAsUser != nil && *s.RunAsUser == 0, baseline, "programs of root")
}

func (j *judgement) profiles(seccomp *corev1.SeccompProfile, appArmor *corev1.AppArmorProfile, se *corev1.SELinuxOptions) {
	j.when(seccomp != nil && seccomp.Type == corev1.SeccompProfileTypeUnconfined, privileged, "seccomp profile Unconfined")
	j.when(appArmor != nil && appArmor.Type == corev1.AppArmorProfileTypeUnconfined, privileged, "AppArmor profile Unconfined")
	types := []string{"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}
	j.when(se != nil && (se.User != "" || se.Role != "" || !slices.Contains(types, se.Type)), privileged, "SELinux options")
}

func (j *judgement) container(spec *corev1.PodSpec, c *corev1.Container) {
	for _, p := range c.Ports {
		j.when(p.HostPort != 0, privileged, "host port %d", p.HostPort)
	}
	s, p := cmp.Or(c.SecurityContext, &corev1.SecurityContext{}), cmp.Or(spec.SecurityContext, &corev1.PodSecurityContext{})
	j.when(s.Privileged != nil && *s.Privileged, privileged, "privileged containers")
	if m := s.ProcMount; m != nil {
		j.when(*m != corev1.DefaultProcMount, privileged, "procMount %s", *m)
	}
	j.profiles(s.SeccompProfile, s.AppArmorProfile, s.SELinuxOptions)
	j.when(s.RunAsUser != nil && *s.RunAsUser == 0, baseline, "programs of root")
	nonRoot := p.RunAsNonRoot
	if s.RunAsNonRoot != nil {
		nonRoot = s.RunAsNonRoot
	}
	root := s.RunAsUser != nil && *s.RunAsUser == 0 || s.RunAsUser == nil && p.RunAsUser != nil && *p.RunAsUser == 0
	j.when(!root && (nonRoot == nil || !*nonRoot), baseline, "programs that may be of root")
	j.when(s.SeccompProfile == nil && p.SeccompProfile == nil, baseline, "no seccomp profile")
	j.when(s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation, baseline, "programs that may gain privileges")
	j.capabilities(s.Capabilities)
}

func (j *judgement) capabilities(c *corev1.Capabilities) {
	c = cmp.Or(c, &corev1.Capabilities{})
	j.when(!slices.Contains(c.Drop, all), baseline, "capabilities of the container runtime")
	for _, add := range c.Add {
		switch {
		case !slices.Contains(addable, add):
			j.when(true, privileged, "capability %s", add)
		case add != "NET_BIND_SERVICE":
			j.when(true, baseline, "capability %s", add)
		}
	}
}

func (j *judgement) volume(v corev1.Volume) {
	j.when(v.HostPath != nil, privileged, "volume %s of the type hostPath", v.Name)
	tame := v.ConfigMap != nil || v.CSI != nil || v.DownwardAPI != nil || v.EmptyDir != nil || v.Ephemeral != nil ||
		v.PersistentVolumeClaim != nil || v.Projected != nil || v.Secret != nil || v.Image != nil
	j.when(v.HostPath == nil && !tame, baseline, "volume %s of a type that the level restricted does not list", v.Name)
}
