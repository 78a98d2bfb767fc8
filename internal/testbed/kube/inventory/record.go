package inventory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"tare/internal/experiment"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/text/safetext"
)

const (
	recordLabel      = "tare/record" // label of a record; its value is recordVersion
	recordVersion    = "v1"
	holderAnnotation = "tare/holder" // annotation with the record's holder, on namespaces that are made before the record

	keyHolder    = "holder"
	keyRenewed   = "renewed"
	keyInventory = "inventory"
)

// heartbeat is the interval at which a run renews its record. A record older than holderGone is of an ended run, unless
// this machine sees its process.
const (
	heartbeat  = 15 * time.Second
	holderGone = 60 * time.Second
)

// Record lists the objects of one session on one cluster, made or about to be made. A ConfigMap holds it, with the
// session's owner and last heartbeat.
type Record struct {
	on      *cluster.Cluster
	owner   Owner
	holder  holder
	limits  experiment.Timeouts
	earlier sync.Once

	addingDeadline sync.Mutex // held while a deadline is made; must be locked before mu

	mu        sync.Mutex
	namespace string // namespace of the ConfigMap; "" before Begin
	items     []Item
	cleaned   error // an ErrCleaned once the ConfigMap or a deadline is gone; nil before
	deadlines map[string]*deadline
	stop      context.CancelFunc // ends the goroutine of the method renew
	stopped   chan struct{}      // closed when renew has returned
}

// ErrCleaned means that the run's record is gone. The run ends, since nothing would remove its further objects.
var ErrCleaned = errors.New("this run was cleaned away by tare clean, or its record was deleted: " +
	"nothing more is made; start it again with tare resume")

// NewRecord returns the record of a session on a cluster. Begin writes it.
func NewRecord(on *cluster.Cluster, s Session, limits experiment.Timeouts) *Record {
	h := thisProcess(s.Run)
	h.ID = s.id
	limits.Silence = cmp.Or(limits.Silence, cleanTimeouts.Silence)
	return &Record{on: on, owner: s.Owner, holder: h, limits: limits, deadlines: map[string]*deadline{}}
}

// SetHolder adds the holder to the plan of a namespace. Until Begin writes the record, nothing else names the holder.
func (r *Record) SetHolder(namespace *corev1.Namespace) {
	metav1.SetMetaDataAnnotation(&namespace.ObjectMeta, holderAnnotation, r.holder.String())
}

// Begun reports whether Begin has written the record.
func (r *Record) Begun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.namespace != ""
}

// Begin writes the record into a namespace and starts to renew it. Later calls do nothing.
func (r *Record) Begin(ctx context.Context, namespace string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.namespace != "" {
		return nil
	}
	labels := r.owner.Labels("", "")
	labels[recordLabel] = recordVersion
	data := r.data()
	data[keyHolder] = r.holder.String()
	_, err := r.on.Client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: r.owner.record(), Namespace: namespace, Labels: labels},
		Data:       data,
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) { // the name is random: if it exists already, an earlier try has created the ConfigMap
		return fmt.Errorf("write the record of the run into namespace %s: %w", namespace, cluster.Explain(err))
	}
	r.namespace = namespace
	renew, cancel := context.WithCancel(context.Background())
	r.stop, r.stopped = cancel, make(chan struct{})
	go r.renew(renew)
	return nil
}

func (r *Record) data() map[string]string {
	inventory, _ := json.Marshal(r.items)
	return map[string]string{keyRenewed: time.Now().UTC().Format(time.RFC3339), keyInventory: string(inventory)}
}

// renew writes the record at every heartbeat, and extends the deadlines, until the ConfigMap or a deadline is gone. It
// ignores temporary errors.
func (r *Record) renew(ctx context.Context) {
	defer close(r.stopped)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	// A deadline passes if it is not renewed for the time Silence. So it is renewed several times within Silence.
	renewal := time.NewTicker(max(min(r.limits.Silence.Std()/6, 5*time.Minute), time.Second))
	defer renewal.Stop()
	for {
		select {
		case <-beat.C:
			r.mu.Lock()
			_ = r.write(ctx)
			r.mu.Unlock()
		case <-renewal.C:
			r.extendAll(ctx)
		case <-ctx.Done():
			return
		}
		if err := r.Present(); err != nil {
			r.on.Say("context " + r.on.Context + ": " + err.Error())
			return
		}
	}
}

func (r *Record) write(ctx context.Context) error {
	if r.namespace == "" || r.cleaned != nil {
		return r.cleaned
	}
	patch, _ := json.Marshal(map[string]any{"data": r.data()})
	configMaps := r.on.Client.CoreV1().ConfigMaps(r.namespace)
	_, err := configMaps.Patch(ctx, r.owner.record(), types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		r.cleaned = fmt.Errorf("ConfigMap %s in namespace %s: %w", r.owner.record(), r.namespace, ErrCleaned)
		return r.cleaned
	}
	if err != nil {
		return fmt.Errorf("record an object before it is made (ConfigMap %s in namespace %s): %w",
			r.owner.record(), r.namespace, cluster.Explain(err))
	}
	return nil
}

// Add records objects before they are made, and always writes the record. If the error is ErrCleaned, the record is
// gone: the objects must not be made.
func (r *Record) Add(ctx context.Context, items ...Item) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := union(slices.Clip(r.items), items)
	if len(all) > maxItems {
		return fmt.Errorf("a run may have at most %d objects and kinds of objects on a cluster: tare clean reads no more",
			maxItems)
	}
	r.items = all
	return r.write(ctx)
}

// Present returns an ErrCleaned if the record is known to be gone, and otherwise nil. It sends no request.
func (r *Record) Present() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cleaned
}

// Lists reports whether the record contains an object of a resource.
func (r *Record) Lists(resource schema.GroupResource) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.items, func(i Item) bool { return i.gvr().GroupResource() == resource })
}

// readRecord parses a record, which another run may have written. renewed is the time of the last heartbeat.
func readRecord(c *corev1.ConfigMap) (h holder, renewed time.Time, items []Item, err error) {
	if v := c.Labels[recordLabel]; v != recordVersion {
		return h, renewed, nil, fmt.Errorf("a record of version %q, which this Tare does not know", safetext.Head(v, 64))
	}
	h, err = readHolder(c.Data[keyHolder])
	items, badItems := readItems(c.Data[keyInventory])
	renewed, badTime := time.Parse(time.RFC3339, c.Data[keyRenewed])
	if len(c.ManagedFields) > 0 {
		renewed = time.Time{} // better: the API server's time of the last change, since its clock is the same for all clients
	}
	for _, f := range c.ManagedFields {
		if f.Time != nil && f.Time.After(renewed) {
			renewed = f.Time.Time
		}
	}
	return h, renewed, items, errors.Join(err, badItems, badTime)
}

type maker[T metav1.Object] interface {
	Create(ctx context.Context, object T, o metav1.CreateOptions) (T, error)
	Get(ctx context.Context, name string, o metav1.GetOptions) (T, error)
}

// Make makes an object that the record lists, and sets its owner. An existing object of this session is returned: an
// earlier response was lost.
func Make[T metav1.Object](ctx context.Context, r *Record, client maker[T], want T) (T, error) {
	r.SetOwner(want)
	made, err := client.Create(ctx, want, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return made, err
	}
	if made, err = client.Get(ctx, want.GetName(), metav1.GetOptions{}); err == nil && !r.owner.Owns(made) {
		err = errors.New("it exists already, and is not of this run")
	}
	return made, err
}

// Item is an object that a run has made or will make. An Item without a name stands for all objects of its kind in the
// namespace.
type Item struct {
	Group     string `json:"group,omitempty"`
	Version   string `json:"version"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// Namespace returns the item for a namespace.
func Namespace(name string) Item { return Item{Version: "v1", Resource: "namespaces", Name: name} }

// Core returns the item for an object in the core group.
func Core(resource, namespace, name string) Item {
	return Item{Version: "v1", Resource: resource, Namespace: namespace, Name: name}
}

func (i Item) gvr() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: i.Group, Version: i.Version, Resource: i.Resource}
}

func (i Item) String() string {
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

// same reports whether two items are one object, even if they name different versions of its kind.
func (i Item) same(o Item) bool {
	return i.Group == o.Group && i.Resource == o.Resource && i.Namespace == o.Namespace && i.Name == o.Name
}

const maxItems = 1000

// readItems parses and validates the items of a record. Since the record may be forged, an item must name an object,
// not a path such as a proxy's.
func readItems(text string) (items []Item, err error) {
	if err := json.Unmarshal([]byte(text), &items); err != nil {
		return nil, fmt.Errorf("its inventory: %w", err)
	}
	if len(items) > maxItems {
		return nil, fmt.Errorf("its inventory lists %d things, more than the %d of a run", len(items), maxItems)
	}
	for _, i := range items {
		if why := i.invalid(); why != "" {
			return nil, fmt.Errorf("its inventory lists %q, which is no object: %s",
				safetext.Head(i.String(), 200), safetext.Head(why, 200))
		}
	}
	return items, nil
}

func (i Item) invalid() string {
	for _, part := range []struct {
		name, text string
		optional   bool
		problems   func(string) []string
	}{
		{"group", i.Group, true, validation.IsDNS1123Subdomain},
		{"version", i.Version, false, validation.IsDNS1123Label},
		{"resource", i.Resource, false, validation.IsDNS1123Label},
		{"namespace", i.Namespace, true, validation.IsDNS1123Label},
	} {
		if part.text == "" && part.optional {
			continue
		}
		if problems := part.problems(part.text); len(problems) > 0 {
			return part.name + ": " + problems[0]
		}
	}
	switch {
	case i.Name == "" && i.Namespace == "":
		return "neither a name nor a namespace"
	case len(i.Name) > 253:
		return "name: longer than a name can be"
	}
	if problems := path.IsValidPathSegmentName(i.Name); len(problems) > 0 {
		return "name: " + problems[0]
	}
	return ""
}
