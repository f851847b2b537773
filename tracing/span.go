package tracing

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// Kind says on which side of a call a span stands.
type Kind string

// The kinds.
const (
	Internal Kind = "internal"
	Server   Kind = "server"   // a request that was answered
	Client   Kind = "client"   // one that was made
	Producer Kind = "producer" // something was handed in
	Consumer Kind = "consumer" // and taken, later
)

// Span is one piece of a trace: what was done, from when to when, for which other piece.
// Its id and its parent's are computed from names, see [ID].
type Span struct {
	Trace string // as [Parse] reads it
	ID    string // what [ID] computes it from
	// Parent is what its parent's id is computed from; "": ParentID says it.
	Parent   string
	ParentID string // 16 hexadecimal digits; "" where it has none
	Name     string // of few values, such as "job python"
	Kind     Kind
	Began    time.Time
	Ended    time.Time
	// Failed is why it ended badly, "" where it did not. Attributes have what it was about.
	Failed     string
	Attributes []Attribute
}

// Attribute is something a span says of what it was about.
type Attribute struct{ Name, Value string }

// header are W3C trace contexts of version 00, and of later ones, which begin the same.
//
// Source: W3C Trace Context, section 3.2.
var header = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)

// ParseHeader is the trace that a header "traceparent" names; "" where it is not
// well-formed: then it is as if there were none.
func ParseHeader(text string) (trace string) {
	trace, _ = parse(text)
	return trace
}

// ParseParent is the span that such a header names, in 16 hexadecimal digits; "" of any
// other text.
func ParseParent(text string) (span string) {
	_, span = parse(strings.ToLower(text))
	return span
}

func parse(text string) (trace, span string) {
	p := header.FindStringSubmatch(text)
	if p == nil || p[1] == "ff" || p[1] == "00" && p[4] != "" || strings.Trim(p[2], "0") == "" || strings.Trim(p[3], "0") == "" {
		return "", ""
	}
	return p[2], p[3]
}

// Parse is the trace that a text names, in 32 hexadecimal digits or as a header
// "traceparent"; "" where it names none.
func Parse(text string) (trace string) {
	trace = strings.ToLower(text)
	if parts := strings.Split(trace, "-"); len(parts) == 4 {
		trace = parts[1]
	}
	if b, err := hex.DecodeString(trace); err != nil || len(b) != 16 || strings.Trim(trace, "0") == "" {
		return ""
	}
	return trace
}

// ID is the span of what a name stands for, in 16 hexadecimal digits. It is computed
// from the name, so that every node knows the span of what another did, and what is done
// again after a crash has the span that it had.
func ID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:8])
}

// Header is the header "traceparent" by which the span of a name goes on elsewhere in
// the trace that text names; "" where that names none.
//
// Source: W3C Trace Context, section 3.2.
func Header(text, name string) string {
	trace := Parse(text)
	if trace == "" {
		return ""
	}
	return "00-" + trace + "-" + ID(name) + "-01"
}

// Request is the name of the span in which a job or flow was asked for, by its key in
// its context.
func Request(t domain.TenantID, key string) string { return domain.Tenant{ID: t}.Key() + "/" + key }

// Call is the name of the span of a request that a node answered, by the request's id.
func Call(id string) string { return "request/" + id }

// Flow is the name of the span of a flow, from its start to its end.
func Flow(t domain.TenantID, id domain.FlowID) string { return Request(t, domain.FlowKey(id)) + "/run" }

// Attempt is the name of the span of one attempt at a job. Of one that came from another
// node it has no key of here, which a job of there may have, too.
func Attempt(t domain.TenantID, j *domain.Job, attempt int64) string {
	of := Request(t, j.Key().String())
	if j.Origin != "" {
		of = Sent(j.Origin)
	}
	return of + "#" + strconv.FormatInt(attempt, 10)
}

// Remote is the name of the span of a job that is run elsewhere, as its sender sees it.
func Remote(t domain.TenantID, job domain.JobKey) string {
	return Request(t, job.String()) + "#elsewhere"
}

// Sent is the name of the span of a job that was sent elsewhere, by what it is called
// there: [domain.Job.Origin].
func Sent(origin string) string { return "sent/" + origin }

// Transition is the name of the span in which an event moved the instances of a saga:
// that of an effect is the id of its command.
func Transition(t domain.TenantID, saga, event string) string {
	return Request(t, "saga:"+saga) + "/" + event
}
