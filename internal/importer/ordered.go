package importer

// ordered is a map that keeps the order in which its keys were added.
type ordered[K comparable, V any] struct {
	list []*V
	of   map[K]*V
}

// get returns the value of a key. If the key has none, it adds the value that new returns.
func (o *ordered[K, V]) get(key K, new func() *V) *V {
	v, ok := o.of[key]
	if !ok {
		if o.of == nil {
			o.of = map[K]*V{}
		}
		v = new()
		o.of[key] = v
		o.list = append(o.list, v)
	}
	return v
}
