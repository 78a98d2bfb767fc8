package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/text/safetext"
)

// These are the paths of a volume in the pod of the client or of a member, and the volume's name in the pod.
const (
	volumeDirectory = "/volume"
	volumeDevice    = "/dev/tare-volume"
	volumeName      = "volume"
)

// Volume returns the path of the client's volume in the client's pod: a mount point or a block device; "" without a
// volume.
func (s *Site) Volume() string {
	switch {
	case s.needs.Volume == nil:
		return ""
	case s.needs.Volume.Block:
		return volumeDevice
	}
	return volumeDirectory
}

type volume struct {
	where testbed.Place // place of the pod that uses the volume
	role  string
	name  string
	size  quantity.Size
	block bool // set for a block device; otherwise the volume is a file system
}

func (s *Site) volumes() []volume {
	var list []volume
	if v := s.needs.Volume; v != nil {
		list = append(list, volume{
			where: testbed.ClientPod, role: roleClient, name: s.name(volumeName), size: v.Size, block: v.Block,
		})
	}
	if s.needs.MemberVolume == 0 {
		return list
	}
	for i := range s.members() {
		name := roleServer + "-" + volumeName
		if i > 0 {
			name = fmt.Sprintf("%s-%d-%s", roleServer, i+1, volumeName)
		}
		list = append(list, volume{
			where: testbed.Member(i + 1), role: roleServer, name: s.name(name), size: s.needs.MemberVolume,
		})
	}
	return list
}

// MemberVolume returns the mount point of the volume in the pod of member i, counted from 1; "" if there is none.
func (s *Site) MemberVolume(i int) string {
	if s.needs.MemberVolume == 0 || i < 1 || i > s.members() {
		return ""
	}
	return volumeDirectory
}

func (s *Site) planClaim(v volume) *corev1.PersistentVolumeClaim {
	mode := corev1.PersistentVolumeFilesystem
	if v.block {
		mode = corev1.PersistentVolumeBlock
	}
	want := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: v.name, Namespace: s.Namespace(), Labels: s.bed.session.Owner.Labels(s.arm, v.role),
		},
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

func (s *Site) claim(ctx context.Context, on *clusterRun) error {
	for _, v := range s.volumes() {
		want := s.planClaim(v)
		if err := on.record.Add(ctx, inventory.Core("persistentvolumeclaims", want.Namespace, want.Name)); err != nil {
			return err
		}
		claims := on.Client.CoreV1().PersistentVolumeClaims(want.Namespace)
		if _, err := inventory.Make(ctx, on.record, claims, want); err != nil {
			return fmt.Errorf("make the claim %s/%s: %w", want.Namespace, want.Name, cluster.Explain(err))
		}
	}
	return nil
}

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

type boundClaim struct {
	Where  testbed.Place // place of the pod that uses the volume
	Claim  *corev1.PersistentVolumeClaim
	Volume *corev1.PersistentVolume
}

// Claims reads the claims of all volumes of the site, the claim of the client's volume first.
func (s *Site) Claims(ctx context.Context) ([]boundClaim, error) {
	var list []boundClaim
	for _, v := range s.volumes() {
		b, err := s.bound(ctx, v)
		if err != nil {
			return nil, err
		}
		list = append(list, b)
	}
	return list, nil
}

func (s *Site) bound(ctx context.Context, v volume) (b boundClaim, err error) {
	b.Where = v.where
	on, err := s.cluster(ctx)
	if err != nil {
		return b, err
	}
	claim, err := on.Client.CoreV1().PersistentVolumeClaims(s.Namespace()).Get(ctx, v.name, metav1.GetOptions{})
	if err != nil {
		return b, fmt.Errorf("the claim of the volume: %w", cluster.Explain(err))
	}
	b.Claim = claim
	if claim.Spec.VolumeName == "" {
		return b, fmt.Errorf("the claim %s/%s is not bound: %s", claim.Namespace, claim.Name, claim.Status.Phase)
	}
	if b.Volume, err = on.Client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{}); err != nil {
		return b, fmt.Errorf("volume %s: %w", safetext.Head(claim.Spec.VolumeName, 100), cluster.Explain(err))
	}
	return b, nil
}

// withClaim adds to an error about pods which volume claim is not bound, if any: a pod may be waiting for it.
func (s *Site) withClaim(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, cluster.DiagnosisLimit)
	defer cancel()
	for _, v := range s.volumes() {
		b, bad := s.bound(limited, v)
		claim := b.Claim
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
