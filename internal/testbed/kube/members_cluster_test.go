package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/experiment"
	"tare/internal/test/fit"
	"tare/internal/testbed"
)

// Members of a service have pods and volumes of their own, and reach each other. The service leads to the first
// member. A lost member is made again, and all members are removed with the site.
func TestMembersOnACluster(t *testing.T) {
	t.Parallel()
	bed := onCluster(t)
	s := open(t, bed, "plain", experiment.Needs{Network: true, Members: 3, MemberVolume: 1 << 20}, parameters())
	s.ShapeVolume(func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = new("local") })
	must(t, s.Ready(t.Context()))
	members := s.Members()
	if len(members) != 3 || members[0] != s.Address(testbed.PodToPod) {
		t.Fatalf("members at %v", members)
	}
	made, err := s.Pods(t.Context())
	if err != nil || len(made) != 4 {
		t.Fatalf("%d pods, %v", len(made), err)
	}
	client := made[testbed.ClientPod].Spec.NodeName
	for i, address := range members {
		pod := made[testbed.Member(i+1)]
		if pod.Status.PodIP != address.String() || pod.Spec.NodeName == client {
			t.Errorf("member %d is at %s on %s; its address is %s, and the client is on %s", i+1, pod.Status.PodIP, pod.Spec.NodeName, address, client)
		}
		if out, err := runIn(t, s, testbed.Member(i+1), "tare-agent", "install", s.MemberVolume(i+1)+"/written"); err != nil {
			t.Errorf("write to the volume of member %d: %q, %v", i+1, out, err)
		}
	}
	claims, err := s.Claims(t.Context())
	if err != nil || len(claims) != 3 || claims[0].Volume.Name == claims[2].Volume.Name {
		t.Errorf("claims %+v, %v", claims, err)
	}
	reachEachOther(t, s)
	transfer(t, s, testbed.PodToService)
	all, err := bed.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(all[0].Notes, "\n"); !strings.Contains(notes, "arm plain: the 3 members of the service share ") {
		t.Errorf("notes:\n%s", notes)
	}
	if u := all[0].Arms[0].Uplinks; len(u) == 0 || u[0].MTU < 576 {
		t.Errorf("network interfaces of the pods: %+v", u)
	}

	lost := made[testbed.Member(3)]
	process, err := s.Start(t.Context(), testbed.Member(3), testbed.Command{Args: []string{"iperf3", "-s"}})
	if err == nil {
		err = clusterClient(t).CoreV1().Pods(lost.Namespace).Delete(t.Context(), lost.Name, metav1.DeleteOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := process.Wait(); err == nil || !strings.Contains(err.Error(), "/server-3 on node "+lost.Spec.NodeName+" is lost") {
		t.Fatalf("a program of a lost member: %v", err)
	}
	must(t, s.Mend(t.Context()))
	reachEachOther(t, s)
	must(t, s.Close())
	left, err := clusterClient(t).CoreV1().PersistentVolumeClaims(s.Namespace()).List(context.Background(), metav1.ListOptions{})
	if err != nil || len(left.Items) > 0 {
		t.Errorf("claims left: %d, %v", len(left.Items), err)
	}
}

// reachEachOther sends data from each pod to each member.
func reachEachOther(t *testing.T, s *Site) {
	t.Helper()
	places := []testbed.Place{testbed.ClientPod}
	for i := range s.Members() {
		places = append(places, testbed.Member(i+1))
	}
	port := fmt.Sprint(s.Ports()[1])
	for i, address := range s.Members() {
		server, err := s.Start(t.Context(), testbed.Member(i+1), testbed.Command{Args: []string{"iperf3", "-s", "-p", port}})
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range slices.DeleteFunc(slices.Clone(places), func(p testbed.Place) bool { return p == testbed.Member(i+1) }) {
			fit.Await(t, fmt.Sprintf("what goes from %s to member %d", from, i+1), func() bool { // the server needs a moment to listen
				_, err := runIn(t, s, from, "iperf3", "-c", address.String(), "-p", port, "-n", "100K")
				return err == nil
			})
		}
		_ = server.Kill()
	}
}
