package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// Case is a script with the engine's settings, and its recorded answer in the cases file.
type Case struct {
	ID         string          `json:"id"`
	Src        string          `json:"src"`
	Mode       string          `json:"mode,omitempty"`
	Opts       json.RawMessage `json:"opts,omitempty"`
	Modules    json.RawMessage `json:"modules,omitempty"`
	Scope      json.RawMessage `json:"scope,omitempty"`
	ConstScope json.RawMessage `json:"const_scope,omitempty"`
	DumpScope  bool            `json:"dump_scope,omitempty"`
	Answer

	// Other answers that are right too: of the reference without its optimizer, or built without metadata.
	NoOptimizer *Answer  `json:"alt_no_optimizer,omitempty"`
	NoMetadata  *Answer  `json:"alt_no_metadata,omitempty"`
	Tags        []string `json:"tags,omitempty"`
}

// Answer is what an engine says to a case: Expect, or Error with its details.
type Answer struct {
	Print      []string         `json:"print,omitempty"`
	Debug      []Note           `json:"debug,omitempty"`
	Expect     *Value           `json:"expect,omitempty"`
	Error      string           `json:"error,omitempty"`
	ParseError string           `json:"parse_error,omitempty"`
	Message    string           `json:"message,omitempty"`
	Pos        string           `json:"pos,omitempty"` // line:column of the innermost error
	ScopeAfter map[string]Value `json:"scope_after,omitempty"`
}

// Value is a result: the type's name and the host's debug text.
type Value struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

// Note is what a script gave to debug.
type Note struct {
	Text string `json:"text"`
	Pos  string `json:"pos,omitempty"`
}

// Question is the case without its recorded answer.
func (c Case) Question() Case {
	c.Answer, c.NoOptimizer, c.NoMetadata, c.Tags = Answer{}, nil, nil, nil
	return c
}

// Answers lists every answer that is right for the case, the preferred one first.
func (c Case) Answers() []Answer {
	all := []Answer{c.Answer}
	for _, other := range []*Answer{c.NoOptimizer, c.NoMetadata} {
		if other != nil {
			// An alternative says only how the script ends; the rest is as recorded.
			a := *other
			if a.Print == nil {
				a.Print = c.Print
			}
			if a.Debug == nil {
				a.Debug = c.Debug
			}
			all = append(all, a)
		}
	}
	return all
}

// loadCases reads a file of cases, one JSON object a line.
func loadCases(file string) ([]Case, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read cases: %w", err)
	}
	defer f.Close()
	var cases []Case
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var c Case
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, fmt.Errorf("read cases: %s:%d: %w", file, n, err)
		}
		cases = append(cases, c)
	}
	return cases, lines.Err()
}
