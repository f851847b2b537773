package domain

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Ids are u32 on the wire. Each noun has its own type, so that one cannot be
// passed for another.
type (
	ActorID   uint32
	TenantID  uint32
	FlowID    uint32
	MessageID uint32
	RunnerID  uint32
	JobID     uint32
)

// Operator is the actor that owns a node's own doors: made at first start,
// admin of every context that the node itself creates.
const Operator ActorID = 1

// DefaultTenant is the context that a node makes at first start, and the one
// that is meant where none is named.
const DefaultTenant TenantID = 1

// UnixTime is a time in whole seconds since 1970, as the records hold it.
type UnixTime uint32

// At cuts t to whole seconds.
func At(t time.Time) UnixTime { return UnixTime(t.Unix()) }

// Time is the instant, in UTC.
func (u UnixTime) Time() time.Time { return time.Unix(int64(u), 0).UTC() }

// JobKey names a job: ids are unique per caller, within a context.
type JobKey struct {
	Caller ActorID
	ID     JobID
}

// String is the job's key on the board: "job:12:2001".
func (k JobKey) String() string {
	// Built by hand: this is on the hot path.
	b := make([]byte, 0, 24)
	b = append(b, "job:"...)
	b = strconv.AppendUint(b, uint64(k.Caller), 10)
	b = append(b, ':')
	b = strconv.AppendUint(b, uint64(k.ID), 10)
	return string(b)
}

// ParseJobKey reads "job:<caller>:<id>"; "<caller>:<id>" will do as well.
//
// Errors: [ErrInvalid].
func ParseJobKey(s string) (JobKey, error) {
	caller, id, ok := strings.Cut(strings.TrimPrefix(s, "job:"), ":")
	c, errC := parseID(caller)
	i, errI := parseID(id)
	if !ok || errC != nil || errI != nil || i == 0 {
		return JobKey{}, Invalidf("job key %q: want job:<caller>:<id>, for example job:1:7", s)
	}
	return JobKey{ActorID(c), JobID(i)}, nil
}

// parseID reads a u32 written the one canonical way, so that no two texts
// name the same key.
func parseID(s string) (uint32, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || s != strconv.FormatUint(n, 10) {
		return 0, fmt.Errorf("id %q is no number from 0 to 4294967295", s)
	}
	return uint32(n), nil
}
