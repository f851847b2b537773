package flow

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
)

// class is what an end means to those that need the step.
type class int

const (
	undecided class = iota
	well
	failure
	fault // wins over failure
)

func classOf(s domain.StepStatus) class {
	switch s {
	case domain.StepSucceeded, domain.StepSkipped, domain.StepFailedAccepted:
		return well
	case domain.StepFailed, domain.StepSkippedByFailure:
		return failure
	case domain.StepErrored, domain.StepSkippedByError:
		return fault
	}
	return undecided
}

// State is all that the keeper remembers of a flow between two rounds.
type State struct {
	// Steps are those of the plan, in its order; none for a plain flow, nor where Sums
	// stand for them.
	Steps []StepState `json:"steps,omitempty"`
	// Sums are those of the steps of a large flow, each of which lies for itself.
	Sums *Sums `json:"sums,omitempty"`
	// Aborted is the step, or job, whose end made the flow abort.
	Aborted string `json:"aborted,omitempty"`
	// AbortPhase is the largest phase that the abort ends, AbortFault whether it
	// was for an error rather than a failure.
	AbortPhase int  `json:"abort_phase,omitempty"`
	AbortFault bool `json:"abort_fault,omitempty"`
	// Cancelled is who asked to end it.
	Cancelled string `json:"cancelled,omitempty"`
	// CancelledFor is the flow of the same concurrency key that it makes room for.
	CancelledFor domain.FlowID `json:"cancelled_for,omitempty"`
	// Swept is set once a plain flow's jobs have been ended for that.
	Swept bool `json:"swept,omitempty"`
	// Delete is set where the flow is to be removed once it has ended.
	Delete bool `json:"delete,omitempty"`
	// Forget is set where its name becomes free with that.
	Forget bool `json:"forget,omitempty"`
	// Redo are jobs that are being started again: those that ended until RedoMs.
	Redo   []domain.JobID `json:"redo,omitempty"`
	RedoMs int64          `json:"redo_ms,omitempty"`
	// RedoFlows are children in the same way.
	RedoFlows []ChildEnd `json:"redo_flows,omitempty"`
	// Held is how many jobs of a large plain flow wait for it to be written,
	// beginning with the first; Begun of them have been let go.
	Held  int `json:"held,omitempty"`
	Begun int `json:"begun,omitempty"`
	// Writing is set while a large flow is being written.
	Writing bool `json:"writing,omitempty"`
	// Adopting is set while the jobs of a foreign program's flow are made its own.
	Adopting bool `json:"adopting,omitempty"`
	// Line is the concurrency key that the flow stands in line for, LineMax how many may hold
	// that, as its entry says, and Turn whether it holds it.
	Line    string `json:"line,omitempty"`
	LineMax int    `json:"line_max,omitempty"`
	Turn    bool   `json:"turn,omitempty"`
	// Slot is when the flow may begin by its rate, Unix milliseconds; 0: it has no slot yet.
	Slot int64 `json:"slot,omitempty"`
	// NoCache has no step take what is kept, Cached is how many bytes of results have been taken.
	NoCache bool `json:"no_cache,omitempty"`
	Cached  int  `json:"cached,omitempty"`
	// Answers are what became of the last orders.
	Answers []Answer `json:"answers,omitempty"`
}

// StepState is what is remembered of one step.
type StepState struct {
	Status domain.StepStatus `json:"status"`
	// Met is how many of the steps that it needs have ended, Worst how the worst of them
	// did. They are kept up until it begins.
	Met   int   `json:"met,omitempty"`
	Worst class `json:"worst,omitempty"`
	// Text says why it ended as it did, or what it waits for.
	Text string `json:"text,omitempty"`
	// Next is the index or pack to make next, At where that pack starts.
	Next int64 `json:"next,omitempty"`
	At   int64 `json:"at,omitempty"`
	// Open are units whose job has not ended, Bad those that did not end well.
	Open []Unit `json:"open,omitempty"`
	Bad  []Unit `json:"bad,omitempty"`
	// Done are the indexes or offsets that ended well.
	Done Ranges `json:"done,omitempty"`
	// Lost are units to be done once more: by the same job where it is still
	// there, else by another.
	Lost []Unit `json:"lost,omitempty"`
	// Split is how the step is split, from its opening on.
	Split *Split `json:"split,omitempty"`
	// List is the first record of the elements that the step is done for; see
	// [layout.FlowItems].
	List int `json:"list,omitempty"`
	// Job is the only job of a single step, Flow the only child of one of kind flow.
	Job  domain.JobID  `json:"job,omitempty"`
	Flow domain.FlowID `json:"flow,omitempty"`
	// Skip is set where somebody asked to skip the step.
	Skip bool `json:"skip,omitempty"`
	// Change waits for the step to open.
	Change *domain.StepChange `json:"change,omitempty"`
	// Retries goes over the plan's.
	Retries *int `json:"retries,omitempty"`
	// Round is which round of a step that is repeated is the newest, from 1 on; RoundMs is when
	// the next begins, once that one has ended.
	Round   int   `json:"round,omitempty"`
	RoundMs int64 `json:"round_ms,omitempty"`
	// Earlier are the jobs of the rounds before: they go with the flow.
	Earlier Ranges `json:"earlier,omitempty"`
	// CacheSum is the key under which the step's end is kept; see cache.go. Cached is where its
	// result is from that was taken.
	CacheSum string             `json:"cache_sum,omitempty"`
	Cached   *domain.CachedFrom `json:"cached,omitempty"`
	// NoCache has the step run whatever is kept: somebody asked to begin with it.
	NoCache bool `json:"no_cache,omitempty"`
	// Result is that of a step without jobs: who approved, and what they answered.
	Result  map[string]string `json:"result,omitempty"`
	SinceMs int64             `json:"since_ms,omitempty"` // its opening
	// DueMs is until when an approval waits; 0 is for ever.
	DueMs int64 `json:"due_ms,omitempty"`
	EndMs int64 `json:"end_ms,omitempty"`
}

// Unit is a part of a step that one job does.
type Unit struct {
	ID    int64        `json:"id"` // index or pack; 0 of a single step
	Start int64        `json:"start"`
	End   int64        `json:"end"`
	Job   domain.JobID `json:"job,omitempty"`
	Key   string       `json:"key,omitempty"` // the name of its element
	// Flow is its child, instead of a job: see child.go. Gone is one that it had, and that is
	// not there any more, Tries how often that was started again by itself, DueMs when it is
	// to have ended, Ends the last end of it that was taken in.
	Flow    domain.FlowID `json:"flow,omitempty"`
	Gone    domain.FlowID `json:"gone,omitempty"`
	Tries   int           `json:"tries,omitempty"`
	DueMs   int64         `json:"due_ms,omitempty"`
	Ends    int64         `json:"ends,omitempty"`
	Outcome string        `json:"outcome,omitempty"` // of one that ended badly; see work.Outcome
	Text    string        `json:"text,omitempty"`
}

// Split is how a step is split into units. Of a shard, units are its indexes;
// of a pack ranges of Size.
type Split struct {
	Pack    bool  `json:"pack,omitempty"`
	Each    bool  `json:"each,omitempty"`  // its indexes are those of a list
	Flows   bool  `json:"flows,omitempty"` // its units are flows
	Total   int64 `json:"total,omitempty"` // the count of a shard
	Size    int64 `json:"size"`
	Start   int64 `json:"start"`
	End     int64 `json:"end"` // included
	Endless bool  `json:"endless,omitempty"`
	Window  int   `json:"window"`
}

// part names a job or a child of a flow.
type part struct {
	job  domain.JobID
	flow domain.FlowID
}

func (u *Unit) part() part { return part{u.Job, u.Flow} }

// cancelledText says why the flow is ended.
func (s *State) cancelledText() string {
	if s.CancelledFor != 0 {
		return fmt.Sprintf("%s took its place: both have the same concurrency key, and the blueprint of that one says when_full: cancel_old",
			domain.FlowKey(s.CancelledFor))
	}
	return domain.CancelledText(s.Cancelled)
}

// redoing reports whether a retry has not been carried out yet.
func (s *State) redoing() bool { return len(s.Redo)+len(s.RedoFlows) > 0 }

// Answer is what became of an order: Error is "" where it was done.
type Answer struct {
	ID    string `json:"id"`
	Error string `json:"error,omitempty"`
}

const (
	// maxAnswers bounds the answers that are kept.
	maxAnswers = 32
	// maxText bounds a text of the state in bytes: it may quote what a job or a
	// person wrote, and the state is one field of a record.
	maxText = 500
)

// cut shortens a text for people, at a whole character.
func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

// clone copies the state so deeply that the copy can be changed.
func (s State) clone() State {
	s.Steps = slices.Clone(s.Steps)
	for i := range s.Steps {
		s.Steps[i] = *s.Steps[i].clone()
	}
	s.Answers, s.Redo, s.RedoFlows = slices.Clone(s.Answers), slices.Clone(s.Redo), slices.Clone(s.RedoFlows)
	return s
}

// clone copies the state of a step so deeply that the copy can be changed.
func (s *StepState) clone() *StepState {
	c := *s
	c.Open, c.Bad, c.Lost, c.Done = slices.Clone(s.Open), slices.Clone(s.Bad), slices.Clone(s.Lost), slices.Clone(s.Done)
	c.Earlier = slices.Clone(s.Earlier)
	c.Result = maps.Clone(s.Result)
	if s.Split != nil {
		split := *s.Split
		c.Split = &split
	}
	return &c
}

// answer keeps what became of an order.
func (s *State) answer(id, text string) {
	s.Answers = append(s.Answers, Answer{id, cut(text)})
	if n := len(s.Answers) - maxAnswers; n > 0 {
		s.Answers = slices.Delete(s.Answers, 0, n)
	}
}

// answered finds what became of an order.
func (s *State) answered(id string) (Answer, bool) {
	i := slices.IndexFunc(s.Answers, func(a Answer) bool { return a.ID == id })
	if i < 0 {
		return Answer{}, false
	}
	return s.Answers[i], true
}

// bad reports whether a unit ended by an error, not by a failure of its script.
func (u *Unit) fault() bool { return u.Outcome != string(work.OutcomeFailed) }

// gaps is how many ranges and units are remembered because of what ended badly:
// the gaps that open units leave close by themselves.
func (s *StepState) gaps() int { return min(max(len(s.Done)-1, 0), len(s.Bad)) + len(s.Bad) }

// left reports whether there are units to make.
func (s *StepState) left() bool {
	return len(s.Lost) > 0 || s.Split != nil && s.At <= s.Split.last()
}

// last is the last index or offset.
func (s *Split) last() int64 {
	if s.Endless {
		return lastOffset
	}
	return s.End
}
