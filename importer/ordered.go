package importer

// ordered holds a value for each key, in the order in which the keys first appeared.
type ordered[K comparable, V any] struct {
	list []*V
	of   map[K]*V
}

// get gives the value of a key, a new one where there is none yet.
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
