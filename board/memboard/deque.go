package memboard

// deque is a list of strings that grows at both ends: a ring buffer.
type deque struct {
	ring  []string // its length is a power of two, or 0
	start int
	n     int
}

func (d *deque) slot(i int) *string { return &d.ring[(d.start+i)&(len(d.ring)-1)] }

func (d *deque) at(i int) string { return *d.slot(i) }

func (d *deque) pushRight(s string) {
	d.grow()
	d.n++
	*d.slot(d.n - 1) = s
}

func (d *deque) pushLeft(s string) {
	d.grow()
	d.start = (d.start - 1) & (len(d.ring) - 1)
	d.n++
	*d.slot(0) = s
}

func (d *deque) popRight() string {
	p := d.slot(d.n - 1)
	s := *p
	*p = ""
	d.n--
	d.shrink()
	return s
}

func (d *deque) popLeft() string {
	p := d.slot(0)
	s := *p
	*p = ""
	d.start = (d.start + 1) & (len(d.ring) - 1)
	d.n--
	d.shrink()
	return s
}

func (d *deque) grow() {
	if d.n == len(d.ring) {
		d.resize(max(8, 2*d.n))
	}
}

// shrink gives memory back when a long queue has drained to a quarter of
// its ring; halving then leaves room both ways, so it does not flap.
func (d *deque) shrink() {
	if len(d.ring) > 64 && d.n <= len(d.ring)/4 {
		d.resize(len(d.ring) / 2)
	}
}

func (d *deque) resize(size int) {
	ring := make([]string, size)
	for i := range d.n {
		ring[i] = d.at(i)
	}
	d.ring, d.start = ring, 0
}

// slice copies n items from index i on.
func (d *deque) slice(i, n int) []string {
	out := make([]string, n)
	for k := range out {
		out[k] = d.at(i + k)
	}
	return out
}
