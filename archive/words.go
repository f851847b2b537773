package archive

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/ramet-run/ramet/domain"
)

const (
	// maxWord cuts a word, in bytes: identifiers and hashes stay whole.
	maxWord = 64
	// maxWords bounds the words of a record, in bytes. PostgreSQL holds 1 MiB
	// of them in one value, with some bytes for each.
	maxWords = 256 << 10
	// maxQueryWords bounds those of a query.
	maxQueryWords = 16
	// MaxText is the length of a query's text in bytes.
	MaxText = 1024
)

// Words are what a text is found by: runs of letters and digits in lower case,
// each once. They are made here, not in the stores, so that every driver finds
// the same. Texts are taken in order until a share is used up.
func Words(texts ...string) []string {
	var b wordSet
	for _, t := range texts {
		b.add(t)
	}
	return b.words
}

// Words are those of the record: of a job its error, result, script and log, of
// a message its error, text and log. Values of environment variables are not
// among them, nor is what a message's jobs are: they are records of their own.
func (r *Record) Words() []string {
	var b wordSet
	texts := r.Texts
	if texts == nil {
		texts = textsOf(r.Kind, r.Body)
	}
	for _, t := range texts {
		b.add(t)
	}
	for _, l := range r.Logs {
		b.add(l.Line)
	}
	return b.words
}

// textsOf reads the texts of a body: only texts, not the names of fields. One that
// cannot be read has none.
func textsOf(kind domain.ArchiveKind, text []byte) []string {
	var body struct {
		Error  string            `json:"error"`
		Result map[string]string `json:"result"`
		Script string            `json:"script"`
		Text   string            `json:"message"` // of a message; of a job it is a key
	}
	_ = json.Unmarshal(text, &body)
	texts := textsOfJob(&domain.Job{Error: body.Error, Result: body.Result, Script: body.Script})
	if kind == domain.ArchiveMessage {
		texts = append(texts, body.Text)
	}
	return texts
}

// wordSet collects words.
type wordSet struct {
	words []string
	seen  map[string]bool // the same, once there are many
	bytes int
}

// manyWords is from how many on a map is the quicker way to know them again.
const manyWords = 32

// has reports whether a word was seen.
func (b *wordSet) has(word string) bool {
	if b.seen != nil {
		return b.seen[word]
	}
	return slices.Contains(b.words, word)
}

// take takes a word that was not seen.
func (b *wordSet) take(word string) {
	b.words = append(b.words, word)
	b.bytes += len(word) + 1
	if b.seen == nil && len(b.words) == manyWords {
		b.seen = make(map[string]bool, 2*manyWords)
		for _, w := range b.words {
			b.seen[w] = true
		}
	} else if b.seen != nil {
		b.seen[word] = true
	}
}

func (b *wordSet) add(text string) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		if b.bytes >= maxWords {
			return
		}
		word = cutWord(strings.ToLower(word))
		if word != "" && !b.has(word) {
			b.take(word)
		}
	}
}

// cutWord bounds a word at a whole character.
func cutWord(w string) string {
	if len(w) <= maxWord {
		return w
	}
	return strings.ToValidUTF8(w[:maxWord], "")
}

// queryWords are the words of a query's text.
//
// Errors: [domain.ErrInvalid] for one that has none, or too many.
func queryWords(text string) ([]string, error) {
	if len(text) > MaxText {
		return nil, domain.Invalidf("text has %d bytes, the limit is %d", len(text), MaxText)
	}
	words := Words(text)
	switch {
	case len(words) == 0:
		return nil, domain.Invalidf("text %q: want words of letters and digits", text)
	case len(words) > maxQueryWords:
		return nil, domain.Invalidf("text has %d words, the limit is %d", len(words), maxQueryWords)
	}
	return words, nil
}
