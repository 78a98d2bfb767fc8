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
	"tare/experiment"
	"tare/experiment/factor"
	"tare/layer"
	"tare/testbed"
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

// New gives the layer's parameters; there are no defaults.
func New() layer.Layer { return &Config{} }

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "storage class of the workload's volume, such as an encrypting one",
	New:     New,
	Probe:   testbed.AlwaysWorks(name, "on the testbed kubernetes, with a workload that has a volume"),
}

// Declare says that the layer needs a cluster, a workload with a volume, and a look at
// the class and at the volume.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Needs: experiment.Needs{Only: experiment.TestbedKubernetes, UsesVolume: true},
		Rights: func(string) []experiment.Right {
			return []experiment.Right{
				{Group: "storage.k8s.io", Resource: "storageclasses", Verbs: []string{"get"}, Why: "the storage class of the arm is looked at"},
				{Resource: "persistentvolumes", Verbs: []string{"get"}, Why: "the proof looks at the volume that the claim was bound to"},
			}
		},
		Shapes:       true,
		ProvesBeside: true,
	}
}
