package identity

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

func TestWhatIsRememberedIsTheSameSignatureOfTheSameBytes(t *testing.T) {
	k, err := NewKey()
	other, errOther := NewKey()
	if err != nil || errOther != nil {
		t.Fatal(err, errOther)
	}
	var s Signatures
	m := &domain.Message{ID: 1, CallerID: 1, MessageType: domain.MessageChat, Message: "a", SrcContext: 1}
	if err := s.Sign(k, m); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(m *domain.Message)
		want   bool
	}{
		{"as it was signed", func(*domain.Message) {}, true},
		{"with what becomes of it on its way", func(m *domain.Message) { m.Status, m.Pushes, m.Node = domain.MessageProcessed, 3, "x" }, true},
		{"with another text", func(m *domain.Message) { m.Message = "b" }, false},
		{"with another number", func(m *domain.Message) { m.ID = 2 }, false},
		{"in the name of another", func(m *domain.Message) { m.Pubkey = other.Pubkey() }, false},
		{"with another signature", func(m *domain.Message) { m.Signature = m.Signature[2:] + m.Signature[:2] }, false},
		{"with its signature in capitals", func(m *domain.Message) { m.Signature = strings.ToUpper(m.Signature) }, false},
		{"with a piece of the key in the signature", func(m *domain.Message) { m.Pubkey, m.Signature = m.Pubkey[:62], m.Pubkey[62:]+m.Signature }, false},
		{"by an old form", func(m *domain.Message) { m.Alg = domain.AlgOld }, false},
	} {
		changed := *m
		c.change(&changed)
		for round := range 2 { // what was refused is not remembered
			if err := s.Verify(&changed); (err == nil) != c.want {
				t.Errorf("%s, round %d: got %v", c.name, round, err)
			}
		}
	}
}

func TestNotMoreSignaturesAreRememberedThanThereIsRoomFor(t *testing.T) {
	k, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	var s Signatures
	m := &domain.Message{ID: 1, CallerID: 1, MessageType: domain.MessageChat}
	for i := range 3*memoryRoom + 1 {
		s.note(nameOf(m, fmt.Append(nil, i)))
	}
	if n := len(s.memory.recent) + len(s.memory.before); n > 2*memoryRoom {
		t.Errorf("%d are remembered, want at most %d", n, 2*memoryRoom)
	}
	if !s.knows(nameOf(m, fmt.Append(nil, 3*memoryRoom))) || s.knows(nameOf(m, fmt.Append(nil, 0))) {
		t.Error("the first is remembered, or the last is not")
	}
	var none *Signatures
	if err := none.Sign(k, m); err != nil || none.Verify(m) != nil || none.knows(nameOf(m, nil)) {
		t.Errorf("who remembers nothing: %v", err)
	}
}
