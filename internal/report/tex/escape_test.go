package tex

import "testing"

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"tcp_rtt 5 % & $x{y}~^#": `tcp\_rtt 5 \% \& \$x\{y\}\textasciitilde{}\textasciicircum{}\#`,
		`\input{/etc/passwd}`:    `\textbackslash{}input\{/etc/passwd\}`,
		"−0.4 % [−1.2, ±0.3]":    `$-$0.4 \% {[}$-$1.2, $\pm$0.3{]}`,
		"a--b---c pod-to-pod":    `a-{}-{}b-{}-{}-c pod-to-pod`,
		"one\ntwo":               "one two",
	} {
		if got := escape(in); got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
	}
}
