package importer

// ordered holds a value for each key, in the order in which the keys were added.
type ordered[K comparable, V any] struct {
	list []*V
	of   map[K]*V
}

// get returns the value of a key. It adds a new value if the key has none.
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
