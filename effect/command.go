package effect

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/stream"
)

// This file has how commands and results stand in streams.

const (
	maxMetadata      = 64
	maxMetadataBytes = 16 << 10
)

// commandPattern is that of command ids: UUIDs, and whatever else may be a part
// of a subject, a key, a header and a file name.
var commandPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)

// Subjects are those of an effect's commands: of contexts, and of a deployment
// without.
func Subjects(effect string) []string {
	return []string{"tenant.*.effect." + effect + ".*", "effect." + effect + ".*"}
}

// subject is [tenant.<tenant>.]<kind>.<effect>.<command id>.
func subject(tenant, kind, effect, id string) string {
	if tenant != "" {
		tenant = "tenant." + tenant + "."
	}
	return tenant + kind + "." + effect + "." + id
}

// parseCommand reads a message as the command of an effect. Subject and data
// must say the same.
//
// Errors: [domain.ErrInvalid]; what could be read of the subject is returned
// all the same.
func parseCommand(m stream.Message) (domain.EffectCommand, error) {
	var of domain.EffectCommand // what the subject says
	parts := strings.Split(m.Subject, ".")
	if len(parts) > 1 && parts[0] == "tenant" {
		of.TenantID, parts = parts[1], parts[2:]
	}
	if len(parts) != 3 || parts[0] != "effect" {
		return of, domain.Invalidf("subject %q: want [tenant.<tenant>.]effect.<effect>.<command id>", domain.PlainText(m.Subject, stream.MaxSubject))
	}
	of.EffectName, of.CommandID = parts[1], parts[2]
	if !commandPattern.MatchString(of.CommandID) {
		of.CommandID = ""
		return of, domain.Invalidf("command id %q: want 1 to 100 letters, digits, '-' and '_'", domain.PlainText(parts[2], 100))
	}
	if key := keys(of).Done(of.CommandID); len(key) > board.MaxKey {
		return of, domain.Invalidf("key %q of the command has %d bytes, the limit is %d", domain.PlainText(key, board.MaxKey), len(key), board.MaxKey)
	}
	if len(m.Data) > stream.MaxData {
		return of, domain.Invalidf("the command has %d bytes, the limit is %d", len(m.Data), stream.MaxData)
	}
	var c domain.EffectCommand
	if err := intake.Read(m.Data, &c, intake.Limits{Bytes: stream.MaxData}); err != nil {
		return of, domain.Invalidf("the command is no JSON object as it should be: %v", err)
	}
	for _, f := range []struct{ field, data, subject string }{
		{"tenant_id", c.TenantID, of.TenantID}, {"command_id", c.CommandID, of.CommandID}, {"effect_name", c.EffectName, of.EffectName},
	} {
		if f.data != f.subject {
			return of, domain.Invalidf("%s is %q in the data and %q in the subject", f.field, domain.PlainText(f.data, 128), f.subject)
		}
	}
	if len(c.Payload) > domain.MaxWorkBytes {
		return of, domain.Invalidf("the payload has %d bytes, the limit is %d", len(c.Payload), domain.MaxWorkBytes)
	}
	size := 0
	for name, value := range c.Metadata {
		size += len(name) + len(value)
	}
	if len(c.Metadata) > maxMetadata || size > maxMetadataBytes {
		return of, domain.Invalidf("metadata of %d fields and %d bytes: the limits are %d and %d", len(c.Metadata), size, maxMetadata, maxMetadataBytes)
	}
	return c, nil
}

// keys are those of a command's context.
func keys(c domain.EffectCommand) layout.SagaKeys { return layout.SagaKeys{Tenant: c.TenantID} }

// result is how a command ended. Its metadata is the command's, which it is
// caused by.
func result(c domain.EffectCommand, typ domain.ResultType, attempts int, answer json.RawMessage, cause string, now time.Time) domain.EffectResult {
	meta := make(map[string]string, len(c.Metadata)+1)
	meta[domain.MetaCausation] = c.CommandID
	for name, value := range c.Metadata {
		meta[name] = value
	}
	return domain.EffectResult{TenantID: c.TenantID, CommandID: c.CommandID, EffectName: c.EffectName, ResultType: typ, Payload: answer,
		Timestamp: now.UTC().Format(time.RFC3339Nano), Metadata: meta, Error: cause, Attempts: attempts}
}

// encodeResult writes a result. It is no longer than a payload and metadata
// make it: nothing is escaped that need not be.
func encodeResult(r domain.EffectResult) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		panic("BUG: a result cannot be written as JSON: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// resultMessage is a result as it goes into the stream. Its ID is the same
// whenever it is published; it has the context in it, since whose command ids
// they are is the context's affair.
func resultMessage(c domain.EffectCommand, text string) stream.Message {
	m := stream.Message{Stream: domain.WorkflowEvents, Subject: subject(c.TenantID, "effect_result", c.EffectName, c.CommandID),
		ID: "result:" + c.TenantID + ":" + c.CommandID, Data: []byte(text)}
	if trace := c.Metadata[domain.MetaTrace]; trace != "" && domain.PlainText(trace, 128) == trace && strings.TrimSpace(trace) == trace {
		m.Header = map[string]string{domain.MetaTrace: trace}
	}
	return m
}

// deadID names the dead letter of a message: by its command, or its place.
func deadID(c domain.EffectCommand, m stream.Message) string {
	if c.CommandID != "" {
		return c.CommandID
	}
	return string(m.Stream) + "." + strconv.FormatUint(m.Seq, 10)
}
