package api

import (
	"context"

	"github.com/ramet-run/ramet/identity"
)

// NodeInfoParams are those of node.info: none.
type NodeInfoParams struct{}

// NodeInfo says what node this is.
func (c Caller) NodeInfo(ctx context.Context, _ NodeInfoParams) (Info, error) {
	if err := c.mayHere(ctx, identity.Know, "node"); err != nil {
		return Info{}, err
	}
	return c.api.Info(), nil
}
