package hide_test

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/internal/hide"
)

const value = `pa"ss/w+rd&1`

func TestFormsAreHidden(t *testing.T) {
	h := hide.Of(value, "line one of a key\nline two of a key\n")
	inJSON, _ := json.Marshal(map[string]string{"a": value})
	for name, c := range map[string]struct{ text, want string }{
		"as it is":                     {"a " + value + " b", "a *** b"},
		"twice":                        {value + value, "******"},
		"in JSON":                      {string(inJSON), `{"a":"***"}`},
		"in a URL":                     {"?a=pa%22ss%2Fw%2Brd%261&b=c", "?a=***&b=c"},
		"a line of several":            {"<line two of a key>", "<***>"},
		"what only looks like it":      {`pa"ss/w+rd`, `pa"ss/w+rd`},
		"text without it":              {"nothing", "nothing"},
		"an empty text":                {"", ""},
		"several lines, and the value": {"x\n" + value + "\ny", "x\n***\ny"},
	} {
		if got := h.Text(c.text); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// TestBase64IsHiddenWhereverItBegins: the letters hang on what stands before it.
func TestBase64IsHiddenWhereverItBegins(t *testing.T) {
	h := hide.Of(value)
	for _, before := range []string{"", "u", "us", "use", "user:"} {
		for _, after := range []string{"", "x", "xy", "xyz"} {
			for name, coding := range map[string]*base64.Encoding{"std": base64.StdEncoding, "url": base64.RawURLEncoding} {
				coded := coding.EncodeToString([]byte(before + value + after))
				if got := h.Text(coded); !strings.Contains(got, hide.Mask) || len(got) > len(coded)-len(value)+len(hide.Mask)+4 {
					t.Errorf("%s, %q before and %q after: got %q of %q", name, before, after, got, coded)
				}
			}
		}
	}
}

func TestShortValuesAreNotHidden(t *testing.T) {
	if h := hide.Of("abc", ""); h != nil || h.Text("abc") != "abc" || h.Stream().Pass([]byte("abc")) == nil {
		t.Errorf("got %v", h)
	}
}

// TestTheLongerOfTwoIsHidden: a rest of the longer one would be shown.
func TestTheLongerOfTwoIsHidden(t *testing.T) {
	h := hide.Of("secret", "secret-and-more")
	if got := h.Text("secret-and-more secret-and-less"); got != "*** ***-and-less" {
		t.Errorf("got %q", got)
	}
}

// TestPiecesAreAsTheWhole: wherever what is written is cut.
func TestPiecesAreAsTheWhole(t *testing.T) {
	h := hide.Of("secret", "secret-and-more", "crets", value)
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"secret", "secret-and-", "more", "secre", "crets", "t", "\n", "s", value, value[:5], "plain ", "e"}
	for range 5_000 {
		var text strings.Builder
		for range r.IntN(8) {
			text.WriteString(words[r.IntN(len(words))])
		}
		s, got := h.Stream(), ""
		for rest := text.String(); rest != ""; {
			n := 1 + r.IntN(len(rest))
			got += string(s.Pass([]byte(rest[:n])))
			rest = rest[n:]
		}
		got += string(s.Flush())
		if want := h.Text(text.String()); got != want {
			t.Fatalf("%q: got %q in pieces, want %q", text.String(), got, want)
		}
	}
}

// TestALineIsPassedOnAtItsEnd: who follows a log sees a line when it is there.
func TestALineIsPassedOnAtItsEnd(t *testing.T) {
	s := hide.Of("secret").Stream()
	if got := string(s.Pass([]byte("hello\nse"))); got != "hello\n" {
		t.Errorf("got %q", got)
	}
	if got := string(s.Pass([]byte("a\nx secre\n"))); got != "sea\nx secre\n" {
		t.Errorf("got %q", got)
	}
	if got := string(s.Pass([]byte("plain"))); got != "plain" {
		t.Errorf("got %q: what begins no value needs not wait", got)
	}
}

func TestMapsAreHiddenWithTheirNames(t *testing.T) {
	h := hide.Of("secret")
	got := h.Map(map[string]string{"a": "my secret", "the secret": "b"})
	if len(got) != 2 || got["a"] != "my ***" || got["the ***"] != "b" {
		t.Errorf("got %v", got)
	}
}

// What programs make of a value when they quote it is what stands in logs most often.
func TestQuotedValuesAreHidden(t *testing.T) {
	const v = `it's <b>&"$x\y`
	h := hide.Of(v)
	for name, text := range map[string]string{
		"set -x of a shell":              `+ echo 'it'\''s <b>&"$x\y'`,
		"shlex.quote":                    `'it'"'"'s <b>&"$x\y'`,
		"printf %q":                      `it\'s\ \<b\>\&\"\$x\\y`,
		"declare -p":                     `v="it's <b>&\"\$x\\y"`,
		"repr":                           `'it\'s <b>&"$x\\y'`,
		"HTML of Python":                 `<p>it&#x27;s &lt;b&gt;&amp;&quot;$x\y</p>`,
		"HTML of Go":                     `<p>it&#39;s &lt;b&gt;&amp;&#34;$x\y</p>`,
		"text of HTML":                   `<p>it's &lt;b&gt;&amp;"$x\y</p>`,
		"repr in quotes of another kind": `"it's <b>&"$x\\y"`,
	} {
		if got := h.Text(text); !strings.Contains(got, hide.Mask) {
			t.Errorf("%s: got %s", name, got)
		}
	}
}
