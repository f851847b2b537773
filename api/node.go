package api

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
)

// NodeInfoParams are those of node.info: none.
type NodeInfoParams struct{}

// maxUnreadable bounds the values that NodeInfo names.
const maxUnreadable = 100

// NodeInfo says what node this is: everything to the operator, name and state to
// everybody who is registered, and the partitions of sagas in whose context one
// has a role.
func (c Caller) NodeInfo(ctx context.Context, _ NodeInfoParams) (Info, error) {
	if err := c.mayHere(ctx, identity.Know, "node"); err != nil {
		return Info{}, err
	}
	whole := c.api.parts.Info()
	if c.who.Operates(identity.Inspect, c.group) {
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		strange, _ := c.api.parts.Records.Unreadable(short) // what node this is, is told without the board, too
		for _, u := range strange[:min(len(strange), maxUnreadable)] {
			whole.Unreadable = append(whole.Unreadable, u.Name)
		}
		if recs, err := c.api.parts.Records.Get(short, 0, board.EpochKey); err == nil && recs[0] != nil {
			e := board.EpochOf(recs[0])
			whole.Loss = &Loss{Epoch: e.Number, AtMs: e.Since.UnixMilli(), Cause: e.Cause}
		}
		if err := c.api.parts.Archive.Ping(short); err != nil {
			whole.ArchiveError = err.Error()
		}
		whole.ArchiveDurability = string(c.api.parts.Archive.Durability())
		if c.api.parts.Evictions != nil {
			whole.Evictions, _ = c.api.parts.Evictions(short)
		}
		if a, late, err := clockwork.Overdue(short, c.api.parts.Records); err == nil && late > 0 {
			whole.LateAlarm = &LateAlarm{Context: domain.TenantID(a.Space), Name: a.Name, LateMs: late.Milliseconds()}
		}
		whole.StreamError = c.api.streamError(ctx)
		return whole, nil
	}
	i := Info{Name: whole.Name, Version: whole.Version, Durability: whole.Durability, Ready: whole.Ready}
	var seen []string
	for _, s := range whole.Sagas {
		number, _, _ := strings.Cut(s, ":")
		tenant, err := domain.ParseTenantID(number)
		if err != nil {
			return Info{}, err
		}
		sees, err := c.api.parts.Access.Sees(ctx, c.who, tenant)
		if err != nil {
			return Info{}, err
		}
		if sees {
			seen = append(seen, s)
		}
	}
	i.Sagas = seen
	return i, nil
}

// streamError is why event streams take nothing; "" where they do.
func (a *API) streamError(ctx context.Context) string {
	if a.parts.Streams == nil {
		return ""
	}
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	switch err := a.parts.Streams(short); {
	case err == nil:
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return "the server of the event streams gives no answer"
	default:
		return err.Error()
	}
}

// NodeDraining answers node.drain: the node has begun to end.
type NodeDraining struct {
	Name     string `json:"name"`
	Draining bool   `json:"draining"`
}

// NodeReloaded answers node.reload: the config was read. Effects are those that
// the node does from now on.
type NodeReloaded struct {
	Name    string              `json:"name"`
	Effects domain.List[string] `json:"effects"`
}

// AdminParams are those of node.drain and node.reload: none.
type AdminParams struct{}

// DrainNode begins the graceful end of this node. It returns at once.
func (c Caller) DrainNode(ctx context.Context, _ AdminParams) (NodeDraining, error) {
	name := c.api.parts.Info().Name
	if err := c.mayHere(ctx, identity.Administrate, "node:"+name); err != nil {
		return NodeDraining{}, err
	}
	if c.api.parts.Drain == nil {
		return NodeDraining{}, domain.Unavailablef("this node lives for one command only, and ends with it")
	}
	c.api.log.InfoContext(ctx, "node is told to drain", "actor", uint32(c.who.Actor))
	c.api.parts.Drain()
	return NodeDraining{name, true}, nil
}

// ReloadNode reads the node's config again.
func (c Caller) ReloadNode(ctx context.Context, _ AdminParams) (NodeReloaded, error) {
	name := c.api.parts.Info().Name
	if err := c.mayHere(ctx, identity.Administrate, "node:"+name); err != nil {
		return NodeReloaded{}, err
	}
	if c.api.parts.Reload == nil {
		return NodeReloaded{}, domain.Unavailablef("this node has no config file to read again: start it with --config")
	}
	if err := c.api.parts.Reload(ctx); err != nil {
		return NodeReloaded{}, err
	}
	return NodeReloaded{name, c.api.parts.Info().Effects}, nil
}

// DiscardParams name a value that cannot be read, as node.info does.
type DiscardParams struct {
	Name string `json:"name"`
}

// ValueDiscarded answers node.discard.
type ValueDiscarded struct {
	Name string `json:"name"`
}

// DiscardValue removes a value from the board's store that cannot be read. With the
// head of a list or set go its items.
//
// Errors: [domain.ErrNotFound] for one that can be read, or is not there.
func (c Caller) DiscardValue(ctx context.Context, p DiscardParams) (ValueDiscarded, error) {
	if err := c.mayHere(ctx, identity.Administrate, "node:"+c.api.parts.Info().Name); err != nil {
		return ValueDiscarded{}, err
	}
	if p.Name == "" {
		return ValueDiscarded{}, domain.Invalidf("name: want the name of a value that cannot be read; `ramet doctor` has them")
	}
	if err := c.api.parts.Records.Discard(ctx, p.Name); err != nil {
		return ValueDiscarded{}, err
	}
	c.api.log.WarnContext(ctx, "a value that could not be read is discarded", "name", domain.PlainText(p.Name, 200), "actor", uint32(c.who.Actor))
	return ValueDiscarded(p), nil
}

// MayScrape asks for the right to read the node's metrics.
//
// Errors: [domain.ErrForbidden].
func (c Caller) MayScrape(ctx context.Context) error {
	c.group = GroupMetrics
	return c.mayHere(ctx, identity.Inspect, "metrics")
}

// ListNodesParams are those of node.list: none.
type ListNodesParams struct{}

// nodesMost bounds the list of nodes.
const nodesMost = 10_000

// ListNodes lists the nodes of the board by name, those too that are gone.
func (c Caller) ListNodes(ctx context.Context, _ ListNodesParams) (NodeList, error) {
	if err := c.mayHere(ctx, identity.Inspect, "nodes"); err != nil {
		return NodeList{}, err
	}
	list, err := c.nodes(ctx)
	return NodeList{list}, err
}

// nodes are those of the board by name.
func (c Caller) nodes(ctx context.Context) ([]domain.Node, error) {
	list, now := []domain.Node{}, time.Now()
	for cursor := ""; len(list) < nodesMost; {
		keys, next, err := c.api.parts.Records.Keys(ctx, 0, layout.NodePrefix, cursor, runnerPage)
		if err != nil {
			return list, err
		}
		recs, err := board.Readable(c.api.parts.Records.Get(ctx, 0, keys...))
		if err != nil {
			return list, err
		}
		for i, rec := range recs {
			if rec != nil {
				// One that cannot be read wholly is listed all the same.
				n, _ := layout.DecodeNode(keys[i], rec)
				list = append(list, n.Seen(now))
			}
		}
		if cursor = next; next == "" {
			break
		}
	}
	slices.SortFunc(list, func(a, b domain.Node) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(list, func(a, b domain.Node) bool { return a.Name == b.Name }), nil // a key may come twice
}

// NodeParams name a node.
type NodeParams struct {
	Name string `json:"-" path:"node"`
}

// ShowNode shows one node as it says of itself.
func (c Caller) ShowNode(ctx context.Context, p NodeParams) (domain.Node, error) {
	key := layout.Node(p.Name)
	if err := c.mayHere(ctx, identity.Inspect, "node:"+p.Name); err != nil {
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
