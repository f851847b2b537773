package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/hide"
	"github.com/ramet-run/ramet/internal/intake"
)

// The keys that a process's result always has; a script may not set them.
const (
	KeyExitCode = "exit_code"
	KeyStdout   = "stdout"
	KeyStderr   = "stderr"
)

// MaxResultKeyBytes bounds one key of a result: keys become parts of names
// ("<step>.<key>").
const MaxResultKeyBytes = 255

// ReadResult reads a result file: lines of key=value, or one JSON object. A
// value in a line is everything behind the first '=', as it stands; empty
// lines and lines that begin with '#' say nothing; a repeated key counts with
// its last value. In a JSON object strings are taken as they are, anything
// else as compact JSON text. A missing or empty file is an empty result.
//
// The file is the script's, so nothing in it is trusted: a symbolic link, a
// pipe or a device in its place is refused.
//
// Errors: [domain.ErrInvalid] naming the line and what would be right.
//
// Source: seed 002, "RunnerJob" (result: "the result of the job").
func ReadResult(path string) (map[string]string, error) { return readResult(path, nil) }

// readResult is ReadResult of what hide leaves of the lines: a value that has a '=' itself
// would be taken apart before it is looked for. Within JSON that is no matter.
func readResult(path string, hide *hide.Values) (map[string]string, error) {
	text, err := readBounded(path, MaxResultBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] != '{' {
		text = hide.Bytes(text)
	}
	return ParseResult(text)
}

// ParseResult is [ReadResult] of a file's content.
//
// Errors: [domain.ErrInvalid].
func ParseResult(text []byte) (map[string]string, error) {
	if len(text) > MaxResultBytes {
		return nil, domain.Invalidf("result file has %d bytes; at most %d are allowed", len(text), MaxResultBytes)
	}
	var result map[string]string
	var err error
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '{' {
		result, err = parseObject(text)
	} else {
		result, err = parseLines(text)
	}
	if err != nil {
		return nil, err
	}
	return result, checkSize("result file", result)
}

func parseLines(text []byte) (map[string]string, error) {
	result := map[string]string{}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if blank := bytes.TrimSpace(line); len(blank) == 0 || blank[0] == '#' {
			continue
		}
		key, value, found := strings.Cut(string(line), "=")
		if !found {
			return nil, domain.Invalidf("result file line %d: %q has no '='; write key=value, or make the whole file one JSON object", number, clip(key))
		}
		if err := add(result, fmt.Sprintf("result file line %d", number), strings.TrimSpace(key), value); err != nil {
			return nil, err
		}
	}
	return result, nil
}

func parseObject(text []byte) (map[string]string, error) {
	if _, err := intake.Check(text, nil, intake.Limits{Bytes: len(text)}); err != nil {
		return nil, domain.Invalidf("result file %v", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	var object map[string]json.RawMessage
	if err := decoder.Decode(&object); err != nil {
		return nil, domain.Invalidf("result file line %d: %v; write one JSON object, or lines of key=value", errorLine(text, decoder, err), err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, domain.Invalidf("result file line %d: there is more after the JSON object; write exactly one", lineAt(text, decoder.InputOffset()))
	}
	result := make(map[string]string, len(object))
	for key, raw := range object {
		if err := add(result, "result file", key, jsonValue(raw)); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// jsonValue is a string's text, or the compact JSON text of anything else.
func jsonValue(raw json.RawMessage) string {
	var text string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		return text
	}
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return string(raw)
	}
	return compact.String()
}

// CheckResult checks what a script inside the process gives as its result, as
// [ReadResult] does what one leaves in a file.
//
// Errors: [domain.ErrInvalid].
func CheckResult(result map[string]string) error {
	checked := make(map[string]string, len(result))
	for key, value := range result {
		if err := add(checked, "result", key, value); err != nil {
			return err
		}
	}
	return checkSize("result", result)
}

// add puts one pair into the result; where is the place that an error names.
func add(result map[string]string, where, key, value string) error {
	switch {
	case key == "":
		return domain.Invalidf("%s: the key is empty; write key=value", where)
	case len(key) > MaxResultKeyBytes:
		return domain.Invalidf("%s: key %q has %d bytes; at most %d are allowed", where, clip(key), len(key), MaxResultKeyBytes)
	case !utf8.ValidString(key) || !utf8.ValidString(value):
		return domain.Invalidf("%s: key %q: not UTF-8; encode binary values, as base64 for example", where, clip(key))
	case strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return domain.Invalidf("%s: key %q has a control character; use letters, digits and ._-", where, clip(key))
	case key == KeyExitCode || key == KeyStdout || key == KeyStderr:
		return domain.Invalidf("%s: key %q is set by the runner; choose another name", where, key)
	}
	result[key] = value
	if len(result) > MaxResultKeys {
		return domain.Invalidf("%s: more than %d keys", where, MaxResultKeys)
	}
	return nil
}

// checkSize measures the result as the JSON text it becomes on a record:
// control characters take six times their size there.
func checkSize(where string, result map[string]string) error {
	text, err := json.Marshal(result)
	if err != nil {
		return domain.Invalidf("%s: %v", where, err)
	}
	if len(text) > MaxResultBytes {
		return domain.Invalidf("%s: its keys and values take %d bytes as JSON; at most %d are allowed", where, len(text), MaxResultBytes)
	}
	return nil
}

// readBounded reads a regular file of at most limit bytes.
func readBounded(path string, limit int64) ([]byte, error) {
	// O_NOFOLLOW: a link could make the node read what the script may not.
	// O_NONBLOCK: a pipe without a writer would hold us for ever.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, domain.Invalidf("result file: it must be a plain file that can be read: %v", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, domain.Invalidf("result file: it must be a plain file, not a folder, link, pipe or device")
	}
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, domain.Invalidf("result file: %v", err)
	}
	if int64(len(text)) > limit {
		return nil, domain.Invalidf("result file has %d bytes; at most %d are allowed", info.Size(), limit)
	}
	return text, nil
}

// errorLine finds the line of a JSON error, counted from 1.
func errorLine(text []byte, decoder *json.Decoder, err error) int {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return lineAt(text, syntax.Offset)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return lineAt(text, int64(len(text)))
	}
	return lineAt(text, decoder.InputOffset())
}

func lineAt(text []byte, offset int64) int {
	offset = max(0, min(offset, int64(len(text))))
	return 1 + bytes.Count(text[:offset], []byte("\n"))
}

// clip shortens what a script wrote for a message.
func clip(text string) string {
	const most = 40
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
