package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// A run's record in a cluster is one ConfigMap, named by the owner. It says who
// holds the run, when that was last true, and lists everything that the run has
// made or is about to make. Clean needs nothing else.
const (
	recordLabel      = "tare/record" // "v1"
	recordVersion    = "v1"
	holderAnnotation = "tare/holder" // on namespaces, for the moment in which there is no record yet
	armAnnotation    = "tare/arm"    // the arm as the experiment names it

	keyHolder    = "holder"
	keyRenewed   = "renewed"
	keyInventory = "inventory"
)

// heartbeat is how often a living run renews its record; Clean takes a holder
// that it cannot see for gone after holderGone.
const (
	heartbeat  = 15 * time.Second
	holderGone = 60 * time.Second
)

// item is one object of the inventory, or, without a name, all objects of a kind
// in a namespace that carry the owner's label.
type item struct {
	Group     string `json:"group,omitempty"`
	Version   string `json:"version"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

func (i item) gvr() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: i.Group, Version: i.Version, Resource: i.Resource}
}

// String names the object as kubectl takes it.
func (i item) String() string {
	kind := i.Resource
	if i.Group != "" {
		kind += "." + i.Group
	}
	switch {
	case i.Name == "":
		return fmt.Sprintf("%s with Tare's labels in namespace %s", kind, i.Namespace)
	case i.Namespace != "":
		return fmt.Sprintf("%s/%s in namespace %s", kind, i.Name, i.Namespace)
	}
	return kind + "/" + i.Name
}

func (i item) same(o item) bool {
	return i.Group == o.Group && i.Resource == o.Resource && i.Namespace == o.Namespace && i.Name == o.Name
}

func namespaceItem(name string) item { return item{Version: "v1", Resource: "namespaces", Name: name} }

func coreItem(resource, namespace, name string) item {
	return item{Version: "v1", Resource: resource, Namespace: namespace, Name: name}
}

// record keeps the ConfigMap of this run up to date.
type record struct {
	on     *presence
	holder holder

	mu        sync.Mutex
	namespace string // where it is; "" before begin
	items     []item
	cleaned   error // set when the record is found to be gone
	stop      context.CancelFunc
	stopped   chan struct{}
}

// errCleaned ends a run whose record is gone: what it made then would be nobody's.
var errCleaned = errors.New("this run was cleaned away by tare clean, or its record was deleted: nothing more is made; start it again with tare resume")

func newRecord(on *presence) *record {
	h := thisProcess(on.bed.options.Run)
	h.ID = on.bed.run
	return &record{on: on, holder: h}
}

// name is that of the ConfigMap.
func (r *record) name() string { return "tare-" + r.on.bed.owner }

// begun says whether the record is in the cluster.
func (r *record) begun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.namespace != ""
}

// begin writes the record into a namespace, unless it is in one already, and
// begins to renew it.
func (r *record) begin(ctx context.Context, namespace string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.namespace != "" {
		return nil
	}
	labels := r.on.bed.labels("", "")
	labels[recordLabel] = recordVersion
	data, err := r.data()
	if err != nil {
		return err
	}
	data[keyHolder] = r.holder.String()
	_, err = r.on.Client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: r.name(), Namespace: namespace, Labels: labels},
		Data:       data,
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) { // the name is random: an earlier try made it
		return fmt.Errorf("write the record of the run into namespace %s: %w", namespace, explain(err))
	}
	r.namespace = namespace
	renew, cancel := context.WithCancel(context.Background())
	r.stop, r.stopped = cancel, make(chan struct{})
	go r.renew(renew)
	return nil
}

// data is what changes in the record.
func (r *record) data() (map[string]string, error) {
	inventory, err := json.Marshal(r.items)
	if err != nil {
		return nil, err
	}
	return map[string]string{keyRenewed: time.Now().UTC().Format(time.RFC3339), keyInventory: string(inventory)}, nil
}

// renew shows at every heartbeat that the holder lives. That it fails now and
// then does no harm; that the record is gone is for good, and remembered.
func (r *record) renew(ctx context.Context) {
	defer close(r.stopped)
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.mu.Lock()
			_ = r.write(ctx)
			over := r.cleaned
			r.mu.Unlock()
			if over != nil {
				r.on.bed.options.Say("context " + r.on.Context + ": " + over.Error())
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// write brings the ConfigMap up to date. The caller holds the lock.
func (r *record) write(ctx context.Context) error {
	if r.namespace == "" || r.cleaned != nil {
		return r.cleaned
	}
	data, err := r.data()
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return err
	}
	_, err = r.on.Client.CoreV1().ConfigMaps(r.namespace).Patch(ctx, r.name(), types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		r.cleaned = fmt.Errorf("ConfigMap %s in namespace %s: %w", r.name(), r.namespace, errCleaned)
		return r.cleaned
	}
	if err != nil {
		return fmt.Errorf("record in the cluster what is about to be made (ConfigMap %s in namespace %s): %w", r.name(), r.namespace, explain(err))
	}
	return nil
}

// add writes down what is about to be made. It asks the cluster even when all of
// it is written down: nothing is made for a run whose record is gone.
func (r *record) add(ctx context.Context, items ...item) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := slices.Clone(r.items)
	for _, i := range items {
		if !slices.ContainsFunc(r.items, i.same) {
			r.items = append(r.items, i)
		}
	}
	if len(r.items) > maxItems {
		r.items = before
		return fmt.Errorf("a run lists at most %d objects and kinds of objects on a cluster, so that tare clean can read it", maxItems)
	}
	return r.write(ctx)
}

// there says whether the run still has its record, as far as this process has
// seen: it asks nobody.
func (r *record) there() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cleaned
}

// has says whether anything of a resource is in the inventory.
func (r *record) has(resource schema.GroupResource) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.items, func(i item) bool { return i.gvr().GroupResource() == resource })
}

// drop strikes off what is gone.
func (r *record) drop(ctx context.Context, items ...item) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.items = slices.DeleteFunc(r.items, func(i item) bool { return slices.ContainsFunc(items, i.same) })
	return r.write(ctx)
}

// end stops renewing and gives the inventory and where the record is.
func (r *record) end() (items []item, namespace string) {
	r.mu.Lock()
	items, namespace = slices.Clone(r.items), r.namespace
	stop, stopped := r.stop, r.stopped
	r.stop = nil
	r.mu.Unlock()
	if stop != nil {
		stop()
		<-stopped
	}
	return items, namespace
}

// Record writes down that a workload makes objects of these kinds with the
// site's labels in the site's namespace, so that Close and Clean remove them
// there even where the namespace is given and stays. It comes before they are made.
func (s *Site) Record(ctx context.Context, kinds ...schema.GroupVersionResource) error {
	on, err := s.ensureNamespace(ctx)
	if err != nil {
		return err
	}
	var items []item
	for _, k := range kinds {
		items = append(items, item{Group: k.Group, Version: k.Version, Resource: k.Resource, Namespace: s.Namespace()})
	}
	return on.record.add(ctx, items...)
}
