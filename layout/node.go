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
	NodeSeen    = "seen_ms" // when it last said that it is alive; 0 when it stopped
)

// Health is the record in space 0 that nodes write to find out whether they can,
// with the name of the last.
const (
	Health     = "ramet:health"
	HealthNode = "node"
)

// EncodeNode writes what a node says of itself; [NodeID] and [NodeSeen] are
// for whoever takes the name. All fields are there each time: the record is
// written over again and again.
func EncodeNode(n domain.Node) []board.Field {
	var e encoder
	e.str(NodeVersion, n.Version)
	e.str("host", n.Host)
	e.num("runner_id", int64(n.RunnerID))
	e.str("durability", n.Durability)
	e.str("labels", encodeMap(n.Labels))
	e.str("circles", encodeList(n.Circles))
	e.str("effects", encodeList(n.Effects))
	e.str("off", encodeList(n.Off))
	e.num("started_ms", n.StartedMs)
	return e
}

// DecodeNode reads a node's record.
//
// Errors: [domain.ErrInvalid] naming the field.
func DecodeNode(key string, r board.Record) (domain.Node, error) {
	n := domain.Node{Name: strings.TrimPrefix(key, NodePrefix)}
	d := decoder{key: keyText(key)}
	for _, f := range r {
		switch f.Name {
		case NodeVersion:
			n.Version = f.Value
		case "host":
			n.Host = f.Value
		case "runner_id":
			n.RunnerID = domain.RunnerID(d.u32(f))
		case "durability":
			n.Durability = f.Value
		case "labels":
			n.Labels = d.strMap(f)
		case "circles":
			d.json(f, &n.Circles, "a JSON list")
		case "effects":
			d.json(f, &n.Effects, "a JSON list")
		case "off":
			d.json(f, &n.Off, "a JSON list")
		case "started_ms":
			n.StartedMs = d.int(f)
		case NodeSeen:
			n.SeenMs = d.int(f)
		}
	}
	return n, d.err
}
