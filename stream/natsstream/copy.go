package natsstream

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/natslink"
	"github.com/ramet-run/ramet/stream"
)

// This file copies streams, by JetStream's own snapshots: they have the numbers and
// instants of messages, and how far consumers are, and any server can restore them.

const (
	copyChunk  = 256 << 10 // bytes of a message of a snapshot
	copyWindow = 8 << 20   // bytes on their way
	// copySilence is how long the server may say nothing.
	copySilence = 30 * time.Second
	// maxCopyHead bounds the line with what the stream is.
	maxCopyHead = 1 << 20
)

// copyHead is the first line of a copy: what the server said of the stream.
type copyHead struct {
	Config json.RawMessage `json:"config"`
	State  json.RawMessage `json:"state"`
}

// copyAnswer is an answer of the server's.
type copyAnswer struct {
	copyHead
	Error   *jetstream.APIError `json:"error"`
	Deliver string              `json:"deliver_subject"`
}

var _ stream.Copier = (*Log)(nil)

// Copy implements [stream.Copier].
func (l *Log) Copy(ctx context.Context, name domain.StreamName, to io.Writer) error {
	what := "copy stream " + string(name)
	inbox := l.wire.Conn.NewInbox()
	sub, err := l.wire.Conn.SubscribeSync(inbox)
	if err != nil {
		return l.translate(ctx, what, err)
	}
	defer sub.Unsubscribe() //nolint:errcheck // the connection may be gone
	if err := sub.SetPendingLimits(-1, 2*copyWindow); err != nil {
		return l.translate(ctx, what, err)
	}
	said, err := l.demand(ctx, "$JS.API.STREAM.SNAPSHOT."+string(name), map[string]any{"deliver_subject": inbox, "chunk_size": copyChunk,
		"window_size": copyWindow})
	if err != nil {
		return l.translate(ctx, what, err)
	}
	head, err := json.Marshal(said.copyHead)
	if err != nil {
		return err
	}
	if _, err := to.Write(append(head, '\n')); err != nil {
		return err
	}
	for {
		silent, cancel := context.WithTimeout(ctx, copySilence)
		m, err := sub.NextMsgWithContext(silent)
		cancel()
		if err != nil {
			return l.translate(ctx, what, err)
		}
		if len(m.Data) == 0 { // the end; its status says whether it is one
			if status := m.Header.Get("Status"); status != "" && status != "204" {
				return domain.Unavailablef("%s: the server stopped: %s %s", what, status, m.Header.Get("Description"))
			}
			return nil
		}
		if _, err := to.Write(m.Data); err != nil {
			return err
		}
		if m.Reply != "" {
			if err := m.Respond(nil); err != nil {
				return l.translate(ctx, what, err)
			}
		}
	}
}

// demand asks the server's interface for something.
func (l *Log) demand(ctx context.Context, subject string, request any) (said copyAnswer, err error) {
	text, err := json.Marshal(request)
	if err != nil {
		return said, err
	}
	asked, cancel := context.WithTimeout(ctx, natslink.AnswerTime)
	defer cancel()
	m, err := l.wire.Conn.RequestWithContext(asked, subject, text)
	if err != nil {
		return said, err
	}
	if err := json.Unmarshal(m.Data, &said); err != nil {
		return said, err
	}
	if said.Error != nil {
		return said, said.Error
	}
	return said, nil
}

// Paste implements [stream.Copier].
func (l *Log) Paste(ctx context.Context, name domain.StreamName, from io.Reader) error {
	what := "restore stream " + string(name)
	in := bufio.NewReaderSize(from, copyChunk)
	line, err := in.ReadSlice('\n')
	var head copyHead
	if err != nil || json.Unmarshal(line, &head) != nil || len(line) > maxCopyHead {
		return domain.Invalidf("%s: what there is of it does not begin with its configuration", what)
	}
	var config map[string]any
	if err := json.Unmarshal(head.Config, &config); err != nil || config["name"] != string(name) {
		return domain.Invalidf("%s: its configuration cannot be read", what)
	}
	config["num_replicas"] = l.wanted(name).Replicas
	s, err := l.js.Stream(ctx, string(name))
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
	case err != nil:
		return l.translate(ctx, what, err)
	case s.CachedInfo().State.LastSeq > 0:
		return domain.Conflictf("%s: there is one that has had %d messages; restore into streams that are new", what, s.CachedInfo().State.LastSeq)
	default:
		if err := l.js.DeleteStream(ctx, string(name)); err != nil {
			return l.translate(ctx, what, err)
		}
	}
	said, err := l.demand(ctx, "$JS.API.STREAM.RESTORE."+string(name), map[string]any{"config": config, "state": head.State})
	if err != nil {
		return l.translate(ctx, what, err)
	}
	for chunk := make([]byte, copyChunk); ; {
		n, readErr := io.ReadFull(in, chunk)
		if n > 0 {
			if _, err := l.hand(ctx, said.Deliver, chunk[:n]); err != nil {
				return l.translate(ctx, what, err)
			}
		}
		if errors.Is(readErr, io.EOF) || errors.Is(readErr, io.ErrUnexpectedEOF) {
			break
		}
		if readErr != nil {
			return readErr
		}
	}
	answer, err := l.hand(ctx, said.Deliver, nil) // the end
	if err != nil {
		return l.translate(ctx, what, err)
	}
	if answer.Error != nil {
		return domain.Invalidf("%s: %s", what, answer.Error.Description)
	}
	return l.pasted(ctx, name)
}

// hand gives the server a part of a stream, and waits until it has it.
func (l *Log) hand(ctx context.Context, to string, chunk []byte) (said copyAnswer, err error) {
	silent, cancel := context.WithTimeout(ctx, copySilence)
	defer cancel()
	m, err := l.wire.Conn.RequestMsgWithContext(silent, &nats.Msg{Subject: to, Data: chunk})
	if err != nil || len(m.Data) == 0 {
		return said, err
	}
	if err := json.Unmarshal(m.Data, &said); err != nil {
		return said, err
	}
	if said.Error != nil {
		return said, said.Error
	}
	return said, nil
}

// pasted writes down which messages the stream had lost before it was copied: else the
// next start would miss them.
func (l *Log) pasted(ctx context.Context, name domain.StreamName) error {
	if l.host == nil {
		return nil
	}
	s, err := l.js.Stream(ctx, string(name))
	if err != nil {
		return l.translate(ctx, "look at stream "+string(name), err)
	}
	info, err := s.Info(ctx, jetstream.WithDeletedDetails(true))
	if err != nil {
		return l.translate(ctx, "look at stream "+string(name), err)
	}
	var lost []span
	if info.State.FirstSeq > 1 {
		lost = append(lost, span{1, info.State.FirstSeq - 1})
	}
	for _, seq := range info.State.Deleted {
		lost = append(lost, span{seq, seq})
	}
	if len(lost) == 0 {
		return nil
	}
	l.host.trimming.Lock()
	defer l.host.trimming.Unlock()
	known, err := readGone(l.cfg.folder())
	if err != nil {
		return err
	}
	return known.add(l.cfg.folder(), name, lost...)
}
