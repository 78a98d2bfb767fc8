package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/safetext"
	"tare/testbed/kube/cluster"
	"tare/testbed/kube/inventory"
)

// Where the volume is in the client's pod.
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

// planClaim is the claim of the site's volume, as layers shape it.
func (s *Site) planClaim() *corev1.PersistentVolumeClaim {
	v := s.needs.Volume
	mode := corev1.PersistentVolumeFilesystem
	if v.Block {
		mode = corev1.PersistentVolumeBlock
	}
	want := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: s.name(volumeName), Namespace: s.Namespace(), Labels: s.run.session.Owner.Labels(s.arm, roleClient)},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			VolumeMode:  &mode,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceStorage: *resource.NewQuantity(int64(v.Size), resource.BinarySI),
			}},
		},
	}
	for _, shape := range s.shapes.volume {
		shape(want)
	}
	return want
}

// claim asks for the volume. The storage class decides whether it is bound at once or
// when the pod is scheduled; the pod waits for it in either case.
func (s *Site) claim(ctx context.Context, on *clusterRun) error {
	if s.needs.Volume == nil {
		return nil
	}
	want := s.planClaim()
	if err := on.record.Add(ctx, inventory.Core("persistentvolumeclaims", want.Namespace, want.Name)); err != nil {
		return err
	}
	if _, err := inventory.Make(ctx, on.record, on.Client.CoreV1().PersistentVolumeClaims(want.Namespace), want); err != nil {
		return fmt.Errorf("make the claim %s/%s: %w", want.Namespace, want.Name, cluster.Explain(err))
	}
	return nil
}

// mount gives a pod the volume.
func (s *Site) mount(pod *corev1.Pod) {
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: volumeName, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: s.name(volumeName)},
	}})
	c := &pod.Spec.Containers[0]
	if s.needs.Volume.Block {
		c.VolumeDevices = append(c.VolumeDevices, corev1.VolumeDevice{Name: volumeName, DevicePath: volumeDevice})
		return
	}
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volumeName, MountPath: volumeDirectory})
}

// Claim gives the claim of the site's volume and the volume that it is bound to.
func (s *Site) Claim(ctx context.Context) (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume, error) {
	if s.needs.Volume == nil {
		return nil, nil, fmt.Errorf("the site of arm %s has no volume: no workload asks for one", s.arm)
	}
	on, err := s.cluster(ctx)
	if err != nil {
		return nil, nil, err
	}
	claim, err := on.Client.CoreV1().PersistentVolumeClaims(s.Namespace()).Get(ctx, s.name(volumeName), metav1.GetOptions{})
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

// withClaim adds to an error about pods the state of the volume's claim, if that is not
// bound: a pod may be waiting for it.
func (s *Site) withClaim(ctx context.Context, err error) error {
	if s.needs.Volume == nil || ctx.Err() != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, cluster.DiagnosisLimit)
	defer cancel()
	claim, _, bad := s.Claim(limited)
	if bad == nil || claim == nil {
		return err
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
