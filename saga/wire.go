package saga

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
	"github.com/ramet-run/ramet/stream"
)

// This file has how events and work stand in streams.

// route is the subject of a message, taken apart.
type route struct {
	tenant string // "" in a deployment without tenants
	source domain.EventSource
	name   string // aggregate type, effect or saga
	id     string // aggregate id, command id or correlation
}

func parseRoute(subject string) (route, error) {
	parts := strings.Split(subject, ".")
	var r route
	if len(parts) > 1 && parts[0] == "tenant" {
		r.tenant, parts = parts[1], parts[2:]
	}
	if len(parts) != 3 {
		return r, domain.Invalidf("subject %q: want [tenant.<tenant>.]<kind>.<name>.<id>", domain.PlainText(subject, stream.MaxSubject))
	}
	r.source, r.name, r.id = domain.EventSource(parts[0]), parts[1], parts[2]
	return r, nil
}

// subject is [tenant.<tenant>.]<kind>.<name>.<id>.
func subject(tenant string, kind, name, id string) string {
	if tenant == "" {
		return kind + "." + name + "." + id
	}
	return "tenant." + tenant + "." + kind + "." + name + "." + id
}

// token writes text as one part of a subject; what a part may not have is
// written as %XX, as in URLs. What is too long then stands there by its hash,
// and itself in the data: see [named].
func token(text string) string {
	b := make([]byte, 0, len(text)+16)
	for i := range len(text) {
		if c := text[i]; inToken(c) {
			b = append(b, c)
		} else {
			b = fmt.Appendf(b, "%%%02X", c)
		}
	}
	if len(b) > maxToken {
		sum := sha256.Sum256([]byte(text))
		return hashedToken + hex.EncodeToString(sum[:16])
	}
	return string(b)
}

const (
	maxToken    = 128  // bytes, as in stream
	hashedToken = "%#" // nothing is escaped as this
)

func inToken(c byte) bool {
	return c > ' ' && c < 0x7f && c != '.' && c != '*' && c != '>' && c != '%'
}

// named is the text that a part of a subject stands for. said is what the data
// says it is, which counts where the part has only its hash.
//
// Errors: [domain.ErrInvalid].
func named(part, said string) (string, error) {
	if strings.HasPrefix(part, hashedToken) {
		if token(said) != part {
			return "", domain.Invalidf("the subject has the hash of an id that the data does not have: %q", domain.PlainText(said, maxToken))
		}
		return said, nil
	}
	return untoken(part), nil
}

// untoken reads what token escapes; other text stays as it is.
func untoken(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	b := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				b, i = append(b, byte(n)), i+2
				continue
			}
		}
		b = append(b, text[i])
	}
	return string(b)
}

// envelope is an event as programs write it, in the spellings that are read.
type envelope struct {
	domain.Event
	TypeToo     string          `json:"type"`
	IDToo       string          `json:"id"`
	PayloadText string          `json:"payload_json"`
	Version     int             `json:"version"`
	Timestamp   json.RawMessage `json:"timestamp"`
}

// readEvent reads a message as an event. What is in the header goes before
// what the data says; what neither says is taken from subject and stream.
// tenants are the names of its context: the data may say one of them.
//
// Errors: [domain.ErrInvalid].
func readEvent(m *stream.Message, tenants []string) (*domain.Event, error) {
	r, err := parseRoute(m.Subject)
	if err != nil {
		return nil, err
	}
	if len(m.Data) > domain.MaxEventBytes {
		return nil, domain.Invalidf("the event has %d bytes, the limit is %d", len(m.Data), domain.MaxEventBytes)
	}
	if r.source == domain.SourceResult {
		return readResult(m, r, tenants)
	}
	var in envelope
	if err := readJSON(m.Data, &in); err != nil {
		return nil, domain.Invalidf("the event is no JSON object: %v", err)
	}
	if err := ofTenant(in.Tenant, r, tenants); err != nil {
		return nil, err
	}
	ev := in.Event
	ev.Source, ev.Tenant, ev.Stream, ev.Seq, ev.StoredMs = r.source, r.tenant, string(m.Stream), m.Seq, m.Time.UnixMilli()
	ev.Type = first(m.Header["event_type"], ev.Type, in.TypeToo)
	ev.ID = first(m.Header["event_id"], ev.ID, in.IDToo, m.ID)
	if ev.SchemaVersion == 0 {
		ev.SchemaVersion = max(in.Version, 1)
	}
	if len(ev.Payload) == 0 && in.PayloadText != "" {
		if !json.Valid([]byte(in.PayloadText)) {
			return nil, domain.Invalidf("payload_json is no JSON")
		}
		ev.Payload = json.RawMessage(in.PayloadText)
	}
	if ev.TimeMs == 0 {
		if ev.TimeMs, err = readTime(in.Timestamp, m.Time); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{domain.MetaCorrelation, domain.MetaTrace, domain.MetaCausation} {
		if v := m.Header[name]; v != "" {
			if ev.Metadata == nil {
				ev.Metadata = map[string]string{}
			}
			ev.Metadata[name] = v
		}
	}
	switch r.source {
	case domain.SourceAggregate:
		ev.AggregateType, ev.Timer, ev.Life = r.name, 0, ""
		if ev.AggregateID, err = named(r.id, ev.AggregateID); err != nil {
			return nil, err
		}
		if ev.Correlation == "" {
			ev.Correlation = ev.Metadata[domain.MetaCorrelation]
		}
	case domain.SourceFact, domain.SourceWorkflow:
		ev.Saga = r.name
		if ev.Correlation, err = named(r.id, ev.Correlation); err != nil {
			return nil, err
		}
		if r.source == domain.SourceFact {
			ev.Timer, ev.Life = 0, ""
		}
	default:
		return nil, domain.Invalidf("subject %q is no event's", m.Subject)
	}
	return &ev, checkEvent(&ev, m)
}

// ofTenant checks that the data of a message is of the context that its subject
// is of, which is the one that who wrote it has a right to.
func ofTenant(said string, r route, tenants []string) error {
	if said == "" || said == r.tenant || slices.Contains(tenants, said) {
		return nil
	}
	return domain.Invalidf("tenant_id is %q in the data and %q in the subject", domain.PlainText(said, 128), r.tenant)
}

// readResult reads the result of an effect as an event.
func readResult(m *stream.Message, r route, tenants []string) (*domain.Event, error) {
	var in domain.EffectResult
	if err := readJSON(m.Data, &in); err != nil {
		return nil, domain.Invalidf("the result is no JSON object: %v", err)
	}
	if in.CommandID != untoken(r.id) || in.EffectName != r.name {
		return nil, domain.Invalidf("the result is of command %q of effect %q, its subject says %q of %q",
			domain.PlainText(in.CommandID, 64), domain.PlainText(in.EffectName, 64), r.id, r.name)
	}
	if err := ofTenant(in.TenantID, r, tenants); err != nil {
		return nil, err
	}
	at, err := readTime(json.RawMessage(strconv.Quote(in.Timestamp)), m.Time)
	if err != nil {
		return nil, err
	}
	ev := &domain.Event{
		ID: "result:" + in.CommandID, Type: domain.ResultEvent(in.EffectName, in.ResultType), Source: domain.SourceResult, Tenant: r.tenant,
		Effect: in.EffectName, CommandID: in.CommandID, Saga: in.Metadata[domain.MetaSaga], Correlation: in.Metadata[domain.MetaCorrelation],
		SchemaVersion: 1, TimeMs: at, Payload: resultPayload(&in), Metadata: in.Metadata, Stream: string(m.Stream), Seq: m.Seq,
		StoredMs: m.Time.UnixMilli(),
	}
	return ev, checkEvent(ev, m)
}

// resultPayload is what the effect answered; what went wrong where it did not.
func resultPayload(in *domain.EffectResult) json.RawMessage {
	if in.ResultType == domain.ResultSucceeded || in.Error == "" {
		return in.Payload
	}
	text, err := json.Marshal(struct {
		Error    string          `json:"error"`
		Attempts int             `json:"attempts"`
		Answer   json.RawMessage `json:"answer,omitempty"`
	}{in.Error, in.Attempts, in.Payload})
	if err != nil {
		return nil // the answer was read from JSON: it cannot be
	}
	return text
}

func checkEvent(ev *domain.Event, m *stream.Message) error {
	if ev.ID == "" {
		ev.ID = string(m.Stream) + ":" + strconv.FormatUint(m.Seq, 10)
	}
	if len(ev.ID) > domain.MaxEventID || domain.PlainText(ev.ID, domain.MaxEventID) != ev.ID {
		return domain.Invalidf("event_id of %d bytes: want at most %d, of text", len(ev.ID), domain.MaxEventID)
	}
	if ev.Type == "" || len(ev.Type) > domain.MaxEventType || domain.PlainText(ev.Type, domain.MaxEventType) != ev.Type {
		return domain.Invalidf("event_type %q: want 1 to %d bytes of text", domain.PlainText(ev.Type, domain.MaxEventType), domain.MaxEventType)
	}
	if ev.SchemaVersion < 1 {
		return domain.Invalidf("schema_version %d: want 1 or more", ev.SchemaVersion)
	}
	return nil
}

// readJSON reads one JSON value and nothing after it.
func readJSON(data []byte, v any) error {
	return intake.Read(data, v, intake.Limits{Bytes: stream.MaxData})
}

// readTime reads an instant: RFC 3339, or Unix milliseconds; where none is
// given it is when the stream took the message.
func readTime(text json.RawMessage, stored time.Time) (int64, error) {
	s := strings.Trim(string(text), `"`)
	if s == "" || s == "null" {
		return stored.UnixMilli(), nil
	}
	at, err := domain.ParseInstant(s)
	if err != nil {
		return 0, domain.Invalidf("timestamp %q: want RFC 3339 or Unix milliseconds", domain.PlainText(s, 64))
	}
	return int64(at), nil
}

// plainJSON writes a value as JSON without escaping what only HTML wants
// escaped: a payload is as long as it was checked to be.
func plainJSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("BUG: a domain value cannot be written as JSON: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func first(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

// identity is an id of the shape of a UUID that says the same as its parts.
func identity(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	s := h.Sum(nil)
	s[6], s[8] = s[6]&0x0f|0x80, s[8]&0x3f|0x80 // version 8: made by a rule of one's own
	return fmt.Sprintf("%x-%x-%x-%x-%x", s[0:4], s[4:6], s[6:8], s[8:10], s[10:16])
}

// streamOf is where work of a kind goes; "" for what goes to no stream.
func streamOf(kind domain.WorkKind) domain.StreamName {
	switch kind {
	case domain.WorkEffect, domain.WorkInternal:
		return domain.WorkflowCommands
	case domain.WorkFact:
		return domain.WorkflowEvents
	}
	return ""
}

// message is a work item as its stream is sent it.
func message(tenant string, w *domain.WorkItem) stream.Message {
	m := stream.Message{Stream: streamOf(w.Kind), ID: w.ID, Header: map[string]string{}}
	if trace := w.Metadata[domain.MetaTrace]; trace != "" && domain.PlainText(trace, maxTrace) == strings.TrimSpace(trace) {
		m.Header[domain.MetaTrace] = trace
	}
	var data any
	switch w.Kind {
	case domain.WorkEffect:
		m.Subject = subject(tenant, "effect", w.Effect, w.ID)
		data = domain.EffectCommand{TenantID: tenant, CommandID: w.ID, EffectName: w.Effect, Payload: w.Payload, Metadata: meta(w)}
	case domain.WorkInternal:
		m.Subject = subject(tenant, string(domain.SourceWorkflow), w.ToSaga, token(w.ToID))
		ev := event(tenant, w, w.ToSaga, w.ToID)
		if ev.Life = w.Life; ev.Life != "" { // the refusal of a command
			m.Header[headerOurs] = oursEvent
		}
		data = ev
	default:
		m.Subject = subject(tenant, string(domain.SourceFact), w.Saga, token(w.Correlation))
		data = event(tenant, w, w.Saga, w.Correlation)
	}
	m.Data = []byte(plainJSON(data))
	return m
}

// maxTrace bounds a trace id that travels in a header.
const maxTrace = 128 // bytes

func event(tenant string, w *domain.WorkItem, saga, correlation string) domain.Event {
	return domain.Event{ID: w.ID, Type: w.Type, Tenant: tenant, Saga: saga, Correlation: correlation, SchemaVersion: 1, TimeMs: w.MadeMs,
		Payload: w.Payload, Metadata: meta(w)}
}

// meta is what every work item tells of where it comes from.
func meta(w *domain.WorkItem) map[string]string {
	m := make(map[string]string, len(w.Metadata)+4)
	for name, v := range w.Metadata {
		m[name] = v
	}
	m[domain.MetaCorrelation], m[domain.MetaSaga] = w.Correlation, w.Saga
	if w.Step != "" {
		m[domain.MetaStep] = w.Step
	}
	return m
}
