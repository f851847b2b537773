package stream

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// This file has what every driver checks before it asks its broker.

// What is chosen where a [Consumer] or [Shared] says nothing.
const (
	DefaultInFlight   = 1_000
	DefaultAckWait    = 30 * time.Second
	DefaultMaxDeliver = 20
)

const (
	maxDurable  = 200
	maxFilters  = 1_000
	maxInFlight = 1_000_000
	minAckWait  = 10 * time.Millisecond
	maxReason   = 1 << 10
)

// reserved is how names of headers begin that brokers obey.
const reserved = "nats-"

// ValidatePublish checks messages that are to be published.
//
// Errors: [domain.ErrInvalid].
func ValidatePublish(messages []Message) error {
	if len(messages) > MaxPublish {
		return domain.Invalidf("publish of %d messages: at most %d", len(messages), MaxPublish)
	}
	for i := range messages {
		if err := messages[i].validate(); err != nil {
			return err
		}
	}
	return nil
}

func (m *Message) validate() error {
	subjects := m.Stream.Subjects()
	switch {
	case subjects == nil:
		return domain.Invalidf("stream %q: publishing is to %s, %s or %s", domain.PlainText(string(m.Stream), 64), domain.AggregateEvents,
			domain.WorkflowCommands, domain.WorkflowEvents)
	case len(m.Subject) > MaxSubject:
		return domain.Invalidf("subject of %d bytes: the limit is %d", len(m.Subject), MaxSubject)
	case len(m.Data) > MaxData:
		return domain.Invalidf("message on %q has %d bytes, the limit is %d", domain.PlainText(m.Subject, MaxSubject), len(m.Data), MaxData)
	}
	for token := range strings.SplitSeq(m.Subject, ".") {
		if err := ValidateToken("part of a subject", token); err != nil {
			return err
		}
	}
	if !matchAny(subjects, m.Subject) {
		return domain.Invalidf("subject %q is none of stream %s, which has %s", domain.PlainText(m.Subject, MaxSubject), m.Stream, strings.Join(subjects, ", "))
	}
	return m.validateHeader()
}

func (m *Message) validateHeader() error {
	if len(m.ID) > MaxSubject || !plainValue(m.ID) {
		return domain.Invalidf("id %q of a message: want up to %d printable characters", domain.PlainText(m.ID, 64), MaxSubject)
	}
	size := 0
	for name, value := range m.Header {
		size += len(name) + len(value)
		switch {
		case !plainName(name):
			return domain.Invalidf("name %q of a header: want letters, digits, '-' and '_'", domain.PlainText(name, 64))
		case len(name) >= len(reserved) && strings.EqualFold(name[:len(reserved)], reserved):
			return domain.Invalidf("header %q: brokers obey what begins with Nats-, so a message may not have it", domain.PlainText(name, 64))
		case !plainValue(value):
			return domain.Invalidf("value of header %q has control characters, or a space at its begin or end", name)
		}
	}
	if size > MaxHeader {
		return domain.Invalidf("header of %d bytes: the limit is %d", size, MaxHeader)
	}
	return nil
}

// plainName says whether a header's name is one that all brokers keep as it is.
func plainName(s string) bool {
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}

// plainValue says the same of its value.
func plainValue(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			return false
		}
	}
	return s == strings.TrimSpace(s)
}

// Filled returns c with its defaults.
//
// Errors: [domain.ErrInvalid] for what cannot be.
func (c Consumer) Filled() (Consumer, error) {
	c.MaxInFlight = cmp.Or(c.MaxInFlight, DefaultInFlight)
	return c, validateConsumer(c.Stream, c.Durable, c.Subjects, c.MaxInFlight)
}

// Filled returns s with its defaults.
//
// Errors: [domain.ErrInvalid] for what cannot be.
func (s Shared) Filled() (Shared, error) {
	s.MaxInFlight = cmp.Or(s.MaxInFlight, DefaultInFlight)
	s.AckWait = cmp.Or(s.AckWait, DefaultAckWait)
	s.MaxDeliver = cmp.Or(s.MaxDeliver, DefaultMaxDeliver)
	if err := validateConsumer(s.Stream, s.Durable, s.Subjects, s.MaxInFlight); err != nil {
		return s, err
	}
	if s.AckWait < minAckWait {
		return s, domain.Invalidf("consumer %s: ack wait of %s: at least %s", s.Durable, s.AckWait, minAckWait)
	}
	if s.MaxDeliver < 1 {
		return s, domain.Invalidf("consumer %s: %d deliveries: at least 1", s.Durable, s.MaxDeliver)
	}
	return s, nil
}

func validateConsumer(stream domain.StreamName, durable string, subjects []string, inFlight int) error {
	if err := ValidateStream(stream); err != nil {
		return err
	}
	if err := ValidateDurable(durable); err != nil {
		return err
	}
	if err := ValidateFilters(subjects); err != nil {
		return err
	}
	if inFlight < 1 || inFlight > maxInFlight {
		return domain.Invalidf("consumer %s: %d in flight: want 1 to %d", durable, inFlight, maxInFlight)
	}
	return nil
}

// ValidateStream checks that n is one of [domain.StreamNames].
//
// Errors: [domain.ErrInvalid].
func ValidateStream(n domain.StreamName) error {
	if !slices.Contains(domain.StreamNames, n) {
		return domain.Invalidf("stream %q: there are %v", domain.PlainText(string(n), 64), domain.StreamNames)
	}
	return nil
}

// ValidateDurable checks the name of a durable consumer.
//
// Errors: [domain.ErrInvalid].
func ValidateDurable(name string) error {
	if len(name) > maxDurable || !plainName(name) {
		return domain.Invalidf("consumer %q: want 1 to %d letters, digits, '-' and '_'", domain.PlainText(name, maxDurable), maxDurable)
	}
	return nil
}

// ValidateFilters checks filters of subjects.
//
// Errors: [domain.ErrInvalid].
func ValidateFilters(subjects []string) error {
	if len(subjects) > maxFilters {
		return domain.Invalidf("%d filters of subjects: at most %d", len(subjects), maxFilters)
	}
	for _, s := range subjects {
		if len(s) > MaxSubject {
			return domain.Invalidf("filter of %d bytes: the limit is %d", len(s), MaxSubject)
		}
		rest, _ := strings.CutSuffix(s, ".>")
		for token := range strings.SplitSeq(rest, ".") {
			if token == "*" || s == ">" {
				continue
			}
			if err := ValidateToken("part of a filter", token); err != nil {
				return err
			}
		}
	}
	return nil
}

// ValidateMost checks how many messages are wanted of a Next or a Scan.
//
// Errors: [domain.ErrInvalid].
func ValidateMost(n int) error {
	if n < 1 || n > MaxFetch {
		return domain.Invalidf("%d messages wanted: want 1 to %d", n, MaxFetch)
	}
	return nil
}

// ValidatePosition checks that a stream whose last sequence is last has reached
// the position of a reader.
//
// Errors: [domain.ErrInvalid].
func ValidatePosition(c Consumer, last uint64) error {
	if c.After > last {
		return domain.Invalidf("consumer %s was read up to %d, but stream %s ends at %d: it was made anew or has lost messages; what it holds now would "+
			"be passed over", c.Durable, c.After, c.Stream, last)
	}
	return nil
}

// PlainReason is a reason as it may stand in a protocol: one line, not too long.
func PlainReason(reason string) string { return domain.PlainText(reason, maxReason) }

// Match says whether a subject matches a filter, in which '*' stands for a
// token and '>' at the end for one or more.
func Match(filter, subject string) bool {
	for {
		f, filterRest, filterMore := strings.Cut(filter, ".")
		s, subjectRest, subjectMore := strings.Cut(subject, ".")
		switch {
		case f == ">" && !filterMore:
			return true
		case f != "*" && f != s:
			return false
		case filterMore != subjectMore:
			return false
		case !filterMore:
			return true
		}
		filter, subject = filterRest, subjectRest
	}
}

// Matches says whether a subject matches one of the filters. No filters: it
// does.
func Matches(filters []string, subject string) bool {
	return len(filters) == 0 || matchAny(filters, subject)
}

func matchAny(filters []string, subject string) bool {
	return slices.ContainsFunc(filters, func(f string) bool { return Match(f, subject) })
}
