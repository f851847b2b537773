package layout

// Affinities is the set, in space 0, of the queues of jobs that ask for
// labels, each without its priority: runners claim from those whose labels they
// have. A name is put there before the first job is queued so, and stays. The
// set of that name in a context's space has those of its jobs.
const Affinities = "ramet:affinities"

const (
	// MaxAffinities bounds that set: every runner with labels knows it by heart.
	MaxAffinities = 1000
	// MaxAffinitiesOf bounds what one context puts there.
	MaxAffinitiesOf = 100
)
