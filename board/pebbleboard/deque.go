package pebbleboard

// deque grows at both ends: a ring buffer. A copy of the struct keeps what it
// has while only pushes and skips happen to the original; that is how a batch
// is taken back.
type deque[T any] struct {
	ring  []T // its length is a power of two, or 0
	start int
	n     int
	spent int // slots left of start that were skipped: a copy may still have them
}

func (d *deque[T]) slot(i int) *T { return &d.ring[(d.start+i)&(len(d.ring)-1)] }
func (d *deque[T]) at(i int) T    { return *d.slot(i) }

func (d *deque[T]) pushRight(v T) {
	d.grow()
	d.n++
	*d.slot(d.n - 1) = v
}

func (d *deque[T]) pushLeft(v T) {
	if d.spent > 0 {
		d.renew()
	}
	d.grow()
	d.start = (d.start - 1) & (len(d.ring) - 1)
	d.n++
	*d.slot(0) = v
}

func (d *deque[T]) popRight() T {
	p := d.slot(d.n - 1)
	v := *p
	var zero T
	*p = zero
	d.n--
	return v
}

// skipLeft forgets n elements on the left. It leaves them in the ring.
func (d *deque[T]) skipLeft(n int) {
	if n > 0 {
		d.start = (d.start + n) & (len(d.ring) - 1)
		d.n -= n
		d.spent += n
	}
}

// clone copies the leftmost n elements into a ring of its own.
func (d *deque[T]) clone(n int) deque[T] {
	var c deque[T]
	for i := range n {
		c.pushRight(d.at(i))
	}
	return c
}

func (d *deque[T]) grow() {
	if d.n+d.spent == len(d.ring) {
		d.renew()
	}
}

// renew goes on in a ring of its own, with room.
func (d *deque[T]) renew() {
	size := 8
	for size < 2*d.n {
		size *= 2
	}
	ring := make([]T, size)
	for i := range d.n {
		ring[i] = d.at(i)
	}
	d.ring, d.start, d.spent = ring, 0, 0
}
