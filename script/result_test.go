package script_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
)

func TestParseResult(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       map[string]string
		err        string
	}{
		{name: "nothing is an empty result", text: "", want: map[string]string{}},
		{name: "lines", text: "a=1\nb = x=y \r\n\n# remark\nc=", want: map[string]string{"a": "1", "b": " x=y ", "c": ""}},
		{name: "the last of a repeated key counts", text: "a=1\na=2\n", want: map[string]string{"a": "2"}},
		{name: "an object", text: " {\"a\": \"x\\ny\", \"b\": 1e3, \"c\": true, \"d\": null, \"e\": [1, {\"f\": 2}]}\n",
			want: map[string]string{"a": "x\ny", "b": "1e3", "c": "true", "d": "null", "e": `[1,{"f":2}]`}},
		{name: "large numbers keep their digits", text: `{"n": 12345678901234567890}`, want: map[string]string{"n": "12345678901234567890"}},
		{name: "a line without a sign", text: "a=1\noops\n", err: `result file line 2: "oops" has no '='; write key=value, or make the whole file one JSON object`},
		{name: "an empty key", text: "=1\n", err: "result file line 1: the key is empty; write key=value"},
		{name: "an object that is broken", text: "{\n\"a\": 1,\n}",
			err: "result file line 3: invalid character '}' looking for beginning of object key string; write one JSON object, or lines of key=value"},
		{name: "an object that ends early", text: "{\n\"a\": 1", err: "result file line 2: unexpected EOF; write one JSON object, or lines of key=value"},
		{name: "more than an object", text: "{}\n{}", err: "result file line 2: there is more after the JSON object; write exactly one"},
		{name: "a key of the runner's", text: "exit_code=0\n", err: `result file line 1: key "exit_code" is set by the runner; choose another name`},
		{name: "bytes that are no text", text: "a=\xff\n", err: `result file line 1: key "a": not UTF-8; encode binary values, as base64 for example`},
		{name: "a control character in a key", text: "a\x01=1", err: `result file line 1: key "a\x01" has a control character; use letters, digits and ._-`},
		{name: "too large as JSON", text: "a=" + strings.Repeat("\x01", script.MaxResultBytes/4),
			err: "result file: its keys and values take 786440 bytes as JSON; at most 524288 are allowed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := script.ParseResult([]byte(tt.text))
			if tt.err != "" {
				if err == nil || err.Error() != tt.err || !errors.Is(err, domain.ErrInvalid) {
					t.Fatalf("got error %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseResultLimitsKeys(t *testing.T) {
	var text strings.Builder
	for i := range script.MaxResultKeys + 1 {
		fmt.Fprintf(&text, "k%d=\n", i)
	}
	if _, err := script.ParseResult([]byte(text.String())); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("got %v for %d keys", err, script.MaxResultKeys+1)
	}
}

func TestReadResultTrustsNothing(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.Symlink("/etc/passwd", path("link")), os.Mkdir(path("folder"), 0o700), syscall.Mkfifo(path("pipe"), 0o600),
		os.WriteFile(path("large"), make([]byte, script.MaxResultBytes+1), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"link", "folder", "pipe", "large"} {
		if got, err := script.ReadResult(path(name)); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%s: got %v, %v, want invalid", name, got, err)
		}
	}
	if got, err := script.ReadResult(path("missing")); err != nil || len(got) != 0 {
		t.Errorf("missing: got %v, %v, want an empty result", got, err)
	}
}

func FuzzParseResult(f *testing.F) {
	for _, seed := range []string{"a=1\n", "{}", `{"a":"b","c":[1,2]}`, "#x\n\n=", "{\"a\":1}x", "a=\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		result, err := script.ParseResult(text)
		if err != nil {
			if !errors.Is(err, domain.ErrInvalid) || !utf8.ValidString(err.Error()) {
				t.Fatalf("got error %q", err)
			}
			return
		}
		for key, value := range result {
			if key == "" || !utf8.ValidString(key) || !utf8.ValidString(value) {
				t.Fatalf("got %q=%q", key, value)
			}
		}
		// What was read can be written as an object and read again.
		again, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := script.ParseResult(again); err != nil || cmp.Diff(result, back) != "" {
			t.Fatalf("read again: %v %s", err, cmp.Diff(result, back))
		}
	})
}
