package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/queue"
)

// Finding is one line of `ramet doctor`.
type Finding struct {
	What  string `json:"what"`
	State string `json:"state"` // ok, warning or bad
	Text  string `json:"text"`
}

// The states of a finding.
const (
	OK      = "ok"
	Warning = "warning" // it works, but not as one may think
	Bad     = "bad"
)

// Report is what was found.
type Report struct {
	Findings []Finding `json:"findings"`
}

// What findings are of, where it matters to a reader: OfWork and OfSaga begin what the
// findings of an audit, and of sagas that a dead letter holds, are of.
const (
	OfWork   = "work of context "
	OfSaga   = "saga"
	OfAlarms = "alarms"
)

// Answers are what a node has said of itself and of a context to who asked, with the rights
// that they have.
type Answers struct {
	Info api.Info
	// The rest is not for everybody to see, nor on each node. Nil: not asked, or refused.
	Runners  *api.RunnerPage
	Contexts []domain.Tenant
	Audit    *api.AuditReport // what an audit has found, or a look that repairs nothing
	Circles  []api.Circle
	Bans     []domain.Ban // those that hold in the context
	// Dead are dead letters of sagas and effects, the first page of each.
	Dead *api.DeadLetterPage
	// Listeners, Webhooks and Schedules are those of the context, of the last the first page.
	Listeners []api.Listener
	Webhooks  []api.Webhook
	Schedules []api.Schedule
	Routines  []*domain.Routine // of the context, and its secrets
	Secrets   []domain.Secret
	Peers     []api.PeerView
	Nodes     []domain.Node // those of the board
	// Unseen is what was not asked for, as who asked may not inspect nodes.
	Unseen []string
	// Passing says that who answered is there for the time of the command only.
	Passing bool
}

// DeadKinds are the kinds of dead letters that are asked for: what holds an instance of a saga.
var DeadKinds = []domain.DeadKind{domain.DeadSaga, domain.DeadEffect}

// Add adds a page of dead letters of a kind.
func (a *Answers) Add(page api.DeadLetterPage) {
	if a.Dead == nil {
		a.Dead = &api.DeadLetterPage{}
	}
	a.Dead.DeadLetters = append(a.Dead.DeadLetters, page.DeadLetters...)
}

// Of is the report of answers, for a program of a version. It is the one order and choice of
// what is looked at: a command and a page that ask the same say the same.
func Of(a Answers, version string, now time.Time) Report {
	var c Report
	c.Node(a.Info, version, now)
	onBoard := onBoard(a.Info, now)
	if a.Passing {
		c.alone(a.Info, a.Nodes, onBoard)
	}
	c.nodes(a.Nodes, onBoard)
	if a.Runners != nil {
		c.Runners(a.Runners.Runners, onBoard)
		c.isolation(a.Contexts, a.Runners.Runners, onBoard)
	}
	var told []domain.Finding
	if a.Audit != nil {
		c.Jobs(*a.Audit)
		told = a.Audit.Stuck
	}
	c.circles(a.Circles, told)
	c.bans(a.Bans)
	if a.Dead != nil {
		c.Held(*a.Dead)
	}
	c.starts(a.Listeners, a.Webhooks, onBoard)
	c.schedules(a.Schedules, onBoard)
	c.routines(a.Routines, onBoard)
	c.secrets(a.Secrets)
	for _, t := range a.Contexts {
		if hooks := t.On.Names(); hooks != "" {
			c.add("hooks", OK, "flows of context %d that have no hooks of their own call its own: %s", t.ID, hooks)
		}
	}
	c.Peers(a.Peers)
	for _, what := range a.Unseen {
		c.add(what, OK, "not looked at: that needs the right to inspect nodes, which the operator has")
	}
	return c
}

// onBoard is the instant by the board's clock, at which nodes say that they live, and epochs begin.
func onBoard(info api.Info, now time.Time) time.Time {
	if info.BoardMs == 0 {
		return now
	}
	return time.UnixMilli(info.BoardMs)
}

// starts names what something outside is to start, and does not. What nobody could run, and events that
// wait, are of the audit.
func (c *Report) starts(listeners []api.Listener, webhooks []api.Webhook, now time.Time) {
	for _, l := range listeners {
		if is, _ := ListenerStands(&l); is == StartPaused {
			c.add("listener "+l.Name, Warning, "it is paused: events wait until `ramet listener resume %s`", l.Name)
		}
	}
	for _, w := range webhooks {
		switch is, why := WebhookStands(&w, now); is {
		case StartLocked:
			c.add("webhook "+w.Name, Bad, "this node cannot open its secret and refuses what comes: %s; `ramet webhook rotate %s` makes a new one", why, w.Name)
		case StartPaused:
			c.add("webhook "+w.Name, Warning, "it is paused: senders are refused until `ramet webhook update %s --paused=false`", w.Name)
		case StartRefused:
			c.add("webhook "+w.Name, Warning, "the last delivery was refused, at %s: %s", clock(w.State.ProvenMs), why)
		case StartUnproven:
			c.add("webhook "+w.Name, Warning, "nobody who has its secret has started a flow since that was set, and a delivery was refused at %s: %s; "+
				"this is told for an hour", clock(w.State.RefusedMs), why)
		}
	}
}

// schedulesTold is how many schedules are named.
const schedulesTold = 5

// schedules names those that make no flows though they have times. What is late, and what nobody could run,
// is of the audit.
func (c *Report) schedules(list []api.Schedule, now time.Time) {
	told := 0
	tell := func(s *api.Schedule, format string, args ...any) {
		if told++; told <= schedulesTold {
			c.add("schedule "+s.Name, Warning, format, args...)
		}
	}
	for i := range list {
		s := &list[i]
		switch is, why := ScheduleStands(s, now); is {
		case StartPaused:
			tell(s, "it is paused, and makes no flows until `ramet schedule resume %s`; times that pass meanwhile are not made up", s.Name)
		case StartRefused:
			tell(s, "the last time made no flow, at %s: %s", clock(s.State.LastMs), why)
		}
	}
	if more := told - schedulesTold; more > 0 {
		c.add("schedules", Warning, "%d more are paused or made no flow the last time: see `ramet schedule list`", more)
	}
}

// routinesTold is how many instances of routines are named.
const routinesTold = 5

// routines names those whose rounds do not begin, or fail.
func (c *Report) routines(list []*domain.Routine, now time.Time) {
	told := 0
	tell := func(name, format string, args ...any) {
		if told++; told <= routinesTold {
			c.add("routine "+name, Warning, format, args...)
		}
	}
	for _, r := range list {
		if r.Paused {
			tell(r.Name, "it is paused, and begins no rounds until `ramet routine resume %s`", r.Name)
			continue
		}
		for i := range r.Instances {
			at := &r.Instances[i]
			switch is, why := RoutineStands(r, at, now); is {
			case StartHeld, StartLate:
				tell(at.Name, "no round begins: %s", why)
			case StartRefused:
				failed, see := "the last round failed", ""
				if before := at.Failures - 1; before > 0 {
					failed = fmt.Sprintf("the last %d rounds failed", before+1)
				}
				if at.LastJob != "" { // one that was refused made none
					see = "; see `ramet job logs " + at.LastJob + "`"
				}
				tell(at.Name, "%s: %s%s", failed, why, see)
			}
		}
	}
	if more := told - routinesTold; more > 0 {
		c.add("routines", Warning, "%d more are paused, wait or fail: see `ramet routine list`", more)
	}
}

// secretsTold is how many secrets are named.
const secretsTold = 5

// secrets names those that no job gets here, as after a restore: the key that seals them is
// in no backup.
func (c *Report) secrets(list []domain.Secret) {
	locked := slices.DeleteFunc(slices.Clone(list), func(s domain.Secret) bool { return s.Locked == "" })
	for i, s := range locked {
		if i == secretsTold {
			c.add("secrets", Bad, "%d more cannot be opened here: see `ramet secret list`", len(locked)-i)
			return
		}
		c.add("secret "+s.Name, Bad, "this node cannot open it, and jobs that name it fail here: %s (`ramet secret set %s`)", s.Locked, s.Name)
	}
}

func (c *Report) add(what, state, format string, args ...any) {
	c.Findings = append(c.Findings, Finding{what, state, fmt.Sprintf(format, args...)})
}

// warn adds text as a warning, or good as ok where the warning does not apply.
func (c *Report) warn(what string, applies bool, text, good string) {
	if applies {
		c.add(what, Warning, "%s", text)
		return
	}
	c.add(what, OK, "%s", good)
}

// bansTold is how many bans are named.
const bansTold = 5

// bans names what people have stopped: work that waits for it is in order, and does nothing.
func (c *Report) bans(list []domain.Ban) {
	for i, b := range list {
		if i == bansTold {
			c.add("bans", Warning, "%d more: see `ramet ban list`", len(list)-i)
			return
		}
		until := ""
		if b.UntilMs != 0 {
			until = ", until " + clock(b.UntilMs)
		}
		c.add("ban", Warning, "actor %d has stopped %s (level %s) since %s%s: %s; `ramet ban lift %s` lets it go on",
			b.By, b.BanScope, b.Level, clock(b.AtMs), until, b.Reason, b.BanScope.Words())
	}
}

// heldTold is how many instances that are held are named.
const heldTold = 5

// Held finds the instances of sagas that do nothing until somebody has decided about a dead
// letter, and those of which an effect is one, whose result they would get, among the first pages of these.
func (c *Report) Held(list api.DeadLetterPage) {
	n := 0
	for _, d := range list.DeadLetters {
		format := "instance %s does nothing until somebody replays or drops the dead letter saga %s: %s"
		switch {
		case d.Holds:
		case d.Kind == domain.DeadEffect && d.Saga != "" && d.Correlation != "":
			format = "instance %s waits for an effect until somebody replays or drops the dead letter effect %s: %s"
		default:
			continue
		}
		if n++; n <= heldTold {
			c.add(OfSaga+" "+d.Saga, Warning, format, d.Correlation, d.ID, d.Cause)
		}
	}
	if n > heldTold {
		c.add(OfSaga+"s", Warning, "%d more instances are held by dead letters: see `ramet deadletter list`", n-heldTold)
	}
}

// peers finds those whose nodes cannot log in over NATS.
func (c *Report) Peers(list []api.PeerView) {
	for _, p := range list {
		for _, n := range Unlinked(p) {
			c.add("peer "+p.Name, Warning, "its card is of an earlier version, without the link key of node %s, whose NATS links are refused; "+
				"have `ramet peer card` run there, and `ramet peer add` here", short(n.Pubkey))
		}
	}
}

func (c *Report) Node(info api.Info, version string, now time.Time) {
	c.warn("node", info.Version != version,
		fmt.Sprintf("%s answers; it is version %s, this program is %s", info.Name, info.Version, version),
		fmt.Sprintf("%s answers, version %s", info.Name, info.Version))
	if !info.Ready && info.BoardError == "" && info.StreamError == "" { // else these say why
		c.add("node", Warning, "it is stopping, or what it needs is away, and takes no more work; /ready says which")
	}
	for _, l := range info.Locked {
		c.add("encryption", Bad, "context %d is not served here: it is encrypted with the secret %q, and %s", l.Context, l.Key, l.Why)
	}
	for _, l := range info.Links {
		c.link(l)
	}
	for _, name := range info.Unreadable {
		c.add("board", Bad, "%q in the board's store cannot be read: something else has written there; it is set aside, and all else goes on; "+
			"`ramet node discard` removes it", name)
	}
	for _, l := range info.Losses {
		if onBoard(info, now).Sub(time.UnixMilli(l.AtMs)) < lossTold {
			c.lost(l)
		}
	}
	c.standsOn(info, now)
	for _, text := range info.Evictions {
		c.add("board", Bad, "%s", text)
	}
	if info.BoardError != "" {
		c.add("board", Bad, "nothing can be written to it, so that nothing begins and nothing ends: %s", info.BoardError)
	}
	if info.DiskError != "" {
		c.add("disk", Bad, "%s", info.DiskError)
	}
	c.store("board", cmp.Or(info.Board, "its operator knows which")+"; what is acknowledged survives ", info.Durability)
	switch {
	case info.Archive == "none":
		c.add("archive", OK, "none: what has ended is gone once it expires on the board")
	case info.ArchiveError != "":
		c.add("archive", Warning, "%s; it cannot be reached: what ends stays on the board until it can: %s", info.Archive, info.ArchiveError)
	case info.Archive != "":
		c.store("archive", info.Archive+"; what is archived survives ", info.ArchiveDurability)
	}
	if b := info.ArchiveBacklog; b != nil && info.Archive != "none" && b.Waiting > 0 && now.Sub(time.UnixMilli(cmp.Or(b.OldestMs, b.ToldMs))) > archiveLate {
		c.add("archive", Warning, "it is behind: %s (told %s). What has ended stays on the board until it is there, and the board grows: give the archive a "+
			"faster place, archive less of a context (`ramet context update --archives`), or see whether a node on duty as clockwork reaches it",
			BacklogText(*b, now), clock(b.ToldMs))
	}
	if info.StreamError != "" {
		c.add("streams", Bad, "events are not taken: %s", info.StreamError)
	}
	if late := info.LateAlarm; late != nil && info.BoardError == "" && !justStarted(info, now) && time.Duration(late.LateMs)*time.Millisecond > lateAlarm {
		c.add(OfAlarms, Warning, "what comes due is not done at once: %q of context %d has waited for %v; is a node on duty as clockwork, and does "+
			"its log say that handling fails?", late.Name, late.Context, time.Duration(late.LateMs/1000)*time.Second)
	} else if info.Board != "" && info.BoardError == "" { // who may not see it is not told that all is well
		c.add(OfAlarms, OK, "what comes due is done in time")
	}
}

// lost says what may be lost, and what there is to do about it.
func (c *Report) lost(l api.Loss) {
	switch l.Of {
	case domain.LossOfArchive:
		c.add("archive", Warning, "at %s it was found to have less than it had: %s. What the board still has is archived again; what had left the board is found "+
			"in another copy of the archive only. Nothing that goes on is gone, and nothing runs again", clock(l.AtMs), l.Cause)
	case domain.LossOfStreams:
		c.add("streams", Warning, "they may have lost events that were acknowledged before %s: %s. Sagas and listeners that had not read them do not get them: "+
			"publish anew what matters. Jobs and flows are as they were", clock(l.AtMs), l.Cause)
	default:
		c.add("board", Warning, "it may have lost what it had acknowledged before %s: %s. Jobs of that time may be gone or run again; look whether what "+
			"matters is there, and submit it anew where it is not. No number of before is given out from then on", clock(l.AtMs), l.Cause)
	}
}

// catchesUp is for how long after its start a node may have things to do that came due before,
// as on a board that was copied or restored.
const catchesUp = time.Minute

func justStarted(info api.Info, now time.Time) bool {
	return info.StartedMs != 0 && now.Sub(time.UnixMilli(info.StartedMs)) < catchesUp
}

// link says how a link to another site stands.
func (c *Report) link(l api.Link) {
	switch {
	case l.To == "":
		c.add("bus", Warning, "the link to %s names nobody: its log-in is good at every node that it could lead to, and at none once these are of two sites; "+
			"write leaf=…?peer= and the name of the peer that listens there", l.Host)
	case !l.Up:
		c.add("bus", Warning, "the link to %s is down: %s is away, or one of you does not know the other's newest card (`ramet peer card` there, "+
			"`ramet peer add` here, and the other way round); a key= in the link must be that of the node's new card", l.Host, farEnd(l.To))
	default:
		c.add("bus", OK, "the link to %s, of %s, is up", l.Host, farEnd(l.To))
	}
}

// farEnd is what a link says of its other end.
func farEnd(to string) string {
	if len(to) == 64 { // a key
		return "node " + short(to)
	}
	return "peer " + to
}

// lossTold is how long it is told that a store may have lost something.
const lossTold = 7 * 24 * time.Hour

// lateAlarm is how late an alarm may be handled: one that failed rests 15 seconds
// at the most.
const lateAlarm = 20 * time.Second

// archiveLate is how long what ended may wait for the archive: one that keeps up has it
// within half a minute.
const archiveLate = 5 * time.Minute

// store says what a store's durability means.
func (c *Report) store(what, survives, durability string) {
	outlives := map[string]string{
		"memory":  "nothing: all is gone when the node ends",
		"process": "the end of the process, but not of the machine",
		"disk":    "a power cut",
		"quorum":  "the loss of a machine",
	}[durability]
	text := survives + cmp.Or(outlives, "no one knows what")
	c.warn(what, durability != "disk" && durability != "quorum", text, text)
}

// clocksDiffer is by how much clocks may be apart.
const clocksDiffer = 10 * time.Second

func (c *Report) Runners(list []domain.Runner, now time.Time) {
	alive := 0
	for _, r := range list {
		name := "runner " + cmp.Or(r.Node, r.Worker, r.Address, r.Topic)
		if r.Node != "" && r.SeenMs == 0 {
			continue // its node was stopped, as `ramet node list` says
		}
		if (r.Node != "" || r.Worker != "") && !r.Alive(now) { // a foreign one need not say that it lives
			c.add(name, Warning, "not seen since %s, and it did not say that it stops: start it again; what it had goes on elsewhere", cmp.Or(clock(r.SeenMs), "ever"))
			continue
		}
		off, isOff := r.OffDuty(domain.RoleRunner)
		if isOff {
			c.add(name, Warning, "has lost the duty of a runner %s; see `ramet duty show`", OffText(off))
		}
		serves := r.Node == "" // a foreign one does not say
		for _, s := range r.Serves {
			serves = serves || s.Served
			c.service(name, s)
		}
		if serves && !isOff {
			alive++
		}
	}
	if alive == 0 {
		c.add("runners", Warning, "nobody runs jobs now; start a node with `ramet serve`")
	}
}

// isolation finds the contexts whose scripts cannot be held in everywhere as far
// as they want: their jobs are left to other nodes, if there are such.
func (c *Report) isolation(contexts []domain.Tenant, runners []domain.Runner, now time.Time) {
	for _, t := range contexts {
		for _, r := range runners {
			for _, s := range r.Serves {
				if s.Served && !s.Holds(t.Isolation) && r.Alive(now) {
					c.add(fmt.Sprintf("context %d", t.ID), Warning, "runner %s takes none of its %s jobs: the context wants its scripts %s; %s",
						cmp.Or(r.Node, r.Topic), s.ScriptType, t.Isolation, s.Refused[domain.Tightest(t.Isolation, s.Level)])
				}
			}
		}
	}
}

func (c *Report) service(runner string, s domain.Service) {
	switch what := runner + ": " + string(s.ScriptType); {
	case !s.Served && s.Unasked: // whose jobs wait for it is told by the audit
		c.add(what, OK, "not served, as nobody has asked for it: %s", cmp.Or(s.Why, "its operator knows why"))
	case !s.Served:
		c.add(what, Warning, "not served: %s", cmp.Or(s.Why, "its operator knows why"))
	case len(s.NotInForce) > 0:
		c.add(what, Warning, "served%s, but scripts are held in without %s", levelText(s), strings.Join(s.NotInForce, "; "))
	default:
		c.add(what, OK, "served%s, %d at once; %s", levelText(s), s.Slots, cmp.Or(s.Summary, "its operator knows how"))
	}
}

// levelText says how far scripts are held in, which is no fault: what bounds the
// memory of a job is not to be had everywhere.
func levelText(s domain.Service) string {
	switch {
	case s.Level == "":
		return ""
	case slices.Contains(s.Isolation, domain.JobMemory):
		return ", " + string(s.Level) + ", memory bounded for each job"
	}
	return ", " + string(s.Level) + ", memory bounded for each process, not for a job as a whole"
}

func (c *Report) Jobs(r api.AuditReport) {
	what := fmt.Sprintf("%s%d", OfWork, r.Context)
	for _, f := range r.Repaired {
		c.add(what, Warning, "%s was repaired: %s", f.Key, f.Text)
	}
	for _, f := range r.Stuck {
		c.add(what, Bad, "%s is stuck: %s", f.Keys(), f.Text)
	}
	for _, f := range r.Lacking {
		c.add(what, Warning, "%s waits: %s", f.Keys(), f.Text)
	}
	if len(r.Repaired)+len(r.Stuck)+len(r.Lacking) > 0 {
		if r.Partial {
			c.add(what, OK, "there was no time for all: `ramet audit --all` looks at all")
		}
		return
	}
	text := "each of %d that have not ended has a reason to be alive"
	if r.Partial {
		text = "each of the %d oldest that have not ended has a reason to be alive; `ramet audit --all` looks at all"
	}
	c.add(what, OK, text, r.Looked)
}

// circles finds those that stand still: nobody serves them, or no list lies where
// their tasks would wait, unless the audit has said so.
func (c *Report) circles(list []api.Circle, told []domain.Finding) {
	for _, one := range list {
		what := "circle " + one.Name
		switch {
		case one.Fault != "" && !slices.ContainsFunc(told, func(f domain.Finding) bool { return f.Key == queue.Circle(one.Name) }):
			c.add(what, Bad, "%s", one.Fault)
		case one.Fault == "" && one.Queued > 0 && len(one.Nodes) == 0:
			c.add(what, Warning, "tasks wait in it (%d), and no node that is alive serves it: see `ramet serve --circle`; "+
				"workers of others do not tell", one.Queued)
		}
	}
}

// GivenUp reports whether a node gave a role up itself.
func GivenUp(o domain.Off) bool { return o.Rule == 0 && o.Why != "" }

// OffText says why a node has lost a role.
func OffText(o domain.Off) string {
	switch {
	case GivenUp(o):
		return "given up by the node itself: " + o.Why
	case o.Rule == 0:
		return "by a rule that its operator knows"
	}
	return fmt.Sprintf("by rule %d, %s", o.Rule, o.Why)
}

// BacklogText says what waits for the archive.
func BacklogText(b domain.ArchiveBacklog, now time.Time) string {
	if b.Waiting == 0 {
		return "nothing waits"
	}
	age := now.Sub(time.UnixMilli(cmp.Or(b.OldestMs, b.ToldMs))).Round(time.Second)
	return fmt.Sprintf("%d wait, the oldest ended %v ago; %d a second were archived lately", b.Waiting, max(0, age), b.PerSecond)
}

// Unlinked are the nodes of a peer that NATS servers refuse, as its card has no
// link key for them.
func Unlinked(p api.PeerView) (nodes []domain.PeerNode) {
	for _, n := range p.Nodes {
		nats := slices.ContainsFunc(n.Addresses, func(a domain.Address) bool { return a.Scheme() == "nats" })
		if nats && n.LinkKey == "" {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// clock is an instant by the clock of who asks, with its zone.
func clock(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).Local().Format("2006-01-02 15:04:05Z07:00")
}

// short is the beginning of a public key, by which people tell keys apart.
func short(pubkey string) string { return pubkey[:min(len(pubkey), 12)] }
