package queue

import (
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// This file has the queues of jobs. What follows a type in their names begins so:
const (
	priority  = ":p"
	forRunner = ":runner"
	labelled  = ":at:"
)

// Of is the queue that a job is put on.
//
// Source: seeds 000 and 002, "queue:${suffix}"; priorities, runners and labels are ours.
func Of(j *domain.Job) string {
	base := OfType(j.ScriptType)
	switch {
	case j.At != "":
		return PostJobs
	case j.ForRunner != 0:
		return OfRunner(j.ScriptType, j.ForRunner)
	case len(j.Affinity) > 0:
		base += labelled + domain.Labels(j.Affinity).String()
	}
	if j.Priority > 0 {
		return withPriority(base, j.Priority)
	}
	return base
}

// OfType is the plain queue of a script type.
func OfType(t domain.ScriptType) string { return JobPrefix + t.QueueSuffix() }

// OfRunner is the queue of one runner's own jobs of a type.
func OfRunner(t domain.ScriptType, r domain.RunnerID) string {
	return OfType(t) + forRunner + strconv.FormatUint(uint64(r), 10)
}

// RunnerOf is the runner whose own jobs a queue has; ok is false for other lists.
func RunnerOf(list string) (r domain.RunnerID, ok bool) {
	rest, found := strings.CutPrefix(list, JobPrefix)
	_, number, pinned := strings.Cut(rest, forRunner)
	n, err := strconv.ParseUint(number, 10, 32)
	return domain.RunnerID(n), found && pinned && err == nil
}

func withPriority(group string, p int) string { return group + priority + strconv.Itoa(p) }

// ByPriority are the lists of a group that jobs are put on, those of higher priority
// first.
func ByPriority(group string) []string {
	lists := make([]string, 0, domain.MaxPriority+1)
	for p := domain.MaxPriority; p > 0; p-- {
		lists = append(lists, withPriority(group, p))
	}
	return append(lists, group)
}

// TypeOf is the type of the jobs that a queue has, whatever their priority, labels
// or runner; ok is false for a list that is no queue of jobs.
func TypeOf(list string) (t domain.ScriptType, ok bool) {
	suffix, ok := strings.CutPrefix(CapGroup(list), JobPrefix)
	t = domain.ScriptType(suffix)
	return t, ok && t.Validate() == nil
}

// Labelled is what the name of a queue says whose jobs ask for labels.
type Labelled struct {
	Type   domain.ScriptType
	Labels domain.Labels
}

// ParseLabelled reads the name of such a queue, or of one of its priorities; ok is
// false for others.
func ParseLabelled(list string) (q Labelled, ok bool) {
	rest, found := strings.CutPrefix(Group(list), JobPrefix)
	typ, labels, at := strings.Cut(rest, labelled)
	if !found || !at {
		return q, false
	}
	var err error
	q.Labels, err = domain.ParseLabels(labels)
	q.Type = domain.ScriptType(typ)
	return q, err == nil
}
