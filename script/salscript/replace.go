package salscript

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// replacer is a list of replacements, done one after the other:
//
//	text_replacer_new().pattern("a").replacement("b").and().pattern("[0-9]+").replacement("#").regex(true).build()
//
// Replacements of regular expressions may name groups: $1, ${name}.
type replacer struct {
	rules []rule
	open  rule
	built []*regexp.Regexp
}

type rule struct {
	pattern, replacement string
	regex, anyCase       bool
}

func replacerFunctions() []function {
	fresh := func() *replacer { return &replacer{} }
	return []function{
		{"text_replacer_new", fresh}, {"text_replacer_builder", fresh},
		{"pattern", func(r *replacer, p string) *replacer { r.open.pattern = p; return r }},
		{"replacement", func(r *replacer, p string) *replacer { r.open.replacement = p; return r }},
		{"regex", func(r *replacer, on bool) *replacer { r.open.regex = on; return r }},
		{"case_insensitive", func(r *replacer, on bool) *replacer { r.open.anyCase = on; return r }},
		{"and", (*replacer).and}, {"build", (*replacer).build}, {"replace", (*replacer).replace},
		{"replace_file", (*replacer).replaceFile},
		{"replace_file_in_place", func(r *replacer, path string) (string, error) { return r.replaceFileTo(path, path) }},
		{"replace_file_to", (*replacer).replaceFileTo},
	}
}

// and begins the next replacement.
func (r *replacer) and() (*replacer, error) {
	if r.open.pattern == "" {
		return nil, errors.New("text replacer: a replacement has no pattern")
	}
	r.rules, r.open = append(r.rules, r.open), rule{}
	return r, nil
}

func (r *replacer) build() (*replacer, error) {
	if r.open != (rule{}) || len(r.rules) == 0 {
		if _, err := r.and(); err != nil {
			return nil, err
		}
	}
	r.built = nil
	for _, rule := range r.rules {
		text := rule.pattern
		if !rule.regex {
			text = regexp.QuoteMeta(text)
		}
		if rule.anyCase {
			text = "(?i)" + text
		}
		compiled, err := regexp.Compile(text)
		if err != nil {
			return nil, fmt.Errorf("text replacer: %w", err)
		}
		r.built = append(r.built, compiled)
	}
	return r, nil
}

func (r *replacer) replace(text string) (string, error) {
	if len(r.built) == 0 {
		return "", errors.New("text replacer: call build() first")
	}
	for i, re := range r.built {
		if rule := r.rules[i]; rule.regex {
			text = re.ReplaceAllString(text, rule.replacement)
		} else {
			text = re.ReplaceAllLiteralString(text, rule.replacement)
		}
		if len(text) > maxStringBytes {
			return "", fmt.Errorf("text replacer: the text has grown over %d bytes", maxStringBytes)
		}
	}
	return text, nil
}

func (r *replacer) replaceFile(path string) (string, error) {
	text, err := readText(path)
	if err != nil {
		return "", err
	}
	return r.replace(text)
}

func (r *replacer) replaceFileTo(from, to string) (string, error) {
	text, err := r.replaceFile(from)
	if err != nil {
		return "", err
	}
	mode := os.FileMode(0o644)
	if info, err := os.Stat(from); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.WriteFile(to, []byte(text), mode); err != nil {
		return "", fmt.Errorf("text replacer: %w", err)
	}
	return fmt.Sprintf("Successfully wrote to file '%s'", strings.TrimSpace(to)), nil
}
