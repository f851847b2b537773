// Package peer knows who sits at the other end of a local socket. The doors ask
// beside a proof, never instead of one: scripts run as the node's own user.
package peer

import (
	"github.com/ramet-run/ramet/domain"
)

// Peer is what the kernel says of the other end.
type Peer struct {
	uid int
	err error
}

// Check lets the node's own user and root in.
//
// Errors: [domain.ErrForbidden]; [domain.ErrUnavailable].
func (p Peer) Check() error {
	if p.err != nil {
		return domain.Unavailablef("the local socket does not say who calls: %v", p.err)
	}
	if p.uid != 0 && p.uid != ownUID() {
		return domain.Forbiddenf("the local socket is for the user who runs the node, and for root; send a token")
	}
	return nil
}
