package layout

import (
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Fields of a node's record by which its name is taken and kept.
const (
	NodeID = "id" // which data folder the name belongs to
	// NodeVersion is that of its program.
	NodeVersion = "version"
	NodeStarted = "started_ms"
	NodeSeen    = "seen_ms" // when it last said that it is alive; 0 when it stopped
)

// Health is the record in space 0 that nodes write to find out whether they can,
// with the name of the last.
const (
	Health     = "ramet:health"
	HealthNode = "node"
)

var nodeTable = newTable(
	text(NodeVersion, func(n *domain.Node) *string { return &n.Version }),
	number("format", func(n *domain.Node) *int { return &n.Format }),
	text("host", func(n *domain.Node) *string { return &n.Host }),
	number32("runner_id", func(n *domain.Node) *domain.RunnerID { return &n.RunnerID }),
	text("durability", func(n *domain.Node) *string { return &n.Durability }),
	texts("labels", func(n *domain.Node) *domain.Labels { return &n.Labels }),
	list("circles", wantList, func(n *domain.Node) *[]domain.ServedCircle { return &n.Circles }),
	list("effects", wantList, func(n *domain.Node) *[]string { return &n.Effects }),
	list("off", wantList, func(n *domain.Node) *[]domain.Off { return &n.Off }),
	list("unkept", wantList, func(n *domain.Node) *[]domain.Unkept { return &n.Unkept }),
	number("clock_off_ms", func(n *domain.Node) *int64 { return &n.ClockOffMs }),
	number(NodeStarted, func(n *domain.Node) *int64 { return &n.StartedMs }),
	number(NodeSeen, func(n *domain.Node) *int64 { return &n.SeenMs }).readOnly(),
)

// EncodeNode writes what a node says of itself; [NodeID] and [NodeSeen] are
// for whoever takes the name. All fields are there each time: the record is
// written over again and again.
func EncodeNode(n domain.Node) []board.Field { return nodeTable.encode(&n) }

// DecodeNode reads a node's record.
//
// Errors: [domain.ErrInvalid] naming the field.
func DecodeNode(key string, r board.Record) (domain.Node, error) {
	n := domain.Node{Name: strings.TrimPrefix(key, NodePrefix)}
	err := nodeTable.decode(decoder{key: keyText(key)}, &n, r)
	return n, err
}
