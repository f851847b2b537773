package script

// Selective is a Runtime that cannot run every script of its type, only those
// whose jobs ask, by affinity, for labels that it has beside those of its node.
type Selective interface {
	Runtime

	// Offers are those labels: a name may have several values. What it returns is
	// not changed.
	Offers() map[string][]string

	// Changed is closed when the offers change after this call.
	Changed() <-chan struct{}
}
