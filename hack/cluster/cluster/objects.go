package cluster

import (
	"context"
	"fmt"
)

// localVolumes is how many static volumes each node has.
const localVolumes = 16

// Names of the storage classes and the runtime class.
const (
	hostpathClass = "hostpath"
	localClass    = "local"
	gvisorClass   = "gvisor"
)

// creation is an object to be made, in a collection.
type creation struct {
	path   string
	object object
}

// populate makes the objects that every cluster starts with: two storage
// classes, the local one's volumes, the runtime class, and the Service for names.
func (c *Cluster) populate(ctx context.Context, a *api, nodes []node) error {
	const storage, volumes = "/apis/storage.k8s.io/v1/storageclasses", "/api/v1/persistentvolumes"
	creations := []creation{
		{storage, object{
			"metadata": object{
				"name":        hostpathClass,
				"annotations": object{"storageclass.kubernetes.io/is-default-class": "true"},
			},
			"provisioner": "kubernetes.io/host-path", "reclaimPolicy": "Delete",
		}},
		{storage, object{
			"metadata":    object{"name": localClass},
			"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer",
		}},
	}
	for _, d := range nodes {
		for i := range localVolumes {
			creations = append(creations, creation{volumes, object{
				"metadata": object{"name": fmt.Sprintf("%s-%d", d.name(), i)},
				"spec": object{
					"capacity": object{"storage": "4Gi"}, "accessModes": []string{"ReadWriteOnce"},
					"storageClassName": localClass, "persistentVolumeReclaimPolicy": "Retain",
					"local": object{"path": d.localVolume(i)},
					"nodeAffinity": object{"required": object{"nodeSelectorTerms": []object{{
						"matchExpressions": []object{{
							"key": "kubernetes.io/hostname", "operator": "In", "values": []string{d.name()},
						}},
					}}}},
				},
			}})
		}
	}
	if nodes[0].gvisor {
		creations = append(creations, creation{"/apis/node.k8s.io/v1/runtimeclasses", object{
			"metadata": object{"name": gvisorClass}, "handler": "runsc",
		}})
	}
	for _, creation := range append(creations, dnsObjects()...) {
		if err := a.create(ctx, creation.path, creation.object); err != nil {
			return err
		}
	}
	return nil
}
