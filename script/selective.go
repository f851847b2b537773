package script

import "github.com/ramet-run/ramet/domain"

// Selective is a Runtime that cannot run every script of its type, only those
// whose jobs ask, by affinity, for labels that it has beside those of its node.
type Selective interface {
	Runtime

	// Offers are those labels: a name may have several values. What it returns is
	// not changed.
	Offers() map[string][]string

	// Reserved are those of them that only some contexts may use, named by
	// [domain.Offer], with these contexts. What it returns is not changed.
	Reserved() map[string][]domain.TenantID

	// Changed is closed when the offers change after this call.
	Changed() <-chan struct{}
}
