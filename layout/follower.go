package layout

import (
	"encoding/json"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/queue"
)

// Follower is the entry of a job in the list of those that follow another:
// its key and the queue it goes to when it is ready, so that the finishing
// commit need not read it.
func Follower(j *domain.Job) string { return j.Key().String() + " " + queue.Of(j) }

// ParseFollower takes an entry apart.
func ParseFollower(entry string) (key, queue string) {
	key, queue, _ = strings.Cut(entry, " ")
	return key, queue
}

// Wanted is the set of jobs that wait for a prerequisite that people mark as
// met.
func Wanted(prerequisite string) string { return "ramet:wanted:" + prerequisite }

// Met is the record of a prerequisite that somebody marked as met.
func Met(prerequisite string) string { return "ramet:met:" + prerequisite }

// MetAt is that record's field: when, in Unix milliseconds.
const MetAt = "met_ms"

// UnmetField holds the prerequisites that are not met yet.
func UnmetField(unmet []string) board.Field {
	return board.Field{Name: JobUnmet, Value: encodeList(unmet)}
}

// Unmet reads that field back.
func Unmet(r board.Record) []string {
	var unmet []string
	if v := r.Get(JobUnmet); v != "" {
		// Ours alone to write; unreadable means none, and the job goes on.
		_ = json.Unmarshal([]byte(v), &unmet)
	}
	return unmet
}

const checkPrefix = "ramet:check:"

// Check is the record of a look at a job's addresses that is asked for: who
// looks leases it, and deletes it.
func Check(job domain.JobKey) string { return checkPrefix + job.String() }

// CheckAskedMs is that record's field: when it was asked for.
const CheckAskedMs = "asked_ms"

// ParseCheck reads the key of a [Check].
func ParseCheck(key string) (job domain.JobKey, ok bool) {
	rest, found := strings.CutPrefix(key, checkPrefix)
	if !found || !strings.HasPrefix(rest, JobPrefix) {
		return job, false
	}
	job, err := domain.ParseJobKey(rest)
	return job, err == nil && Check(job) == key
}
