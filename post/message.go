package post

import (
	"slices"
	"unicode/utf8"

	"github.com/ramet-run/ramet/domain"
)

// This file checks the messages that are handed in, here or by another site.

// checkMessage checks what a caller gave. Jobs are checked by who runs them.
//
// Errors: [domain.ErrInvalid].
func checkMessage(m *domain.Message) error {
	switch {
	case m.CallerID == 0:
		return domain.Invalidf("message without caller_id: want the actor who sends it")
	case !slices.Contains(domain.MessageTypes, m.MessageType):
		return domain.Invalidf("message_type %q: want job, chat, mail or result", m.MessageType)
	case m.MessageFormatType != "" && !slices.Contains(domain.MessageFormats, m.MessageFormatType):
		return domain.Invalidf("message_format_type %q: want html, text or md", m.MessageFormatType)
	case len(m.Message) > domain.MaxMessageText:
		return domain.Invalidf("message has %d bytes, the limit is %d", len(m.Message), domain.MaxMessageText)
	case !utf8.ValidString(m.Message) || slices.ContainsFunc(m.Job, func(j domain.Job) bool { return !utf8.ValidString(j.Script) }):
		return domain.Invalidf("message or script is no valid UTF-8")
	case len(m.Job) > domain.MaxMessageJobs:
		return domain.Invalidf("message has %d jobs, the limit is %d", len(m.Job), domain.MaxMessageJobs)
	case len(m.Topic) > domain.MaxTopic:
		return domain.Invalidf("topic has %d bytes, the limit is %d", len(m.Topic), domain.MaxTopic)
	}
	for name, n := range map[string]uint32{"timeout": m.Timeout, "timeout_ack": m.TimeoutAck, "timeout_result": m.TimeoutResult} {
		if n > domain.MaxMessageTimeout {
			return domain.Invalidf("%s is %d s, the limit is %d", name, n, domain.MaxMessageTimeout)
		}
	}
	for name, key := range map[string]string{"dst_pubkey": m.DstPubkey, "dst_node": m.DstNode} {
		if err := domain.ValidatePubkey(key); key != "" && err != nil {
			return domain.Invalidf("%s: %v", name, err)
		}
	}
	return checkContent(m)
}

// checkContent checks that the message has what its type wants.
func checkContent(m *domain.Message) error {
	switch m.MessageType {
	case domain.MessageJob:
		if (len(m.Job) == 0) == (m.Flow == "") {
			return domain.Invalidf("a message of type job carries jobs or a flow, one of the two")
		}
		if _, err := m.Runner(); err != nil {
			return err
		}
		seen := map[domain.JobID]bool{}
		for i := range m.Job {
			if id := m.Job[i].ID; id == 0 || seen[id] {
				return domain.Invalidf("job %d of the message: want an id of its own", i+1)
			}
			seen[m.Job[i].ID] = true
			if len(m.Job[i].Secrets) > 0 {
				return domain.Invalidf("job %d of the message: secrets: those of the context that it goes to are for jobs that are submitted there", m.Job[i].ID)
			}
		}
	case domain.MessageResult:
		if m.Answers() {
			if _, err := domain.ParseMessageKey(m.ReplyTo); err != nil {
				return domain.Invalidf("a message of type result answers another: reply_to: %v", err)
			}
			return nil
		}
		return checkToActor(m)
	case domain.MessageChat, domain.MessageMail:
		return checkToActor(m)
	}
	return nil
}

// checkToActor checks that the message is for somebody, and brings nothing but its text.
func checkToActor(m *domain.Message) error {
	if m.DstActor == 0 && m.DstPubkey == "" {
		return domain.Invalidf("a message of type %s wants an addressee: dst_actor or dst_pubkey", m.MessageType)
	}
	if len(m.Job) > 0 || m.Flow != "" {
		return domain.Invalidf("a message of type %s carries no jobs", m.MessageType)
	}
	return nil
}
