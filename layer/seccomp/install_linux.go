package seccomp

import (
	"errors"
	"fmt"

	bpf "github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"

	"tare/layer/front"
)

// install installs the filter for this thread.
func install(p parameters) error {
	if p.Rules == 0 {
		return nil
	}
	filter := bpf.Filter{Policy: policy(p)}
	err := bpf.LoadFilter(filter)
	if errors.Is(err, unix.EACCES) { // without CAP_SYS_ADMIN
		filter.NoNewPrivs = true
		err = bpf.LoadFilter(filter)
	}
	return err
}

// policy has so many rules. The library goes on to the next rule when an argument does not fit, with that
// argument in place of the number of the call. As all rules ask for the same argument, none
// can fit by mistake.
func policy(p parameters) bpf.Policy {
	group := bpf.SyscallGroup{Action: bpf.ActionErrno}
	names := calls(p.Arguments)
	if p.Rules > len(names) {
		panic(fmt.Sprintf("there are %d rules", len(names))) // the file allows no more
	}
	for _, call := range names[:p.Rules] {
		if p.Arguments {
			group.NamesWithCondtions = append(group.NamesWithCondtions, bpf.NameWithConditions{Name: call,
				Conditions: bpf.ArgumentConditions{{Argument: 0, Operation: bpf.Equal, Value: front.Magic}}})
		} else {
			group.Names = append(group.Names, call)
		}
	}
	return bpf.Policy{DefaultAction: bpf.ActionAllow, Syscalls: []bpf.SyscallGroup{group}}
}
