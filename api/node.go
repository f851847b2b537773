package api

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
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

// ListNodesParams are those of node.list: none.
type ListNodesParams struct{}

// nodesMost bounds the list of nodes.
const nodesMost = 10_000

// ListNodes lists the nodes of the board by name, those too that are gone.
func (c Caller) ListNodes(ctx context.Context, _ ListNodesParams) (NodeList, error) {
	if err := c.mayHere(ctx, identity.Know, "nodes"); err != nil {
		return NodeList{}, err
	}
	list := NodeList{Nodes: []domain.Node{}}
	now := time.Now()
	for cursor := ""; len(list.Nodes) < nodesMost; {
		keys, next, err := c.api.parts.Records.Keys(ctx, 0, layout.NodePrefix, cursor, runnerPage)
		if err != nil {
			return list, err
		}
		recs, err := c.api.parts.Records.Get(ctx, 0, keys...)
		if err != nil {
			return list, err
		}
		for i, rec := range recs {
			if rec != nil {
				// One that cannot be read wholly is listed all the same.
				n, _ := layout.DecodeNode(keys[i], rec)
				list.Nodes = append(list.Nodes, n.Seen(now))
			}
		}
		if cursor = next; next == "" {
			break
		}
	}
	slices.SortFunc(list.Nodes, func(a, b domain.Node) int { return cmp.Compare(a.Name, b.Name) })
	list.Nodes = slices.CompactFunc(list.Nodes, func(a, b domain.Node) bool { return a.Name == b.Name }) // a key may come twice
	return list, nil
}

// NodeParams name a node.
type NodeParams struct {
	Name string `json:"-" path:"node"`
}

// ShowNode shows one node as it says of itself.
func (c Caller) ShowNode(ctx context.Context, p NodeParams) (domain.Node, error) {
	key := layout.Node(p.Name)
	if err := c.mayHere(ctx, identity.Know, "node:"+p.Name); err != nil {
		return domain.Node{}, err
	}
	recs, err := c.api.parts.Records.Get(ctx, 0, key)
	if err != nil {
		return domain.Node{}, err
	}
	if recs[0] == nil {
		return domain.Node{}, domain.NotFoundf("there is no node %q on this board; `ramet node list` shows those there are", p.Name)
	}
	n, err := layout.DecodeNode(key, recs[0])
	return n.Seen(time.Now()), err
}
