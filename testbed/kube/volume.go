package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/experiment/quantity"
	"tare/safetext"
	"tare/testbed"
	"tare/testbed/kube/cluster"
	"tare/testbed/kube/inventory"
)

// Where the volume is in the client's pod, or in a member's.
const (
	volumeDirectory = "/volume"
	volumeDevice    = "/dev/tare-volume"
	volumeName      = "volume"
)

// Volume is the directory where the file system is mounted, or the path of the
// block device, as seen by programs in the client's pod.
func (s *Site) Volume() string {
	switch {
	case s.needs.Volume == nil:
		return ""
	case s.needs.Volume.Block:
		return volumeDevice
	}
	return volumeDirectory
}

// claimed is a volume of the site: what is asked for, and whose it is.
type claimed struct {
	where testbed.Place
	role  string
	name  string // of the claim
	size  quantity.Size
	block bool // a device; else a file system
}

// volumes are those of the client and the members, as far as they are asked for.
func (s *Site) volumes() []claimed {
	var list []claimed
	if v := s.needs.Volume; v != nil {
		list = append(list, claimed{where: testbed.ClientPod, role: roleClient, name: s.name(volumeName), size: v.Size, block: v.Block})
	}
	if s.needs.MemberVolume == 0 {
		return list
	}
	for i := range s.members() {
		name := memberName(i+1) + "-" + volumeName
		list = append(list, claimed{where: testbed.Member(i + 1), role: roleServer, name: s.name(name), size: s.needs.MemberVolume})
	}
	return list
}

var _ testbed.MemberVolumes = (*Site)(nil)

// MemberVolume is the directory where a member's volume is mounted, from 1, as programs in
// its pod see it; "" where none was asked for.
func (s *Site) MemberVolume(i int) string {
	if s.needs.MemberVolume == 0 || i < 1 || i > s.members() {
		return ""
	}
	return volumeDirectory
}

// planClaim is the claim of a volume, as layers shape it.
func (s *Site) planClaim(v claimed) *corev1.PersistentVolumeClaim {
	mode := corev1.PersistentVolumeFilesystem
	if v.block {
		mode = corev1.PersistentVolumeBlock
	}
	want := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: v.name, Namespace: s.Namespace(), Labels: s.run.session.Owner.Labels(s.arm, v.role)},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			VolumeMode:  &mode,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceStorage: *resource.NewQuantity(int64(v.size), resource.BinarySI),
			}},
		},
	}
	for _, shape := range s.shapes.volume {
		shape(want)
	}
	return want
}

// claim asks for the volumes. The storage class decides whether they are bound at once or
// when their pods are scheduled; the pods wait for them in either case.
func (s *Site) claim(ctx context.Context, on *clusterRun) error {
	for _, v := range s.volumes() {
		want := s.planClaim(v)
		if err := on.record.Add(ctx, inventory.Core("persistentvolumeclaims", want.Namespace, want.Name)); err != nil {
			return err
		}
		if _, err := inventory.Make(ctx, on.record, on.Client.CoreV1().PersistentVolumeClaims(want.Namespace), want); err != nil {
			return fmt.Errorf("make the claim %s/%s: %w", want.Namespace, want.Name, cluster.Explain(err))
		}
	}
	return nil
}

// mount gives a pod the volumes of its place.
func (s *Site) mount(pod *corev1.Pod, where testbed.Place) {
	for _, v := range s.volumes() {
		if v.where != where {
			continue
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: volumeName, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: v.name},
		}})
		c := &pod.Spec.Containers[0]
		if v.block {
			c.VolumeDevices = append(c.VolumeDevices, corev1.VolumeDevice{Name: volumeName, DevicePath: volumeDevice})
			continue
		}
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volumeName, MountPath: volumeDirectory})
	}
}

// Claimed is a claim of the site with the volume that it is bound to.
type Claimed struct {
	Where  testbed.Place // whose pod has it
	Claim  *corev1.PersistentVolumeClaim
	Volume *corev1.PersistentVolume
}

// Claims gives the claims of all volumes of the site, that of the client first.
func (s *Site) Claims(ctx context.Context) ([]Claimed, error) {
	var list []Claimed
	for _, v := range s.volumes() {
		claim, volume, err := s.bound(ctx, v)
		if err != nil {
			return nil, err
		}
		list = append(list, Claimed{Where: v.where, Claim: claim, Volume: volume})
	}
	return list, nil
}

// Claim gives the claim of the client's volume and the volume that it is bound to.
func (s *Site) Claim(ctx context.Context) (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume, error) {
	if s.needs.Volume == nil {
		return nil, nil, fmt.Errorf("the site of arm %s has no volume: no workload asks for one", s.arm)
	}
	return s.bound(ctx, s.volumes()[0])
}

// bound reads the claim of a volume and the volume that it is bound to.
func (s *Site) bound(ctx context.Context, v claimed) (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume, error) {
	on, err := s.cluster(ctx)
	if err != nil {
		return nil, nil, err
	}
	claim, err := on.Client.CoreV1().PersistentVolumeClaims(s.Namespace()).Get(ctx, v.name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("the claim of the volume: %w", cluster.Explain(err))
	}
	if claim.Spec.VolumeName == "" {
		return claim, nil, fmt.Errorf("the claim %s/%s is not bound: %s", claim.Namespace, claim.Name, claim.Status.Phase)
	}
	volume, err := on.Client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return claim, nil, fmt.Errorf("volume %s: %w", safetext.Head(claim.Spec.VolumeName, 100), cluster.Explain(err))
	}
	return claim, volume, nil
}

// withClaim adds to an error about pods the state of the first claim that is not bound: a pod
// may be waiting for it.
func (s *Site) withClaim(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, cluster.DiagnosisLimit)
	defer cancel()
	for _, v := range s.volumes() {
		claim, _, bad := s.bound(limited, v)
		if bad == nil || claim == nil {
			continue
		}
		class := "the default storage class"
		if claim.Spec.StorageClassName != nil {
			class = "storage class " + safetext.Head(*claim.Spec.StorageClassName, 100)
		}
		return &cluster.DiagnosedError{
			Err:    fmt.Errorf("%w\n  the claim %s/%s of %s is %s", err, claim.Namespace, claim.Name, class, claim.Status.Phase),
			Events: s.on.Events(limited, claim.Namespace, claim.Name, string(claim.UID)),
		}
	}
	return err
}
