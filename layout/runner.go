package layout

import (
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Fields of a runner's record that are there at times only.
const (
	RunnerNode   = "node" // the node whose it is
	RunnerOff    = "off"
	RunnerLabels = "labels"
	RunnerLocked = "locked"
	RunnerWorker = "worker" // the worker that it is
)

// EncodeRunner writes a runner's record.
func EncodeRunner(r domain.Runner) []board.Field {
	var e encoder
	e.num("id", int64(r.ID))
	e.str("pubkey", r.Pubkey)
	e.str("address", r.Address)
	e.str("topic", r.Topic)
	e.flag("local", r.Local)
	e.num("created_at", int64(r.CreatedAt))
	e.num("updated_at", int64(r.UpdatedAt))
	e.strOpt(RunnerNode, r.Node)
	if len(r.Serves) > 0 {
		e.str("serves", encodeList(r.Serves))
	}
	if len(r.Off) > 0 {
		e.str(RunnerOff, encodeList(r.Off))
	}
	if len(r.Labels) > 0 {
		e.str(RunnerLabels, encodeMap(r.Labels))
	}
	if len(r.Locked) > 0 {
		e.str(RunnerLocked, encodeList(r.Locked))
	}
	e.strOpt(RunnerWorker, r.Worker)
	e.strOpt("host", r.Host)
	e.strOpt("version", r.Version)
	e.numOpt(runnerSeen, r.SeenMs)
	return e
}

// DecodeRunner reads a runner's record.
//
// Errors: [domain.ErrInvalid] naming the field.
func DecodeRunner(key string, rec board.Record) (domain.Runner, error) {
	var r domain.Runner
	d := decoder{key: keyText(key)}
	for _, f := range rec {
		switch f.Name {
		case "id":
			r.ID = domain.RunnerID(d.u32(f))
		case "pubkey":
			r.Pubkey = f.Value
		case "address":
			r.Address = f.Value
		case "topic":
			r.Topic = f.Value
		case "local":
			r.Local = d.flag(f)
		case "created_at":
			r.CreatedAt = domain.UnixTime(d.u32(f))
		case "updated_at":
			r.UpdatedAt = domain.UnixTime(d.u32(f))
		case RunnerNode:
			r.Node = f.Value
		case "serves":
			d.json(f, &r.Serves, "a JSON list")
		case RunnerLabels:
			r.Labels = d.strMap(f)
		case RunnerOff:
			d.json(f, &r.Off, "a JSON list")
		case RunnerLocked:
			d.json(f, &r.Locked, "a JSON list")
		case RunnerWorker:
			r.Worker = f.Value
		case "host":
			r.Host = f.Value
		case "version":
			r.Version = f.Value
		case runnerSeen:
			r.SeenMs = d.int(f)
		}
	}
	return r, d.err
}

const runnerSeen = "seen_ms"

// SeenField says that a runner is alive.
func SeenField(now time.Time) board.Field {
	return board.Field{Name: runnerSeen, Value: strconv.FormatInt(now.UnixMilli(), 10)}
}
