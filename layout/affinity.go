package layout

import (
	"strings"

	"github.com/ramet-run/ramet/domain"
)

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

// affinityQueue is "queue:<type>:at:<labels>", with ":p<n>" behind it for a
// priority: a queue group of its own, which counts to the caps of its type.
func affinityQueue(base string, j *domain.Job) string {
	q := base + ":at:" + domain.Labels(j.Affinity).String()
	if j.Priority > 0 {
		q += ":p" + string(rune('0'+j.Priority))
	}
	return q
}

// AffinityQueue is what such a name says.
type AffinityQueue struct {
	Type     domain.ScriptType
	Labels   domain.Labels
	Priority int
}

// ParseAffinityQueue reads the name of such a queue; ok is false for others.
func ParseAffinityQueue(list string) (q AffinityQueue, ok bool) {
	rest, found := strings.CutPrefix(list, "queue:")
	typ, labels, at := strings.Cut(rest, ":at:")
	if !found || !at {
		return q, false
	}
	labels, priority, _ := strings.Cut(labels, ":p")
	if len(priority) == 1 {
		q.Priority = int(priority[0] - '0')
	}
	var err error
	q.Labels, err = domain.ParseLabels(labels)
	q.Type = domain.ScriptType(typ)
	return q, err == nil
}
