package mask

// needle is a secret in one of the ways in which it is written.
type needle struct {
	text  string
	shown []byte // in its place
	// fail says of every beginning how much of its end is a beginning of the needle, too:
	// where the search goes on when the next byte is another (Knuth, Morris and Pratt).
	fail []int32
}

// seed is the length of the beginning by which needles are looked up, in bytes: less than
// Least.
const seed = 4

// view is a way in which a text is read, as it is or folded, with the needles to find in it.
// A byte costs one look into a table of bits, however many needles there are.
type view struct {
	needles []*needle
	known   map[string]bool
	seeds   map[uint32][]*needle
	maybe   [256]uint64 // a bit of each hash of a seed
}

func hash(window uint32) uint32 { return window * 0x9e3779b1 >> 18 }

// add adds a needle, unless it is too short.
func (v *view) add(text string, shown []byte) {
	if len(text) < Least || v.known[text] {
		return
	}
	if v.known == nil {
		v.known, v.seeds = map[string]bool{}, map[uint32][]*needle{}
	}
	v.known[text] = true
	n := &needle{text, shown, make([]int32, len(text))}
	for i, k := 1, 0; i < len(text); i++ {
		for k > 0 && text[i] != text[k] {
			k = int(n.fail[k-1])
		}
		if text[i] == text[k] {
			k++
		}
		n.fail[i] = int32(k)
	}
	v.needles = append(v.needles, n)
	window := uint32(0)
	for i := range seed {
		window = window<<8 | uint32(text[i])
	}
	v.seeds[window] = append(v.seeds[window], n)
	v.maybe[hash(window)/64] |= 1 << (hash(window) % 64)
}

// begun is a needle of which the last bytes of a text are the beginning.
type begun struct {
	needle *needle
	bytes  int // at least seed
}

// search finds the needles of a view in a text that comes in parts.
type search struct {
	view   *view
	window uint32 // the last bytes
	begun  []begun
}

func (s *search) reset() { s.window, s.begun = 0, s.begun[:0] }

// next takes a byte, the last of the window.
func (s *search) next(b byte, i int, found func(n *needle, last int)) {
	kept := s.begun[:0]
	for _, t := range s.begun {
		n := t.needle
		for t.bytes > 0 && n.text[t.bytes] != b {
			t.bytes = int(n.fail[t.bytes-1])
		}
		if n.text[t.bytes] == b {
			t.bytes++
		}
		if t.bytes == len(n.text) {
			found(n, i)
			t.bytes = int(n.fail[t.bytes-1])
		}
		if t.bytes >= seed {
			kept = append(kept, t)
		}
	}
	s.begun = kept
	if h := hash(s.window); s.view.maybe[h/64]>>(h%64)&1 == 0 {
		return
	}
next:
	for _, n := range s.view.seeds[s.window] {
		for _, t := range s.begun {
			if t.needle == n {
				continue next
			}
		}
		s.begun = append(s.begun, begun{n, seed})
	}
}

// over searches the next bytes, and calls found for each needle and the place of its last
// byte.
func (s *search) over(text []byte, found func(n *needle, last int)) {
	maybe := &s.view.maybe
	for i := 0; i < len(text); i++ {
		window := s.window<<8 | uint32(text[i])
		for h := hash(window); len(s.begun) == 0 && maybe[h/64]>>(h%64)&1 == 0; h = hash(window) {
			if i++; i == len(text) {
				s.window = window
				return
			}
			window = window<<8 | uint32(text[i])
		}
		s.window = window
		s.next(text[i], i, found)
	}
}

// back is how many of the last bytes may belong to a needle that has not ended.
func (s *search) back() int {
	n := seed - 1
	for _, t := range s.begun {
		n = max(n, t.bytes)
	}
	return n
}
