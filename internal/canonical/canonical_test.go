package canonical

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

// oddTexts are what strings of a message may have that a writer can get wrong.
var oddTexts = []string{"", "plain", "<a href=\"x\">&amp;</a>", "back\\slash / and 'quotes'", "\x00\x01\b\f\n\r\t\x1f\x7f", "\u2028 and \u2029",
	"é, 漢字, 𝄞, \ufffd",
	"no UTF-8: \xff\xc0\xaf\xed\xa0\x80 there", "cut \xe2\x82", "\uffff", "\xf4\x90\x80\x80"}

// filled sets everything in v to something, by r; some of it to nothing.
func filled(r *rand.Rand, v reflect.Value, odd bool) {
	text := func() string {
		if !odd {
			return strings.Repeat("x", r.IntN(4)) + oddTexts[r.IntN(7)]
		}
		return oddTexts[r.IntN(len(oddTexts))] + oddTexts[r.IntN(len(oddTexts))]
	}
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		v.SetBytes([]byte(`{"a":[1,null]}`))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text())
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n := int64(r.IntN(1000)) - 500
		if bits := v.Type().Bits(); bits == 64 && odd {
			n = r.Int64() >> r.IntN(64)
		}
		v.SetInt(n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(r.Uint64() >> r.IntN(64) & (1<<v.Type().Bits() - 1))
	case reflect.Float64:
		v.SetFloat(float64(r.IntN(1000)) / 8)
	case reflect.Pointer:
		if v.SetZero(); r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			filled(r, v.Elem(), odd)
		}
	case reflect.Slice:
		if v.SetZero(); r.IntN(3) > 0 {
			v.Set(reflect.MakeSlice(v.Type(), r.IntN(3), 3))
			for i := range v.Len() {
				filled(r, v.Index(i), odd)
			}
		}
	case reflect.Map:
		if v.SetZero(); r.IntN(3) > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range r.IntN(4) {
				name, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				filled(r, name, odd)
				filled(r, value, odd)
				v.SetMapIndex(name, value)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).SetZero(); r.IntN(4) > 0 {
				filled(r, v.Field(i), odd)
			}
		}
	default:
		panic("a message has a " + v.Kind().String() + ", which no test fills")
	}
}

func TestTheShortWayToTheCanonicalFormIsThatOfTheLongOne(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	short := 0
	for i := range 3000 {
		var m domain.Message
		if i > 0 {
			filled(r, reflect.ValueOf(&m).Elem(), i%3 == 0)
		}
		want, err := longWay(&m)
		if err != nil {
			if _, err := Of(&m); err == nil {
				t.Fatalf("%+v is written, and the rule refuses it", m)
			}
			continue
		}
		w := writer{fits: true, sorted: true}
		if w.value(reflect.ValueOf(&m).Elem()); w.fits {
			short++
		}
		got, err := Of(&m)
		if err != nil || string(got) != string(want) {
			t.Fatalf("got %v\n%q, want\n%q", err, got, want)
		}
	}
	if short < 1500 {
		t.Errorf("%d of 3000 messages went the short way: want most", short)
	}
}

func TestWhatIsDeclaredIsWrittenAsEncodingJSONDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 1000 {
		var m domain.Message
		filled(r, reflect.ValueOf(&m).Elem(), i%3 == 0)
		got, ok := Declared(m.Job)
		if !ok {
			continue
		}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(m.Job); err != nil {
			t.Fatal(err)
		}
		// The two differ in how they write what needs no escape.
		var a, b []domain.Job
		if err := json.Unmarshal(got, &a); err != nil {
			t.Fatalf("%v\n%q", err, got)
		}
		if err := json.Unmarshal(want.Bytes(), &b); err != nil || !reflect.DeepEqual(a, b) {
			t.Fatalf("%v: got\n%q, want\n%q", err, got, want.String())
		}
	}
}

// FuzzCanonical: what is read of a message is written by both ways alike.
func FuzzCanonical(f *testing.F) {
	f.Add(`{"id":1,"message":"a\u2028\ud834\udd1e<","job":[{"id":2,"env_vars":{"é":"1","a":"2"},"exit_code":-0}],"logs":[]}`)
	f.Add(`{"job":[{"needs":{"a":{"result":{"":"\u0000"}}},"retry":{"on":["failed"]},"started_ms":9007199254740993}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var m domain.Message
		if json.Unmarshal([]byte(text), &m) != nil {
			return
		}
		want, err := longWay(&m)
		got, gotErr := Of(&m)
		if (err == nil) != (gotErr == nil) || string(got) != string(want) {
			t.Errorf("got %v\n%q, want %v\n%q", gotErr, got, err, want)
		}
	})
}

func BenchmarkCanonical(b *testing.B) {
	m := domain.Message{ID: 7, CallerID: 1, MessageType: domain.MessageJob, MessageFormatType: domain.FormatText, CreatedAt: 1, DstContext: 2,
		Pubkey: strings.Repeat("ab", 32), DstNode: strings.Repeat("cd", 32), Alg: domain.AlgEd25519, Signature: strings.Repeat("ef", 64),
		Job: domain.List[domain.Job]{{ID: 1, Script: strings.Repeat("print('x')\n", 10), ScriptType: domain.ScriptPython, EnvVars: map[string]string{"A": "1"}}}}
	b.Run("short", func(b *testing.B) {
		for b.Loop() {
			if _, err := Of(&m); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("long", func(b *testing.B) {
		for b.Loop() {
			if _, err := longWay(&m); err != nil {
				b.Fatal(err)
			}
		}
	})
}
