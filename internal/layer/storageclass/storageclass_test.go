package storageclass

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/testbed/kube"
)

func claimed(class string) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{}
	if class != "" {
		c.Spec.StorageClassName = &class
	}
	return c
}

func made(class, driver string, attributes map[string]string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{}
	v.Spec.StorageClassName = class
	v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeAttributes: attributes}
	return v
}

var encrypted = &config{
	Name: factor.Of("encrypted"),
	Expect: &expect{
		Driver: "disk.csi", Attributes: map[string]string{"encrypted": "true"}, Parameters: map[string]string{"type": "luks"},
	},
}

func summary(checks []layer.Check) (bad []string) {
	for _, k := range checks {
		if !k.OK {
			bad = append(bad, k.Name+": expected "+k.Expected+", observed "+k.Observed)
		}
	}
	return bad
}

func TestOn(t *testing.T) {
	luks := &storagev1.StorageClass{Parameters: map[string]string{"type": "luks", "other": "1"}}
	good := made("encrypted", "disk.csi", map[string]string{"encrypted": "true", "id": "7"})
	want := []layer.Check{
		{Layer: name, Name: "storage class of the claim", Expected: "encrypted", Observed: "encrypted", OK: true},
		{Layer: name, Name: "storage class of the volume", Expected: "encrypted", Observed: "encrypted", OK: true},
		{Layer: name, Name: "driver of the volume", Expected: "disk.csi", Observed: "disk.csi", OK: true},
		{Layer: name, Name: "attributes of the volume", Expected: `encrypted="true"`, Observed: `encrypted="true"`, OK: true},
		{Layer: name, Name: "parameters of the storage class", Expected: `type="luks"`, Observed: `type="luks"`, OK: true, Once: true,
			Caveat: "the only evidence that the volume has its class's properties is the storage driver's report"},
	}
	if diff := cmp.Diff(want, encrypted.checks(true, claimed("encrypted"), good, luks)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, test := range []struct {
		name   string
		claim  *corev1.PersistentVolumeClaim
		volume *corev1.PersistentVolume
		class  *storagev1.StorageClass
		want   []string
	}{
		{"another class", claimed("plain"), made("plain", "disk.csi", good.Spec.CSI.VolumeAttributes), luks, []string{
			"storage class of the claim: expected encrypted, observed plain", "storage class of the volume: expected encrypted, observed plain"}},
		{"no class", claimed(""), made("", "disk.csi", good.Spec.CSI.VolumeAttributes), luks, []string{
			"storage class of the claim: expected encrypted, observed none", "storage class of the volume: expected encrypted, observed none"}},
		{"another driver", claimed("encrypted"), made("encrypted", "nfs.csi", good.Spec.CSI.VolumeAttributes), luks,
			[]string{"driver of the volume: expected disk.csi, observed nfs.csi"}},
		{"not encrypted", claimed("encrypted"), made("encrypted", "disk.csi", map[string]string{"encrypted": "false"}), luks,
			[]string{`attributes of the volume: expected encrypted="true", observed encrypted with another value`}},
		{"no parameters to see", claimed("encrypted"), good, nil,
			[]string{`parameters of the storage class: expected type="luks", observed type absent`}},
	} {
		if diff := cmp.Diff(test.want, summary(encrypted.checks(true, test.claim, test.volume, test.class))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestOff(t *testing.T) {
	if bad := summary(encrypted.checks(false, claimed("plain"), made("plain", "disk.csi", nil), nil)); bad != nil {
		t.Errorf("a volume of another class: %v", bad)
	}
	want := []string{"storage class of the claim: expected not encrypted, observed encrypted",
		"storage class of the volume: expected not encrypted, observed encrypted",
		`attributes of the volume: expected not encrypted="true", observed encrypted="true"`}
	if diff := cmp.Diff(want, summary(encrypted.checks(false, claimed("encrypted"), made("encrypted", "disk.csi", map[string]string{"encrypted": "true"}), nil))); diff != "" {
		t.Errorf("a volume of the class (-want +got):\n%s", diff)
	}
}

func TestDriver(t *testing.T) {
	local, host, other := &corev1.PersistentVolume{}, &corev1.PersistentVolume{}, &corev1.PersistentVolume{}
	local.Spec.Local, host.Spec.HostPath = &corev1.LocalVolumeSource{}, &corev1.HostPathVolumeSource{}
	for want, v := range map[string]*corev1.PersistentVolume{"local": local, "hostPath": host, "none of CSI": other, "a.csi": made("", "a.csi", nil)} {
		if got := driver(v); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestShape(t *testing.T) {
	claim := claimed("")
	(&config{Name: factor.Of("fast"), AccessMode: "ReadWriteMany"}).shape(claim)
	if got := *claim.Spec.StorageClassName; got != "fast" || len(claim.Spec.AccessModes) != 1 || claim.Spec.AccessModes[0] != corev1.ReadWriteMany {
		t.Errorf("got %+v", claim.Spec)
	}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	(&config{Name: factor.Of("slow")}).shape(claim)
	if got := *claim.Spec.StorageClassName; got != "slow" || claim.Spec.AccessModes[0] != corev1.ReadWriteOnce {
		t.Errorf("got %+v", claim.Spec)
	}
}

// The proof needs the volume, so a run must not start if Tare may not read volumes.
func TestRights(t *testing.T) {
	all := kube.Rights(kube.Use{Volume: true, More: Kind.New().Declare().Rights("")})
	i := slices.IndexFunc(all, func(r experiment.Right) bool { return r.Resource == "persistentvolumes" })
	if i < 0 || all[i].Optional || all[i].Namespace != "" || !slices.Contains(all[i].Verbs, "get") {
		t.Errorf("got %+v", all)
	}
}
