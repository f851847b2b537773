package domain

import (
	"strconv"
	"strings"
)

// Place is where a job is to run: what its field at says.
type Place struct {
	Tenant TenantID
	// Peer is the site, "" for this one.
	Peer string
	// Runner is set instead of the two for a runner that is elsewhere.
	Runner RunnerID
}

// ParsePlace reads "7", "7@acme" or "runner:20".
//
// Errors: [ErrInvalid].
func ParsePlace(s string) (Place, error) {
	bad := Invalidf("at %q: want a context's number, as 7, with the name of a peer, as 7@acme, or runner:<id>", s)
	if id, found := strings.CutPrefix(s, "runner:"); found {
		n, err := parseID(id)
		if err != nil || n == 0 {
			return Place{}, bad
		}
		return Place{Runner: RunnerID(n)}, nil
	}
	id, peer, found := strings.Cut(s, "@")
	n, err := parseID(id)
	if err != nil || n == 0 {
		return Place{}, bad
	}
	if found {
		if err := ValidateName("peer", peer); err != nil {
			return Place{}, bad
		}
	}
	return Place{Tenant: TenantID(n), Peer: peer}, nil
}

// String writes the place as ParsePlace reads it.
func (p Place) String() string {
	switch {
	case p.Runner != 0:
		return "runner:" + strconv.FormatUint(uint64(p.Runner), 10)
	case p.Peer != "":
		return strconv.FormatUint(uint64(p.Tenant), 10) + "@" + p.Peer
	}
	return strconv.FormatUint(uint64(p.Tenant), 10)
}
