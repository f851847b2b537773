package durable_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/durable"
)

func serve(t *testing.T, s *durable.Script) (*durable.Server, func() net.Conn) {
	path := filepath.Join(t.TempDir(), "c")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	v := durable.Serve(t.Context(), l, s)
	return v, func() net.Conn {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
}

func TestTheServerAnswersInTheOrderOfWhatIsAsked(t *testing.T) {
	v, dial := serve(t, (&memory{}).attempt())
	defer v.Close()
	c := dial()
	var all strings.Builder
	for i := 1; i <= 50; i++ {
		fmt.Fprintf(&all, `{"id":%d,"do":"step","name":"mail"}`+"\n", i)
	}
	all.WriteString("no json\n" + `{"id":99,"do":"stop"}` + "\n")
	if _, err := c.Write([]byte(all.String())); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewScanner(c)
	words := 0
	for range 52 {
		r.Scan()
		var a durable.Answer
		if err := json.Unmarshal(r.Bytes(), &a); err != nil {
			t.Fatalf("%s: %v", r.Bytes(), err)
		}
		switch {
		case a.Error != nil && a.Error.Kind == "invalid" && (a.ID == 0 || a.ID == 99 && strings.Contains(a.Error.Text, "did you mean step?")):
			words++
		case a.N != a.ID:
			t.Fatalf("request %d was given place %d", a.ID, a.N)
		}
	}
	if words != 2 {
		t.Fatalf("%d refusals, want 2", words)
	}
}

func TestWhatEndsWithItsConnectionIsNotDoneAnyMore(t *testing.T) {
	s := (&memory{}).attempt()
	v, dial := serve(t, s)
	c := dial()
	fmt.Fprintln(c, `{"id":1,"do":"step","name":"lost"}`)
	if _, err := bufio.NewReader(c).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	c.Close()
	// What was sent before the process ended still counts.
	c = dial()
	fmt.Fprintln(c, `{"id":1,"do":"sleep","name":"nap","for_ms":60000}`)
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || line != `{"id":1,"done":false,"suspend":true}`+"\n" {
		t.Fatalf("%q, %v", line, err)
	}
	v.Close()
	if got := s.Suspended(); got == nil || got.Name != "nap" {
		t.Fatalf("suspended: %+v", got)
	}
}

// FuzzRequest wants of every line that is taken that it means what it says: written anew
// it is the same, its names are names, and the answer is one line of JSON.
func FuzzRequest(f *testing.F) {
	for _, line := range []string{`{"id":1,"do":"step","name":"charge"}`, `{"id":2,"do":"done","name":"charge","n":1,"value":{"a":[1,2]}}`,
		`{"do":"done","name":"x","n":1,"failure":{"text":"no","code":3},"retry_after_ms":5}`, `{"do":"sleep","name":"nap","for_ms":1}`,
		`{"do":"wait","name":"w","signal":"s","timeout_ms":0}`, `{"do":"uuid"}`, `{"do":"version","name":"v","n":2}`, `{"do":"sleep","name":"a","until_ms":1}`} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := durable.ParseRequest(line)
		if err != nil {
			if err.Error() == "" || len(err.Error()) > 4096 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := durable.ParseRequest(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if twice, _ := json.Marshal(again); string(twice) != string(text) {
			t.Fatalf("%s, then %s", text, twice)
		}
		if r.Do == "sleep" && (r.ForMs != nil && *r.ForMs > 1000 || r.UntilMs != nil) || r.Do == "wait" {
			return // it may take its time
		}
		m := &memory{}
		a, err := m.attempt().Do(t.Context(), r)
		if err == nil {
			if out, err := json.Marshal(a); err != nil || strings.ContainsRune(string(out), '\n') {
				t.Fatalf("%s: %v", out, err)
			}
		}
		for _, item := range m.items {
			if _, err := durable.DecodeEvent(item); err != nil {
				t.Fatal(err)
			}
		}
	})
}
