package boardtest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/watched"
)

// modelSteps is how many random steps one seed takes.
const modelSteps = 400

// Model applies the same random steps to the driver and to memboard, and
// compares every answer and, after each step, all that can be read. It runs a
// few fixed seeds; BOARDTEST_SEED=n runs another one, BOARDTEST_STEPS=n more
// or fewer steps. In short mode, as under the race detector, it runs one: steps
// come one after the other, so that the others would tell it nothing.
//
// What depends on the instant (when a lease runs out, when a key expires) is
// left out: leases last an hour and run out by Void, keys expire in an hour.
// So is the order of spaces in a claim, which is the driver's within the
// rules of turns: each queue is used in one space only.
func Model(t *testing.T, f Factory) {
	seeds, steps := []uint64{1, 2, 3, 4, 5, 6}[:watched.Rounds(6, 1)], modelSteps
	if s, err := strconv.ParseUint(os.Getenv("BOARDTEST_SEED"), 10, 64); err == nil {
		seeds = []uint64{s}
	}
	if n, err := strconv.Atoi(os.Getenv("BOARDTEST_STEPS")); err == nil {
		steps = n
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			if f.Features.Serial == "" {
				t.Parallel()
			}
			runModel(t, f, seed, steps)
		})
	}
}

func runModel(t *testing.T, f Factory, seed uint64, steps int) {
	m := &model{
		Rand: rand.New(rand.NewPCG(seed, 0)),
		t:    t,
		want: open(t, Factory{Open: func(*testing.T) board.Board { return memboard.Open() }}),
		got:  open(t, f),
	}
	t.Logf("BOARDTEST_SEED=%d", seed)
	for i := range steps {
		s := m.step()
		m.log = append(m.log, fmt.Sprintf("%d: %s", i, s.what))
		m.compare("answer", s.run(m.want), s.run(m.got))
		m.compare("state", dump(m.want), dump(m.got))
		if f.Reopen != nil && i%97 == 96 && !f.Features.LeasesVoidAtOpen {
			m.log = append(m.log, "reopen")
			m.got = m.got.reopen(f, m.IntN(2) == 0)
			m.compare("state", dump(m.want), dump(m.got))
		}
	}
}

// model is one run: a source of steps, and the two boards they go to.
type model struct {
	*rand.Rand
	t         *testing.T
	want, got *rig
	claims    []board.Claimed // what was claimed lately, held or not
	log       []string
}

// step is a call, said in words, whose answer is text. The steps are made
// before they run, so that both boards get the same.
type step struct {
	what string
	run  func(r *rig) string
}

func (m *model) compare(what, want, got string) {
	m.t.Helper()
	if want == got {
		return
	}
	last := m.log[max(0, len(m.log)-12):]
	m.t.Fatalf("%s: got\n%s\nwant, as memboard has it,\n%s\nafter\n%s", what, got, want, strings.Join(last, "\n"))
}

// The universe is small, so that steps meet.
var (
	modelJobs    = []string{"job:1", "job:2", "job:3", "job:4", "job:5", "job:6", "job:7"}
	modelTasks   = []string{"rhai_task_details:job:1", "rhai_task_details:job:2"}
	modelRecords = append([]string{"flow:1"}, modelJobs...)
	modelQueues  = map[board.Space][]string{
		1: {"queue:v:p9", "queue:v", "queue:v:runner7"},
		2: {"queue:w", "msg_in", "rhai_tasks:c"},
	}
	modelLists  = []string{"log", "list"}
	modelSets   = []string{"set", "other"}
	modelFields = []string{"a", "b", "n", "status", board.FieldCancel}
	modelValues = []string{"", "0", "1", "2", "3", "x", "-1", "done"}
	modelOwners = []string{"me", "you", "node-a:1", "node-a:2"}
	modelAlarms = []string{"alarm:1", "alarm:2", "job:1"}
)

func pick[T any](m *model, from []T) T { return from[m.IntN(len(from))] }

func (m *model) space() board.Space { return board.Space(1 + m.IntN(2)) }

func (m *model) step() step {
	switch n := m.IntN(100); {
	case n < 50:
		return m.commitStep()
	case n < 60:
		return m.commitEachStep()
	case n < 78:
		return m.claimStep()
	case n < 84:
		return m.extendStep()
	case n < 86:
		return m.limitStep()
	case n < 93:
		return m.occupyStep()
	case n < 96:
		prefix := pick(m, []string{"me", "node-a:", "node", "none"})
		return step{"void " + prefix, func(r *rig) string { return outcome(r.Void(r.ctx, prefix)) }}
	}
	space, n := m.space(), 1+m.IntN(3)
	return step{fmt.Sprintf("next %d in %d", n, space), func(r *rig) string {
		first, err := r.Next(r.ctx, space, "ramet:seq:x", n)
		return fmt.Sprint(first, outcome(err))
	}}
}

func (m *model) commitStep() step {
	b := m.batch()
	return step{"commit " + describe(b), func(r *rig) string { return outcome(r.Commit(r.ctx, b)) }}
}

func (m *model) commitEachStep() step {
	bs := make([]board.Batch, 1+m.IntN(5))
	var what []string
	for i := range bs {
		bs[i] = m.batch()
		what = append(what, describe(bs[i]))
	}
	return step{"commit each\n\t" + strings.Join(what, "\n\t"), func(r *rig) string {
		var s []string
		for _, err := range r.CommitEach(r.ctx, bs) {
			s = append(s, outcome(err))
		}
		return strings.Join(s, ", ")
	}}
}

func (m *model) claimStep() step {
	space := m.space()
	a := board.Ask{Max: 1 + m.IntN(4), Owner: pick(m, modelOwners), Lease: board.MaxLease}
	switch {
	case space == 2:
		a.Queues = []board.Queue{{Lists: []string{"msg_in"}}, {Lists: []string{"queue:w"}}, {Lists: []string{"rhai_tasks:c"}}}[m.IntN(3):]
	case m.IntN(3) == 0:
		a.Queues = []board.Queue{{Lists: []string{"queue:v"}}}
	default:
		a.Queues = []board.Queue{{Lists: []string{"queue:v:runner7"}}, {Lists: []string{"queue:v:p9", "queue:v"}}}
	}
	if m.IntN(2) == 0 {
		a.Skip = board.Match{Field: "status", Values: []string{"done", "x"}}
	}
	if m.IntN(2) == 0 {
		a.Mark = []board.Field{set("status", "started"), set("mark", a.Owner)}
	}
	return step{fmt.Sprintf("claim %+v", a), func(r *rig) string {
		cs, err := r.Claim(r.ctx, a)
		m.claims = append(m.claims, cs...)
		m.claims = m.claims[max(0, len(m.claims)-16):]
		var s []string
		for _, c := range cs {
			s = append(s, fmt.Sprintf("%d/%s token %d: %s", c.Space, c.Item, c.Token, fields(c.Record)))
		}
		return strings.Join(append(s, outcome(err)), "\n")
	}}
}

// limitStep sets or takes back a cap, mostly one that leaves some room.
func (m *model) limitStep() step {
	b := *in(m.space()).Set(board.LimitsKey, set(pick(m, []string{"max", "max:queue:v", "max:queue:w", "weight"}), strconv.Itoa(m.IntN(5))))
	if m.IntN(2) == 0 {
		b = *in(b.Space).Delete(board.LimitsKey)
	}
	return step{"limit " + describe(b), func(r *rig) string { return outcome(r.Commit(r.ctx, b)) }}
}

func (m *model) extendStep() step {
	_, _, owner, _ := m.hold()
	var hs []board.Held
	for range m.IntN(5) {
		space, item, _, token := m.hold()
		hs = append(hs, board.Held{Space: space, Item: item, Token: token})
	}
	return step{fmt.Sprintf("extend by %s %v", owner, hs), func(r *rig) string {
		as, err := r.Extend(r.ctx, owner, board.MaxLease, hs)
		return fmt.Sprint(as, outcome(err))
	}}
}

func (m *model) occupyStep() step {
	space, item, owner := m.space(), pick(m, modelRecords), pick(m, modelOwners)
	if m.IntN(10) == 0 {
		item = pick(m, modelLists)
	}
	return step{fmt.Sprintf("occupy %d/%s by %s", space, item, owner), func(r *rig) string {
		tok, err := r.Occupy(r.ctx, space, item, owner, board.MaxLease)
		return fmt.Sprint(tok, outcome(err))
	}}
}

// hold names a lease that is or was there, mostly.
func (m *model) hold() (space board.Space, item, owner string, token int64) {
	if len(m.claims) > 0 && m.IntN(8) > 0 {
		c := pick(m, m.claims)
		return c.Space, c.Item, c.Record.Get(board.FieldOwner), c.Token
	}
	return m.space(), pick(m, modelRecords), pick(m, modelOwners), int64(1 + m.IntN(3))
}

func (m *model) batch() board.Batch {
	b := in(m.space())
	for range max(0, m.IntN(4)-1) {
		m.addGuard(b)
	}
	for range m.IntN(5) {
		m.addOp(b)
	}
	return *b
}

func (m *model) addGuard(b *board.Batch) {
	key := pick(m, modelRecords)
	switch m.IntN(9) {
	case 0:
		b.Absent(m.anyKey(b.Space))
	case 1:
		if m.IntN(3) == 0 {
			b.Equal(key, pick(m, modelFields), pick(m, modelValues))
		}
	case 2:
		if space, item, owner, token := m.hold(); space == b.Space {
			b.Held(item, owner, token).Release(item)
		}
	case 3:
		if space, item, _, token := m.hold(); space == b.Space {
			b.Lapsed(item, token).Release(item).PushRight(pick(m, modelQueues[space]), item)
		}
	case 4:
		b.Free(key)
	case 5:
		if m.IntN(3) > 0 {
			break
		}
		b.AlarmAt(pick(m, modelAlarms), m.instant())
	case 6: // one that holds more often than not
		b.Equal(key, "never", "")
	case 7:
		b.Length(m.list(b.Space), m.IntN(4))
	case 8:
		b.ItemAt(m.list(b.Space), m.IntN(6)-3, pick(m, modelJobs))
	}
}

func (m *model) addOp(b *board.Batch) {
	key, list := pick(m, modelRecords), m.list(b.Space)
	if m.IntN(40) == 0 {
		key, list = m.anyKey(b.Space), m.anyKey(b.Space) // often the wrong kind
	}
	switch m.IntN(20) {
	case 0, 1, 2:
		b.Set(key, set(pick(m, modelFields), pick(m, modelValues)), set(pick(m, modelFields), pick(m, modelValues)))
	case 3:
		b.Unset(key, pick(m, modelFields), pick(m, modelFields))
	case 4:
		b.Delete(pick(m, []string{key, key, m.anyKey(b.Space)}))
	case 5:
		b.Add(key, pick(m, []string{"n", "n", "n", "a"}), int64(m.IntN(5)-2))
	case 6, 7, 8:
		b.PushLeft(list, append(m.items(), m.items()...)...)
	case 9:
		b.PushRight(list, m.items()...)
	case 10:
		switch m.IntN(4) {
		case 0:
			b.TrimRight(list, m.IntN(4))
		case 1:
			b.TrimLeft(list, m.IntN(4))
		case 2:
			b.DropSome(list, m.IntN(5)-2, pick(m, modelJobs))
		case 3:
			b.Drop(list, pick(m, modelJobs))
		}
	case 11:
		b.Append(list, m.IntN(8), m.items()...)
	case 12:
		b.Include(pick(m, modelSets), m.items()...)
	case 13:
		b.Exclude(pick(m, modelSets), m.items()...)
	case 14:
		b.SetAlarm(pick(m, modelAlarms), m.instant())
	case 15:
		b.ClearAlarm(pick(m, modelAlarms))
	case 16:
		b.Release(key)
	case 17:
		b.Expire(m.anyKey(b.Space), time.Duration(m.IntN(2))*time.Hour)
	case 18:
		b.Live(key, m.instant()).Settle(pick(m, modelRecords))
	case 19:
		b.Countdown(key, "n", list, pick(m, modelRecords), set("status", "ready"))
	}
}

func (m *model) items() []string {
	out := make([]string, m.IntN(4))
	for i := range out {
		out[i] = pick(m, modelJobs)
		if m.IntN(20) == 0 {
			out[i] = pick(m, []string{"", "log", "set", strings.Repeat("k", 300), strings.Repeat("k", board.MaxKey-10)})
		}
	}
	return out
}

// instant is long ago or far away, never about now.
func (m *model) instant() time.Time {
	return time.UnixMilli(int64(m.IntN(2))<<42 + int64(m.IntN(5)))
}

func (m *model) list(space board.Space) string {
	if m.IntN(3) == 0 {
		return pick(m, modelLists)
	}
	return pick(m, modelQueues[space])
}

func (m *model) anyKey(space board.Space) string {
	return pick(m, slices.Concat([]string{board.LimitsKey}, modelRecords, modelQueues[space], modelLists, modelSets))
}

// outcome is an error as far as drivers must agree on it.
func outcome(err error) string {
	var g *board.GuardError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &g):
		return fmt.Sprintf("conflict at guard %d", g.Index)
	case errors.Is(err, domain.ErrConflict):
		return "conflict"
	case errors.Is(err, domain.ErrInvalid):
		return "invalid"
	}
	return err.Error()
}

func describe(b board.Batch) string {
	var s strings.Builder
	fmt.Fprintf(&s, "in %d", b.Space)
	for _, g := range b.Guards {
		fmt.Fprintf(&s, " [%s]", g)
	}
	for _, o := range b.Ops {
		fmt.Fprintf(&s, " (%s %s %s %d %v %.40q %s)", opNames[o.Kind], o.Key, o.Field, o.N, o.Fields, o.Items, o.List)
	}
	return s.String()
}

var opNames = map[board.OpKind]string{
	board.OpSet: "set", board.OpUnset: "unset", board.OpDelete: "delete", board.OpAdd: "add",
	board.OpPushLeft: "pushleft", board.OpPushRight: "pushright", board.OpDrop: "drop", board.OpAppend: "append",
	board.OpInclude: "include", board.OpExclude: "exclude", board.OpSetAlarm: "setalarm", board.OpClearAlarm: "clearalarm",
	board.OpRelease: "release", board.OpExpire: "expire", board.OpLive: "live", board.OpSettle: "settle", board.OpCountdown: "countdown",
	board.OpTrimRight: "trimright", board.OpTrimLeft: "trimleft",
}

// askers is how many ask what a board holds.
const askers = 32

// dump is everything that can be read of both spaces, as text. Some two hundred
// questions are asked at once: one after the other they were most of a run's time.
func dump(r *rig) string {
	var asked []func() string
	for space := board.Space(1); space <= 2; space++ {
		asked = append(asked, dumpSpace(r, space)...)
	}
	for _, group := range []string{"queue:v", "queue:v:runner7", "queue:w", "msg_in", "rhai_tasks:c"} {
		asked = append(asked, func() string {
			ready, err := r.Ready(r.ctx, group)
			return fmt.Sprintln("ready", group, ready, outcome(err))
		})
	}
	asked = append(asked, func() string { return dumpDue(r) }, func() string { return dumpExpired(r) })
	said := make([]string, len(asked))
	each(askers, func(i int) {
		for ; i < len(asked); i += askers {
			said[i] = asked[i]()
		}
	})
	return strings.Join(said, "")
}

func dumpDue(r *rig) string {
	var s strings.Builder
	due, err := r.Due(r.ctx, 100, 0)
	slices.SortStableFunc(due, func(a, b board.Alarm) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Space, b.Space), strings.Compare(a.Name, b.Name))
	})
	for _, a := range due {
		fmt.Fprintln(&s, "due", a.Space, a.Name, a.At.UnixMilli())
	}
	fmt.Fprintln(&s, outcome(err))
	return s.String()
}

func dumpExpired(r *rig) string {
	var s strings.Builder
	ls, err := r.Expired(r.ctx, 100, 0)
	slices.SortFunc(ls, func(a, b board.Lease) int {
		return cmp.Or(cmp.Compare(a.Space, b.Space), strings.Compare(a.Item, b.Item))
	})
	for _, l := range ls {
		fmt.Fprintln(&s, "expired", l)
	}
	fmt.Fprintln(&s, outcome(err))
	return s.String()
}

func dumpSpace(r *rig, space board.Space) (asked []func() string) {
	for _, key := range r.keys(space, "", 4) {
		asked = append(asked, dumpKey(r, space, key)...)
	}
	for _, item := range slices.Concat(modelRecords, modelTasks) {
		asked = append(asked, func() string {
			l, ok, err := r.LeaseOf(r.ctx, space, item)
			if !ok && err == nil {
				return ""
			}
			return fmt.Sprintln(l, outcome(err))
		})
	}
	for _, name := range modelAlarms {
		asked = append(asked, func() string {
			at, ok, err := r.AlarmOf(r.ctx, space, name)
			if !ok && err == nil {
				return ""
			}
			return fmt.Sprintf("%d alarm %s at %d %s\n", space, name, at.UnixMilli(), outcome(err))
		})
	}
	return append(asked, func() string {
		var s strings.Builder
		live, err := r.Live(r.ctx, space, board.LiveItem{}, 100)
		for _, l := range live {
			fmt.Fprintf(&s, "%d live %s since %d\n", space, l.Item, l.At.UnixMilli())
		}
		fmt.Fprintln(&s, outcome(err))
		return s.String()
	})
}

// dumpKey reads a key as each kind of thing; two of the three must refuse.
func dumpKey(r *rig, space board.Space, key string) (asked []func() string) {
	return []func() string{
		func() string {
			stat, err := r.Stat(r.ctx, space, key)
			said := fmt.Sprintf("%d/%s: %s", space, key, outcome(err))
			for _, st := range stat {
				said += fmt.Sprintf(" %s, expires: %v", st.Kind, !st.Expires.IsZero())
			}
			return said
		},
		func() string {
			recs, err := r.Get(r.ctx, space, key)
			if err != nil {
				return ", " + outcome(err)
			}
			return ", " + fields(recs[0])
		},
		func() string {
			some, err := r.GetFields(r.ctx, space, modelFields[1:], key)
			if err != nil {
				return ", of them " + outcome(err)
			}
			return ", of them " + fields(some[0])
		},
		func() string {
			list, err := r.List(r.ctx, space, key, 0, 1000)
			return fmt.Sprintf(", %.50q %s", list, outcome(err))
		},
		func() string {
			members, err := r.Members(r.ctx, space, key, "", 1000)
			return fmt.Sprintf(", %.50q %s\n", members, outcome(err))
		},
	}
}
