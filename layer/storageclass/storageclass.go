// Package storageclass is the layer that puts the workload's volume into another
// storage class: an encrypting one, a replicated one, another disk.
//
//   - storage-class: {name: encrypted-rwo, expect: {parameters: {encrypted: "true"}}}
//
// Proof, before every trial: the claim has the class, and the volume that it is
// bound to has it too; with expect, the volume's driver and attributes and the
// class's parameters are as said. In an arm without the layer the claim and the
// volume are of another class. None of it shows that bytes on a disk are encrypted:
// that is the storage driver's word.
package storageclass

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/layer"
	"tare/layer/pairs"
	"tare/testbed"
	"tare/testbed/kube"
)

const name = "storage-class"

// Config is the parameters of the layer.
type Config struct {
	Name       factor.Levels[string] `yaml:"name" required:"true" pattern:"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$" form:"the name of a storage class" doc:"storage class of the volume"`
	AccessMode string                `yaml:"accessMode" enum:"ReadWriteOnce,ReadWriteOncePod,ReadWriteMany" doc:"access mode of the claim"`
	Expect     *Expect               `yaml:"expect" doc:"what the volume must be seen to be"`
}

// Expect is what a volume of the class must be seen to be.
type Expect struct {
	Driver     string            `yaml:"driver" doc:"CSI driver of the volume, such as disk.csi.azure.com"`
	Attributes map[string]string `yaml:"attributes" doc:"CSI attributes of the volume"`
	Parameters map[string]string `yaml:"parameters" doc:"parameters of the storage class"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "storage class of the workload's volume, such as an encrypting one",
	Example: "name: encrypted-rwo",
	New:     func() layer.Layer { return &Config{} },
	Probe:   testbed.AlwaysWorks(name, "on the testbed kubernetes, with a workload that has a volume"),
}

// Declare says that the layer needs a cluster, a workload with a volume, and a look at
// the class and at the volume.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Needs:     experiment.Needs{Only: experiment.TestbedKubernetes, UsesVolume: true},
		Elsewhere: "its volumes are loop devices of this machine: encrypt them by the layers luks, fscrypt and gocryptfs, and give file system and options by testbed.local.volume",
		Rights: func(string) []experiment.Right {
			return []experiment.Right{
				{Group: "storage.k8s.io", Resource: "storageclasses", Verbs: []string{"get"}, Why: "the storage class of the arm is looked at"},
				{Resource: "persistentvolumes", Verbs: []string{"get"}, Why: "the proof looks at the volume that the claim was bound to"},
			}
		},
		Shapes:    true,
		OwnProves: true,
	}
}

// Up has the site's volume claimed of the class.
func (c *Config) Up(ctx context.Context, s *layer.Session) (*layer.Active, error) {
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
		return nil, fmt.Errorf("the cluster of context %s has no storage class %s: kubectl get storageclasses lists those it has", cluster.Context, c.Name.OrZero())
	case errors.IsForbidden(err) && (c.Expect == nil || len(c.Expect.Parameters) == 0):
		class = nil
	case err != nil:
		return nil, fmt.Errorf("read storage class %s: %w", c.Name.OrZero(), err)
	}
	site.ShapeVolume(c.shape)
	before := func(ctx context.Context, _ testbed.Site) ([]layer.Check, error) { return c.before(ctx, site, class) }
	return &layer.Active{Before: before}, nil
}

// shape changes a claim that has not been made yet.
func (c *Config) shape(claim *corev1.PersistentVolumeClaim) {
	class := c.Name.OrZero()
	claim.Spec.StorageClassName = &class
	if c.AccessMode != "" {
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.PersistentVolumeAccessMode(c.AccessMode)}
	}
}

// checks shows that a volume is of the class, and what it is expected to be; or, in an arm
// without the layer, that it is not.
func (c *Config) checks(
	on bool, claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume, class *storagev1.StorageClass,
) []layer.Check {
	var out []layer.Check
	add := func(what, want, observed string) {
		out = append(out, layer.Check{Layer: name, Name: what, Expected: want, Observed: observed}.When(on, want == observed))
	}
	add("storage class of the claim", c.Name.OrZero(), classOf(claim))
	add("storage class of the volume", c.Name.OrZero(), cmp.Or(volume.Spec.StorageClassName, none))
	expect := c.Expect
	if expect == nil {
		return out
	}
	if on && expect.Driver != "" {
		add("driver of the volume", expect.Driver, driver(volume))
	}
	if want := expect.Attributes; len(want) > 0 {
		add("attributes of the volume", pairs.Written(want, want), pairs.Written(want, attributes(volume)))
	}
	if want := expect.Parameters; on && len(want) > 0 {
		var has map[string]string
		if class != nil {
			has = class.Parameters
		}
		add("parameters of the storage class", pairs.Written(want, want), pairs.Written(want, has))
		last := &out[len(out)-1]
		last.Once, last.Caveat = true, "that the volume is as its class asks for is the storage driver's word"
	}
	return out
}

// none is what checks call a class that is not given.
const none = "none"

func classOf(claim *corev1.PersistentVolumeClaim) string {
	if claim.Spec.StorageClassName == nil {
		return none
	}
	return cmp.Or(*claim.Spec.StorageClassName, none)
}

// driver is what made a volume: a CSI driver, or the way in which the node gets it.
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

func attributes(v *corev1.PersistentVolume) map[string]string {
	if v.Spec.CSI == nil {
		return nil
	}
	return v.Spec.CSI.VolumeAttributes
}

// checkAll makes the checks of all volumes of a site; none where its workload has none.
func (c *Config) checkAll(ctx context.Context, s *kube.Site, on bool, class *storagev1.StorageClass) ([]layer.Check, error) {
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
	return out, nil
}

// ProveOff shows that the site's volume is of another class. Where the arm has a class
// of its own there is nothing to add: its proof shows the class, and a claim has one.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	site, err := kube.Of(s.Site)
	if err != nil {
		return nil, err
	}
	return c.checkAll(ctx, site, false, nil)
}

// before shows that the site's volume is of the class; the class is nil where it may not
// be read.
func (c *Config) before(ctx context.Context, site *kube.Site, class *storagev1.StorageClass) ([]layer.Check, error) {
	checks, err := c.checkAll(ctx, site, true, class)
	if err == nil && checks == nil { // the arm is measured like one without the layer
		return []layer.Check{{Layer: name, Name: "volume", Expected: "none for this workload", Observed: none, OK: true,
			Caveat: "the workload has no volume: the layer " + name + " has no part in it"}}, nil
	}
	return checks, err
}
