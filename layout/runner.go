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
	RunnerActor  = "actor"  // whose worker it is
)

var runnerTable = newTable(
	number32("id", func(r *domain.Runner) *domain.RunnerID { return &r.ID }),
	text("pubkey", func(r *domain.Runner) *string { return &r.Pubkey }),
	text("address", func(r *domain.Runner) *string { return &r.Address }),
	text("topic", func(r *domain.Runner) *string { return &r.Topic }),
	flag("local", func(r *domain.Runner) *bool { return &r.Local }),
	number32("created_at", func(r *domain.Runner) *domain.UnixTime { return &r.CreatedAt }),
	number32("updated_at", func(r *domain.Runner) *domain.UnixTime { return &r.UpdatedAt }),

	text(RunnerNode, func(r *domain.Runner) *string { return &r.Node }).ours(),
	list("serves", wantList, func(r *domain.Runner) *[]domain.Service { return &r.Serves }).ours(),
	list(RunnerOff, wantList, func(r *domain.Runner) *[]domain.Off { return &r.Off }).ours(),
	texts(RunnerLabels, func(r *domain.Runner) *domain.Labels { return &r.Labels }).ours(),
	list(RunnerLocked, wantList, func(r *domain.Runner) *[]domain.Locked { return &r.Locked }).ours(),
	text(RunnerWorker, func(r *domain.Runner) *string { return &r.Worker }).ours(),
	number32(RunnerActor, func(r *domain.Runner) *domain.ActorID { return &r.Actor }).ours(),
	text("host", func(r *domain.Runner) *string { return &r.Host }).ours(),
	text("version", func(r *domain.Runner) *string { return &r.Version }).ours(),
	number(RunnerSeen, func(r *domain.Runner) *int64 { return &r.SeenMs }).ours(),
)

const wantList = "a JSON list"

// EncodeRunner writes a runner's record.
func EncodeRunner(r domain.Runner) []board.Field { return runnerTable.encode(&r) }

// DecodeRunner reads a runner's record.
//
// Errors: [domain.ErrInvalid] naming the field.
func DecodeRunner(key string, rec board.Record) (r domain.Runner, err error) {
	err = runnerTable.decode(decoder{key: keyText(key)}, &r, rec)
	return r, err
}

// RunnerSeen is when a runner last said that it is alive; not there once its node has
// stopped.
const RunnerSeen = "seen_ms"

// SeenField says that a runner is alive.
func SeenField(now time.Time) board.Field {
	return board.Field{Name: RunnerSeen, Value: strconv.FormatInt(now.UnixMilli(), 10)}
}
