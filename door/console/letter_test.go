package console_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// letter writes a dead letter, as an engine of sagas does.
func (r *rig) letter(d domain.DeadLetter) {
	r.Helper()
	name, err := r.names.TenantName(r.Context(), 7)
	if err != nil {
		r.Fatal(err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		r.Fatal(err)
	}
	b := board.Batch{Space: layout.SpaceOf(7)}
	b.Set(layout.SagaKeys{Tenant: name}.Dead(d.Kind, d.ID), board.Field{Name: layout.DeadText, Value: string(text)})
	if err := r.board.Commit(r.Context(), b); err != nil {
		r.Fatal(err)
	}
}

func TestNoDeadLetterSaysWhatWouldStandThere(t *testing.T) {
	b := newRig(t).as(reader)
	b.has(b.get(200, path("letters")), "There is no dead letter: nothing was given up on.", "ramet deadletter list --context 7")
	b.has(b.get(200, path("letters/list")), "There is no dead letter.")
	b.get(404, path("letter?kind=event&id=none"))
	b.get(400, path("letter?kind=thing&id=none"))
}

func TestDeadLettersAreSettledByTheirCause(t *testing.T) {
	r := newRig(t)
	for i := range 12 {
		r.letter(domain.DeadLetter{Kind: domain.DeadEvent, ID: "v" + strconv.Itoa(i), Saga: "order",
			Cause: fmt.Sprintf("event \"Placed%d\" has a version that nobody knows", i), MadeMs: int64(1000 + i)})
	}
	for i := range 3 {
		r.letter(domain.DeadLetter{Kind: domain.DeadEffect, ID: "e" + strconv.Itoa(i), Effect: "go", Cause: "the payload is cut", MadeMs: int64(5000 + i),
			Data: `{"order":7}`})
	}
	b := r.as(admin)
	a := b.get(200, path("letters"))
	b.has(a, "15 dead letters wait for you, of 2 causes.", `>12</a>`, `>3</a>`, "cause=has+a+version+that+nobody+knows")
	b.has(a, "event … has a version that nobody knows", "the payload is cut") // what is true of all of them
	b.hasNot(a, "Placed11")
	looks := r.as(reader).get(200, path("letters"))
	b.has(looks, "15 dead letters wait for somebody who may replay or drop them, of 2 causes.")
	b.hasNot(looks, "wait for you")
	if strings.Index(a.text, ">12</a>") > strings.Index(a.text, ">3</a>") {
		t.Error("the cause of most letters does not come first")
	}
	list := path("letters/list?kind=event&saga=order&cause=%s", url.QueryEscape("has a version that nobody knows"))
	a = b.get(200, list)
	b.has(a, "12 letters of this cause.", "Drop 12 letters", "Replay 12 letters",
		"ramet deadletter drop --kind event --saga order --cause &#39;has a version that nobody knows&#39; --all --yes --context 7")
	before := between(a.text, `&amp;to_ms=`, `"`)
	// What comes after the page was made is not what was counted.
	made, _ := strconv.ParseInt(before, 10, 64)
	r.letter(domain.DeadLetter{Kind: domain.DeadEvent, ID: "late", Saga: "order", Cause: `event "Late" has a version that nobody knows`, MadeMs: made + 1})
	many := path("letters/list/many?kind=event&saga=order&cause=%s&to_ms=%s", url.QueryEscape("has a version that nobody knows"), before)
	if done := r.bulkDone(b.post(200, many, "act", "drop", "all", "yes")); done.Done != 12 {
		t.Errorf("got %+v, want 12 letters dropped", done)
	}
	b.has(b.get(200, path("letters")), "4 dead letters wait for you, of 2 causes.")
	b.post(400, path("letters/list/many"), "act", "drop") // not all of them, by accident
	b.post(404, path("letters/burn"), "kind", "event", "id", "late")
}

// TestWhatWasReplayedAndFailedAgainIsSaid holds that a replay of which letters came back does
// not look as if all were well.
func TestWhatWasReplayedAndFailedAgainIsSaid(t *testing.T) {
	r := newRig(t)
	letter := func(id, cause string, made int64) {
		r.letter(domain.DeadLetter{Kind: domain.DeadEffect, ID: id, Effect: "go", Cause: cause, MadeMs: made, Data: `{"order":7}`,
			Subject: "tenant.7.effect.go.x"})
	}
	letter("e1", "the shop is away", 1000)
	letter("e2", "the shop is away", 1000)
	letter("e3", "the bank is away", 1000)
	b := r.as(admin)
	done := r.bulkDone(b.post(200, path("letters/list/many?cause=shop"), "act", "replay", "all", "yes"))
	if done.Done != 2 {
		t.Fatalf("got %+v, want 2 letters replayed", done)
	}
	page := path("bulk/%d", done.ID)
	b.has(b.get(200, page), "2 of 2 done.")
	b.hasNot(b.get(200, page), "came back")
	letter("e3", "the bank is away", done.BeganMs+1) // which the filter does not find
	letter("e2", "the shop is away", done.BeganMs+1)
	b.has(b.get(200, page), "2 of 2 done; 1 came back, or came meanwhile.", "done in part", "cause=shop&amp;from_ms=")
	b.has(b.post(200, path("letters/list/many"), "act", "replay", "key", "effect:e2"), "1 letter replayed; what fails again comes back.")
}

func TestADeadLetterIsShownAndDropped(t *testing.T) {
	r := newRig(t)
	r.letter(domain.DeadLetter{Kind: domain.DeadEffect, ID: "e1", Effect: "go", Cause: "the payload is cut", Attempts: 3, MadeMs: 1000, Data: `{"order":7}`})
	b := r.as(admin)
	b.has(b.get(200, path("letters/list")), "kind=effect", `id=e1`)
	b.has(b.get(200, path("letter?kind=effect&id=e1")), "The payload is cut.", "3 times", "&#34;order&#34;: 7", "Drop 1 letter",
		"ramet deadletter replay effect e1 --context 7")
	b.has(b.post(200, path("letters/drop"), "kind", "effect", "id", "e1"), "1 letter dropped.", "There is no dead letter")
	b.post(404, path("letters/drop"), "kind", "effect", "id", "e1") // it is said on the page of what is not there any more
}

func TestAReaderSettlesNoLetterAndStopsNoEffect(t *testing.T) {
	r := newRig(t)
	r.letter(domain.DeadLetter{Kind: domain.DeadEffect, ID: "e1", Effect: "go", Cause: "the payload is cut", MadeMs: 1000})
	b := r.as(reader)
	for _, p := range []string{"letters", "letters/list?effect=go", "letter?kind=effect&id=e1", "effects", "effect?name=go"} {
		b.hasNot(b.get(200, path("%s", p)), `method="post" action="/console/c/7/`)
	}
	b.has(b.get(200, path("letters/list?effect=go")), "1 letter of this cause.")
	b.has(b.post(200, path("letters/drop"), "kind", "effect", "id", "e1"), "This was not done: actor")
	b.has(b.post(200, path("letters/list/many?effect=go"), "act", "replay", "all", "yes"), "This was not done: actor")
	for _, act := range []string{"pause", "resume", "test", "call"} {
		b.has(b.post(200, path("effect/%s", act), "name", "go", "payload", "{}"), "This was not done: actor")
	}
	for _, p := range []string{"letters", "letters/list", "effects"} {
		r.as(stranger).get(403, path("%s", p))
	}
}

func TestAnEffectIsTriedCalledAndPaused(t *testing.T) {
	r := newRig(t)
	b := r.as(admin)
	b.has(b.get(200, path("effects")), "effect?name=go", "mirror", "in trouble", "the node does not take its commands", "ramet effect list --context 7")
	b.hasNot(b.get(200, path("effects")), "gone") // another context's
	b.has(b.get(200, path("effects?state=paused")), "Nothing is like that")
	b.has(b.get(200, path("effect?name=go")), "Its stream cannot be asked: the node does not take its commands.", "Call once, for real", "ramet effect pause go")
	b.has(b.post(200, path("effect/test"), "name", "go"), "The target can be reached (")
	b.has(b.post(200, path("effect/call"), "name", "go", "payload", `{"a":1}`), "It was done (", `{&#34;a&#34;:1}`)
	b.has(b.post(200, path("effect/call"), "name", "go", "payload", `{"a`), "the payload is no JSON")
	b.has(b.post(200, path("effect/pause"), "name", "go"), "Commands for the effect wait.")
	b.has(b.post(200, path("effect/resume"), "name", "go"), "The effect goes on.")
	b.post(404, path("effect/burn"), "name", "go")
	b.get(404, path("effect?name=gone"))
}

func TestHostileLettersAndEffects(t *testing.T) {
	r := newRig(t)
	for i, text := range acts {
		text = strings.ToValidUTF8(text, "")
		r.letter(domain.DeadLetter{Kind: domain.DeadEvent, ID: "h" + strconv.Itoa(i) + strings.ReplaceAll(text, "\x00", ""), Saga: text, Correlation: text,
			Effect: text, Cause: text + " is what it says", Data: text,
			Subject: text, Trace: text})
	}
	b := r.as(admin)
	harmless(t, b.get(200, path("letters")))
	harmless(t, b.get(200, path("letters/list")))
	for _, d := range do(r, admin, api.DeadLetterList, api.ListDeadLettersParams{Context: 7}).DeadLetters {
		harmless(t, b.get(200, path("letter?kind=event&id=%s", url.QueryEscape(d.ID))))
		if strings.HasPrefix(d.Saga, "javascript:") {
			continue // as the value of a filter it does nothing
		}
		harmless(t, b.get(200, path("letters/list?saga=%s&cause=%s", url.QueryEscape(d.Saga), url.QueryEscape(d.Cause))))
	}
	for _, text := range acts {
		harmless(t, b.send(statusAny, "GET", path("effect?name=%s", url.QueryEscape(text)), ""))
		harmless(t, b.post(statusAny, path("effect/pause"), "name", text))
	}
}
