package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestDependencies(t *testing.T) {
	for info, want := range map[string]string{
		"license=GPL\x00depends=dm-mod,xts\x00name=dm_crypt\x00": "dm-mod xts",
		"license=GPL\x00depends=\x00name=dm_mod\x00":             "",
		"alias=depends=x\x00":                                    "",
		"":                                                       "",
	} {
		if got := strings.Join(dependencies([]byte(info)), " "); got != want {
			t.Errorf("%q: %q, want %q", info, got, want)
		}
	}
}

func TestOrder(t *testing.T) {
	needs := map[string][]string{"dm_crypt": {"dm-mod", "encrypted_keys"}, "encrypted_keys": {"trusted"}, "a": {"b"}, "b": {"a"}}
	k := kernel{image: "/boot/vmlinuz-6", builtin: map[string]bool{"ext4": true}, modules: map[string]string{}}
	for _, name := range []string{"dm_mod", "dm_crypt", "encrypted_keys", "trusted", "a", "b"} {
		k.modules[name] = name
	}
	order := func(names ...string) string {
		list, err := k.order(names, func(file string) ([]string, error) { return needs[file], nil })
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(list)
	}
	for want, names := range map[string][]string{
		"[dm_mod trusted encrypted_keys dm_crypt]": {"ext4", "dm-crypt", "dm_mod"},
		"vmlinuz-6 has no module zfs":              {"zfs"},
		"the modules a, b, a need each other":      {"a"},
		"[]":                                       nil,
	} {
		if got := order(names...); got != want {
			t.Errorf("%v: %s, want %s", names, got, want)
		}
	}
}

// TestNewest reads what apt prints.
func TestNewest(t *testing.T) {
	if got := depends.FindStringSubmatch("linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-56-cloud-amd64\n"); got == nil || got[1] != "linux-image-6.1.0-56-cloud-amd64" {
		t.Errorf("%q", got)
	}
	if got := uri.FindStringSubmatch("'http://deb.debian.org/debian/pool/l/linux_6.deb' linux-image-6.1.0-56-cloud-amd64_6.1.192-2_amd64.deb 31 SHA256:0\n"); got == nil || got[1] != "linux-image-6.1.0-56-cloud-amd64_6.1.192-2_amd64.deb" {
		t.Errorf("%q", got)
	}
}

func TestChoose(t *testing.T) {
	if all, err := choose(nil); err != nil || len(all) != len(suites) {
		t.Errorf("%v, %v", all, err)
	}
	if one, err := choose([]string{"./internal/layer/luks/"}); err != nil || len(one) != 1 || one[0].Package != "internal/layer/luks" {
		t.Errorf("%v, %v", one, err)
	}
	if _, err := choose([]string{"stats"}); err == nil || !strings.HasPrefix(err.Error(), "stats is none of the packages for the guest: cli, layer/") {
		t.Error(err)
	}
	if !slices.IsSortedFunc(suites, func(a, b suite) int { return strings.Compare(a.Package, b.Package) }) {
		t.Error("the packages are not in their order")
	}
}
