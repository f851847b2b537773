package service

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// maxUnreadable bounds the values that NodeInfo names.
const maxUnreadable = 100

// NodeInfo says what node this is: everything to the operator, name and state to
// everybody who is registered, and the partitions of sagas in whose context one
// has a role.
func (c Caller) NodeInfo(ctx context.Context, _ api.NodeInfoParams) (api.Info, error) {
	if err := c.mayHere(ctx, domain.VerbKnow, "node"); err != nil {
		return api.Info{}, err
	}
	whole := c.api.parts.Info()
	if c.who.Operates(domain.VerbInspect, c.group) {
		short, cancel := context.WithTimeout(ctx, infoTime)
		defer cancel()
		var health Health
		var beside sync.WaitGroup // what is silent hides nothing of what the others tell
		beside.Go(func() { health = c.api.health(ctx, infoTime) })
		beside.Go(func() { whole.ArchiveError = c.api.archive.trouble(ctx, infoTime) })
		beside.Go(func() { whole.Settings, _ = c.api.settings.get(ctx, infoTime) }) // what is away is told elsewhere
		beside.Go(func() { whole.Sizes, _ = c.api.sizes.get(ctx, infoTime) })       // these ask all that keeps something, one by one
		strange, _ := c.api.parts.Records.Unreadable(short)                         // what node this is, is told without the board, too
		for _, u := range strange[:min(len(strange), maxUnreadable)] {
			whole.Unreadable = append(whole.Unreadable, u.Name)
		}
		if recs, err := c.api.parts.Records.Get(short, 0, board.EpochKey); err == nil && recs[0] != nil {
			e := board.EpochOf(recs[0])
			for _, l := range e.Losses {
				whole.Losses = append(whole.Losses, api.Loss{Of: l.Of, Epoch: e.Number, AtMs: l.At.UnixMilli(), Cause: l.Cause})
			}
		}
		if recs, err := c.api.parts.Records.Get(short, 0, layout.Archive); err == nil {
			whole.ArchiveBacklog = layout.DecodeArchiveBacklog(recs[0])
		}
		whole.ArchiveDurability = string(c.api.parts.Archive.Durability())
		if c.api.parts.Evictions != nil {
			whole.Evictions, _ = c.api.parts.Evictions(short)
		}
		if a, late, err := clockwork.Overdue(short, c.api.parts.Records); err == nil && late > 0 {
			whole.LateAlarm = &api.LateAlarm{Context: domain.TenantID(a.Space), Name: a.Name, LateMs: late.Milliseconds()}
		}
		if c.api.parts.Certificates != nil {
			whole.Certificates = c.api.parts.Certificates()
		}
		beside.Wait()
		whole.NowMs, whole.BoardMs, whole.Ready = time.Now().UnixMilli(), c.api.parts.Records.Now().UnixMilli(), health.Ready()
		whole.BoardError, whole.StreamError, whole.DiskError = health.Board, health.Streams, health.Disk
		return whole, nil
	}
	i := api.Info{Name: whole.Name, Version: whole.Version, Durability: whole.Durability, Ready: c.api.health(ctx, infoTime).Ready(),
		BoardMs: c.api.parts.Records.Now().UnixMilli()}
	var seen []string
	for _, s := range whole.Sagas {
		number, _, _ := strings.Cut(s, ":")
		tenant, err := domain.ParseTenantID(number)
		if err != nil {
			return api.Info{}, err
		}
		sees, err := c.api.parts.Access.Sees(ctx, c.who, tenant)
		if err != nil {
			return api.Info{}, err
		}
		if sees {
			seen = append(seen, s)
		}
	}
	i.Sagas = seen
	return i, nil
}

// DrainNode begins the graceful end of this node. It returns at once.
func (c Caller) DrainNode(ctx context.Context, _ api.AdminParams) (api.NodeDraining, error) {
	name := c.api.parts.Info().Name
	if err := c.mayHere(ctx, domain.VerbAdministrate, "node:"+name); err != nil {
		return api.NodeDraining{}, err
	}
	if c.api.parts.Drain == nil {
		return api.NodeDraining{}, domain.Unavailablef("this node lives for one command only, and ends with it")
	}
	c.api.log.InfoContext(ctx, "node is told to drain", "actor", uint32(c.who.Actor))
	c.api.parts.Drain()
	return api.NodeDraining{Name: name, Draining: true}, nil
}

// ReloadNode reads the node's config again.
func (c Caller) ReloadNode(ctx context.Context, _ api.AdminParams) (api.NodeReloaded, error) {
	name := c.api.parts.Info().Name
	if err := c.mayHere(ctx, domain.VerbAdministrate, "node:"+name); err != nil {
		return api.NodeReloaded{}, err
	}
	if c.api.parts.Reload == nil {
		return api.NodeReloaded{}, domain.Unavailablef("this node has no config file to read again: start it with --config")
	}
	restart, err := c.api.parts.Reload(ctx)
	if err != nil {
		return api.NodeReloaded{}, err
	}
	return api.NodeReloaded{Name: name, Effects: c.api.parts.Info().Effects, Restart: restart}, nil
}

// logLevels are those that a person may choose.
var logLevels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

// SetLogLevel changes from which level on the node writes lines.
func (c Caller) SetLogLevel(ctx context.Context, p api.LogLevelParams) (api.NodeLogging, error) {
	name := c.api.parts.Info().Name
	if err := c.mayHere(ctx, domain.VerbAdministrate, "node:"+name); err != nil {
		return api.NodeLogging{}, err
	}
	level, known := logLevels[p.Level]
	if !known {
		return api.NodeLogging{}, domain.Invalidf("level %.20q: want debug, info, warn or error", p.Level)
	}
	if c.api.parts.LogLevel == nil {
		return api.NodeLogging{}, domain.Unavailablef("this node lives for one command only, and has no log")
	}
	before := strings.ToLower(c.api.parts.LogLevel.Level().String())
	// Both ends of a change are in the log, whichever level they need.
	c.api.log.WarnContext(ctx, "log level changed", "level_before", before, "level_now", p.Level, "actor", uint32(c.who.Actor))
	c.api.parts.LogLevel.Set(level)
	return api.NodeLogging{Name: name, Level: p.Level, Before: before}, nil
}

// BackupNode answers with a backup, which has the keys of the node in it.
func (c Caller) BackupNode(ctx context.Context, _ api.AdminParams) (api.Bytes, error) {
	name := c.api.parts.Info().Name
	if err := c.mayHere(ctx, domain.VerbAdministrate, "node:"+name); err != nil {
		return api.Bytes{}, err
	}
	if c.api.parts.Backup == nil {
		return api.Bytes{}, domain.Unavailablef("this node cannot be backed up")
	}
	c.api.log.InfoContext(ctx, "node is backed up", "actor", uint32(c.who.Actor))
	return api.Bytes{Write: func(to io.Writer) error { return c.api.parts.Backup(ctx, to) }}, nil
}

// DiscardValue removes a value from the board's store that cannot be read. With the
// head of a list or set go its items.
//
// Errors: [domain.ErrNotFound] for one that can be read, or is not there.
func (c Caller) DiscardValue(ctx context.Context, p api.DiscardParams) (api.ValueDiscarded, error) {
	if err := c.mayHere(ctx, domain.VerbAdministrate, "node:"+c.api.parts.Info().Name); err != nil {
		return api.ValueDiscarded{}, err
	}
	if p.Name == "" {
		return api.ValueDiscarded{}, domain.Invalidf("name: want the name of a value that cannot be read; `ramet doctor` has them")
	}
	if err := c.api.parts.Records.Discard(ctx, p.Name); err != nil {
		return api.ValueDiscarded{}, err
	}
	c.api.log.WarnContext(ctx, "a value that could not be read is discarded", "name", domain.PlainText(p.Name, 200), "actor", uint32(c.who.Actor))
	return api.ValueDiscarded(p), nil
}

// MayScrape asks for the right to read the node's metrics.
//
// Errors: [domain.ErrForbidden].
func (c Caller) MayScrape(ctx context.Context) error {
	c.group = api.GroupMetrics
	return c.mayHere(ctx, domain.VerbInspect, "metrics")
}

// nodesMost bounds the list of nodes.
const nodesMost = 10_000

// ListNodes lists the nodes of the board by name, those too that are gone.
func (c Caller) ListNodes(ctx context.Context, _ api.ListNodesParams) (api.NodePage, error) {
	if err := c.mayHere(ctx, domain.VerbInspect, "nodes"); err != nil {
		return api.NodePage{}, err
	}
	list, err := c.nodes(ctx)
	return api.NodePage{Nodes: list}, err
}

// nodes are those of the board by name.
func (c Caller) nodes(ctx context.Context) ([]domain.Node, error) {
	list, now := []domain.Node{}, c.api.parts.Records.Now()
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

// ShowNode shows one node as it says of itself.
func (c Caller) ShowNode(ctx context.Context, p api.NodeParams) (domain.Node, error) {
	key := layout.Node(p.Name)
	if err := c.mayHere(ctx, domain.VerbInspect, "node:"+p.Name); err != nil {
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
	return n.Seen(c.api.parts.Records.Now()), err
}
