// Package storageclass is the layer that requests the workload's volume from another storage class: a class that
// encrypts, a class that replicates, or the class of another disk.
//
//   - storage-class: {name: encrypted-rwo, expect: {parameters: {encrypted: "true"}}}
//
// Proof, before every trial: the claim has the class, and so has the volume that it is bound to. With expect, the
// volume's driver and attributes and the class's parameters have the expected values. In an arm without the layer the
// claim and the volume have another class. No check shows that bytes on a disk are encrypted: Tare relies on the
// storage driver's report.
package storageclass

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/layer/keyvalue"
	"tare/internal/testbed"
	"tare/internal/testbed/kube"
)

const name = "storage-class"

type config struct {
	Name       factor.Levels[string] `yaml:"name" required:"true" pattern:"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$" form:"the name of a storage class" doc:"storage class of the volume"`
	AccessMode string                `yaml:"accessMode" enum:"ReadWriteOnce,ReadWriteOncePod,ReadWriteMany" doc:"access mode of the claim"`
	Expect     *expect               `yaml:"expect" doc:"expected properties of the volume"`
}

type expect struct {
	Driver     string            `yaml:"driver" doc:"CSI driver of the volume, such as disk.csi.azure.com"`
	Attributes map[string]string `yaml:"attributes" doc:"CSI attributes of the volume"`
	Parameters map[string]string `yaml:"parameters" doc:"parameters of the storage class"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "storage class of the workload's volume, such as an encrypting one",
	Example: "name: encrypted-rwo",
	New:     func() layer.Layer { return &config{} },
	Probe:   testbed.AlwaysWorks(name, "on the testbed kubernetes, with a workload that has a volume"),
}

func (c *config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Needs:     experiment.Needs{Only: experiment.TestbedKubernetes, UsesVolume: true},
		Elsewhere: "its volumes are loop devices of this machine: encrypt them by the layers luks, fscrypt and gocryptfs, and set file system and options by testbed.local.volume",
		Rights: func(string) []experiment.Right {
			return []experiment.Right{
				{Group: "storage.k8s.io", Resource: "storageclasses", Verbs: []string{"get"}, Why: "to read the storage class of the arm"},
				{Resource: "persistentvolumes", Verbs: []string{"get"}, Why: "the proof reads the volume that the claim was bound to"},
			}
		},
		Shapes:    true,
		OwnProves: true,
	}
}

// Up sets the StorageClass of the site's volume claims. The testbed creates these claims later.
func (c *config) Up(ctx context.Context, s *layer.Session) (*layer.Active, error) {
	site, err := kube.Of(s.Site)
	if err != nil {
		return nil, err
	}
	cluster, err := site.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	class, err := cluster.Client.StorageV1().StorageClasses().Get(ctx, c.Name.OrZero(), metav1.GetOptions{})
	switch {
	case errors.IsNotFound(err):
		return nil, fmt.Errorf("the cluster of context %s has no storage class %s: list its classes with kubectl get storageclasses", cluster.Context, c.Name.OrZero())
	case errors.IsForbidden(err) && (c.Expect == nil || len(c.Expect.Parameters) == 0):
		class = nil
	case err != nil:
		return nil, fmt.Errorf("read storage class %s: %w", c.Name.OrZero(), err)
	}
	site.ShapeVolume(c.shape)
	before := func(ctx context.Context, _ testbed.Site) ([]layer.Check, error) {
		return c.checkAll(ctx, site, true, class)
	}
	return &layer.Active{Before: before}, nil
}

func (c *config) shape(claim *corev1.PersistentVolumeClaim) {
	claim.Spec.StorageClassName = new(c.Name.OrZero())
	if c.AccessMode != "" {
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.PersistentVolumeAccessMode(c.AccessMode)}
	}
}

// checks makes the checks of a volume: it must have the layer's class and the expected properties or, with on = false,
// another class and attributes.
func (c *config) checks(
	on bool, claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume, class *storagev1.StorageClass,
) []layer.Check {
	var out []layer.Check
	add := func(what, want, observed string) {
		out = append(out, layer.Check{Layer: name, Name: what, Expected: want, Observed: observed}.Expect(on, want == observed))
	}
	add("storage class of the claim", c.Name.OrZero(), cmp.Or(*cmp.Or(claim.Spec.StorageClassName, new(string)), none))
	add("storage class of the volume", c.Name.OrZero(), cmp.Or(volume.Spec.StorageClassName, none))
	expect := c.Expect
	if expect == nil {
		return out
	}
	if on && expect.Driver != "" {
		add("driver of the volume", expect.Driver, driver(volume))
	}
	if want := expect.Attributes; len(want) > 0 {
		csi := cmp.Or(volume.Spec.CSI, &corev1.CSIPersistentVolumeSource{})
		add("attributes of the volume", keyvalue.Written(want, want), keyvalue.Written(want, csi.VolumeAttributes))
	}
	if want := expect.Parameters; on && len(want) > 0 {
		class = cmp.Or(class, &storagev1.StorageClass{})
		add("parameters of the storage class", keyvalue.Written(want, want), keyvalue.Written(want, class.Parameters))
		last := &out[len(out)-1]
		last.Once, last.Caveat = true, "the only evidence that the volume has its class's properties is the storage driver's report"
	}
	return out
}

const none = "none" // stands in a check for a claim or volume without storage class, or for a missing volume

// driver returns the name of a volume's CSI driver. For a volume without CSI, it returns the kind of the volume, such
// as hostPath.
func driver(v *corev1.PersistentVolume) string {
	switch {
	case v.Spec.CSI != nil:
		return v.Spec.CSI.Driver
	case v.Spec.Local != nil:
		return "local"
	case v.Spec.HostPath != nil:
		return "hostPath"
	}
	return "none of CSI"
}

// checkAll makes the checks of all volumes of a site. The argument class is nil if Tare may not read the class.
func (c *config) checkAll(ctx context.Context, s *kube.Site, on bool, class *storagev1.StorageClass) ([]layer.Check, error) {
	claims, err := s.Claims(ctx)
	if err != nil {
		return nil, err
	}
	var out []layer.Check
	for _, one := range claims {
		for _, k := range c.checks(on, one.Claim, one.Volume, class) {
			if one.Where != testbed.ClientPod {
				k.Name += " of the " + string(one.Where)
			}
			out = append(out, k)
		}
	}
	if on && out == nil { // no error: the layer has no effect on a workload without a volume
		return []layer.Check{{Layer: name, Name: "volume", Expected: "none for this workload", Observed: none, OK: true,
			Caveat: "the workload has no volume: the layer " + name + " has no effect on it"}}, nil
	}
	return out, nil
}

func (c *config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	site, err := kube.Of(s.Site)
	if err != nil {
		return nil, err
	}
	return c.checkAll(ctx, site, false, nil)
}
